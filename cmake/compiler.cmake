# C++20; warnings are errors for developers; sanitizers by QUASAR_SANITIZE.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

add_library(quasar_flags INTERFACE)
# No contraction into fused multiply-add: the same sums on every machine.
target_compile_options(quasar_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  target_compile_options(quasar_flags INTERFACE -Wno-restrict)  # false findings in std::string's operator+ (GCC bug 105651)
  # Below 600 MB the compiler does not look for memory to use again: a twelfth of its time.
  target_compile_options(quasar_flags INTERFACE --param=ggc-min-expand=200 --param=ggc-min-heapsize=614400)
  if(QUASAR_UNITY)
    # Of the same kind: GCC does not know any more that a header is the system's where it is precompiled.
    target_compile_options(quasar_flags INTERFACE -Wno-stringop-overflow -Wno-array-bounds)
  endif()
endif()
if(QUASAR_DEVELOPER AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  target_compile_options(quasar_flags INTERFACE -Werror)  # every compiler warns of other things; the code is kept free of GCC's
endif()
if(QUASAR_SANITIZE)
  # Halts at the first finding. Quasar's own code only: the libraries it uses are not instrumented.
  target_compile_options(quasar_flags INTERFACE -fsanitize=${QUASAR_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # GCC's flow analysis sees ghosts in instrumented templates (std::regex).
    target_compile_options(quasar_flags INTERFACE -Wno-maybe-uninitialized)
  endif()
  target_link_options(quasar_flags INTERFACE -fsanitize=${QUASAR_SANITIZE})
endif()

# A linker of many threads, where there is one: a third of a second instead of several.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND NOT CMAKE_CROSSCOMPILING)
  find_program(MOLD mold)
  mark_as_advanced(MOLD)
  if(MOLD)
    add_link_options(-fuse-ld=mold)
  endif()
endif()
