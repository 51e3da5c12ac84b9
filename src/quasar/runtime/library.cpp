// What runs models, by name.
#include <array>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/runtime/device.hpp"
#include "quasar/runtime/openvino_judge.hpp"
#include "quasar/runtime/qnn_htp.hpp"
#include "quasar/runtime/session.hpp"

namespace quasar::runtime {
namespace {

constexpr std::array libraries{Library::onnxruntime, Library::openvino, Library::qnn_htp};

}  // namespace

std::string name_of(Library library) {
  constexpr std::array names{"onnxruntime", "openvino", "qnn_htp"};
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
  if (library == Library::onnxruntime) return "";
  return library == Library::openvino ? openvino::obstacle() : qnn_htp::obstacle();
}

bool runs_float(Library library) {
  return library != Library::qnn_htp;  // its compiler knows fixed shapes only, and fewer operators in float
}

bool has_times(Library library) {
  return library != Library::qnn_htp;
}

Json facts_of(const Device& device) {
  if (device.library == Library::onnxruntime)
    return {{"library", "ONNX Runtime"}, {"version", version()}, {"device", device.name()}};
  if (device.library == Library::qnn_htp) {
    Json out = qnn_htp::facts();
    out["times"] = "of ONNX Runtime on this CPU: a simulator's say nothing of the processor";
    return out;
  }
  return openvino::facts();
}

}  // namespace quasar::runtime
