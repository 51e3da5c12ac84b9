// YAML into JSON values.
#pragma once

#include <filesystem>
#include <string>

#include "quasar/base/json.hpp"

namespace quasar {

// Reads one YAML document. Plain scalars follow YAML 1.2's core schema (true/false, null, 12, 0x1F, 1e-3, .inf); quoted ones
// stay texts; mappings keep their order. An empty text is null. Throws Error that names `source` and the line: broken
// syntax, a key given twice, a key that is no scalar, more than one document.
Json parse_yaml(const std::string& text, const std::string& source);

// The same for a file; JSON is YAML too, so a .json file may be given.
Json read_yaml(const std::filesystem::path& path);

// The value as block-style YAML that read_yaml gives back equal.
std::string to_yaml(const Json& value);

}  // namespace quasar
