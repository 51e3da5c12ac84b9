#include <cmath>

#include "quasar/base/yaml.hpp"

namespace quasar {
namespace {

// As JSON, which YAML contains; but JSON has no word for numbers that are not finite.
std::string flow(const Json& value) {
  if (value.is_number_float() && !std::isfinite(value.get<double>()))
    return std::isnan(value.get<double>()) ? ".nan" : value.get<double>() > 0 ? ".inf" : "-.inf";
  if (!value.is_structured()) return value.dump();
  std::string out;
  for (const auto& [key, member] : value.items()) {
    if (!out.empty()) out += ",";
    if (value.is_object()) out += Json(key).dump() + ":";
    out += flow(member);
  }
  return value.is_object() ? "{" + out + "}" : "[" + out + "]";
}

// Mappings within each other in block style.
void write(const Json& value, const std::string& indent, std::string& out) {
  for (const auto& [key, member] : value.items()) {
    out += indent + Json(key).dump() + ":";
    if (member.is_object() && !member.empty()) {
      out += "\n";
      write(member, indent + "  ", out);
    } else {
      out += " " + flow(member) + "\n";
    }
  }
}

}  // namespace

std::string to_yaml(const Json& value) {
  if (!value.is_object() || value.empty()) return flow(value) + "\n";
  std::string out;
  write(value, "", out);
  return out;
}

}  // namespace quasar
