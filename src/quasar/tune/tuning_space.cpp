#include "quasar/tune/tuning_space.hpp"

#include <algorithm>
#include <array>
#include <regex>
#include <set>

#include "quasar/base/error.hpp"
#include "quasar/ops/op.hpp"
#include "quasar/quant/standalone.hpp"
#include "quasar/tune/precision.hpp"

namespace quasar::tune {
namespace {

// The seed's words and ours.
struct Word {
  const char* theirs;
  const char* ours;
};
constexpr std::array<Word, 5> types = {
    {{"int8", "Int8Spec"}, {"uint8", "UInt8Spec"}, {"int16", "Int16Spec"}, {"uint16", "UInt16Spec"}, {"xint8", "XInt8Spec"}}};
constexpr std::array<Word, 4> methods = {
    {{"minmax", "MinMax"}, {"kl", "Entropy"}, {"percentile", "Percentile"}, {"mse", "MinMSE"}}};
constexpr const char* fp32 = "fp32";

template <size_t N>
std::string ours(const std::array<Word, N>& words, const std::string& theirs) {
  for (const auto& word : words) {
    if (theirs == word.theirs) return word.ours;
  }
  throw Error("no word for " + theirs);
}

Json rule_of(const Json& item) {
  const Json &activation = item["activation"], &weight = item["weight"];
  const auto side = [](const Json& words) {
    return std::pair{Json(ours(types, words["dtype"].get<std::string>())),
                     Json{{"symmetric", words["scheme"] == "sym"},
                          {"calibration_method", ours(methods, words["algorithm"].get<std::string>())}}};
  };
  auto [activation_type, activation_params] = side(activation);
  auto [weight_type, weight_params] = side(weight);
  weight_params["quant_granularity"] = weight["granularity"] == "per_channel" ? "Channel" : "Tensor";
  if (activation_type == "XInt8Spec") {  // symmetric, per tensor: nothing to choose but the method
    activation_params.erase("symmetric");
    weight_params = Json{{"calibration_method", weight_params["calibration_method"]}};
  }
  return {{"activation", activation_type},
          {"activation_params", activation_params},
          {"weight", weight_type},
          {"weight_params", weight_params}};
}

constexpr std::array<std::pair<const char*, const char*>, 7> nesting = {{{"activation", "scheme"},
                                                                         {"activation", "algorithm"},
                                                                         {"activation", "granularity"},
                                                                         {"activation", "dtype"},
                                                                         {"weight", "dtype"},
                                                                         {"weight", "scheme"},
                                                                         {"weight", "algorithm"}}};

// Every combination of a capability's items; granularity of weights varies fastest.
std::vector<Json> combinations(const Json& capability) {
  std::vector<Json> out{Json{{"activation", Json::object()}, {"weight", Json::object()}}};
  const auto extend = [&](const char* side, const char* item) {
    std::vector<Json> longer;
    for (const auto& start : out) {
      for (const auto& choice : capability[side][item]) {
        if (choice == fp32) continue;
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

class Narrowing {
 public:
  explicit Narrowing(std::vector<std::string>& ignored) : ignored_(ignored) {}

  // Only what both have stays; what the target lacks is ignored and told.
  void narrow(Json& capability, const Json& wish, const std::string& who) {
    if (!wish.is_object()) throw Error(who + " must be a mapping of weight and activation, not " + wish.dump());
    for (const auto& [side, items] : wish.items()) {
      if (!capability.contains(side)) throw Error("unknown key '" + who + "." + side + "'; known: activation, weight");
      if (!items.is_object()) throw Error(who + "." + side + " must be a mapping, not " + items.dump());
      for (const auto& [item, choices] : items.items()) {
        if (!capability[side].contains(item))
          throw Error("unknown key '" + who + "." + side + "." + item + "'; known: algorithm, dtype, granularity, scheme");
        keep(capability[side][item], choices, who + "." + side + "." + item);
      }
    }
  }

 private:
  void keep(Json& known, const Json& wished, const std::string& where) {
    Json kept = Json::array();
    for (const auto& choice : wished.is_array() ? wished : Json::array({wished})) {
      if (choice == fp32 || std::find(known.begin(), known.end(), choice) != known.end()) {
        kept.push_back(choice);
      } else {
        const std::string text = where + ": the target has no " + choice.dump() + " (it has " + known.dump() + "); ignored";
        if (std::find(ignored_.begin(), ignored_.end(), text) == ignored_.end()) ignored_.push_back(text);
      }
    }
    if (!kept.empty()) known = kept;
  }

  std::vector<std::string>& ignored_;
};

bool holds_only(const Json& list, const char* word) {
  return std::all_of(list.begin(), list.end(), [&](const Json& choice) { return choice == word; });
}

bool holds(const Json& list, const char* word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// In Intel Neural Compressor's order.
const std::vector<std::string> weight_only_schemes{"RTN_G32ASYM", "GPTQ_G32ASYM", "GPTQ_G32ASYM_DISABLE_LAST_MATMUL",
                                                   "GPTQ_G128ASYM", "AWQ_G32ASYM"};

// Matrix products with constant weights: 4 bits as the scheme says, or float.
TuningSpace weight_only_space(const graph::Model& model) {
  TuningSpace space{.base = Json::object(), .nodes = {}, .ignored = {}, .schemes = weight_only_schemes};
  for (const auto& node : model.nodes) {
    if (quant::has_weights_for(quant::Form::weights_only, node, model))
      space.nodes.push_back({.name = node.name, .op_type = node.op_type, .options = {space.base}});
  }
  if (space.nodes.empty())
    throw Error("approach: weight_only quantizes MatMul and Gemm with constant weights, and this model has none");
  return space;
}

}  // namespace

TuningSpace tuning_space(const TuningKeys& keys, const graph::Model& model, const quant::Target& target) {
  if (keys.weight_only) return weight_only_space(model);
  TuningSpace space;
  Narrowing narrowing(space.ignored);
  const graph::Index index(model);
  space.base = rule_of(combinations(target.capability("Conv")).front());
  std::set<std::string> types_here;
  std::map<std::string, size_t> matches;
  for (const auto& [pattern, wish] : keys.op_names.items()) matches[pattern] = 0;
  for (const auto& name : tunable_nodes(model, target)) {
    const graph::Node& node = *index.node(name);
    types_here.insert(node.op_type);
    Json capability = target.capability(node.op_type);
    bool named = false;  // fp32 is a choice unless a dictionary gives types without it
    const auto apply_wish = [&](const Json& wish, const std::string& who) {
      narrowing.narrow(capability, wish, who);
      named = named || (wish.contains("activation") && wish["activation"].contains("dtype"));
    };
    if (keys.op_types.contains(node.op_type)) apply_wish(keys.op_types[node.op_type], "op_type_dict." + node.op_type);
    for (const auto& [pattern, wish] : keys.op_names.items()) {
      try {
        if (!std::regex_match(name, std::regex(pattern))) continue;
      } catch (const std::regex_error& e) {
        throw Error("op_name_dict: '" + pattern + "' is no regular expression: " + e.what());
      }
      matches[pattern]++;
      apply_wish(wish, "op_name_dict." + pattern);
    }
    TunedNode tuned{.name = name,
                    .op_type = node.op_type,
                    .options = {},
                    .may_fall_back = !named || holds(capability["activation"]["dtype"], fp32)};
    if (!holds_only(capability["activation"]["dtype"], fp32) && !holds_only(capability["weight"]["dtype"], fp32)) {
      for (const auto& item : combinations(capability)) tuned.options.push_back(rule_of(item));
    }
    space.nodes.push_back(std::move(tuned));
  }
  for (const auto& [pattern, count] : matches) {
    if (count == 0) throw Error("op_name_dict: '" + pattern + "' matches no operator that could be quantized");
  }
  for (const auto& [type, wish] : keys.op_types.items()) {
    if (!types_here.contains(type))
      space.ignored.push_back("op_type_dict." + type + ": the model has no such operator to quantize; ignored");
  }
  const bool nothing =
      std::all_of(space.nodes.begin(), space.nodes.end(), [](const TunedNode& node) { return node.options.empty(); });
  if (nothing) throw Error("the tuning space is empty: nothing in this model may be quantized");
  return space;
}

Json search_space_of(const TuningSpace& space, const TuningKeys& keys, bool fall_back) {
  Json words = Json::object();
  for (const auto& [key, value] : space.base.items()) {
    if (!key.ends_with("_params")) {
      words[key] = Json::array({value});
      continue;
    }
    Json group{{"only_if", key.substr(0, key.size() - std::string("_params").size())}};
    for (const auto& [name, choice] : value.items()) group[name] = Json::array({choice});
    words[key] = group;
  }
  if (!space.schemes.empty()) words["scheme"] = space.schemes;
  for (const auto& recipe : tuned_recipes()) {
    const auto fixed = keys.recipes.find(recipe);
    if (!space.schemes.empty() && fixed == keys.recipes.end()) continue;  // schemes decide
    words[recipe] = fixed == keys.recipes.end() ? Json{true, false} : Json::array({fixed->second});
  }
  if (!keys.smooth_alphas.empty()) {
    words["include_sq"] = Json::array({true});
    words["SmoothAlpha"] = keys.smooth_alphas;
  }
  for (const auto& node : space.nodes) {
    Json choices = Json::array();
    for (const auto& option : node.options) choices.push_back(option == space.base ? Json(quantized) : option);
    if (node.options.empty() || (fall_back && node.may_fall_back)) choices.push_back(in_float);
    words[precision_of(node.name)] = choices;
  }
  return words;
}

}  // namespace quasar::tune
