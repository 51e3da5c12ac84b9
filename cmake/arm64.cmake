# Toolchain for 64-bit Arm on another processor: Debian's cross compiler, and the packages for arm64 that scripts/arm64.sh unpacks.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
execute_process(COMMAND ${CMAKE_CURRENT_LIST_DIR}/../scripts/arm64.sh --where OUTPUT_VARIABLE QUASAR_ARM64_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE
                COMMAND_ERROR_IS_FATAL ANY)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_SYSROOT ${QUASAR_ARM64_ROOT})
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(what LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${what} ONLY)
endforeach()
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L ${QUASAR_ARM64_ROOT})
set(CMAKE_EXE_LINKER_FLAGS_INIT -Wl,--allow-shlib-undefined)  # of ONNX Runtime, which stands outside of the root
