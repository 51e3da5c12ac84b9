#include "quasar/base/yaml.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <regex>
#include <sstream>
#include <unordered_set>

#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"
#include "quasar/base/utf8.hpp"

namespace quasar {
namespace {

template <class T>
std::optional<T> number(std::string_view text, int base = 10) {
  if (text.starts_with('+')) text.remove_prefix(1);
  T value{};
  std::from_chars_result result{};
  if constexpr (std::is_integral_v<T>) {
    result = std::from_chars(text.data(), text.data() + text.size(), value, base);
  } else {
    result = std::from_chars(text.data(), text.data() + text.size(), value);
  }
  if (result.ec != std::errc{} || result.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

// A whole number as int64, or uint64 where it does not fit; nothing beyond that.
std::optional<Json> whole(std::string_view text, int base) {
  if (const auto value = number<int64_t>(text, base)) return Json(*value);
  if (const auto value = number<uint64_t>(text, base)) return Json(*value);
  return std::nullopt;
}

// A plain scalar by the core schema (YAML 1.2.2, section 10.3.2).
Json plain(const std::string& text) {
  static const std::regex decimal("[-+]?[0-9]+"), octal("0o[0-7]+"), hexadecimal("0x[0-9a-fA-F]+");
  static const std::regex real("[-+]?(\\.[0-9]+|[0-9]+(\\.[0-9]*)?)([eE][-+]?[0-9]+)?");
  static const std::map<std::string, Json> words = [] {
    const double infinity = std::numeric_limits<double>::infinity();
    std::map<std::string, Json> all;
    for (const char* word : {"", "~", "null", "Null", "NULL"}) all[word] = nullptr;
    for (const char* word : {"true", "True", "TRUE"}) all[word] = true;
    for (const char* word : {"false", "False", "FALSE"}) all[word] = false;
    for (const char* word : {".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"}) all[word] = infinity;
    for (const char* word : {"-.inf", "-.Inf", "-.INF"}) all[word] = -infinity;
    for (const char* word : {".nan", ".NaN", ".NAN"}) all[word] = std::numeric_limits<double>::quiet_NaN();
    return all;
  }();
  if (const auto word = words.find(text); word != words.end()) return word->second;
  if (text.size() > 64) return text;  // no number is that long, and std::regex recurses once per character
  std::optional<Json> value;
  if (std::regex_match(text, decimal)) value = whole(text, 10);
  if (std::regex_match(text, octal)) value = whole(std::string_view(text).substr(2), 8);
  if (std::regex_match(text, hexadecimal)) value = whole(std::string_view(text).substr(2), 16);
  if (value) return *value;
  if (std::regex_match(text, real)) {
    if (const auto number_value = number<double>(text)) return *number_value;
  }
  return text;
}

// Walks yaml-cpp's nodes. Aliases are expanded, so depth and number of values are bounded.
class Converter {
 public:
  explicit Converter(std::string source) : source_(std::move(source)) {}

  Json value(const YAML::Node& node, int depth = 0) {
    if (depth > max_depth || ++count_ > max_count) fail(node.Mark(), "nested too deeply, or too large");
    switch (node.Type()) {
      case YAML::NodeType::Scalar:
        return scalar(node);
      case YAML::NodeType::Sequence: {
        Json list = Json::array();
        for (const auto& item : node) list.push_back(value(item, depth + 1));
        return list;
      }
      case YAML::NodeType::Map:
        return mapping(node, depth);
      default:
        return nullptr;
    }
  }

  [[noreturn]] void fail(const YAML::Mark& mark, const std::string& what) const {
    const std::string line = mark.is_null() ? "" : ", line " + std::to_string(mark.line + 1);
    throw Error(source_ + line + ": " + what);
  }

 private:
  static constexpr int max_depth = 100;
  static constexpr size_t max_count = 1'000'000;

  Json scalar(const YAML::Node& node) const {
    const std::string& tag = node.Tag();
    check_text(node);
    if (tag == "?" || tag.empty()) return plain(node.Scalar());
    if (tag == "!" || tag == "tag:yaml.org,2002:str") return node.Scalar();
    fail(node.Mark(), "tag '" + tag + "' is not supported");
  }

  void check_text(const YAML::Node& node) const {
    if (!is_utf8(node.Scalar())) fail(node.Mark(), "'" + node.Scalar() + "' is not UTF-8 text");
  }

  // Json looks through all its keys for each new one; a mapping may have very many.
  Json mapping(const YAML::Node& node, int depth) {
    Json::object_t out;
    std::unordered_set<std::string> known;
    for (const auto& item : node) {
      if (!item.first.IsScalar()) fail(item.first.Mark(), "a key must be a word, not a list or a mapping");
      check_text(item.first);
      const std::string& key = item.first.Scalar();
      if (!known.insert(key).second) fail(item.first.Mark(), "key '" + key + "' is given twice");
      out.emplace_back(key, value(item.second, depth + 1));
    }
    return out;
  }

  std::string source_;
  size_t count_ = 0;
};

// Where documents begin.
class Beginnings final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override { last = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

  YAML::Mark last;
};

// Not YAML::LoadAll: of a text such as ", a" it finds one empty document after the other, without end.
std::optional<YAML::Mark> second_document(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  Beginnings seen;
  if (!parser.HandleNextDocument(seen) || !parser.HandleNextDocument(seen)) return std::nullopt;
  return seen.last;
}

}  // namespace

Json parse_yaml(const std::string& text, const std::string& source) {
  Converter converter(source);
  try {
    if (const auto second = second_document(text)) converter.fail(*second, "holds more than one YAML document");
    return converter.value(YAML::Load(text));
  } catch (const YAML::Exception& e) {
    converter.fail(e.mark, "not valid YAML: " + e.msg);
  }
}

Json read_yaml(const std::filesystem::path& path) {
  return parse_yaml(read_file(path), path.string());
}

}  // namespace quasar
