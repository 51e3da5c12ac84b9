#include "quasar/quant/config/high_precision.hpp"

#include <vector>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"

namespace quasar::quant {

DataType parse_high_precision(const Json& value) {
  const std::vector<std::string> names{"fp32", "fp16"};
  const std::string key = "high_precision_dtype is ";
  if (!value.is_string()) throw Error(key + value.dump() + ", but must be " + joined(names, " or "));
  const std::string name = normalized(value.get<std::string>());
  if (name == "fp32" || name == "float32") return DataType::float32;
  if (name == "fp16" || name == "float16") return DataType::float16;
  throw Error(key + "'" + value.get<std::string>() + "', but must be " + joined(names, " or ") +
              did_you_mean(value.get<std::string>(), names));
}

std::string name_of_high_precision(DataType type) {
  return type == DataType::float16 ? "fp16" : "fp32";
}

}  // namespace quasar::quant
