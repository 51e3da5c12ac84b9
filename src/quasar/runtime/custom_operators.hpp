// Operators that ONNX Runtime does not have: shared libraries of others, which it calls.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace quasar::runtime {

// load_custom_operators() (runtime/session.hpp).
void add_operator_library(const std::filesystem::path& library);

// Those that were added: absolute paths, in their order.
std::vector<std::string> custom_operator_libraries();

}  // namespace quasar::runtime
