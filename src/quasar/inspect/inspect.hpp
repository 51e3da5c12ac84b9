// What a model is, and what quantization would do to it on each target; of a finished model, whether it keeps a target's rules.
#pragma once

#include <filesystem>
#include <string>

#include "quasar/base/api.hpp"
#include "quasar/base/json.hpp"

namespace quasar::tune {

struct InspectOptions {
  std::filesystem::path model;
  std::string target = {};               // whose answer stands in quantized and why; "": ort_cpu
  Json words = {};                       // a configuration (v1's form too); null: the scheme that suits each target
  std::string called = "configuration";  // what to call it
  Json data = {};                        // samples, as data::open takes them, that tell more of the head; null: none
};

// {model, bytes, opset, parameters, inputs, outputs, head (eval/head.hpp), operators: {type: count}, nodes: [{name, type,
// quantized, why, as, stands_for, targets: {name: {quantized, why, as}}}], folded: [{name, type, into, what}]}, of the graph
// after clean-up. `targets` holds the answers of all targets, each under its scheme (schemes: {target: scheme}); with a
// configuration it is the same for all (`called`), and what its rules and overrides say of a node stands in its answer. `folded`:
// nodes of the model as it came that clean-up took into others (their names are in stands_for there), into constants, or away. A
// finished model under a target with rules has {rules: {target, layers, violations: [{node, rule, what, figures}]}} instead of
// `nodes`, under another one {operators, processors: processors.hpp}. Throws Error for a model that cannot be treated, and for a
// configuration that is wrong for it.
QUASAR_API Json inspect(const InspectOptions& options);

// The scheme that suits a target.
QUASAR_API std::string usual_scheme(const std::string& target);

}  // namespace quasar::tune
