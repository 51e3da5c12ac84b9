#include <cmath>

#include "quasar/base/yaml.hpp"

namespace quasar {
namespace {

// A key and the colon behind it. One that is written in more than 1024 characters needs a question mark before (YAML 1.2.2,
// section 7.4.2).
std::string introduced(const std::string& key, const std::string& before_colon) {
  constexpr size_t most = 1024;
  const std::string quoted = Json(key).dump();
  return quoted.size() <= most ? quoted + ":" : "? " + quoted + before_colon + ":";
}

// As JSON, which YAML contains; but JSON has no word for numbers that are not finite.
std::string flow(const Json& value) {
  if (value.is_number_float() && !std::isfinite(value.get<double>()))
    return std::isnan(value.get<double>()) ? ".nan" : value.get<double>() > 0 ? ".inf" : "-.inf";
  if (!value.is_structured()) return value.dump();
  std::string out;
  for (const auto& [key, member] : value.items()) {
    if (!out.empty()) out += ",";
    if (value.is_object()) out += introduced(key, " ");
    out += flow(member);
  }
  return value.is_object() ? "{" + out + "}" : "[" + out + "]";
}

// Mappings within each other in block style.
void write(const Json& value, const std::string& indent, std::string& out) {
  for (const auto& [key, member] : value.items()) {
    out += indent + introduced(key, "\n" + indent);
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
