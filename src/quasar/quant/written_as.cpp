#include "quasar/quant/written_as.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>

#include "quasar/graph/lookup.hpp"
#include "quasar/ops/op.hpp"
#include "quasar/quant/codes/scheme.hpp"
#include "quasar/quant/pairs.hpp"
#include "quasar/quant/target.hpp"

namespace quasar::quant {
namespace {

constexpr int64_t opset_of_hard_swish = 14;

constexpr float furthest_choice = 1e4F;

bool is_near(float value, float wanted) {
  return std::abs(value - wanted) <= 1e-4F * std::abs(wanted);
}

// The input beside a constant of this value; "": there is none.
std::string beside(const graph::Node& node, std::string_view type, float wanted, const graph::Model& model) {
  if (!node.is(type) || node.inputs.size() != 2) return "";
  for (const size_t side : {0, 1}) {
    const auto found = graph::single_value(node.inputs[side], model);
    if (found && is_near(*found, wanted)) return node.inputs[1 - side];
  }
  return "";
}

// x of x / √2, as a division or a product; "": it is none.
std::string scaled_by_root(const graph::Node& node, const graph::Model& model) {
  constexpr float root = 1.41421356F;
  if (node.is("Mul")) return beside(node, "Mul", 1 / root, model);
  const auto divisor = node.is("Div") ? graph::single_value(node.inputs[1], model) : std::nullopt;
  return divisor && is_near(*divisor, root) ? node.inputs[0] : "";
}

// x · (1 + erf(x / √2)), with x or the sum halved before, or the product behind.
class GeluMatching {
 public:
  GeluMatching(const graph::Node& erf, const graph::Index& index) : erf_(erf), index_(index), model_(index.model()) {}

  // -> the last node's name; "": the parts make another function
  std::string match(GeluParts& parts) const {
    const graph::Node* const scaled = alone(erf_.inputs[0]);
    const std::string x = scaled == nullptr ? "" : scaled_by_root(*scaled, model_);
    const graph::Node* const sum = graph::sole_reader(erf_.outputs[0], "Add", index_);
    if (x.empty() || sum == nullptr || beside(*sum, "Add", 1, model_) != erf_.outputs[0]) return "";
    const graph::Node* const product = graph::sole_reader(sum->outputs[0], "Mul", index_);
    if (product == nullptr) return "";
    parts = {x, {scaled->name, erf_.name, sum->name, product->name}};
    if (beside(*product, "Mul", 0.5F, model_) == sum->outputs[0]) {  // the sum is halved before
      const graph::Node* const last = graph::sole_reader(product->outputs[0], "Mul", index_);
      if (last == nullptr || other(*last, product->outputs[0]) != x) return "";
      return ends(*last, parts);
    }
    const std::string factor = other(*product, sum->outputs[0]);
    if (factor == x) {
      const graph::Node* const half = graph::sole_reader(product->outputs[0], "Mul", index_);
      if (half == nullptr || beside(*half, "Mul", 0.5F, model_) != product->outputs[0]) return "";
      return ends(*half, parts);
    }
    const graph::Node* const half = alone(factor);
    if (half == nullptr || beside(*half, "Mul", 0.5F, model_) != x) return "";
    parts.nodes.insert(half->name);
    return product->name;
  }

 private:
  static std::string ends(const graph::Node& last, GeluParts& parts) {
    parts.nodes.insert(last.name);
    return last.name;
  }

  static std::string other(const graph::Node& product, const std::string& factor) {
    if (product.inputs.size() != 2) return "";
    return product.inputs[0] == factor ? product.inputs[1] : product.inputs[0];
  }

  // What writes the value for one reader.
  const graph::Node* alone(const std::string& value) const {
    return graph::sole_reader(value, index_) == nullptr ? nullptr : index_.producer(value);
  }

  const graph::Node& erf_;
  const graph::Index& index_;
  const graph::Model& model_;
};

// The constants of a Where that chooses between 0 and another one, in its order.
std::optional<std::array<float, 2>> choices_of(const graph::Node& where, const graph::Model& model) {
  if (!where.is("Where")) return std::nullopt;
  const auto a = graph::single_value(where.inputs[1], model), b = graph::single_value(where.inputs[2], model);
  if (!a || !b || std::isnan(*a) || std::isnan(*b) || (*a == 0) == (*b == 0)) return std::nullopt;
  constexpr float absurd = 1e30F;  // what is lower than −10⁴, or beyond this, hides places from a Softmax
  const float larger = std::max(*a, *b);
  if (larger > furthest_choice && larger < absurd) return std::nullopt;
  return std::array{std::clamp(*a, -furthest_choice, furthest_choice), std::clamp(*b, -furthest_choice, furthest_choice)};
}

void write_gelus(graph::Model& model, const std::map<std::string, WrittenAs>& chosen) {
  const graph::Model before = model;
  const graph::Index index(before);
  std::set<std::string> gone;
  std::map<std::string, std::string> inputs;
  for (const auto& [last, parts] : gelus_in_parts(index)) {
    const auto found = chosen.find(last);
    if (found == chosen.end() || found->second != WrittenAs::gelu) continue;
    inputs[last] = parts.input;
    gone.insert(parts.nodes.begin(), parts.nodes.end());
    gone.erase(last);
  }
  if (inputs.empty()) return;
  std::erase_if(model.nodes, [&](const graph::Node& node) { return gone.contains(node.name); });
  for (auto& node : model.nodes) {
    const auto found = inputs.find(node.name);
    if (found == inputs.end()) continue;
    node.op_type = "Gelu";
    node.domain = "com.microsoft";
    node.inputs = {found->second};
    node.attributes.clear();
  }
  model.opsets.emplace("com.microsoft", 1);
  graph::remove_unused(model);
}

// 0 and the other constant are the ends of a grid of 8 bits, so that both keep their values.
void write_choices(graph::Model& model, const std::map<std::string, WrittenAs>& chosen) {
  const graph::Model before = model;
  graph::Names names(before);
  model.nodes.clear();
  for (graph::Node node : before.nodes) {
    const auto found = chosen.find(node.name);
    const auto choices =
        found != chosen.end() && found->second == WrittenAs::choice_on_codes ? choices_of(node, before) : std::nullopt;
    if (!choices) {
      model.nodes.push_back(std::move(node));
      continue;
    }
    constexpr uint8_t last = 255;
    const float far = (*choices)[0] == 0 ? (*choices)[1] : (*choices)[0];
    const uint8_t zero = far < 0 ? last : 0;
    const std::string value = node.outputs[0];
    const auto add = [&](const std::string& wish, Tensor tensor) {
      std::string name = names.fresh(wish);
      model.initializers[name] = std::move(tensor);
      return name;
    };
    const std::string scale = add(value + "_scale", Tensor::scalar(std::abs(far) / float{last}));
    const std::string zero_point = add(value + "_zero_point", Tensor::scalar(zero));
    const auto pair_half = [&](const char* type, const std::string& from, const std::string& to) {
      model.nodes.push_back({.name = names.fresh(to + "_" + type),
                             .op_type = type,
                             .domain = "",
                             .inputs = {from, scale, zero_point},
                             .outputs = {to}});
      model.nodes.back().inside = node.inside;
    };
    for (const size_t side : {0, 1}) {
      const uint8_t code = (*choices)[side] == 0 ? zero : static_cast<uint8_t>(last - zero);
      const Shape shape = before.initializer(node.inputs[side + 1])->shape();
      const std::string codes = add(value + "_choice_quantized", Tensor::of(shape, std::vector<uint8_t>{code}));
      node.inputs[side + 1] = names.fresh(value + "_choice");
      pair_half("DequantizeLinear", codes, node.inputs[side + 1]);
    }
    node.outputs[0] = names.fresh(value + "_float");
    const std::string made = node.outputs[0], quantized = names.fresh(value + "_quantized");
    model.nodes.push_back(node);
    pair_half("QuantizeLinear", made, quantized);
    pair_half("DequantizeLinear", quantized, value);
  }
  graph::remove_unused(model);
}

// Of a Clip whose bounds lie on one side of 0; nullopt: they do not.
std::optional<ops::Bounds> bounds_beside_zero(const graph::Node& node, const graph::Model& model) {
  if (!node.is("Clip")) return std::nullopt;
  std::string why;
  const auto roles = ops::roles_of(node, model, why);
  return roles && roles->bounds && (roles->bounds->low > 0 || roles->bounds->high < 0) ? roles->bounds : std::nullopt;
}

// The QuantizeLinear behind the node whose grid clips at the bound that is farther from 0; nullptr: there is none.
const graph::Node* clipping_pair(const graph::Node& node, const ops::Bounds& bounds, const graph::Index& index) {
  const auto& readers = index.consumers(node.outputs.front());
  const auto found = std::ranges::find_if(readers, quantizes);
  const auto pair = found == readers.end() ? std::nullopt : grid_of(**found, index);
  if (!pair) return nullptr;
  const Grid grid = grid_of(pair->type, false);
  const auto end = [&](int64_t code) { return pair->scale * static_cast<double>(code - pair->zero_point); };
  const bool clips =
      bounds.low > 0 ? end(grid.high) <= double{bounds.high} + pair->scale : end(grid.low) >= double{bounds.low} - pair->scale;
  return clips ? *found : nullptr;
}

// Behind the pair that the Clip reads, and before the one that it writes.
void write_bounds(graph::Model& model, const std::map<std::string, WrittenAs>& chosen) {
  const graph::Model before = model;
  const graph::Index index(before);
  graph::Names names(before);
  model.nodes.clear();
  for (graph::Node node : before.nodes) {
    const auto found = chosen.find(node.name);
    const bool asked = found != chosen.end() && found->second == WrittenAs::bound_on_codes;
    const auto bounds = asked ? bounds_beside_zero(node, before) : std::nullopt;
    const graph::Node* const quantize = bounds ? clipping_pair(node, *bounds, index) : nullptr;
    if (quantize != nullptr) {
      const Pair pair = *grid_of(*quantize, index);
      const Grid grid = grid_of(pair.type, false);
      const double bound = bounds->low > 0 ? bounds->low : bounds->high;
      const auto code = std::clamp<int64_t>(std::llround(bound / pair.scale) + pair.zero_point, grid.low, grid.high);
      const std::string codes = names.fresh(node.outputs[0] + "_bound_quantized"),
                        value = names.fresh(node.outputs[0] + "_bound");
      model.initializers[codes] = codes_tensor(pair.type, {}, std::array{static_cast<int32_t>(code)});
      model.nodes.push_back({.name = names.fresh(value + "_DequantizeLinear"),
                             .op_type = "DequantizeLinear",
                             .domain = quantize->domain,
                             .inputs = {codes, quantize->inputs[1], quantize->inputs[2]},
                             .outputs = {value}});
      model.nodes.back().inside = node.inside;
      node.op_type = bounds->low > 0 ? "Max" : "Min";
      node.inputs = {node.inputs[0], value};
      node.attributes.clear();
    }
    model.nodes.push_back(std::move(node));
  }
  graph::remove_unused(model);
}

// The HardSigmoid of x that alone this Mul multiplies by x; nullptr: it is another product.
const graph::Node* gate_of(const graph::Node& mul, const graph::Index& index) {
  if (!mul.is("Mul") || mul.inputs.size() != 2) return nullptr;
  for (const size_t side : {0, 1}) {
    const graph::Node* const gate = index.producer(mul.inputs[side]);
    if (gate == nullptr || !gate->is("HardSigmoid") || gate->inputs.front() != mul.inputs[1 - side]) continue;
    const bool usual =
        std::abs(gate->real("alpha", 0.2F) - 1.0F / 6) < 1e-5F && std::abs(gate->real("beta", 0.5F) - 0.5F) < 1e-5F;
    if (usual && graph::sole_reader(gate->outputs.front(), index) == &mul) return gate;
  }
  return nullptr;
}

bool has_small_slopes(const graph::Node& prelu, const graph::Model& model) {
  const Tensor* const slopes = prelu.inputs.size() == 2 ? model.initializer(prelu.inputs[1]) : nullptr;
  return slopes != nullptr && slopes->type() == DataType::float32 &&
         std::ranges::all_of(slopes->as<float>(), [](float slope) { return slope <= 1; });
}

void write_hard_swishes(graph::Model& model, const std::map<std::string, WrittenAs>& chosen) {
  std::map<std::string, std::string> inputs;  // of the Muls
  std::set<std::string> gone;
  const graph::Index index(model);
  for (const auto& [name, form] : chosen) {
    const graph::Node* const mul = form == WrittenAs::hard_swish ? index.node(name) : nullptr;
    const graph::Node* const gate = mul == nullptr ? nullptr : gate_of(*mul, index);
    if (gate == nullptr) continue;
    inputs[name] = gate->inputs.front();
    gone.insert(gate->name);
  }
  std::erase_if(model.nodes, [&](const graph::Node& node) { return gone.contains(node.name); });
  for (auto& node : model.nodes) {
    const auto found = inputs.find(node.name);
    if (found == inputs.end()) continue;
    node.op_type = "HardSwish";
    node.inputs = {found->second};
    node.attributes.clear();
  }
}

void write_larger_of_two(graph::Model& model, const std::map<std::string, WrittenAs>& chosen) {
  graph::Names names(model);
  std::vector<graph::Node> nodes;
  for (auto& node : model.nodes) {
    const auto found = chosen.find(node.name);
    if (node.is("PRelu") && found != chosen.end() && found->second == WrittenAs::larger_of_two) {
      graph::Node product = node;
      product.op_type = "Mul";
      product.name = names.fresh(node.name + "_times_slope");
      product.outputs = {names.fresh(node.outputs[0] + "_times_slope")};
      node.op_type = "Max";
      node.inputs[1] = product.outputs[0];
      nodes.push_back(std::move(product));
    }
    nodes.push_back(std::move(node));
  }
  model.nodes = std::move(nodes);
}

}  // namespace

std::map<std::string, GeluParts> gelus_in_parts(const graph::Index& index) {
  std::map<std::string, GeluParts> out;
  for (const auto& node : index.model().nodes) {
    GeluParts parts;
    const std::string last = node.is("Erf") ? GeluMatching(node, index).match(parts) : "";
    if (!last.empty()) out[last] = std::move(parts);
  }
  return out;
}

std::map<std::string, WrittenAs> written_as(const graph::Index& index, const Target& target,
                                            const std::map<std::string, NodePlan>& quantized) {
  std::map<std::string, WrittenAs> out;
  const bool swish = target.has_hard_swish() && index.model().opset() >= opset_of_hard_swish;
  for (const auto& node : index.model().nodes) {
    if (quantized.contains(node.name)) {
      if (node.is("HardSigmoid") && !target.has_hard_sigmoid()) out[node.name] = WrittenAs::clipped_sum;
      if (target.skips_clips() && bounds_beside_zero(node, index.model())) out[node.name] = WrittenAs::bound_on_codes;
      continue;
    }
    if (target.has_slow_prelu() && node.is("PRelu") && has_small_slopes(node, index.model()))
      out[node.name] = WrittenAs::larger_of_two;
    if (target.chooses_on_codes_only() && choices_of(node, index.model())) out[node.name] = WrittenAs::choice_on_codes;
    const graph::Node* const gate = swish ? gate_of(node, index) : nullptr;
    if (gate != nullptr && !quantized.contains(gate->name)) out[node.name] = WrittenAs::hard_swish;
  }
  if (!target.has_gelu_only()) return out;
  for (const auto& [last, parts] : gelus_in_parts(index)) {
    const auto in_codes = [&](const std::string& name) { return quantized.contains(name); };
    if (std::ranges::none_of(parts.nodes, in_codes)) out[last] = WrittenAs::gelu;
  }
  return out;
}

void write_as(graph::Model& model, const std::map<std::string, WrittenAs>& chosen) {
  if (chosen.empty()) return;
  write_hard_swishes(model, chosen);
  write_larger_of_two(model, chosen);
  write_gelus(model, chosen);
  write_choices(model, chosen);
  write_bounds(model, chosen);
}

}  // namespace quasar::quant
