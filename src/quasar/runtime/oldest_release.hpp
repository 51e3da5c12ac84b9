// The oldest ONNX Runtime that loads a model.
#pragma once

#include <string>
#include <vector>

#include "quasar/base/json.hpp"
#include "quasar/graph/model.hpp"

namespace quasar::runtime {

struct OldestRelease {
  std::string release;                    // "1.17"
  std::string because;                    // what asks for it: "opset 17", "com.microsoft QuantizeLinear of 16 bits"
  std::vector<std::string> unknown = {};  // what no release is known for: a newer one may be needed
};

// From the model's operator sets, its IR version, ONNX Runtime's own operators and types of constants, by a table that was found
// by loading such models in each release from 1.7 to 1.32 (bench/oldest_runtime.py). Operators within branches are not looked at.
OldestRelease oldest_release(const graph::Model& model);

// {onnxruntime, because, opset, ir_version, unknown where there is some}.
Json needs_json(const graph::Model& model);
// The same in a line: "ONNX Runtime 1.17 or newer (opset 17; com.microsoft QuantizeLinear of 16 bits)".
std::string needs_in_words(const Json& needs);

}  // namespace quasar::runtime
