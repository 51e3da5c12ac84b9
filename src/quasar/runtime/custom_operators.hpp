// Operators that ONNX Runtime does not have: shared libraries of others, which it calls.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "quasar/base/api.hpp"

namespace quasar::runtime {

// Makes the operators of a shared library known to all sessions that this process opens from now on; a library that is known
// already changes nothing. It exports RegisterCustomOps(OrtSessionOptions*, const OrtApiBase*), as libraries for ONNX Runtime's
// register_custom_ops_library do. Throws Error with the path and ONNX Runtime's reason. Runs code of the library.
QUASAR_API void load_custom_operators(const std::filesystem::path& library);

// Absolute paths, in the order in which they were loaded.
std::vector<std::string> custom_operator_libraries();

}  // namespace quasar::runtime
