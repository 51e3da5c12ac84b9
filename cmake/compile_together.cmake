# What makes a build of minutes: the files of a folder are compiled twelve at a time, and the headers that nearly all of them need
# are read once. What a file's headers cost in templates is paid once for twelve. Both are off with QUASAR_UNITY (the preset dev), where
# every file is compiled by itself and finds what it forgot to include. Names of anonymous namespaces are different within a folder.
#
# quasar_compile_together(target name files...): name is that of the group; several calls with one name fill the same groups. Files with
# flags of their own are compiled alone. QUASAR_TOGETHER: how many are compiled at a time, where it is not twelve.
function(quasar_compile_together target name)
  if(NOT QUASAR_UNITY)
    return()
  endif()
  if(NOT QUASAR_TOGETHER)
    set(QUASAR_TOGETHER 12)
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  string(MAKE_C_IDENTIFIER ${name} name)
  get_property(count TARGET ${target} PROPERTY QUASAR_COUNT_${name})
  if(NOT count)
    set(count 0)
  endif()
  foreach(file ${ARGN})
    math(EXPR group "${count} / ${QUASAR_TOGETHER}")
    math(EXPR count "${count} + 1")
    set_property(SOURCE ${file} PROPERTY UNITY_GROUP ${name}_${group})
  endforeach()
  set_property(TARGET ${target} PROPERTY QUASAR_COUNT_${name} ${count})
endfunction()

# quasar_precompile(target headers...): JSON and what most files include of C++, besides the headers named.
function(quasar_precompile target)
  if(NOT QUASAR_UNITY)
    return()
  endif()
  target_precompile_headers(${target} PRIVATE <nlohmann/json.hpp> <algorithm> <array> <atomic> <chrono> <cmath> <cstdint> <filesystem> <functional> <limits>
                            <map> <memory> <mutex> <numeric> <optional> <set> <span> <string> <thread> <unordered_map> <variant> <vector> ${ARGN})
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)  # ccache wants it
  endif()
endfunction()
