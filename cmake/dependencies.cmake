# Everything comes from Debian's packages but ONNX Runtime: an installed one first, else the copy that scripts/setup.sh keeps.
find_package(Threads REQUIRED)
find_package(Protobuf REQUIRED)
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_package(JPEG REQUIRED)
find_package(PNG REQUIRED)

# Debian's SOCI, libonnx and xxHash come without CMake packages that hold.
function(quasar_system_library name header)
  find_path(${name}_INCLUDE ${header} PATH_SUFFIXES postgresql REQUIRED)
  add_library(quasar_${name} INTERFACE)
  foreach(library ${ARGN})
    find_library(${name}_${library} ${library} REQUIRED)
    target_link_libraries(quasar_${name} INTERFACE ${${name}_${library}})
  endforeach()
  target_include_directories(quasar_${name} SYSTEM INTERFACE ${${name}_INCLUDE})
endfunction()
quasar_system_library(soci soci/soci.h soci_core soci_sqlite3 soci_postgresql)
quasar_system_library(pq libpq-fe.h pq)
quasar_system_library(xxhash xxhash.h xxhash)
quasar_system_library(zip zip.h zip)
quasar_system_library(onnx onnx/onnx_pb.h onnx onnx_proto)
target_compile_definitions(quasar_onnx INTERFACE ONNX_NAMESPACE=onnx ONNX_ML=1)
target_link_libraries(quasar_onnx INTERFACE protobuf::libprotobuf)

# The solver of integer programs, for strategy budget. A build without it says so where it would be needed: Debian's folder for another
# processor has none.
find_path(cbc_INCLUDE coin/Cbc_C_Interface.h)
find_library(cbc_LIBRARY CbcSolver)
add_library(quasar_cbc INTERFACE)
if(cbc_INCLUDE AND cbc_LIBRARY)
  target_link_libraries(quasar_cbc INTERFACE ${cbc_LIBRARY})
  target_include_directories(quasar_cbc SYSTEM INTERFACE ${cbc_INCLUDE})
else()
  message(STATUS "COIN-OR's CBC was not found: strategy budget will not run")
endif()

find_package(onnxruntime CONFIG QUIET)
if(NOT TARGET onnxruntime::onnxruntime)
  execute_process(COMMAND ${PROJECT_SOURCE_DIR}/scripts/onnxruntime.sh --for ${CMAKE_SYSTEM_PROCESSOR} --where OUTPUT_VARIABLE copy OUTPUT_STRIP_TRAILING_WHITESPACE
                  COMMAND_ERROR_IS_FATAL ANY)
  find_path(onnxruntime_INCLUDE onnxruntime_cxx_api.h PATHS ${copy}/include PATH_SUFFIXES onnxruntime NO_CMAKE_FIND_ROOT_PATH)
  find_file(onnxruntime_LIBRARY NAMES libonnxruntime.so.1 PATHS ${copy}/lib NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
  if(NOT onnxruntime_INCLUDE OR NOT onnxruntime_LIBRARY)
    message(FATAL_ERROR "ONNX Runtime was not found: run scripts/setup.sh (make build does), or point CMAKE_PREFIX_PATH at a release of it")
  endif()
  add_library(onnxruntime::onnxruntime SHARED IMPORTED GLOBAL)
  set_target_properties(onnxruntime::onnxruntime PROPERTIES IMPORTED_LOCATION ${onnxruntime_LIBRARY} INTERFACE_SYSTEM_INCLUDE_DIRECTORIES
                        ${onnxruntime_INCLUDE} INTERFACE_INCLUDE_DIRECTORIES ${onnxruntime_INCLUDE})
  set(QUASAR_BUNDLED_ONNXRUNTIME ${onnxruntime_LIBRARY})
endif()

# The plots of report.html; built into the library, so that a report needs neither a network nor a file beside it.
execute_process(COMMAND ${PROJECT_SOURCE_DIR}/scripts/echarts.sh --where OUTPUT_VARIABLE echarts_copy OUTPUT_STRIP_TRAILING_WHITESPACE
                COMMAND_ERROR_IS_FATAL ANY)
find_file(echarts_SCRIPT dist/echarts.min.js PATHS ${echarts_copy} NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
if(NOT echarts_SCRIPT)
  message(FATAL_ERROR "Apache ECharts was not found: run scripts/setup.sh (make build does)")
endif()
