#include "quasar/quant/config/high_precision.hpp"

#include <map>
#include <vector>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"

namespace quasar::quant {

DataType parse_high_precision(const Json& value) {
  static const std::map<std::string, DataType> known{
      {"fp32", DataType::float32}, {"float32", DataType::float32}, {"fp16", DataType::float16}, {"float16", DataType::float16}};
  const std::vector<std::string> names{"fp32", "fp16"};
  const std::string key = "high_precision_dtype is ";
  if (!value.is_string()) throw Error(key + value.dump() + ", but must be " + joined(names, " or "));
  const std::string given = value.get<std::string>();
  const auto found = known.find(normalized(given));
  if (found == known.end())
    throw Error(key + "'" + given + "', but must be " + joined(names, " or ") + did_you_mean(given, names));
  return found->second;
}

std::string name_of_high_precision(DataType type) {
  return type == DataType::float16 ? "fp16" : "fp32";
}

}  // namespace quasar::quant
