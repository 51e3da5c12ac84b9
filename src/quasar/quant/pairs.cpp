#include "quasar/quant/pairs.hpp"

#include <algorithm>
#include <string_view>

#include "quasar/graph/lookup.hpp"
#include "quasar/ops/constants.hpp"
#include "quasar/ops/op.hpp"
#include "quasar/quant/codes/scheme.hpp"
#include "quasar/quant/codes/scheme_words.hpp"

namespace quasar::quant {

bool quantizes(const graph::Node* node) {
  return node != nullptr && node->op_type.ends_with("QuantizeLinear") && node->op_type != "DynamicQuantizeLinear";
}

bool dequantizes(const graph::Node* node) {
  return node != nullptr && node->op_type.ends_with("DequantizeLinear");
}

bool has_own_codes(const graph::Node& node) {
  return graph::has_own_codes(node.op_type);
}

namespace {

class PairReading {
 public:
  explicit PairReading(const graph::Index& index) : model_(index.model()), index_(index) {}

  std::vector<NodeInPairs> run() const {
    std::vector<NodeInPairs> out;
    for (const auto& node : model_.nodes) {
      if (quantizes(&node) || dequantizes(&node)) continue;
      NodeInPairs one{.node = node, .inputs = {}};
      for (const auto& input : node.inputs) one.inputs.push_back(read(input));
      if (!node.outputs.empty()) one.output = written(node.outputs.front());
      const bool reads = std::ranges::any_of(one.inputs, [](const auto& input) { return input.has_value(); });
      if (reads || one.output || has_own_codes(node)) out.push_back(std::move(one));
    }
    return out;
  }

  // Type and zero points of a Q or DQ.
  Pair grid_of(const graph::Node& node) const {
    Pair out;
    const Tensor* const zero = ops::constant_input(node, 2, model_);
    const Tensor* const codes = ops::constant_input(node, 0, model_);
    out.type = zero != nullptr ? zero->type() : codes != nullptr && dequantizes(&node) ? codes->type() : DataType::uint8;
    if (const Tensor* scale = ops::constant_input(node, 1, model_);
        scale != nullptr && scale->count() > 0 && (scale->type() == DataType::float32 || is_half(scale->type())))
      out.scale = to_doubles(*scale)[0];
    if (const Tensor* scale = ops::constant_input(node, 1, model_); scale != nullptr) out.scales = scale->count();
    if (codes != nullptr) out.shape = codes->shape();
    out.axis = node.integer("axis", 1);
    if (out.axis < 0) out.axis += static_cast<int64_t>(out.shape.size());
    out.block = node.integer("block_size", 0);
    if (zero != nullptr && zero->count() > 0) out.zero_point = first_of(*zero);
    if (zero != nullptr) out.zero_based = std::ranges::all_of(zero->bytes(), [](std::byte byte) { return byte == std::byte{0}; });
    return out;
  }

 private:
  std::optional<Pair> read(const std::string& value) const {
    const graph::Node* const pair = index_.producer(value);
    if (!dequantizes(pair)) return std::nullopt;
    const graph::Node* const quantize = index_.producer(pair->inputs[0]);
    Pair out = grid_of(*pair);
    out.value = quantizes(quantize) ? quantize->inputs[0] : pair->inputs[0];
    out.constant = ops::constant_input(*pair, 0, model_) != nullptr ||
                   (quantizes(quantize) && ops::constant_input(*quantize, 0, model_) != nullptr);
    out.moved = quantizes(quantize) && is_moved(quantize->inputs[0]);
    out.readers = index_.consumers(value).size() + (index_.is_output(value) ? 1 : 0);
    return out;
  }

  std::optional<Pair> written(const std::string& value) const {
    const auto& readers = index_.consumers(value);
    const auto pair = std::ranges::find_if(readers, quantizes);
    if (pair == readers.end()) return std::nullopt;
    Pair out = grid_of(**pair);
    out.value = value;
    return out;
  }

  bool is_moved(const std::string& value) const {
    const graph::Node* const producer = index_.producer(value);
    std::string why;
    const auto roles = producer == nullptr ? std::nullopt : ops::roles_of(*producer, model_, why);
    return roles && roles->kind == ops::Kind::movement;
  }

  static int32_t first_of(const Tensor& zeros) {
    switch (zeros.type()) {
      case DataType::uint8:
        return zeros.as<uint8_t>()[0];
      case DataType::int8:
        return zeros.as<int8_t>()[0];
      case DataType::uint16:
        return zeros.as<uint16_t>()[0];
      case DataType::int16:
        return zeros.as<int16_t>()[0];
      default:
        return 0;
    }
  }

  const graph::Model& model_;
  const graph::Index& index_;
};

bool is_product(const graph::Node& node) {
  return node.is("MatMul") || node.is("Gemm") || node.is("Conv") || node.is("ConvTranspose");
}

// Whether the scales of these weights are none that multiply whole sums: those of blocks, and of another axis than the outputs'.
bool has_scales_within_sums(const graph::Node& sum, const Pair& weights) {
  if (weights.block > 0) return true;
  if (weights.scales == 1 || weights.axis < 0) return false;  // counted from the end, of weights whose shape is not known
  const auto rank = static_cast<int64_t>(weights.shape.size());
  if (sum.is("Conv")) return weights.axis != 0;
  if (sum.is("ConvTranspose")) return weights.axis != 1;
  if (sum.is("Gemm")) return weights.axis != (sum.integer("transB", 0) != 0 ? 0 : 1);
  return rank > 0 && weights.axis != rank - 1;
}

// On codes itself, with weights in codes, or with pairs on all that is quantized of such an operator.
bool is_quantized(const NodeInPairs& node, const graph::Model& model) {
  if (has_own_codes(node.node)) return true;
  const auto in_pair = [&](size_t input) { return node.inputs.at(input).has_value(); };
  for (const auto& input : node.inputs) {
    if (input && input->constant) return true;
  }
  std::string why;
  const auto roles = ops::roles_of(node.node, model, why);
  if (!node.output || !roles) return node.output.has_value() && !node.inputs.empty() && in_pair(0);
  return std::ranges::all_of(roles->activations, in_pair) && (!roles->weight || in_pair(roles->weight->input));
}

// What makes floats of the sums of a product whose scales are found at run time: Cast, the scales' product, the product with it,
// and a bias.
void add_scaling(const graph::Node& sums, const graph::Index& index, std::set<std::string>& out) {
  const graph::Node* const cast = graph::sole_reader(sums.outputs[0], "Cast", index);
  const graph::Node* const product = cast == nullptr ? nullptr : graph::sole_reader(cast->outputs[0], "Mul", index);
  if (product == nullptr) return;
  out.insert({cast->name, product->name});
  for (const auto& input : product->inputs) {
    const graph::Node* const scales = index.producer(input);
    if (scales != nullptr && scales->is("Mul")) out.insert(scales->name);
  }
  const graph::Node* const bias = graph::sole_reader(product->outputs[0], "Add", index);
  if (bias != nullptr) out.insert(bias->name);
}

}  // namespace

std::vector<NodeInPairs> nodes_in_pairs(const graph::Model& model) {
  const graph::Index index(model);
  return PairReading(index).run();
}

PairFault fault_of_scales(const NodeInPairs& at) {
  constexpr size_t factor = 1;
  const bool is_sum = is_product(at.node);
  const auto many = [](const Pair& pair) { return pair.scales > 1 || pair.block > 0; };
  const auto of_value = [](const Pair& pair) {
    return PairFault{"values", "'" + pair.value + "' has " + std::to_string(pair.scales) + " scales: a value has one there"};
  };
  for (size_t input = 0; input < at.inputs.size(); ++input) {
    const auto& pair = at.inputs[input];
    if (!pair) continue;
    if (!pair->constant && many(*pair)) return of_value(*pair);
    if (pair->constant && is_sum && input == factor && has_scales_within_sums(at.node, *pair))
      return {"weights", "'" + pair->value + "' has scales " +
                             (pair->block > 0 ? "of blocks" : "along axis " + std::to_string(pair->axis)) +
                             ": weights have one, or one per output"};
  }
  return at.output && many(*at.output) ? of_value(*at.output) : PairFault();
}

bool only_rounds(const NodeInPairs& at) {
  const auto own = [](const auto& input) { return input && !input->constant && !input->moved && input->readers == 1; };
  return at.output && std::ranges::any_of(at.inputs, own);
}

std::vector<std::string> asked_for_integers(const graph::Model& model) {
  std::vector<std::string> out;
  for (const auto& at : nodes_in_pairs(model)) {
    if (has_own_codes(at.node)) continue;
    const bool weights = is_product(at.node) && at.inputs.size() > 1 && at.inputs[1] && at.inputs[1]->constant;
    if (weights || only_rounds(at)) out.push_back(at.node.name);
  }
  return out;
}

std::set<std::string> quantized_before(const graph::Index& index) {
  std::set<std::string> out;
  const auto has_codes = [](const graph::Node& node) { return quantizes(&node) || dequantizes(&node) || has_own_codes(node); };
  if (std::ranges::none_of(index.model().nodes, has_codes)) return out;
  for (const auto& node : PairReading(index).run()) {
    if (is_quantized(node, index.model())) out.insert(node.node.name);
  }
  for (const auto& node : index.model().nodes) {
    if (node.is("MatMulInteger") || node.is("ConvInteger")) add_scaling(node, index, out);
    std::string why;
    const graph::Node* before = node.inputs.empty() ? nullptr : index.producer(node.inputs[0]);
    const auto roles = before != nullptr && out.contains(before->name) ? ops::roles_of(node, index.model(), why) : std::nullopt;
    if (roles && roles->kind == ops::Kind::activation) out.insert(node.name);
  }
  return out;
}

std::string note_on_codes(const graph::Model& model) {
  const size_t count = quantized_before(graph::Index(model)).size();
  if (count == 0) return "";
  return std::to_string(count) + (count == 1 ? " operator" : " operators") +
         " of the model came in codes and stay as they are; the rest is quantized";
}

bool pads_beyond(const graph::Node& pad, const Pair& before, const graph::Model& model) {
  if (!pad.is("Pad") || pad.text("mode", "constant") != "constant" || !is_integer(before.type)) return false;
  const auto value = ops::has_input(pad, 2) ? graph::single_value(pad.inputs[2], model) : std::nullopt;
  if (!value) return false;
  const Grid grid = grid_of(before.type, false);
  const auto end = [&](int64_t code) { return before.scale * static_cast<double>(code - before.zero_point); };
  return double{*value} > end(grid.high) + before.scale || double{*value} < end(grid.low) - before.scale;
}

std::optional<Pair> grid_of(const graph::Node& pair, const graph::Index& index) {
  const Tensor* scale = ops::constant_input(pair, 1, index.model());
  if (scale == nullptr || scale->type() != DataType::float32 || scale->count() != 1) return std::nullopt;
  return PairReading(index).grid_of(pair);
}

std::optional<Pair> pair_of(const std::string& value, const graph::Index& index) {
  const graph::Node* producer = index.producer(value);
  if (dequantizes(producer)) return grid_of(*producer, index);
  const auto& readers = index.consumers(value);
  const auto quantizing = std::ranges::find_if(readers, quantizes);
  return quantizing == readers.end() ? std::nullopt : grid_of(**quantizing, index);
}

}  // namespace quasar::quant
