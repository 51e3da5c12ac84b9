# Installs the build into a fresh prefix, builds the consumer against it, runs it and the installed program.
# The programs of docs/cpp.md likewise; and the library must show what the installed headers declare, and nothing else.
# cmake -DBUILD=… -DSOURCE=… -DROOT=… -DWORK=… -DLIBDIR=… -DBINDIR=… -DINCLUDEDIR=… -DPYTHON=… -P install_and_use.cmake
function(run output)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE out ERROR_VARIABLE err OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE code)
  if(code)
    message(FATAL_ERROR "${ARGN}\nended with ${code}:\n${out}${err}")
  endif()
  set(${output} "${out}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK})
run(ignored ${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/installed)
# Installed files must work wherever they are moved to.
file(RENAME ${WORK}/installed ${WORK}/moved)
foreach(project ${SOURCE} ${ROOT}/examples/cpp)
  get_filename_component(name ${project} NAME)
  run(ignored ${CMAKE_COMMAND} -G Ninja -S ${project} -B ${WORK}/${name} -DCMAKE_PREFIX_PATH=${WORK}/moved -DCMAKE_BUILD_TYPE=Debug
      -DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_FLAGS=-O0)
  run(ignored ${CMAKE_COMMAND} --build ${WORK}/${name})
endforeach()
run(nodes ${WORK}/consumer/consumer ${ROOT}/examples/digits/digits.onnx)
if(NOT nodes MATCHES "^[1-9][0-9]* nodes")
  message(FATAL_ERROR "consumer printed: ${nodes}")
endif()

run(programs ${PYTHON} -B ${SOURCE}/programs.py ${ROOT}/docs/cpp.md ${WORK}/cpp ${ROOT}/examples/digits)
message(STATUS "${programs}")
run(symbols ${PYTHON} -B ${SOURCE}/symbols.py ${WORK}/moved/${LIBDIR}/libquasar.so ${WORK}/moved/${INCLUDEDIR})
message(STATUS "${symbols}")

# Nothing of what was installed may lean on the build folder.
file(GLOB installed ${WORK}/moved/${LIBDIR}/libquasar.so.* ${WORK}/moved/${BINDIR}/quasar)
foreach(file ${installed})
  run(libraries ldd ${file})
  if(libraries MATCHES "not found" OR libraries MATCHES "=> ${BUILD}/src/")
    message(FATAL_ERROR "${file} does not stand alone:\n${libraries}")
  endif()
endforeach()
if(EXISTS ${WORK}/moved/${BINDIR}/quasar)
  run(version ${WORK}/moved/${BINDIR}/quasar --version)
  message(STATUS "installed: ${version}")
endif()
