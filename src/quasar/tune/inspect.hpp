// What a model is, and what quantization would do to it on each target; of a finished model, whether it keeps a target's rules.
#pragma once

#include <filesystem>
#include <string>

#include "quasar/base/json.hpp"

namespace quasar::tune {

// {model, bytes, opset, parameters, inputs, outputs, operators: {type: count}, nodes: [{name, type, quantized, why, as,
// targets: {name: {quantized, why}}}]}, of the graph after clean-up. `target`: whose answer stands in quantized and why; "": the
// first of all; `targets` holds those of all targets, each under the scheme that suits it (schemes: {target: scheme}).
// A finished model (with Q/DQ) under a target with rules has {rules: {target, layers, violations: [{node, rule, what, figures}]}}
// instead of `nodes`. Throws Error for a model that cannot be treated.
Json inspect(const std::filesystem::path& model, const std::string& target);

}  // namespace quasar::tune
