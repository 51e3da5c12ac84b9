# cmake --install: program, library, headers, and a CMake package that gives quasar::quasar. The components program, library and development
# are Debian packages as well (packages.cmake).
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/quasar)

# What users of the library include: these headers, and no others. They need nothing but C++, JSON and each other, so that what stands in
# any other header may change freely. At most 45: whoever adds one asks first what users need it for.
set(QUASAR_PUBLIC_HEADERS)
function(quasar_public folder)
  foreach(name ${ARGN})
    list(APPEND QUASAR_PUBLIC_HEADERS quasar/${folder}/${name}.hpp)
  endforeach()
  set(QUASAR_PUBLIC_HEADERS ${QUASAR_PUBLIC_HEADERS} PARENT_SCOPE)
endfunction()
quasar_public(base api direction error json log names plugin rng version)
quasar_public(graph load model tensor)
quasar_public(data annotations dataset in_memory reader)
quasar_public(runtime device session)
quasar_public(eval custom metric)
quasar_public(search ask distribution heartbeat_options objective pareto pruner run run_options sampler sequence space state_name stop storage study trial)
quasar_public(inspect examine inspect)
quasar_public(report writer)
quasar_public(api evaluate quantize search)
quasar_public(cli program)

foreach(header ${QUASAR_PUBLIC_HEADERS})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${header})
  file(STRINGS ${PROJECT_SOURCE_DIR}/src/${header} includes REGEX "^#include ")
  foreach(line ${includes})
    if(line MATCHES "\"([^\"]+)\"" AND NOT CMAKE_MATCH_1 IN_LIST QUASAR_PUBLIC_HEADERS)
      message(FATAL_ERROR "${header} is public and includes ${CMAKE_MATCH_1}, which is not (cmake/installation.cmake)")
    elseif(line MATCHES "<([^>]*[./][^>]*)>" AND NOT CMAKE_MATCH_1 MATCHES "^nlohmann/")
      message(FATAL_ERROR "${header} is public and includes third-party <${CMAKE_MATCH_1}>")
    endif()
  endforeach()
endforeach()
list(LENGTH QUASAR_PUBLIC_HEADERS count)
if(count GREATER 45)
  message(FATAL_ERROR "${count} headers are public; at most 45 may be")
endif()

install(TARGETS quasar EXPORT quasar-targets LIBRARY COMPONENT library NAMELINK_COMPONENT development)
foreach(header ${QUASAR_PUBLIC_HEADERS})
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${PROJECT_SOURCE_DIR}/src/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder} COMPONENT development)
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/src/quasar/eval/evaluator_plugin.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/quasar/eval COMPONENT development)
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE.md DESTINATION ${CMAKE_INSTALL_DOCDIR}
        COMPONENT program)
# The licences of what is installed with Quasar or compiled into it (NOTICE.md).
install(FILES ${echarts_copy}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR}/licences RENAME echarts COMPONENT library)
install(FILES ${echarts_copy}/NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR}/licences RENAME echarts-notice COMPONENT library)

# The copy of ONNX Runtime from the cache goes where only Quasar finds it.
if(QUASAR_BUNDLED_ONNXRUNTIME)
  install(FILES ${QUASAR_BUNDLED_ONNXRUNTIME} DESTINATION ${CMAKE_INSTALL_LIBDIR}/quasar COMPONENT library)
  cmake_path(SET onnxruntime_licence NORMALIZE ${QUASAR_BUNDLED_ONNXRUNTIME}/../../LICENSE)
  install(FILES ${onnxruntime_licence} DESTINATION ${CMAKE_INSTALL_DOCDIR}/licences RENAME onnxruntime COMPONENT library OPTIONAL)
  set_target_properties(quasar PROPERTIES INSTALL_RPATH "$ORIGIN/quasar")
endif()
if(TARGET quasar_program)
  install(TARGETS quasar_program COMPONENT program)
  file(RELATIVE_PATH libraries ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_target_properties(quasar_program PROPERTIES INSTALL_RPATH "$ORIGIN/${libraries}")
  # Completion for shells and the manual page, which the program writes itself.
  foreach(form "bash|${CMAKE_INSTALL_DATADIR}/bash-completion/completions/quasar" "zsh|${CMAKE_INSTALL_DATADIR}/zsh/site-functions/_quasar"
          "fish|${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d/quasar.fish" "man|${CMAKE_INSTALL_MANDIR}/man1/quasar.1")
    string(REGEX REPLACE "\\|.*" "" name ${form})
    string(REGEX REPLACE "^[^|]*\\|" "" file ${form})
    get_filename_component(folder ${file} DIRECTORY)
    get_filename_component(leaf ${file} NAME)
    install(CODE "execute_process(COMMAND $<TARGET_FILE:quasar_program> completion ${name} -o ${PROJECT_BINARY_DIR}/${name}.completion COMMAND_ERROR_IS_FATAL ANY)" COMPONENT program)
    install(FILES ${PROJECT_BINARY_DIR}/${name}.completion DESTINATION ${folder} RENAME ${leaf} COMPONENT program)
  endforeach()
endif()

# The build folder is a package as well: quasar::quasar as installed, and for the Python package quasar::internals, the static library with what
# that is linked with.
set(linked "")
foreach(library ${soci_soci_core} ${soci_soci_sqlite3} ${soci_soci_postgresql} ${pq_pq} ${xxhash_xxhash} ${zip_zip} ${onnx_onnx} ${onnx_onnx_proto}
        ${Protobuf_LIBRARY} ${JPEG_LIBRARIES} ${PNG_LIBRARIES})
  string(APPEND linked "${library};")
endforeach()
if(cbc_LIBRARY)
  string(APPEND linked "${cbc_LIBRARY};")
endif()
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/quasar-internals.cmake CONTENT "add_library(quasar::internals STATIC IMPORTED)
set_target_properties(quasar::internals PROPERTIES IMPORTED_LOCATION $<TARGET_FILE:quasar_internals> INTERFACE_INCLUDE_DIRECTORIES ${PROJECT_SOURCE_DIR}/src
  INTERFACE_LINK_LIBRARIES \"nlohmann_json::nlohmann_json;Threads::Threads;$<TARGET_FILE:onnxruntime::onnxruntime>;${linked}$<TARGET_FILE:yaml-cpp>;$<TARGET_FILE:spdlog::spdlog>;$<TARGET_FILE:fmt::fmt>;${CMAKE_DL_LIBS}\")
set(QUASAR_ONNXRUNTIME $<TARGET_FILE:onnxruntime::onnxruntime>)
")
export(EXPORT quasar-targets NAMESPACE quasar:: FILE ${PROJECT_BINARY_DIR}/quasar-targets.cmake)
install(EXPORT quasar-targets NAMESPACE quasar:: DESTINATION ${package_folder} COMPONENT development)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/quasar-config.cmake.in ${PROJECT_BINARY_DIR}/quasar-config.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/quasar-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/quasar-config.cmake ${PROJECT_BINARY_DIR}/quasar-config-version.cmake DESTINATION ${package_folder}
        COMPONENT development)

# For the site's reference (scripts/site.py).
string(REPLACE ";" "\n" public_headers "${QUASAR_PUBLIC_HEADERS}")
file(WRITE ${PROJECT_BINARY_DIR}/public_headers.txt "${public_headers}\n")
