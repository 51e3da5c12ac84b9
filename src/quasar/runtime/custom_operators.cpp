#include "quasar/runtime/custom_operators.hpp"

#include <onnxruntime_cxx_api.h>

#include <algorithm>
#include <filesystem>
#include <mutex>

#include "quasar/base/error.hpp"
#include "quasar/runtime/messages.hpp"

namespace quasar::runtime {
namespace {

struct Known {
  std::mutex guard;
  std::vector<std::string> libraries;
};

Known& known() {
  static Known all;
  return all;
}

}  // namespace

void add_operator_library(const std::filesystem::path& library) {
  const std::string path = std::filesystem::absolute(library).lexically_normal().string();
  if (!std::filesystem::is_regular_file(library))
    throw Error("custom_op_library: '" + library.string() + "' does not exist, or is no file");
  const std::lock_guard lock(known().guard);
  if (std::ranges::find(known().libraries, path) != known().libraries.end()) return;
  try {
    Ort::SessionOptions options;
    options.RegisterCustomOpsLibrary(path.c_str());
  } catch (const Ort::Exception& e) {
    throw Error("custom_op_library: '" + library.string() + "' cannot be used: " + shortened(e.what()));
  }
  known().libraries.push_back(path);
}

std::vector<std::string> custom_operator_libraries() {
  const std::lock_guard lock(known().guard);
  return known().libraries;
}

}  // namespace quasar::runtime
