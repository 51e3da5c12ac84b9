#include "quasar/quant/config/named_schemes.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "quasar/base/names.hpp"
#include "quasar/quant/codes/range.hpp"
#include "quasar/quant/codes/scheme_words.hpp"
#include "quasar/quant/config/predefined.hpp"

namespace quasar::quant {
namespace {

constexpr std::array<const char*, 2> roundings{"adaround", "adaquant"};

// NAME_ADAROUND in two parts; `rounding` is "" where a name has no such end.
struct Parts {
  std::string base, rounding;
};

Parts parts_of(const std::string& name) {
  const std::string plain = normalized(name);
  for (const char* rounding : roundings) {
    if (plain.size() > std::string(rounding).size() && plain.ends_with(rounding))
      return {plain.substr(0, plain.size() - std::string(rounding).size()), rounding};
  }
  return {plain, ""};
}

std::optional<Json> words_without_rounding(const std::string& name) {
  if (const auto* item = schemes::table().try_find(name)) return schemes::table().make(item->first)->words();
  for (const auto& one : predefined()) {
    if (normalized(one.name) == normalized(name)) return one.words;
  }
  return std::nullopt;
}

// 16-bit floating point is cast: there are no codes to choose.
bool has_codes(const Json& words) {
  return is_integer(parse_scheme({{"weight", words.value("weight", Json("Int8Spec"))}}, "weight").type);
}

// Zero points that are no integers are no codes.
bool has_integer_zero_points(const Json& words) {
  const Json method = words.value("weight_params", Json::object()).value("calibration_method", Json("min_max"));
  return ranges::table().make(method.get<std::string>())->of_blocks() != BlockRange::half_quadratic;
}

// Of values in codes whose scales are known before the run, and nearest codes otherwise.
bool may_be_rounded(const Json& words) {
  return has_codes(words) && has_integer_zero_points(words) && !words.contains("algorithms") &&
         !is_dynamic(words.value("activation", Json("Int8Spec")));
}

[[noreturn]] void refuse(const std::string& name) {
  for (const auto& one : unavailable()) {
    if (normalized(one.name) == parts_of(name).base)
      throw Error("scheme '" + name + "' is not supported: " + why_no_type(one.type) + "; the nearest that runs is " +
                  one.instead);
  }
  std::vector<std::string> known;
  for (const auto& one : named_schemes()) known.push_back(one.name);
  throw Error("unknown scheme '" + name + "'; known: " + joined(known) + did_you_mean(name, scheme_names()));
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::vector<std::string> rounded_names(const std::string& name, const Json& words, bool capitals) {
  std::vector<std::string> out;
  if (!may_be_rounded(words)) return out;
  for (const std::string rounding : roundings) out.push_back(name + "_" + (capitals ? upper(rounding) : rounding));
  return out;
}

std::vector<NamedScheme> all_schemes() {
  std::vector<NamedScheme> out;
  for (const auto& [name, entry] : schemes::table().items())
    out.push_back({name, entry.help, entry.aliases, rounded_names(name, schemes::table().make(name)->words(), false)});
  for (const auto& one : predefined()) out.push_back({one.name, one.help, {}, rounded_names(one.name, one.words, true)});
  return out;
}

}  // namespace

Json words_of_scheme(const std::string& name) {
  if (auto words = words_without_rounding(name)) return *words;
  const Parts parts = parts_of(name);
  auto words = parts.rounding.empty() ? std::nullopt : words_without_rounding(parts.base);
  if (!words) refuse(name);
  if (has_codes(*words)) (*words)["algorithms"] = parts.rounding;
  return *words;
}

bool is_scheme(const std::string& name) {
  return words_without_rounding(name) || words_without_rounding(parts_of(name).base);
}

const std::vector<NamedScheme>& named_schemes() {
  static const std::vector<NamedScheme> all = all_schemes();
  return all;
}

std::vector<std::string> scheme_names() {
  std::vector<std::string> out;
  for (const auto& one : named_schemes()) {
    out.push_back(one.name);
    out.insert(out.end(), one.aliases.begin(), one.aliases.end());
    out.insert(out.end(), one.rounded.begin(), one.rounded.end());
  }
  return out;
}

std::string note_on_scheme(const std::string& name) {
  const Parts parts = parts_of(name);
  if (parts.base == "vint8")
    return "scheme " + name +
           " takes ranges from the calibration samples; Quark's takes them from random data "
           "(calib_data_reader: random)";
  const auto words = parts.rounding.empty() ? std::nullopt : words_without_rounding(parts.base);
  if (!words || has_codes(*words)) return "";
  return "scheme " + name + " is " + upper(parts.base) + ": values are cast, and there are no codes that " + parts.rounding +
         " could choose";
}

}  // namespace quasar::quant
