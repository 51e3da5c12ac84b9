#include "quasar/data/class_names.hpp"

#include <charconv>
#include <sstream>

#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"
#include "quasar/base/yaml.hpp"
#include "quasar/data/options.hpp"

namespace quasar::data {
namespace {

// With what is no UTF-8 replaced, as result.json and reports need it.
std::string in_utf8(const std::string& text) {
  return Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace)).get<std::string>();
}

int64_t class_in(const std::string& key, const std::string& where) {
  int64_t value = 0;
  const auto [end, code] = std::from_chars(key.data(), key.data() + key.size(), value);
  if (code == std::errc{} && end == key.data() + key.size()) return value;
  throw Error(where + ": '" + key + "' is not the number of a class; a mapping is {0: name, 1: name ...}");
}

std::string name_in(const Json& value, const std::string& where, int64_t of) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number()) return value.dump();
  throw Error(where + ": the name of class " + std::to_string(of) + " is " + value.dump() + ", but must be a text");
}

// A list of names, or {class: name}.
ClassNames names_in(const Json& value, const std::string& where) {
  if (!value.is_array() && !value.is_object())
    throw Error(where + " is " + value.dump() +
                ", but must be a list of names, {class: name}, or a file with one of these or with one name per line");
  ClassNames out;
  if (value.is_array()) {
    for (const Json& name : value) {
      const auto next = static_cast<int64_t>(out.size());
      out[next] = name_in(name, where, next);
    }
  } else {
    for (const auto& [key, name] : value.items()) {
      const int64_t of = class_in(key, where);
      out[of] = name_in(name, where, of);
    }
  }
  if (out.empty()) throw Error(where + " holds no names");
  return out;
}

ClassNames names_in_lines(std::string text, const std::string& where) {
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
  std::istringstream lines(text);
  ClassNames out;
  int64_t next = 0, last = -1;
  for (std::string line; std::getline(lines, line); ++next) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t')) line.pop_back();
    if (line.empty()) continue;
    if (last + 1 != next)
      throw Error(where + ", line " + std::to_string(last + 2) + ": is empty, but every line is the name of a class");
    if (in_utf8(line) != line) throw Error(where + ", line " + std::to_string(next + 1) + ": is not UTF-8 text");
    out[last = next] = line;
  }
  if (out.empty()) throw Error(where + " holds no names");
  return out;
}

ClassNames names_in_file(const std::filesystem::path& file) {
  const std::string where = "'" + file.string() + "'", extension = file.extension().string();
  const bool structured = extension == ".yaml" || extension == ".yml" || extension == ".json";
  return structured ? names_in(read_yaml(file), where) : names_in_lines(read_file(file), where);
}

}  // namespace

std::string class_name_of(const Dataset& samples, int64_t model_class) {
  const auto* named = dynamic_cast<const Named*>(&samples);
  return named == nullptr ? "" : named->class_name(model_class);
}

ClassNames read_class_names(const Options& options, const std::filesystem::path& base, const std::filesystem::path& folder,
                            const std::string& owner, ClassNames own) {
  if (options.has("class_names")) {
    const Json& given = options.json("class_names");
    own = given.is_string() && given != "" ? names_in_file(find_labels(given.get<std::string>(), base, folder))
                                           : names_in(given, owner + ": option 'class_names'");
  }
  const int64_t offset = integer_option(options, "label_offset", 0);
  ClassNames out;
  for (auto& [label, name] : own) out[with_offset(label, offset)] = in_utf8(name);
  return out;
}

}  // namespace quasar::data
