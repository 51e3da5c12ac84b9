#include "quasar/base/yaml.hpp"

namespace quasar {
namespace {

// Mappings and lists of mappings in block style; everything below, and all scalars, as JSON, which YAML contains.
void write(const Json& value, const std::string& indent, std::string& out) {
  for (const auto& [key, member] : value.items()) {
    out += indent + Json(key).dump() + ":";
    if (member.is_object() && !member.empty()) {
      out += "\n";
      write(member, indent + "  ", out);
    } else {
      out += " " + member.dump() + "\n";
    }
  }
}

}  // namespace

std::string to_yaml(const Json& value) {
  if (!value.is_object() || value.empty()) return value.dump() + "\n";
  std::string out;
  write(value, "", out);
  return out;
}

}  // namespace quasar
