#include "quasar/base/as_written.hpp"

#include <cmath>

namespace quasar {

std::string as_written(const Json& value) {
  if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    const double number = value.get<double>();
    return std::isnan(number) ? ".nan" : number > 0 ? ".inf" : "-.inf";
  }
  if (!value.is_structured()) return value.dump();
  std::string out;
  for (const auto& [key, item] : value.items())
    out += (out.empty() ? "" : ",") + (value.is_object() ? Json(key).dump() + ":" : "") + as_written(item);
  return value.is_object() ? "{" + out + "}" : "[" + out + "]";
}

}  // namespace quasar
