#include "quasar/quant/given_ranges.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"

namespace quasar::quant {
namespace {

constexpr std::array scale_types{"Float32", "PowerOf2", "Int16"};
const std::vector<std::string> known_keys{"min", "max", "scale", "zero_point", "type", "symmetric", "scale_type", "float"};

// What a value in float covers.
constexpr stats::Range everything{-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};

double number(const std::string& where, const Json& entry, const char* key) {
  const Json& value = entry.at(key);
  if (value.is_number() && std::isfinite(static_cast<float>(value.get<double>()))) return value.get<double>();
  throw Error(where + ": " + key + " is " + value.dump() + ", but must be a number that float32 holds");
}

Json scheme_of(const Scheme& scheme) {
  return {{"type", name_of(scheme.type)},
          {"symmetric", scheme.symmetric},
          {"scale_type", scale_types.at(static_cast<size_t>(scheme.scale_type))}};
}

// The scheme that the entry says it was made for must be one.
void check_scheme(const std::string& where, const Json& entry) {
  const auto named = [&](const char* key, const std::vector<std::string>& known) {
    if (!entry.contains(key)) return;
    const std::string given = entry.at(key).is_string() ? entry.at(key).get<std::string>() : "";
    if (std::ranges::find(known, given) == known.end())
      throw Error(where + ": " + key + " is " + entry.at(key).dump() + ", but must be one of " + joined(known) +
                  did_you_mean(given, known));
  };
  named("type", {"int8", "uint8", "int16", "uint16"});
  named("scale_type", {scale_types.begin(), scale_types.end()});
  if (entry.contains("symmetric") && !entry.at("symmetric").is_boolean())
    throw Error(where + ": symmetric is " + entry.at("symmetric").dump() + ", but must be true or false");
}

// A key of the scheme that the entry says it was made for, where this is another one; "": the same, as far as it says.
std::string differing_key(const Json& entry, const Scheme& scheme) {
  const Json wanted = scheme_of(scheme);
  for (const auto& [key, value] : wanted.items()) {
    if (entry.contains(key) && entry.at(key) != value) return key;
  }
  return "";
}

// Whether the entry was made for this scheme.
bool is_made_for(const Json& entry, const Scheme& scheme) {
  const Json wanted = scheme_of(scheme);
  for (const auto& [key, value] : wanted.items()) {
    if (!entry.contains(key) || entry.at(key) != value) return false;
  }
  return true;
}

void check_agreement(const std::string& where, const Json& entry, const stats::Range& range, const Scheme& scheme) {
  if (!entry.contains("scale") || !is_made_for(entry, scheme)) return;
  const ScaleAndZero made = scale_for(range, scheme.type, scheme.symmetric, scheme.scale_type);
  const auto wanted = static_cast<double>(made.scale);
  const bool same_zero = !entry.contains("zero_point") || entry.at("zero_point") == made.zero_point;
  if (std::abs(number(where, entry, "scale") - wanted) <= 1e-6 * wanted && same_zero) return;
  throw Error(where + ": min and max give scale " + Json(wanted).dump() + " and zero point " + std::to_string(made.zero_point) +
              ", but scale and zero_point say otherwise; take out those that should not hold");
}

stats::Given parse_entry(const std::string& where, const Json& entry, const Scheme& scheme) {
  if (!entry.is_object()) throw Error(where + " is " + entry.dump() + ", but must be a mapping");
  for (const auto& [key, value] : entry.items()) {
    if (std::ranges::find(known_keys, key) == known_keys.end())
      throw Error(where + ": unknown key '" + key + "'; known: " + joined(known_keys) + did_you_mean(key, known_keys));
  }
  stats::Given given;
  if (entry.contains("float")) {
    if (entry != Json{{"float", true}}) throw Error(where + ": float must be true, and alone: the value stays in float");
    given.range = everything;
    return given;
  }
  check_scheme(where, entry);
  if (entry.contains("min") || entry.contains("max")) {
    if (!entry.contains("min") || !entry.contains("max")) throw Error(where + ": min and max are given together or not at all");
    given.range = stats::Range{number(where, entry, "min"), number(where, entry, "max")};
    if (given.range->low > given.range->high) throw Error(where + ": min is greater than max");
    check_agreement(where, entry, *given.range, scheme);
    return given;
  }
  if (!entry.contains("scale")) throw Error(where + " has neither min and max nor a scale, nor float: true");
  if (const std::string key = differing_key(entry, scheme); !key.empty())
    throw Error(where + ": " + key + " is " + entry.at(key).dump() + ", but activations have " +
                scheme_of(scheme).at(key).dump() + ": a scale means something else there; give min and max");
  given.scale = number(where, entry, "scale");
  if (!std::isnormal(static_cast<float>(given.scale)) || given.scale < 0)
    throw Error(where + ": scale is " + entry.at("scale").dump() + ", but must be a positive number");
  const Grid grid = grid_of(scheme.type, false);
  const double zero_point = entry.contains("zero_point") ? number(where, entry, "zero_point") : 0;
  if (zero_point != std::nearbyint(zero_point) || zero_point < static_cast<double>(grid.low) ||
      zero_point > static_cast<double>(grid.high))
    throw Error(where + ": zero_point is " + entry.at("zero_point").dump() + ", but must be a code of " +
                std::string(name_of(scheme.type)));
  given.zero_point = static_cast<int32_t>(zero_point);
  return given;
}

}  // namespace

Json ranges_json(const Plan& plan, const Config& config) {
  const Scheme& scheme = config.activation;
  Json tensors = Json::object();
  for (const auto& [name, range] : plan.ranges) {
    const ScaleAndZero made = scale_for(range, scheme.type, scheme.symmetric, scheme.scale_type);
    Json entry{{"min", range.low}, {"max", range.high}, {"scale", made.scale}, {"zero_point", made.zero_point}};
    entry.update(scheme_of(scheme));
    tensors[name] = std::move(entry);
  }
  for (const auto& name : plan.in_float) tensors[name] = {{"float", true}};
  return {{"quasar", QUASAR_VERSION}, {"tensors", std::move(tensors)}};
}

std::map<std::string, stats::Given> parse_ranges(const Json& file, const graph::Model& model, const Scheme& activation) {
  if (!file.is_object() || !file.contains("tensors") || !file.at("tensors").is_object())
    throw Error(
        "a file of ranges is a mapping with the key 'tensors', which maps names to {min, max}, {scale, zero_point} or {float: "
        "true}");
  const std::vector<std::string> known = observed_values(model);
  std::map<std::string, stats::Given> out;
  for (const auto& [name, entry] : file.at("tensors").items()) {
    if (std::ranges::find(known, name) == known.end())
      throw Error("ranges: the model has no tensor '" + name + "' that could be quantized" + did_you_mean(name, known));
    out[name] = parse_entry("ranges: tensor '" + name + "'", entry, activation);
  }
  return out;
}

bool stays_in_float(const stats::Given& given) {
  return given.range == everything;
}

std::vector<std::string> notes_on_ranges(const Json& file, const std::map<std::string, stats::Given>& given, const Plan& plan,
                                         const Scheme& activation) {
  std::vector<std::string> notes;
  size_t others = 0;
  std::string example;
  for (const auto& [value, range] : given) {
    if (stays_in_float(range)) continue;
    const std::string owner = "ranges: '" + value + "'";
    const auto params = plan.values.find(value);
    if (range.range ? !plan.ranges.contains(value) : params == plan.values.end())
      notes.push_back(owner + " is not used: it follows another tensor, or stays in float here");
    else if (!range.range && params->second.scales.front() != static_cast<float>(range.scale))
      notes.push_back(owner + ": scale " + Json(range.scale).dump() + " became " + Json(params->second.scales.front()).dump() +
                      ": it follows other tensors, or the limits of the target");
    const Json& entry = file.at("tensors").at(value);
    const std::string key = differing_key(entry, activation);
    if (!range.range || key.empty()) continue;
    if (others++ == 0)
      example = " ('" + value + "': " + key + " " + entry.at(key).dump() + ", here " + scheme_of(activation).at(key).dump() + ")";
  }
  if (others > 0)
    notes.push_back("ranges: " + std::to_string(others) + " entries were made for another scheme" + example +
                    "; their min and max are used, and make other scales here");
  return notes;
}

}  // namespace quasar::quant
