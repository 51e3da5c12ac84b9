// A finished model as the layers whose shifts rules look at.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>

#include "quasar/graph/lookup.hpp"
#include "quasar/quant/npu/npu.hpp"
#include "quasar/quant/pairs.hpp"
#include "quasar/quant/placement.hpp"

namespace quasar::quant {
namespace {

template <size_t n>
bool is_one_of(const graph::Node& node, const std::array<const char*, n>& types) {
  return node.domain.empty() && std::ranges::find(types, node.op_type) != types.end();
}

constexpr std::array weighted = {"Conv", "ConvTranspose", "Gemm"};
constexpr std::array with_activation = {"Conv", "ConvTranspose", "Gemm",        "MatMul",
                                        "Add",  "MaxPool",       "AveragePool", "GlobalAveragePool"};
constexpr std::array all_inputs = {"Add", "Sub", "Mul", "Div", "Min", "Max", "Concat", "MatMul"};
constexpr std::array curves = {"Relu", "LeakyRelu", "PRelu"};

std::vector<size_t> activation_inputs(const graph::Node& node) {
  if (node.is("Where")) return {1, 2};
  std::vector<size_t> out{0};
  for (size_t i = 1; i < node.inputs.size() && is_one_of(node, all_inputs); i++) out.push_back(i);
  return out;
}

class Reading {
 public:
  explicit Reading(const graph::Model& model) : model_(model), index_(model), target_(targets::table().make("xint8")) {
    shifting_.activation.scale_type = shifting_.weight.scale_type = ScaleType::power_of_two;
    for (const auto& [name, entry] : ops::types::table().items()) {
      for (const auto type : entry.make({})->types()) types_.insert(std::string(type));
    }
  }

  Network run() {
    for (const auto& node : model_.nodes) {
      if (has_own_codes(node)) {
        add_own_codes(node);
      } else if (node.domain.empty() && types_.contains(node.op_type)) {
        add(node);
      }
    }
    return std::move(network_);
  }

 private:
  void add_own_codes(const graph::Node& node) {
    Layer layer{.node = node.name, .type = node.op_type, .inputs = {}, .weight = {}, .bias = {}, .output = {}};
    layer.own_codes = true;
    network_.layers.push_back(std::move(layer));
  }

  void add(const graph::Node& node) {
    Layer layer{.node = node.name, .type = node.op_type, .inputs = {}, .weight = {}, .bias = {}, .output = {}};
    const bool product = node.is("MatMul") && node.inputs.size() > 1 && holds_constant(node.inputs[1]);
    if (is_one_of(node, weighted) || product) {
      layer.inputs = {tensor_read(node.inputs[0])};
      layer.weight = tensor_read(node.inputs[1]);
      if (node.inputs.size() > 2 && !node.inputs[2].empty()) {
        layer.bias = tensor_read(node.inputs[2]);
        layer.float_bias = !layer.bias && constant(node.inputs[2]) != nullptr;
      }
      if (!layer.weight && constant(node.inputs[1]) != nullptr) return note_float(node, layer);
      if (layer.weight && is_computed(node.inputs[1])) return;  // left in float
    } else {
      for (const size_t input : activation_inputs(node)) layer.inputs.push_back(tensor_read(node.inputs.at(input)));
    }
    if (node.is("HardSigmoid") && !executed(node)) return;  // left in float, whatever stands around it
    describe(node, layer);
    for (size_t k = 0; k < node.outputs.size(); k++) {
      Layer one = layer;
      one.output = tensor_written(node, node.outputs[k], one);
      const bool reads = std::ranges::any_of(one.inputs, [](const auto& input) { return input.has_value(); });
      if (one.weight || (one.output && reads) || (reads && lacks_pair(node, one, node.outputs[k])))
        network_.layers.push_back(std::move(one));
    }
  }

  void note_float(const graph::Node& node, Layer layer) {
    if (layer.inputs.front() && tensor_written(node, node.outputs.front(), layer)) network_.in_float.push_back(node.name);
  }

  bool executed(const graph::Node& node) const {
    std::string why;
    return target_->runs(node, {}, shifting_, why);
  }

  // Whether all that the layer reads is quantized, and all that the layer which alone reads its output writes: only the pair
  // between the two is missing. Otherwise a float layer may be meant, at the border of what is quantized.
  bool lacks_pair(const graph::Node& node, const Layer& layer, const std::string& output) {
    if (layer.output || !std::ranges::all_of(layer.inputs, [](const auto& input) { return input.has_value(); })) return false;
    const graph::Node* reader = graph::sole_reader(output, index_);
    if (reader == nullptr || !reader->domain.empty() || !types_.contains(reader->op_type) || !executed(node) ||
        !executed(*reader))
      return false;
    if (activation_inputs(*reader) != std::vector<size_t>{0} || is_one_of(*reader, weighted)) return false;
    Layer behind = layer;
    return std::ranges::any_of(reader->outputs, [&](const auto& value) { return !!tensor_written(*reader, value, behind); });
  }

  // Resize to the nearest value moves values; others compute new ones, or put in a number of their own.
  static bool computes(const graph::Node& node) {
    return node.is("Resize") && (node.text("mode", "nearest") != "nearest" ||
                                 node.text("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize");
  }

  void describe(const graph::Node& node, Layer& layer) const {
    layer.interpolates = computes(node);
    if (node.is("LeakyRelu")) layer.alpha = node.real("alpha", 0.01F);
    if (node.is("HardSigmoid")) layer.alpha = node.real("alpha", 0.2F), layer.beta = node.real("beta", 0.5F);
    if (!node.is("Mul") || node.inputs.size() != 2) return;
    for (size_t i = 0; i < 2; i++) {
      const graph::Node* gate = source(node.inputs[i]);
      if (gate != nullptr && gate->is("Mul") && constant(gate->inputs[1]) != nullptr) gate = index_.producer(gate->inputs[0]);
      if (gate != nullptr && gate->is("HardSigmoid") && gate->inputs[0] == node.inputs[1 - i]) layer.swish = true;
    }
  }

  // The node that computes what a pair stores.
  const graph::Node* source(const std::string& value) const {
    const graph::Node* pair = index_.producer(value);
    const graph::Node* quantize = dequantizes(pair) ? index_.producer(pair->inputs[0]) : nullptr;
    return quantizes(quantize) ? index_.producer(quantize->inputs[0]) : nullptr;
  }

  const Tensor* constant(const std::string& value) const {
    if (const Tensor* tensor = model_.initializer(value)) return tensor;
    const graph::Node* node = index_.producer(value);
    const graph::Attribute* held = node != nullptr && node->is("Constant") ? node->find("value") : nullptr;
    return held == nullptr ? nullptr : std::get_if<Tensor>(&held->value);
  }

  bool holds_constant(const std::string& value) const {
    const graph::Node* pair = index_.producer(value);
    return dequantizes(pair) && !quantizes(index_.producer(pair->inputs[0]));
  }

  // Whether a pair stores what other nodes compute.
  bool is_computed(const std::string& value) const {
    const graph::Node* pair = index_.producer(value);
    const graph::Node* quantize = dequantizes(pair) ? index_.producer(pair->inputs[0]) : nullptr;
    return quantizes(quantize) && constant(quantize->inputs[0]) == nullptr;
  }

  std::optional<size_t> tensor_read(const std::string& value) {
    const graph::Node* pair = index_.producer(value);
    if (!dequantizes(pair)) return std::nullopt;
    const graph::Node* quantize = index_.producer(pair->inputs[0]);
    return tensor(*pair, quantizes(quantize) ? quantize->inputs[0] : pair->inputs[0]);
  }

  // Behind an activation that runs with the node, and a factor that simulates its processor.
  std::optional<size_t> tensor_written(const graph::Node& node, const std::string& value, Layer& layer) {
    const auto& readers = index_.consumers(value);
    const auto pair = std::ranges::find_if(readers, quantizes);
    if (pair != readers.end()) {
      layer.pair_before_activation = layer.activation.empty() && fusible(node) && stands_before_activation(value, **pair);
      return tensor(**pair, value);
    }
    const graph::Node* reader = graph::sole_reader(value, index_);
    if (reader == nullptr) return std::nullopt;
    const bool factor = reader->is("Mul") && (constant(reader->inputs[0]) != nullptr || constant(reader->inputs[1]) != nullptr);
    const bool fused = layer.activation.empty() && fusible(node) && is_activation(*reader);
    if (!factor && !fused) return std::nullopt;
    if (fused) {
      layer.activation = reader->op_type;
      if (reader->is("LeakyRelu")) layer.alpha = reader->real("alpha", 0.01F);
    }
    return tensor_written(node, reader->outputs[0], layer);
  }

  static bool fusible(const graph::Node& node) { return is_one_of(node, with_activation); }

  // Relu and its kin; Clip to 0…6 and 0…1.
  bool is_activation(const graph::Node& node) const {
    if (is_one_of(node, curves)) return true;
    if (!node.is("Clip") || node.inputs.size() < 3) return false;
    const Tensor *low = constant(node.inputs[1]), *high = constant(node.inputs[2]);
    if (low == nullptr || high == nullptr || low->type() != DataType::float32 || high->type() != DataType::float32) return false;
    return low->as<float>()[0] == 0 && (high->as<float>()[0] == 6 || high->as<float>()[0] == 1);
  }

  bool stands_before_activation(const std::string& value, const graph::Node& pair) const {
    const graph::Node* dequantize =
        graph::sole_reader(value, index_) == &pair ? graph::sole_reader(pair.outputs[0], index_) : nullptr;
    const graph::Node* reader = dequantizes(dequantize) ? graph::sole_reader(dequantize->outputs[0], index_) : nullptr;
    return reader != nullptr && is_activation(*reader);
  }

  // One for every distinct pair of a value.
  size_t tensor(const graph::Node& node, const std::string& value) {
    const std::string key = value + "\n" + node.inputs.at(1) + "\n" + (node.inputs.size() > 2 ? node.inputs[2] : "");
    const auto [entry, fresh] = tensors_.try_emplace(key, network_.tensors.size());
    if (!fresh) return entry->second;
    Fixed fixed{.name = value, .params = params_of(node)};
    const auto position = fixed.params.scales.size() == 1 ? position_of(fixed.params.scales[0]) : std::nullopt;
    if (position) fixed.position = *position, fixed.shifted = true;
    network_.tensors.push_back(std::move(fixed));
    return entry->second;
  }

  QuantParams params_of(const graph::Node& node) const {
    QuantParams params{.type = DataType::uint8, .scales = {}, .zero_points = {}};
    if (const Tensor* scale = constant(node.inputs[1])) {
      for (const double value : to_doubles(*scale)) params.scales.push_back(static_cast<float>(value));
    }
    const Tensor* zero = node.inputs.size() > 2 ? constant(node.inputs[2]) : nullptr;
    const Tensor* codes = constant(node.inputs[0]);
    if (zero != nullptr) {
      params.type = zero->type();
      for (const double value : to_doubles(*zero)) params.zero_points.push_back(static_cast<int32_t>(value));
    } else if (codes != nullptr && dequantizes(&node)) {
      params.type = codes->type();
    }
    if (params.zero_points.empty()) params.zero_points.push_back(0);
    return params;
  }

  const graph::Model& model_;
  const graph::Index index_;
  const std::unique_ptr<Target> target_;
  Config shifting_;  // what it runs
  std::set<std::string> types_;
  Network network_;
  std::map<std::string, size_t> tensors_;
};

}  // namespace

bool is_quantized(const graph::Model& model) {
  return std::ranges::any_of(
      model.nodes, [](const graph::Node& node) { return quantizes(&node) || dequantizes(&node) || has_own_codes(node); });
}

Network network_of(const graph::Model& model) {
  return Reading(model).run();
}

}  // namespace quasar::quant
