// What runs models, by name.
#include <array>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/runtime/device.hpp"
#include "quasar/runtime/openvino.hpp"
#include "quasar/runtime/session.hpp"

namespace quasar::runtime {
namespace {

constexpr std::array libraries{Library::onnxruntime, Library::openvino};

}  // namespace

std::string name_of(Library library) {
  constexpr std::array names{"onnxruntime", "openvino"};
  return names.at(static_cast<size_t>(library));
}

Library parse_library(const Json& word) {
  std::vector<std::string> names;
  for (const Library one : libraries) {
    names.push_back(name_of(one));
    if (word.is_string() && normalized(word.get<std::string>()) == normalized(names.back())) return one;
  }
  throw Error("runtime is " + word.dump() + ", but must be one of " + joined(names) +
              (word.is_string() ? did_you_mean(word.get<std::string>(), names) : ""));
}

std::string obstacle_to(Library library) {
  return library == Library::onnxruntime ? "" : openvino::obstacle();
}

Json facts_of(const Device& device) {
  if (device.library == Library::onnxruntime)
    return {{"library", "ONNX Runtime"}, {"version", version()}, {"device", device.name()}};
  return {{"library", "OpenVINO"}, {"version", openvino::version()}, {"device", "CPU"}};
}

}  // namespace quasar::runtime
