#include "quasar/data/labels.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <sstream>
#include <unordered_map>

#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"
#include "quasar/data/options.hpp"

namespace quasar::data {
namespace {

// One line's fields; "a,""b""" -> a,"b" (RFC 4180, without line breaks inside quotes).
std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += line[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

std::optional<size_t> column(const std::vector<std::string>& header, const std::string& name) {
  for (size_t i = 0; i < header.size(); ++i) {
    if (header[i] == name) return i;
  }
  return std::nullopt;
}

std::optional<int64_t> number(const std::string& text) {
  int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

}  // namespace

bool names_labels(const std::string& name) {
  return name == "labels" || name == "label" || name == "y";
}

bool has_fractions(const Tensor& array) {
  return is_floating(array.type()) &&
         std::ranges::any_of(to_doubles(array), [](double value) { return value != std::floor(value); });
}

bool has_fractions(const NpyArray& array) {
  return is_floating(array.type()) && has_fractions(array.all());
}

std::vector<int64_t> labels_of(const Tensor& array, const std::string& where) {
  const Shape& shape = array.shape();
  if (shape.empty() || shape.size() > 2 || (shape.size() == 2 && shape[1] != 1)) {
    throw Error(where + ": labels must have the shape [n], found " + to_string(shape));
  }
  std::vector<int64_t> labels;
  for (const double value : to_doubles(array)) {
    if (!(std::abs(value) < 9e15) || value != std::floor(value)) {
      throw Error(where + ": labels must be whole numbers, found " + std::to_string(value));
    }
    labels.push_back(static_cast<int64_t>(value));
  }
  return labels;
}

std::vector<int64_t> read_labels(const std::filesystem::path& csv, const std::vector<std::string>& files) {
  const auto fail = [&](const std::string& what) { throw Error("'" + csv.string() + "'" + what); };
  std::string text = read_file(csv);
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
  std::istringstream lines(text);
  std::unordered_map<std::string, int64_t> by_file;
  std::optional<size_t> file, label;
  std::string line;
  for (size_t row = 1; std::getline(lines, line); ++row) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) continue;
    const std::vector<std::string> fields = fields_of(line);
    if (!file) {
      file = column(fields, "file");
      label = column(fields, "label");
      if (!file || !label) fail(": its first line must be the header file,label; found '" + line + "'");
      continue;
    }
    const std::string at = ", line " + std::to_string(row);
    if (fields.size() <= std::max(*file, *label)) fail(at + ": a value is missing in '" + line + "'");
    const auto value = number(fields[*label]);
    if (!value) fail(at + ": the label '" + fields[*label] + "' is not a whole number");
    if (!by_file.emplace(fields[*file], *value).second) fail(at + ": file '" + fields[*file] + "' is given twice");
  }
  if (!file) fail(": is empty; its first line must be the header file,label");
  std::vector<int64_t> labels;
  for (const auto& name : files) {
    const auto found = by_file.find(name);
    if (found == by_file.end()) fail(": has no label for the sample '" + name + "'");
    labels.push_back(found->second);
  }
  return labels;
}

}  // namespace quasar::data
