#include "quasar/quant/target.hpp"

#include <algorithm>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/quant/codes/scheme_words.hpp"

namespace quasar::quant {

Json Target::capability(const std::string& op_type) const {
  const bool weighted = op_type == "Conv" || op_type == "ConvTranspose" || op_type == "MatMul" || op_type == "Gemm";
  Json activation{{"dtype", {"uint8"}}, {"scheme", {"asym"}}, {"granularity", {"per_tensor"}}, {"algorithm", {"minmax"}}};
  Json weight{{"dtype", {"int8"}}, {"scheme", {"sym"}}, {"granularity", {"per_channel"}}, {"algorithm", {"minmax"}}};
  if (weighted) {
    activation["algorithm"] = {"minmax", "kl", "percentile"};
    weight["granularity"] = {"per_channel", "per_tensor"};
  }
  return {{"activation", activation}, {"weight", weight}};
}

// Of operators without weights the words of weights say nothing.
Json Target::all_of(Json capability) const {
  Json& weight = capability["weight"];
  if (weight["granularity"].size() < 2 || !takes_unsigned_weights()) return capability;  // asymmetric ones are stored as uint8
  weight["dtype"].push_back("uint8");
  weight["scheme"].push_back("asym");
  return capability;
}

std::vector<NodeFault> Target::faults(const graph::Model& model, const std::map<std::string, graph::Value>&) const {
  std::vector<NodeFault> out;
  for (const auto& node : nodes_in_pairs(model)) {
    if (PairFault one = fault(node); !one.rule.empty()) out.push_back({node.node.name, std::move(one)});
  }
  return out;
}

bool keeps_within(const QuantParams& grid, const ops::Bounds& bounds) {
  if (!is_integer(grid.type)) return false;
  const Grid codes = grid_of(grid.type, false);
  const float scale = grid.scales.front();
  const auto end = [&](int64_t code) { return scale * static_cast<float>(code - grid.zero_points.front()); };
  return end(codes.low) >= bounds.low && end(codes.high) <= bounds.high;
}

bool counts_border(const graph::Node& node) {
  if (!node.is("AveragePool") || node.integer("count_include_pad", 0) == 0) return false;
  const std::string automatic = node.text("auto_pad", "NOTSET");
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") return true;
  return std::ranges::any_of(node.integers("pads"), [](int64_t size) { return size != 0; });
}

std::string first_unfit(const Config& config, const Unfit& unfit) {
  const auto of_rule = [&](const LayerRule& rule, const std::string& key) {
    const std::string why = rule.in_float ? "" : unfit(rule.activation, rule.weight);
    return why.empty() ? why : key + ": " + why;
  };
  const auto key_in = [](const LayerRule& rule) {
    return rule.words.is_null() && rule.kind.empty() ? "include_auto_mp" : key_of(rule);
  };
  std::string why = unfit(config.activation, config.weight);
  for (const auto& rule : config.layers) why = why.empty() ? of_rule(rule, key_in(rule)) : why;
  for (const auto& kind : config.kinds) why = why.empty() ? of_rule(kind.rule, "layer_kinds." + name_of(kind.kind)) : why;
  return why.empty() && config.mixed ? unfit(config.mixed->activation, config.mixed->weight) : why;
}

namespace {

void check_run_time_scales(const Target& target, const Config& config) {
  const std::string obstacle = target.obstacle_to_run_time_scales();
  if (obstacle.empty()) return;
  const std::string end = ", but this target has no use for scales that are found at run time: " + obstacle;
  if (config.form == ModelForm::dynamic_products) throw Error("form is " + name_of(config.form) + end + "; use all or products");
  const std::string why = first_unfit(config, [](const Scheme& activation, const Scheme&) {
    return std::string(activation.dynamic ? "activation is DynamicSpec (scheme DYNAMIC, form dynamic)" : "");
  });
  if (!why.empty()) throw Error(why + end + "; the nearest that it takes is the scheme " + target.usual_scheme());
}

}  // namespace

void check_taken(const Target& target, const Config& config) {
  if (const std::string why = target.refuses(config.format); !why.empty())
    throw Error("quant_format: " + name_of(config.format) + " cannot be had on this target: " + why);
  if (config.high_precision == DataType::float16 && !target.takes_half() && !target.takes_half_in_islands())
    throw Error(
        "high_precision_dtype is fp16, but this target takes files whose operators without codes are float32; leave it out, or "
        "use target tensorrt or ort_arm64");
  check_run_time_scales(target, config);
  if (const std::string why = target.refuses_types(config); !why.empty()) throw Error(why);
}

void check_shapes(const Target& target, const Config& config, const std::vector<graph::Value>& inputs) {
  graph::Model ends;
  ends.inputs = inputs;
  fix_shapes(ends, config.fixed_shapes);
  if (!target.wants_fixed_shapes()) return;
  std::vector<std::string> open, examples;
  for (const auto& input : ends.inputs) {
    if (input.shape && std::ranges::all_of(*input.shape, [](int64_t size) { return size >= 0; })) continue;
    std::string shape, example;
    for (size_t k = 0; input.shape && k < input.shape->size(); ++k) {
      const int64_t size = (*input.shape)[k];
      const std::string symbol = k < input.symbols.size() && !input.symbols[k].empty() ? input.symbols[k] : "?";
      const char* const comma = k == 0 ? "" : ",";
      shape += comma + (size < 0 ? symbol : std::to_string(size));
      example += comma + std::to_string(size < 0 ? 1 : size);
    }
    open.push_back("'" + input.name + "' has " + (input.shape ? "the shape [" + shape + "]" : "no shape"));
    examples.push_back(input.name + ":[" + example + "]");
  }
  if (open.empty()) return;
  throw Error(
      "input " + joined(open) + ", but this target takes fixed shapes only; say which they will have, such as FixShapes: \"" +
      joined(examples, ";") + "\" (with the sizes of your samples in place of each 1; in a search, a key of search_space)");
}

void check_sample(const FixedShapes& shapes, const std::vector<graph::Value>& inputs, std::span<const Tensor> sample) {
  for (size_t k = 0; k < inputs.size() && k < sample.size(); ++k) {
    const auto wanted = shapes.find(inputs[k].name);
    if (wanted == shapes.end() || wanted->second == sample[k].shape()) continue;
    throw Error("FixShapes gives input '" + inputs[k].name + "' the shape " + Json(wanted->second).dump() +
                ", but the first calibration sample has " + Json(sample[k].shape()).dump() +
                " there, so that no trial could be scored; " + "FixShapes: \"" + inputs[k].name + ":" +
                Json(sample[k].shape()).dump() + "\" fits it");
  }
}

namespace {

// What the override makes of the scheme. A zero point that is given decides whether it is symmetric.
Scheme scheme_of_tensor(const Scheme& usual, const TensorOverride& own) {
  Scheme scheme = overridden(usual, own);
  if (own.zero_point && *own.zero_point != scale_for({-1, 1}, scheme.type, true, scheme.scale_type).zero_point)
    scheme.symmetric = false;
  return scheme;
}

}  // namespace

namespace {

// The node that has this constant as its weights; nullptr: there is none.
const graph::Node* sum_with_weights(const std::string& name, const graph::Index& index) {
  for (const graph::Node* reader : index.consumers(name)) {
    std::string why;
    const auto roles = ops::roles_of(*reader, index.model(), why);
    if (roles && roles->weight && reader->inputs[roles->weight->input] == name) return reader;
  }
  return nullptr;
}

// Whether the override leaves the grid to its writer, or names the same one.
bool leaves(const TensorOverride& own, const QuantParams& grid) {
  if (own.range) return false;
  const bool same_scale = !own.scale || *own.scale == grid.scales.front();
  return same_scale && (!own.zero_point || *own.zero_point == grid.zero_points.front());
}

}  // namespace

void check_tensors(const Target& target, const Config& config, const graph::Model& model) {
  if (config.tensors.empty()) return;
  const graph::Index index(model);
  for (const auto& [name, own] : config.tensors) {
    const bool weights = model.initializer(name) != nullptr;
    const graph::Node* const owner = weights ? sum_with_weights(name, index) : index.producer(name);
    const bool enters = std::ranges::find(model.inputs, name, &graph::Value::name) != model.inputs.end();
    if (owner == nullptr && !enters) continue;  // a constant that is no weight, or a name that is told later
    const LayerRule* const rule = owner == nullptr ? nullptr : rule_for(*owner, config);
    if (rule != nullptr && rule->in_float) continue;
    const Scheme& usual =
        weights ? (rule == nullptr ? config.weight : rule->weight) : (rule == nullptr ? config.activation : rule->activation);
    if (!is_integer(usual.type) || (own.type && !is_integer(*own.type))) continue;
    const Scheme scheme = scheme_of_tensor(usual, own);
    const std::string key = "TensorQuantOverrides." + name + ": ";
    if (const std::string why = target.obstacle_to_tensor(scheme, weights, config); !why.empty()) throw Error(key + why);
    const auto grid = owner == nullptr || weights ? std::nullopt : target.grid_written_by(*owner, scheme.type);
    if (grid && !leaves(own, *grid))
      throw Error(key + "it is written by " + owner->name + ", whose kernel on this target has a grid of its own (" +
                  owner->op_type + "); leave it out");
  }
}

std::optional<Saturation> saturation_on(const Target& target, const std::optional<Saturation>& wanted) {
  const auto usual = target.saturation();
  if (wanted && !usual)
    throw Error("saturation is " + name_of(*wanted) +
                ", but this target has no use for the key: its kernels add products in 32 bits; leave it out");
  if (wanted && target.kernels() == ops::Kernels::neon && wanted != Saturation::avoid && wanted != Saturation::ignore)
    throw Error("saturation is " + name_of(*wanted) + ", but this target's kernels add products in 32 bits; use " +
                name_of(Saturation::avoid) + " (its default: weights have no code -128) or " + name_of(Saturation::ignore));
  const bool makes_unsigned = wanted == Saturation::unsigned_weights || wanted == Saturation::avoid;
  if (makes_unsigned && !target.takes_unsigned_weights())
    throw Error("saturation is " + name_of(*wanted) +
                ", which stores weights as uint8, but on this target these run in float; use " +
                name_of(Saturation::raise_scales) + " (its default), " + name_of(Saturation::reduce_range) + " or " +
                name_of(Saturation::ignore));
  return wanted ? wanted : usual;
}

}  // namespace quasar::quant
