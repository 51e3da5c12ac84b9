#include "quasar/job/capability_words.hpp"

#include <algorithm>
#include <array>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"

namespace quasar::tune {
namespace {

struct Word {
  const char* theirs;
  const char* ours;
};
constexpr std::array<Word, 5> types = {
    {{"int8", "Int8Spec"}, {"uint8", "UInt8Spec"}, {"int16", "Int16Spec"}, {"uint16", "UInt16Spec"}, {"xint8", "XInt8Spec"}}};
constexpr std::array<Word, 4> methods = {
    {{"minmax", "MinMax"}, {"kl", "Entropy"}, {"percentile", "Percentile"}, {"mse", "MinMSE"}}};

template <size_t N>
std::string ours(const std::array<Word, N>& words, const std::string& theirs) {
  for (const auto& word : words) {
    if (theirs == word.theirs) return word.ours;
  }
  throw Error("no word for " + theirs);
}

// Type and parameters of one side.
std::pair<Json, Json> side_of(const Json& words) {
  return {Json(ours(types, words["dtype"].get<std::string>())),
          Json{{"symmetric", words["scheme"] == "sym"},
               {"calibration_method", ours(methods, words["algorithm"].get<std::string>())}}};
}

Json weight_params_of(const Json& weight, Json params) {
  params["quant_granularity"] = weight["granularity"] == "per_channel" ? "Channel" : "Tensor";
  return params;
}

const std::vector<std::string> sides{"activation", "weight"}, items_of_a_side{"algorithm", "dtype", "granularity", "scheme"};

bool is_float(const Json& word) {
  return std::ranges::any_of(float_words(), [&](const FloatWord& known) { return word == known.theirs; });
}

constexpr std::array<std::pair<const char*, const char*>, 7> nesting = {{{"activation", "scheme"},
                                                                         {"activation", "algorithm"},
                                                                         {"activation", "granularity"},
                                                                         {"activation", "dtype"},
                                                                         {"weight", "dtype"},
                                                                         {"weight", "scheme"},
                                                                         {"weight", "algorithm"}}};

}  // namespace

Json dynamic_capability() {
  return {
      {"activation", {{"dtype", {"uint8"}}, {"scheme", {"asym"}}, {"granularity", {"per_tensor"}}, {"algorithm", {"minmax"}}}},
      {"weight",
       {{"dtype", {"int8"}}, {"scheme", {"sym"}}, {"granularity", {"per_channel", "per_tensor"}}, {"algorithm", {"minmax"}}}}};
}

Json static_rule(const Json& item) {
  auto [activation, activation_params] = side_of(item["activation"]);
  auto [weight, weight_params] = side_of(item["weight"]);
  weight_params = weight_params_of(item["weight"], weight_params);
  if (activation == "XInt8Spec") {  // symmetric, per tensor: nothing to choose but the method
    activation_params.erase("symmetric");
    weight_params = Json{{"calibration_method", weight_params["calibration_method"]}};
  }
  return {
      {"activation", activation}, {"activation_params", activation_params}, {"weight", weight}, {"weight_params", weight_params}};
}

Json dynamic_rule(const Json& item) {
  const auto [weight, params] = side_of(item["weight"]);
  return {{"activation", "DynamicSpec"}, {"weight", weight}, {"weight_params", weight_params_of(item["weight"], params)}};
}

std::vector<Json> combinations(const Json& capability) {
  std::vector<Json> out{Json{{"activation", Json::object()}, {"weight", Json::object()}}};
  const auto extend = [&](const char* side, const char* item) {
    std::vector<Json> longer;
    for (const auto& start : out) {
      for (const auto& choice : capability[side][item]) {
        if (is_float(choice)) continue;
        longer.push_back(start);
        longer.back()[side][item] = choice;
      }
    }
    out = std::move(longer);
  };
  for (const auto& [side, item] : nesting) extend(side, item);
  extend("weight", "granularity");
  return out;
}

const std::vector<FloatWord>& float_words() {
  static const std::vector<FloatWord> all{{"bf16", "bfloat16"}, {"fp16", "float16"}, {"fp32", "float32"}};
  return all;
}

void Narrowing::narrow(Json& capability, const Json& whole, const Json& wish, const std::vector<std::string>& floats,
                       const std::string& who) {
  if (!wish.is_object()) throw Error(who + " must be a mapping of weight and activation, not " + wish.dump());
  for (const auto& [side, items] : wish.items()) {
    if (!capability.contains(side)) throw Error("unknown key '" + who + "." + side + "'" + known_names(side, sides));
    if (!items.is_object()) throw Error(who + "." + side + " must be a mapping, not " + items.dump());
    for (const auto& [item, choices] : items.items()) {
      if (!capability[side].contains(item))
        throw Error("unknown key '" + who + "." + side + "." + item + "'" + known_names(item, items_of_a_side));
      keep(capability[side][item], whole[side][item], choices, item == "dtype" ? floats : std::vector<std::string>(),
           who + "." + side + "." + item);
    }
  }
}

void Narrowing::keep(Json& left, const Json& known, const Json& wished, const std::vector<std::string>& floats,
                     const std::string& where) {
  Json kept = Json::array();
  for (const auto& choice : wished.is_array() ? wished : Json::array({wished})) {
    const bool has = std::find(known.begin(), known.end(), choice) != known.end() ||
                     std::ranges::any_of(floats, [&](const std::string& word) { return choice == word; });
    if (has) {
      kept.push_back(choice);
      continue;
    }
    const std::string text =
        where + ": the target has no " + choice.dump() + " (it has " + known.dump() + "); ignored" +
        (choice.is_string() ? did_you_mean(choice.get<std::string>(), known.get<std::vector<std::string>>()) : std::string());
    if (std::ranges::find(ignored_, text) == ignored_.end()) ignored_.push_back(text);
  }
  if (!kept.empty()) left = kept;
}

}  // namespace quasar::tune
