# cmake --install: program, library, headers, and a CMake package that gives quasar::quasar.
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/quasar)

# Public are the headers that need nothing but C++, JSON and each other; those that show Quasar's own dependencies stay inside.
# A header is inside when it includes third-party code, or a header that is inside.
function(quasar_public_headers result)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/src/quasar/*.hpp)
  list(FILTER headers EXCLUDE REGEX "^quasar/cli/")
  set(inside "none")
  while(inside)
    set(inside "")
    foreach(header ${headers})
      file(STRINGS ${PROJECT_SOURCE_DIR}/src/${header} includes REGEX "^#include ")
      foreach(line ${includes})
        if(line MATCHES "\"(quasar/[^\"]+)\"")
          if(NOT CMAKE_MATCH_1 IN_LIST headers)
            list(APPEND inside ${header})
          endif()
        elseif(line MATCHES "<([^>]*[./][^>]*)>" AND NOT CMAKE_MATCH_1 MATCHES "^nlohmann/")
          list(APPEND inside ${header})
        endif()
      endforeach()
    endforeach()
    if(inside)
      list(REMOVE_ITEM headers ${inside})
    endif()
  endwhile()
  set(${result} ${headers} PARENT_SCOPE)
endfunction()
quasar_public_headers(QUASAR_PUBLIC_HEADERS)

install(TARGETS quasar EXPORT quasar-targets)
foreach(header ${QUASAR_PUBLIC_HEADERS})
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${PROJECT_SOURCE_DIR}/src/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder})
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/src/quasar/eval/evaluator_plugin.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/quasar/eval)
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
# The licences of what is installed with Quasar or compiled into it (NOTICE.md).
install(FILES ${echarts_copy}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR}/licences RENAME echarts)
install(FILES ${echarts_copy}/NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR}/licences RENAME echarts-notice)

# The copy of ONNX Runtime from the cache goes where only Quasar finds it.
if(QUASAR_BUNDLED_ONNXRUNTIME)
  install(FILES ${QUASAR_BUNDLED_ONNXRUNTIME} DESTINATION ${CMAKE_INSTALL_LIBDIR}/quasar)
  cmake_path(SET onnxruntime_licence NORMALIZE ${QUASAR_BUNDLED_ONNXRUNTIME}/../../LICENSE)
  install(FILES ${onnxruntime_licence} DESTINATION ${CMAKE_INSTALL_DOCDIR}/licences RENAME onnxruntime OPTIONAL)
  set_target_properties(quasar PROPERTIES INSTALL_RPATH "$ORIGIN/quasar")
endif()
if(TARGET quasar_program)
  install(TARGETS quasar_program)
  file(RELATIVE_PATH libraries ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_target_properties(quasar_program PROPERTIES INSTALL_RPATH "$ORIGIN/${libraries}")
  # Completion for shells and the manual page, which the program writes itself.
  foreach(form "bash|${CMAKE_INSTALL_DATADIR}/bash-completion/completions/quasar" "zsh|${CMAKE_INSTALL_DATADIR}/zsh/site-functions/_quasar"
          "fish|${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d/quasar.fish" "man|${CMAKE_INSTALL_MANDIR}/man1/quasar.1")
    string(REGEX REPLACE "\\|.*" "" name ${form})
    string(REGEX REPLACE "^[^|]*\\|" "" file ${form})
    get_filename_component(folder ${file} DIRECTORY)
    get_filename_component(leaf ${file} NAME)
    install(CODE "execute_process(COMMAND $<TARGET_FILE:quasar_program> completion ${name} -o ${PROJECT_BINARY_DIR}/${name}.completion COMMAND_ERROR_IS_FATAL ANY)")
    install(FILES ${PROJECT_BINARY_DIR}/${name}.completion DESTINATION ${folder} RENAME ${leaf})
  endforeach()
endif()

# The build folder is a package as well, for the Python package's build.
export(EXPORT quasar-targets NAMESPACE quasar:: FILE ${PROJECT_BINARY_DIR}/quasar-targets.cmake)
install(EXPORT quasar-targets NAMESPACE quasar:: DESTINATION ${package_folder})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/quasar-config.cmake.in ${PROJECT_BINARY_DIR}/quasar-config.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/quasar-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/quasar-config.cmake ${PROJECT_BINARY_DIR}/quasar-config-version.cmake DESTINATION ${package_folder})

# For the site's reference (scripts/site.py).
string(REPLACE ";" "\n" public_headers "${QUASAR_PUBLIC_HEADERS}")
file(WRITE ${PROJECT_BINARY_DIR}/public_headers.txt "${public_headers}\n")
