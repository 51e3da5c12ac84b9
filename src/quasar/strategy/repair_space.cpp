#include "quasar/strategy/repair_space.hpp"

#include <algorithm>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/job/capability_words.hpp"
#include "quasar/job/precision.hpp"
#include "quasar/job/spaces.hpp"
#include "quasar/ops/op.hpp"
#include "quasar/quant/config/model_form.hpp"
#include "quasar/quant/standalone.hpp"
#include "quasar/strategy/tuning_space.hpp"
#include "quasar/trial/nothing_quantized.hpp"

namespace quasar::tune {
namespace {

const Json ranges = {"MinMax", "MinMSE", "Percentile", "Entropy"};

// Behind Gelu most of an outlier has to move: MiniLM on target openvino (docs/targets.md) is nearest to float with it.
constexpr double smooth_alpha = 0.8;

// Whether some activations of the space have 8 bits, and no layers have types of their own that would contradict ours.
bool has_eight_bits(const Json& search_space) {
  if (search_space.contains("specific_layer_config")) return false;
  const Json activation = search_space.value("activation", Json());
  for (const auto& spec : activation.is_array() ? activation : Json::array({activation})) {
    if (spec.is_string() && normalized(spec.get<std::string>()).find("int8") != std::string::npos) return true;
  }
  return false;
}

// Whether no activation of the space has another width. Layers, types and named configurations have what they say.
Activations activations_of(const Json& search_space) {
  for (const char* key : {"scheme", "specific_layer_config", "layer_type_config", "TensorQuantOverrides", "include_auto_mp"}) {
    if (search_space.contains(key)) return Activations::of_any_width;
  }
  const Json activation = search_space.value("activation", Json());
  const Json specs = activation.is_array() ? activation : Json::array({activation});
  const auto is_byte = [](const Json& spec) {
    return spec.is_string() && normalized(spec.get<std::string>()).find("int8") != std::string::npos;
  };
  return std::ranges::all_of(specs, is_byte) ? Activations::eight_bits : Activations::of_any_width;
}

// Whether the space quantizes its model in this form alone.
bool has_only_form(const Json& search_space, quant::ModelForm form) {
  for (const auto& [key, value] : search_space.items()) {
    if (normalized(key) != "form") continue;
    const Json forms = value.is_array() ? value : Json::array({value});
    return !forms.empty() && std::ranges::all_of(forms, [&](const Json& one) { return quant::parse_model_form(one) == form; });
  }
  return false;
}

// A space of form dynamic is one of dynamic quantization, whatever its activations have elsewhere.
Approach approach_in(const Json& search_space, Approach asked) {
  const bool dynamic = asked == Approach::static_ranges && has_only_form(search_space, quant::ModelForm::dynamic);
  return dynamic ? Approach::dynamic : asked;
}

// The nodes that the target computes in this type, and not only simulates.
std::set<std::string> computed_in(DataType activation, DataType weight, const std::vector<std::string>& nodes,
                                  const graph::Model& model, const quant::Target& target) {
  quant::Config config;
  config.activation.type = activation;
  config.weight.type = weight;
  std::set<std::string> out;
  if (!target.remark(config).empty()) return out;
  const graph::Index index(model);
  for (const auto& name : nodes) {
    std::string why;
    const auto roles = ops::roles_of(*index.node(name), model, why);
    if (roles && target.runs(*index.node(name), *roles, config, why)) out.insert(name);
  }
  return out;
}

// In topological order.
std::vector<std::string> in_order(const graph::Model& model, const std::set<std::string>& nodes) {
  std::vector<std::string> names;
  for (const auto& node : model.nodes) {
    if (nodes.contains(node.name)) names.push_back(node.name);
  }
  return names;
}

}  // namespace

Json repairs_for(const std::string& target, Approach approach) {
  Json weight{{"only_if", "weight"}}, activation{{"only_if", "activation"}, {"calibration_method", ranges}};
  if (approach == Approach::weight_only) return {{"scheme", weight_only_schemes()}};
  const auto made = quant::targets::table().make(target);
  if (made->shifts()) {
    weight["calibration_method"] = {"MinMSE", "MinMax"};
    return {{"weight", {"XInt8Spec"}},        {"activation", {"XInt8Spec"}},  {"algorithms", {nullptr, "adaquant"}},
            {"FitPowerOfTwo", {false, true}}, {"include_cle", {false, true}}, {"weight_params", weight},
            {"activation_params", activation}};
  }
  weight.update({{"symmetric", {true}}, {"quant_granularity", {"Channel"}}, {"calibration_method", {"MinMax", "MinMSE"}}});
  if (approach == Approach::dynamic)
    return {{"weight", {"Int8Spec"}}, {"activation", {"DynamicSpec"}}, {"weight_params", weight}};
  activation["symmetric"] = {false};
  Json space{{"weight", {"Int8Spec"}}, {"activation", {"UInt8Spec"}}};
  if (made->smooths_behind_functions()) {  // first, as it costs no more than a trial; NNCF does it in every transformer
    space["include_sq"] = {false, true};
    space["smooth_quant_options"] = {
        {"only_if", {{"include_sq", true}}}, {"SmoothFunctions", {true}}, {"SmoothAlpha", {smooth_alpha}}};
  }
  space.update({{"BiasCorrection", {false, true}},  // a tenth of the time of rounding
                {"algorithms", {nullptr, "adaquant"}},
                {"weight_params", weight},
                {"activation_params", activation},
                // last, as it takes several times as long as rounding: for the ranges that are the best then
                {"adaquant_params", {{"only_if", {{"algorithms", "adaquant"}}}, {"refine_activations", {false, true}}}}});
  return space;
}

std::vector<std::string> repairable_nodes(Approach approach, const Json& search_space, const graph::Model& model,
                                          const quant::Target& target) {
  switch (approach_in(search_space, approach)) {
    case Approach::weight_only:
      return in_order(model, quant::nodes_for(quant::NodeForm::weights_only, model));
    case Approach::dynamic:
      return in_order(model, dynamic_nodes(model, target));
    case Approach::both: {
      std::set<std::string> nodes = dynamic_nodes(model, target);
      for (auto& name : tunable_nodes(model, target, activations_of(search_space))) nodes.insert(std::move(name));
      return in_order(model, nodes);
    }
    default: {
      std::vector<std::string> nodes = tunable_nodes(model, target, activations_of(search_space));
      if (!has_only_form(search_space, quant::ModelForm::dynamic_products)) return nodes;
      std::set<std::string> all = dynamic_nodes(model, target);
      all.insert(nodes.begin(), nodes.end());
      return in_order(model, all);
    }
  }
}

std::vector<Rung> rungs_of(Approach asked, const Json& search_space, const graph::Model& model, const quant::Target& target) {
  const Approach approach = approach_in(search_space, asked);
  const std::vector<std::string> nodes = repairable_nodes(approach, search_space, model, target);
  const bool fixed = approach == Approach::static_ranges || approach == Approach::both;
  std::vector<Rung> rungs;
  if (approach == Approach::both) {
    rungs.push_back({"dynamic", dynamic_rule(combinations(dynamic_capability()).front()), dynamic_nodes(model, target)});
  }
  if (fixed && has_eight_bits(search_space)) {
    const DataType wide = target.wide_type();
    const Json rule = wide == DataType::int16 ? Json{{"activation", "Int16Spec"}}
                                              : Json{{"activation", "UInt16Spec"}, {"activation_params", {{"symmetric", false}}}};
    rungs.push_back({"A16W8", rule, computed_in(wide, DataType::int8, nodes, model, target)});
    rungs.push_back({float16, float16, computed_in(DataType::float16, DataType::float16, nodes, model, target)});
  }
  std::erase_if(rungs, [](const Rung& rung) { return rung.nodes.empty(); });
  rungs.push_back({in_float, in_float, {nodes.begin(), nodes.end()}});
  return rungs;
}

Json with_rungs(Approach asked, Json search_space, const graph::Model& model, const quant::Target& target) {
  const Approach approach = approach_in(search_space, asked);
  const auto nodes = repairable_nodes(approach, search_space, model, target);
  if (nodes.empty()) {
    const bool fixed = approach == Approach::static_ranges;
    const std::string why = fixed ? why_nothing(model, quant::NodeForm::pairs) : "";
    throw Error("nothing in this model can be quantized on this target" + (!why.empty() ? ": " + why
                                                                           : fixed
                                                                               ? ""
                                                                               : " by this approach; choose another approach"));
  }
  const auto rungs = rungs_of(approach, search_space, model, target);
  const auto fixed = tunable_nodes(model, target, activations_of(search_space));
  for (const auto& node : nodes) {
    const bool only_dynamic = approach == Approach::both && std::ranges::find(fixed, node) == fixed.end();
    Json choices = only_dynamic ? Json::array() : Json::array({quantized});
    for (const auto& rung : rungs) {
      if (rung.nodes.contains(node)) choices.push_back(rung.choice);
    }
    search_space[precision_of(node)] = choices;
  }
  if (has_fine_tuning(search_space)) search_space[fallback_parameter] = {fallback_after_rounding, fallback_before_rounding};
  return search_space;
}

}  // namespace quasar::tune
