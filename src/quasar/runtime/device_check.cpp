#include <onnxruntime_cxx_api.h>

#include <algorithm>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/runtime/device.hpp"
#include "quasar/runtime/execution_provider.hpp"
#include "quasar/runtime/messages.hpp"

namespace quasar::runtime {
namespace {

// Why sessions cannot be opened on the device; "": they can.
std::string obstacle(const Device& device) {
  const std::string& provider = execution_providers().at(device.kind);
  const std::vector<std::string> built_in = Ort::GetAvailableProviders();
  if (std::ranges::find(built_in, provider) == built_in.end()) return "ONNX Runtime was built without " + provider;
  try {
    Ort::SessionOptions options;
    append_provider(options, device);
  } catch (const Ort::Exception& e) {
    const std::string text = shortened(e.what()), marker = " FAIL : ";
    if (text.find("load library") != std::string::npos) return "this ONNX Runtime comes without the libraries of " + provider;
    const size_t at = text.rfind(marker);
    return at == std::string::npos ? text : text.substr(at + marker.size());
  }
  return "";
}

}  // namespace

std::vector<std::string> device_kinds() {
  std::vector<std::string> out;
  for (const auto& [kind, provider] : execution_providers()) {
    if (obstacle({kind, 0}).empty()) out.push_back(kind);
  }
  return out;
}

void check_device(const Device& device) {
  if (const std::string why = obstacle_to(device.library); !why.empty())
    throw Error("runtime is " + name_of(device.library) + ", but " + why);
  if (device.library != Library::onnxruntime) return;
  const std::string why = obstacle(device);
  if (why.empty()) return;
  throw Error("search_devices: " + device.name() + " cannot be used (" + why + "); this ONNX Runtime has " +
              joined(device_kinds()) + ": use it, or bring in a build for the device as docs/search.md#devices says");
}

}  // namespace quasar::runtime
