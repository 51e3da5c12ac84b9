# Files of one folder are compiled six at a time, unless QUASAR_UNITY is off: what their headers cost is paid once for six, and
# a build from nothing takes less than half the time. Names of anonymous namespaces are therefore different within a folder.
#
# quasar_compile_together(target name files...): name is that of the group. Files with flags of their own are compiled alone.
function(quasar_compile_together target name)
  if(NOT QUASAR_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  set(count 0)
  foreach(file ${ARGN})
    math(EXPR group "${count} / 6")
    math(EXPR count "${count} + 1")
    set_property(SOURCE ${file} PROPERTY UNITY_GROUP ${name}_${group})
  endforeach()
endfunction()
