// The type, in the file, of all that is not in codes: the key high_precision_dtype.
#pragma once

#include "quasar/base/json.hpp"
#include "quasar/graph/tensor.hpp"

namespace quasar::quant {

// "fp32" (float32) or "fp16" (float16). Throws Error for other words.
DataType parse_high_precision(const Json& value);
std::string name_of_high_precision(DataType type);

}  // namespace quasar::quant
