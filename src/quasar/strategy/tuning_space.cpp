#include "quasar/strategy/tuning_space.hpp"

#include <algorithm>
#include <regex>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/job/capability_words.hpp"
#include "quasar/job/precision.hpp"
#include "quasar/ops/op.hpp"
#include "quasar/quant/config/recipes.hpp"
#include "quasar/quant/standalone.hpp"
#include "quasar/trial/nothing_quantized.hpp"

namespace quasar::tune {
namespace {

bool holds(const Json& list, const char* word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// Matrix products with constant weights: 4 bits as the scheme says, or float.
TuningSpace weight_only_space(const graph::Model& model) {
  TuningSpace space{.base = Json::object(), .nodes = {}, .ignored = {}, .schemes = weight_only_schemes()};
  const std::set<std::string> possible = quant::nodes_for(quant::NodeForm::weights_only, model);
  for (const auto& node : model.nodes) {
    if (possible.contains(node.name))
      space.nodes.push_back({.name = node.name, .op_type = node.op_type, .options = {space.base}});
  }
  if (space.nodes.empty())
    throw Error("approach: weight_only quantizes MatMul and Gemm with constant weights, and this model has none");
  return space;
}

// Types in which the target runs operators, float32 among them.
std::vector<std::string> float_types_of(const quant::Target& target) {
  std::vector<std::string> out;
  for (const auto& [word, name] : float_words()) {
    std::string why;
    quant::Config config;
    config.activation.type = config.weight.type = name == std::string(bfloat16) ? DataType::bfloat16 : DataType::float16;
    graph::Node conv;
    conv.op_type = "Conv";
    if (name == std::string(in_float) || target.runs(conv, {}, config, why)) out.emplace_back(word);
  }
  return out;
}

// The entries of a dictionary whose keys are regular expressions, in the user's order.
class Patterns {
 public:
  Patterns(std::string key, const Json& entries) : key_(std::move(key)) {
    for (const auto& [pattern, wish] : entries.items()) {
      try {
        entries_.push_back({.pattern = pattern, .expression = std::regex(pattern), .wish = wish});
      } catch (const std::regex_error& e) {
        throw Error(key_ + ": '" + pattern + "' is no regular expression: " + e.what());
      }
    }
  }

  // Those that match the whole name: work(wish, who).
  template <class Work>
  void for_each(const std::string& name, Work work) {
    for (auto& entry : entries_) {
      if (!std::regex_match(name, entry.expression)) continue;
      entry.matched = true;
      work(entry.wish, key_ + "." + entry.pattern);
    }
  }

  std::vector<std::string> unmatched() const {
    std::vector<std::string> out;
    for (const auto& entry : entries_) {
      if (!entry.matched) out.push_back(entry.pattern);
    }
    return out;
  }

 private:
  struct Entry {
    std::string pattern;
    std::regex expression;
    const Json& wish;
    bool matched = false;
  };
  std::string key_;
  std::vector<Entry> entries_;
};

class Building {
 public:
  Building(const TuningKeys& keys, const graph::Model& model, const quant::Target& target)
      : keys_(keys),
        model_(model),
        target_(target),
        narrowing_(space_.ignored),
        quiet_(unheard_),
        floats_(float_types_of(target)),
        by_type_("op_type_dict", keys.op_types),
        by_name_("op_name_dict", keys.op_names) {
    for (auto& name : tunable_nodes(model, target)) static_.insert(std::move(name));
    if (keys.approach != Approach::static_ranges) dynamic_ = dynamic_nodes(model, target);
  }

  TuningSpace run() {
    const bool only_dynamic = keys_.approach == Approach::dynamic;
    space_.base = only_dynamic ? dynamic_rule(combinations(dynamic_capability()).front())
                               : static_rule(combinations(target_.capability("Conv")).front());
    for (const auto& node : model_.nodes) {
      const bool dynamic = dynamic_.contains(node.name);
      const bool fixed = !only_dynamic && static_.contains(node.name);
      if (fixed || dynamic) add(node, fixed, dynamic);
    }
    check();
    space_.needed_recipes = needed_recipes();
    return std::move(space_);
  }

 private:
  void add(const graph::Node& node, bool fixed, bool dynamic) {
    TunedNode tuned{.name = node.name, .op_type = node.op_type, .options = {}};
    Json capability = fixed ? target_.capability(node.op_type) : dynamic_capability(), other = dynamic_capability();
    const Json whole = fixed ? target_.all_of(capability) : capability, other_whole = other;
    bool named = false;  // fp32 is a choice unless a dictionary gives types without it
    const auto apply_wish = [&](const Json& wish, const std::string& who) {
      narrowing_.narrow(capability, whole, wish, floats_, who);
      if (fixed && dynamic) quiet_.narrow(other, other_whole, wish, floats_, who);
      named = named || (wish.contains("activation") && wish["activation"].contains("dtype"));
    };
    by_type_.for_each(node.op_type, apply_wish);
    by_name_.for_each(node.name, apply_wish);
    for (const auto& item : combinations(capability)) tuned.options.push_back(fixed ? static_rule(item) : dynamic_rule(item));
    if (fixed && dynamic) {
      for (const auto& item : combinations(other)) tuned.dynamic.push_back(dynamic_rule(item));
    }
    if (named) tuned.floats = floats_in(capability["activation"]["dtype"]);
    space_.nodes.push_back(std::move(tuned));
  }

  std::set<std::string> needed_recipes() const {
    const auto in_integers_only = [](const TunedNode& node) { return node.floats.empty() && !node.all_options().empty(); };
    if (std::ranges::none_of(space_.nodes, in_integers_only)) return {};
    const graph::Index index(model_);
    std::map<std::string, ops::Roles> candidates;
    std::string why;
    for (const auto& node : space_.nodes) {
      if (auto roles = ops::roles_of(*index.node(node.name), model_, why)) candidates[node.name] = std::move(*roles);
    }
    std::set<std::string> out;
    for (const auto& recipe : tuned_recipes()) {
      const auto left = quant::left_by_recipes({recipe}, index, candidates);
      const auto may_not = [&](const TunedNode& node) { return left.contains(node.name) && in_integers_only(node); };
      if (std::ranges::any_of(space_.nodes, may_not)) out.insert(recipe);
    }
    return out;
  }

  static std::vector<std::string> floats_in(const Json& dtypes) {
    std::vector<std::string> out;
    for (const auto& [word, name] : float_words()) {
      if (holds(dtypes, word)) out.emplace_back(name);
    }
    return out;
  }

  void check() {
    std::vector<std::string> names, types;
    for (const auto& node : space_.nodes) {
      names.push_back(node.name);
      types.push_back(node.op_type);
    }
    for (const auto& pattern : by_name_.unmatched())
      throw Error("op_name_dict: '" + pattern + "' matches no operator that could be quantized" + did_you_mean(pattern, names));
    for (const auto& type : by_type_.unmatched())
      space_.ignored.push_back("op_type_dict." + type + ": the model has no such operator to quantize; ignored" +
                               did_you_mean(type, types));
    if (std::string why = idle_auto(keys_, model_, target_); !why.empty()) space_.ignored.push_back(std::move(why));
    const bool something = std::ranges::any_of(space_.nodes, [](const auto& node) { return !node.all_options().empty(); });
    if (something) return;
    if (!space_.nodes.empty() && !(keys_.op_types.empty() && keys_.op_names.empty())) {
      throw Error("op_type_dict and op_name_dict leave no operator an integer type, so nothing could be quantized" +
                  (space_.ignored.empty() ? std::string() : " (" + joined(space_.ignored, "; ") + ")"));
    }
    const std::string why = why_nothing(model_, quant::NodeForm::pairs);
    throw Error(
        keys_.approach == Approach::dynamic
            ? "approach: dynamic quantizes MatMul, Gemm, LSTM and Gather with constants, and this model has none that the "
              "target runs so"
            : "the tuning space is empty: nothing in this model may be quantized" + (why.empty() ? why : ": " + why));
  }

  const TuningKeys& keys_;
  const graph::Model& model_;
  const quant::Target& target_;
  TuningSpace space_;
  Narrowing narrowing_;
  std::vector<std::string> unheard_;
  Narrowing quiet_;
  const std::vector<std::string> floats_;  // in the words of dictionaries
  Patterns by_type_, by_name_;
  std::set<std::string> static_, dynamic_;  // nodes that can be so
};

}  // namespace

std::vector<Json> TunedNode::all_options() const {
  std::vector<Json> all = options;
  all.insert(all.end(), dynamic.begin(), dynamic.end());
  return all;
}

std::vector<std::string> TuningSpace::floats() const {
  std::vector<std::string> out;
  for (const auto& [word, name] : float_words()) {
    const auto has = [&, type = std::string(name)](const TunedNode& node) {
      return !node.all_options().empty() && std::ranges::find(node.floats, type) != node.floats.end();
    };
    if (std::ranges::any_of(nodes, has)) out.emplace_back(name);
  }
  return out;
}

std::set<std::string> dynamic_nodes(const graph::Model& model, const quant::Target& target) {
  return target.obstacle_to_run_time_scales().empty() ? quant::nodes_for(quant::NodeForm::dynamic, model)
                                                      : std::set<std::string>();
}

std::string idle_auto(const TuningKeys& keys, const graph::Model& model, const quant::Target& target) {
  if (keys.approach != Approach::both) return "";
  const std::string start = "approach: auto is static here: ";
  if (!target.obstacle_to_run_time_scales().empty()) return start + "the target has no operators with ranges at run time";
  return !dynamic_nodes(model, target).empty()
             ? ""
             : start + "MatMul, Gemm, LSTM and Gather with constants can have ranges at run time, and this model has none";
}

const std::vector<std::string>& weight_only_schemes() {
  static const std::vector<std::string> all{"RTN_G32ASYM", "GPTQ_G32ASYM", "GPTQ_G32ASYM_DISABLE_LAST_MATMUL", "GPTQ_G128ASYM",
                                            "AWQ_G32ASYM"};
  return all;
}

TuningSpace tuning_space(const TuningKeys& keys, const graph::Model& model, const quant::Target& target) {
  if (keys.approach == Approach::weight_only) return weight_only_space(model);
  return Building(keys, model, target).run();
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
    // Without a recipe operators stay in float: that is no option of theirs.
    const Json open = fall_back && !space.needed_recipes.contains(recipe) ? Json{true, false} : Json::array({true});
    words[recipe] = fixed == keys.recipes.end() ? open : Json::array({fixed->second});
  }
  if (!keys.smooth_alphas.empty()) {
    words["include_sq"] = Json::array({true});
    words["SmoothAlpha"] = keys.smooth_alphas;
  }
  if (!keys.sampling_sizes.empty()) words[sampling_size] = keys.sampling_sizes;
  if (!keys.saturation.empty()) words["saturation"] = Json::array({keys.saturation});
  for (const auto& node : space.nodes) {
    Json choices = Json::array();
    for (const auto& option : node.all_options()) choices.push_back(option == space.base ? Json(quantized) : option);
    if (fall_back) {
      for (const auto& type : node.floats) choices.push_back(type);
    }
    if (choices.empty()) choices.push_back(node.floats.empty() ? in_float : node.floats.front());
    words[precision_of(node.name)] = choices;
  }
  return words;
}

}  // namespace quasar::tune
