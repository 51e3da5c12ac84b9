#include "quasar/quant/channels/channel_scaling.hpp"

#include <cmath>

#include "quasar/graph/lookup.hpp"
#include "quasar/ops/constants.hpp"
#include "quasar/ops/op.hpp"
#include "quasar/quant/placement.hpp"

namespace quasar::quant {

void fill_neutral(ChannelScales& scales) {
  double logs = 0;
  size_t count = 0;
  for (const double scale : scales) {
    if (scale > 0) logs += std::log(scale), count++;
  }
  const double neutral = count == 0 ? 1 : std::exp(logs / static_cast<double>(count));
  for (auto& scale : scales) {
    if (scale == 0) scale = neutral;
  }
}

std::vector<ReaderGroup> reader_groups(const graph::Model& model, const graph::Index& index) {
  std::map<std::string, ReaderGroup> groups;
  std::vector<std::string> order;
  for (const auto& node : model.nodes) {
    const auto layer = node.is("MatMul") || node.is("Gemm") ? channel_layer(node, model) : std::nullopt;
    if (!layer) continue;
    const std::string& value = node.inputs[0];
    if (groups.try_emplace(value).second) order.push_back(value);
    groups[value].layers.push_back(*layer);
  }
  std::vector<ReaderGroup> out;
  for (const auto& value : order) {
    ReaderGroup& group = groups[value];
    group.value = value;
    group.alone = graph::readers(value, index) == group.layers.size();
    for (const auto& layer : group.layers) {
      const std::string& weights = index.node(layer.node)->inputs[1];
      const auto own =
          std::ranges::count_if(group.layers, [&](const auto& one) { return index.node(one.node)->inputs[1] == weights; });
      group.shares = group.shares || graph::readers(weights, index) > static_cast<size_t>(own);
    }
    const size_t inputs = group.layers.front().inputs;
    if (std::ranges::all_of(group.layers, [&](const ChannelLayer& layer) { return layer.inputs == inputs; }))
      out.push_back(std::move(group));
  }
  return out;
}

std::string left_shared(size_t groups) {
  return groups == 0 ? "" : "; " + std::to_string(groups) + " left since other layers read their weights too";
}

void multiply_weights(const ReaderGroup& group, const ChannelScales& scales, ConstantEdits& edits) {
  for (const auto& layer : group.layers) {
    auto& weights = edits.values(layer.node, 1);
    layer.for_weights([&](size_t i, size_t, size_t input) { weights[i] = static_cast<float>(weights[i] * scales[input]); });
  }
}

bool ScaleFolding::fold(const std::string& value, const ChannelScales& scales, std::set<std::string>& touched) {
  std::vector<Place> divided;
  std::set<std::string> values;
  if (!collect(value, scales.size(), divided, values)) return false;
  for (const auto& [node, input] : divided) {
    const auto layer = channel_layer(*index_.node(node), model_);
    auto& constants = edits_.values(node, input);
    if (constants.size() < scales.size()) edits_.widen(node, input, scales.size());
    const auto divide = [&](size_t i, size_t channel) { constants[i] = static_cast<float>(constants[i] / scales[channel]); };
    if (layer && input == 1) {
      layer->for_weights([&](size_t i, size_t output, size_t) { divide(i, output); });
    } else {
      for (size_t i = 0; i < constants.size(); i++) divide(i, i % scales.size());
    }
  }
  touched.merge(values);
  return true;
}

// A float constant along the value's last axis.
bool ScaleFolding::is_vector(const graph::Node& node, size_t input, size_t channels) const {
  const Tensor* constant = ops::constant_input(node, input, model_);
  std::string why;
  return ops::is_quantizable_constant(constant, "a constant input", why) && !constant->shape().empty() &&
         static_cast<size_t>(constant->shape().back()) == channels;
}

// The same, or a single number for all channels.
bool ScaleFolding::is_factor(const graph::Node& node, size_t input, size_t channels) const {
  if (is_vector(node, input, channels)) return true;
  const Tensor* constant = ops::constant_input(node, input, model_);
  return widen_ && constant != nullptr && constant->type() == DataType::float32 && constant->count() == 1 &&
         constant->shape().size() <= 1;
}

bool ScaleFolding::collect(const std::string& value, size_t channels, std::vector<Place>& divided,
                           std::set<std::string>& values) {
  const graph::Node* node = index_.producer(value);
  if (node == nullptr || node->outputs[0] != value) return false;
  values.insert(value);
  const auto through = [&](size_t input) {
    const std::string& before = node->inputs[input];
    return graph::sole_reader(before, index_) == node && collect(before, channels, divided, values);
  };
  const auto divide = [&](size_t input) { divided.push_back({node->name, input}); };
  if (node->is("LayerNormalization")) {
    if (node->integer("axis", -1) != -1 || !is_vector(*node, 1, channels)) return false;
    if (ops::has_input(*node, 2) && !is_vector(*node, 2, channels)) return false;
    for (size_t input = 1; input < node->inputs.size(); input++) divide(input);
    return true;
  }
  if (node->is("Relu") || node->is("LeakyRelu")) return through(0);
  if (node->is("Mul")) {
    for (const size_t input : {0, 1}) {
      if (is_factor(*node, input, channels) && model_.initializer(node->inputs[1 - input]) == nullptr) return divide(input), true;
    }
    return false;
  }
  if (node->is("Add")) {
    for (const size_t input : {0, 1}) {
      if (is_vector(*node, input, channels) && through(1 - input)) return divide(input), true;
    }
    return false;
  }
  const auto layer = channel_layer(*node, model_);
  if (!layers_ || !layer || layer->axis != -1 || layer->outputs != channels) return false;
  if (graph::readers(node->inputs[1], index_) > 1) return false;
  divide(1);
  if (layer->bias) divide(*layer->bias);
  return true;
}

void insert_scaling(const std::map<std::string, ChannelScales>& inserted, Transformed& out) {
  graph::Names names(out.model);
  for (const auto& [value, scales] : inserted) {
    const std::string smooth = names.fresh(value + "_smooth"), factors = names.fresh(value + "_smoothing");
    std::vector<float> inverse;
    for (const double scale : scales) inverse.push_back(static_cast<float>(1 / scale));
    out.model.initializers[factors] = Tensor::of({static_cast<int64_t>(inverse.size())}, inverse);
    for (auto& node : out.model.nodes) {
      const bool layer = (node.is("MatMul") || node.is("Gemm")) && !node.inputs.empty() && node.inputs[0] == value;
      if (layer && channel_layer(node, out.model)) node.inputs[0] = smooth;
    }
    const std::string name = names.fresh(smooth + "_Mul");
    out.model.nodes.push_back({.name = name, .op_type = "Mul", .domain = "", .inputs = {value, factors}, .outputs = {smooth}});
    out.in_float.insert(name);
    out.values.insert(smooth);
  }
  graph::sort_nodes(out.model);
}

}  // namespace quasar::quant
