// What a model holds, and for every node what quantization would do with it and why.
#pragma once

#include <filesystem>
#include <string>

#include "quasar/base/json.hpp"

namespace quasar::tune {

// {model, bytes, opset, parameters, inputs, outputs, operators: {type: count}, nodes: [{name, type, quantized, why}]}, of the
// graph after clean-up, under the scheme U8S8_CHANNEL. Throws Error for a model that cannot be treated.
Json inspect(const std::filesystem::path& model, const std::string& target);

}  // namespace quasar::tune
