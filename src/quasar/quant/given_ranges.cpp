#include "quasar/quant/given_ranges.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/quant/codes/scheme_words.hpp"

namespace quasar::quant {
namespace {

constexpr std::array scale_types{"Float32", "PowerOf2", "Int16"};
const std::vector<std::string> known_keys{"min",       "max",        "scale",    "zero_point", "type",
                                          "symmetric", "scale_type", "adjusted", "float"};

// What a value in float covers.
constexpr stats::Range everything{-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};

double number(const std::string& where, const Json& entry, const char* key) {
  const Json& value = entry.at(key);
  if (value.is_number() && std::isfinite(static_cast<float>(value.get<double>()))) return value.get<double>();
  throw Error(where + ": " + key + " is " + value.dump() + ", but must be a number that float32 holds");
}

// A scale is the one that a range gives, but for its last bits.
bool is_near(double scale, double wanted) {
  return std::abs(scale - wanted) <= 1e-6 * wanted;
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
  for (const char* key : {"symmetric", "adjusted"}) {
    if (entry.contains(key) && !entry.at(key).is_boolean())
      throw Error(where + ": " + key + " is " + entry.at(key).dump() + ", but must be true or false");
  }
}

// A key of the scheme that the entry says it was made for, where this is another one; "": the same, as far as it says. `stored`:
// the type in which the target has the codes.
std::string differing_key(const Json& entry, const Scheme& scheme, DataType stored) {
  const Json wanted = scheme_of(scheme);
  for (const auto& [key, value] : wanted.items()) {
    if (entry.contains(key) && entry.at(key) != value && (key != "type" || entry.at(key) != name_of(stored))) return key;
  }
  return "";
}

// Signed codes may be stored without a sign (ONNX Runtime's CPU), the zero point moved with them.
DataType stored_type(const Json& entry, const Scheme& scheme) {
  for (const DataType type : {DataType::uint8, DataType::uint16}) {
    if (entry.contains("type") && entry.at("type") == name_of(type) && bits_of(type) == bits_of(scheme.type)) return type;
  }
  return scheme.type;
}

// The scheme that the entry says it was made for; nullopt unless it says all of it.
std::optional<Scheme> named_scheme(const Json& entry) {
  if (!entry.contains("type") || !entry.contains("symmetric") || !entry.contains("scale_type")) return std::nullopt;
  Scheme scheme;
  scheme.symmetric = entry.at("symmetric").get<bool>();
  for (const DataType type : {DataType::int8, DataType::uint8, DataType::int16, DataType::uint16}) {
    if (entry.at("type") == name_of(type)) scheme.type = type;
  }
  for (size_t k = 0; k < scale_types.size(); k++) {
    if (entry.at("scale_type") == scale_types.at(k)) scheme.scale_type = static_cast<ScaleType>(k);
  }
  return scheme;
}

void check_agreement(const std::string& where, const Json& entry, const stats::Range& range) {
  const auto scheme = named_scheme(entry);
  if (!entry.contains("scale")) return;
  const double scale = number(where, entry, "scale");
  if (!scheme || entry.value("adjusted", false)) return;
  const ScaleAndZero made = scale_for(range, scheme->type, scheme->symmetric, scheme->scale_type);
  const auto wanted = static_cast<double>(made.scale);
  const bool same_zero = !entry.contains("zero_point") || entry.at("zero_point") == made.zero_point;
  if (is_near(scale, wanted) && same_zero) return;
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
    check_agreement(where, entry, *given.range);
    return given;
  }
  if (!entry.contains("scale")) throw Error(where + " has neither min and max nor a scale, nor float: true");
  const DataType type = stored_type(entry, scheme);
  if (const std::string key = differing_key(entry, scheme, type); !key.empty())
    throw Error(where + ": " + key + " is " + entry.at(key).dump() + ", but activations have " +
                scheme_of(scheme).at(key).dump() + ": a scale means something else there; give min and max");
  given.scale = number(where, entry, "scale");
  if (!std::isnormal(static_cast<float>(given.scale)) || given.scale < 0)
    throw Error(where + ": scale is " + entry.at("scale").dump() + ", but must be a positive number");
  const Grid grid = grid_of(type, false);
  const double zero_point = entry.contains("zero_point") ? number(where, entry, "zero_point") : 0;
  if (zero_point != std::nearbyint(zero_point) || zero_point < static_cast<double>(grid.low) ||
      zero_point > static_cast<double>(grid.high))
    throw Error(where + ": zero_point is " + entry.at("zero_point").dump() + ", but must be a code of " +
                std::string(name_of(type)));
  given.zero_point = static_cast<int32_t>(zero_point) + static_cast<int32_t>(grid_of(scheme.type, false).low - grid.low);
  return given;
}

// Whether the target may have codes of one type in the other: signed ones without a sign.
bool may_be_stored(DataType type, DataType stored) {
  return type == stored || (type == DataType::int8 && stored == DataType::uint8) ||
         (type == DataType::int16 && stored == DataType::uint16);
}

// The codes that the value's range is for, before rounding chose again: those of its pair or, where that casts, those in which
// some of its readers have it; nullptr: it has none of its own.
const QuantParams* resolved_codes(const std::string& name, const Plan& plan) {
  if (const auto pair = plan.values.find(name); pair != plan.values.end() && is_integer(pair->second.type)) return &pair->second;
  const auto readers = plan.conversions.find(name);
  if (readers == plan.conversions.end()) return nullptr;
  const auto has_codes = [](const auto& reader) { return is_integer(reader.second.type); };
  const auto reader = std::ranges::find_if(readers->second, has_codes);
  return reader == readers->second.end() ? nullptr : &reader->second;
}

// The same as the model has them.
const QuantParams* codes_of_value(const std::string& name, const Plan& plan) {
  const auto refined = plan.refined.find(name);
  return refined == plan.refined.end() ? resolved_codes(name, plan) : &refined->second;
}

// The scheme of a value with a range of its own: the override's, or the one of the configuration and its rules whose type the
// codes have and which makes the model's scale of the range (the first such where a target moved the scale).
Scheme scheme_of_value(const std::string& name, const Plan& plan, const Config& config) {
  std::vector<Scheme> all{config.activation};
  for (const auto& rule : config.layers) {
    if (!rule.in_float) all.push_back(rule.activation);
  }
  if (config.mixed) all.push_back(config.mixed->activation);
  if (const auto own = config.tensors.find(name); own != config.tensors.end()) {
    for (auto& scheme : all) scheme = overridden(scheme, own->second);
  }
  std::erase_if(all, [](const Scheme& scheme) { return !is_integer(scheme.type); });
  const QuantParams* params = resolved_codes(name, plan);  // refined ones tell nothing of the scheme
  if (params != nullptr) std::erase_if(all, [&](const Scheme& scheme) { return !may_be_stored(scheme.type, params->type); });
  if (all.empty()) return config.activation;
  if (params == nullptr) return all.front();
  const auto makes = [&](const Scheme& scheme) {
    const ScaleAndZero made = scale_for(plan.ranges.at(name), params->type, scheme.symmetric, scheme.scale_type);
    return is_near(params->scales.front(), made.scale) && params->zero_points.front() == made.zero_point;
  };
  const auto found = std::ranges::find_if(all, makes);
  return found == all.end() ? all.front() : *found;
}

// The range of which the scheme makes these parameters.
stats::Range range_of_grid(float scale, int32_t zero_point, DataType type, bool symmetric) {
  const Grid grid = grid_of(type, symmetric);
  const auto step = static_cast<double>(scale);
  const auto end = [&](double code) { return step * (code - static_cast<double>(zero_point)); };
  const double high = end(static_cast<double>(grid.high));
  return {symmetric ? -high : end(static_cast<double>(grid.low)), high};
}

}  // namespace

Json ranges_json(const Plan& plan, const Config& config) {
  Json tensors = Json::object();
  for (const auto& [name, observed] : plan.ranges) {
    stats::Range range = observed;
    const Scheme scheme = scheme_of_value(name, plan, config);
    const QuantParams* params = codes_of_value(name, plan);
    const DataType type = params != nullptr ? params->type : scheme.type;
    if (!is_integer(type)) continue;
    ScaleAndZero made = scale_for(range, type, scheme.symmetric, scheme.scale_type);
    const float scale = params != nullptr ? params->scales.front() : made.scale;
    const int32_t zero_point = params != nullptr ? params->zero_points.front() : made.zero_point;
    if (params != nullptr && plan.refined.contains(name)) {  // what was observed is not what the model has
      range = range_of_grid(scale, zero_point, type, scheme.symmetric);
      made = scale_for(range, type, scheme.symmetric, scheme.scale_type);
    }
    Json entry{{"min", range.low}, {"max", range.high}, {"scale", scale}, {"zero_point", zero_point}};
    entry.update(scheme_of(scheme));
    entry["type"] = name_of(type);
    if (!is_near(scale, made.scale) || zero_point != made.zero_point) entry["adjusted"] = true;
    tensors[name] = std::move(entry);
  }
  for (const auto& name : plan.in_float) tensors[name] = {{"float", true}};
  return {{"quasar", QUASAR_VERSION}, {"tensors", std::move(tensors)}};
}

std::map<std::string, stats::Given> parse_ranges(const Json& file, const std::vector<std::string>& known,
                                                 const Scheme& activation) {
  if (!file.is_object() || !file.contains("tensors") || !file.at("tensors").is_object())
    throw Error(
        "a file of ranges is a mapping with the key 'tensors', which maps names to {min, max}, {scale, zero_point} or {float: "
        "true}");
  std::map<std::string, stats::Given> out;
  for (const auto& [name, entry] : file.at("tensors").items()) {
    if (std::ranges::find(known, name) == known.end())
      throw Error("ranges: the model has no tensor '" + name + "' that could be quantized" + did_you_mean(name, known));
    out[name] = parse_entry("ranges: tensor '" + name + "'", entry, activation);
  }
  return out;
}

std::map<std::string, stats::Given> parse_ranges(const Json& file, const graph::Model& model, const Scheme& activation) {
  return parse_ranges(file, observed_values(model), activation);
}

bool names_others(const Json& file, const std::vector<std::string>& known) {
  if (!file.is_object() || !file.contains("tensors") || !file.at("tensors").is_object()) return false;
  const auto& tensors = file.at("tensors").items();
  return std::any_of(tensors.begin(), tensors.end(),
                     [&](const auto& item) { return std::ranges::find(known, item.key()) == known.end(); });
}

bool stays_in_float(const stats::Given& given) {
  return given.range == everything;
}

namespace {

// What became of an entry that is used; "": what it says.
std::string note_on_scale(const std::string& owner, double wanted, const QuantParams& params) {
  const float scale = params.scales.front();
  if (is_near(wanted, scale)) return "";
  return owner + ": scale " + Json(wanted).dump() + " became " + Json(scale).dump() +
         ": it follows other tensors, or the limits of the target";
}

}  // namespace

std::vector<std::string> notes_on_ranges(const Json& file, const std::map<std::string, stats::Given>& given, const Plan& plan,
                                         const Config& config) {
  std::vector<std::string> notes;
  size_t others = 0;
  std::string example;
  for (const auto& [value, range] : given) {
    if (stays_in_float(range)) continue;
    const std::string owner = "ranges: '" + value + "'";
    if (range.range ? !plan.ranges.contains(value) : !plan.values.contains(value)) {
      notes.push_back(owner + " is not used: it follows another tensor, or stays in float here");
      continue;
    }
    const Json& entry = file.at("tensors").at(value);
    const bool says_scale = !range.range || entry.value("adjusted", false);
    const QuantParams* codes = codes_of_value(value, plan);
    if (says_scale && entry.contains("scale") && codes != nullptr) {
      const std::string note = note_on_scale(owner, entry.at("scale").get<double>(), *codes);
      if (!note.empty()) notes.push_back(note);
    }
    if (!range.range) continue;
    const Scheme scheme = scheme_of_value(value, plan, config);
    const std::string key = differing_key(entry, scheme, codes == nullptr ? scheme.type : codes->type);
    if (key.empty()) continue;
    if (others++ == 0)
      example = " ('" + value + "': " + key + " " + entry.at(key).dump() + ", here " + scheme_of(scheme).at(key).dump() + ")";
  }
  if (others > 0)
    notes.push_back("ranges: " + std::to_string(others) + " entries were made for another scheme" + example +
                    "; their min and max are used, and make other scales here");
  return notes;
}

}  // namespace quasar::quant
