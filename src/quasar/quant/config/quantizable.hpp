// The operator types that have a quantized form, as users name them.
#pragma once

#include <string>
#include <vector>

namespace quasar::quant {

// All of them, as ONNX spells them, sorted.
const std::vector<std::string>& quantizable_types();

// The operator type as ONNX spells it. Throws Error, with the key and the nearest type, for one that has no quantized form.
std::string quantizable_type(const std::string& key, const std::string& type);

// The operator type as ONNX spells it: one with a quantized form, or one that clean-up writes as such (Upsample,
// BatchNormalization; NodeNames tells which nodes stand for its nodes). Throws Error as quantizable_type does.
std::string selectable_type(const std::string& key, const std::string& type);

}  // namespace quasar::quant
