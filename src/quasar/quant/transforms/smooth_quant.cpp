// SmoothQuant (Xiao et al. 2023, "SmoothQuant: Accurate and Efficient Post-Training Quantization for Large Language Models"):
// outliers in single channels of an activation move into the weights that read it, where there is room.
//   s_j = max|X_j|^α / max|W_j|^(1−α),   X ← X/s,   W_j ← W_j · s_j
// over all matrix products that read X. The division is folded into what wrote X (LayerNormalization, a product or sum with a
// vector, a layer) where nobody else reads it; otherwise a Mul stands before the layers, in float, so that X itself need not be
// quantized. It does not where X comes quantized already: the outliers would be rounded before they are smoothed.
#include <algorithm>
#include <cmath>

#include "quasar/ops/constants.hpp"
#include "quasar/ops/op.hpp"
#include "quasar/quant/channel_layer.hpp"
#include "quasar/quant/placement.hpp"
#include "quasar/quant/transform.hpp"

namespace quasar::quant::transforms {
namespace {

using Scales = std::vector<double>;

// The matrix products that read one value.
struct Group {
  std::string value;
  std::vector<ChannelLayer> layers;
  bool alone = false;  // nobody else reads it
};

std::vector<Group> groups_of(const graph::Model& model, const graph::Index& index) {
  std::map<std::string, Group> groups;
  std::vector<std::string> order;
  for (const auto& node : model.nodes) {
    const auto layer = node.is("MatMul") || node.is("Gemm") ? channel_layer(node, model) : std::nullopt;
    if (!layer) continue;
    const std::string& value = node.inputs[0];
    if (groups.try_emplace(value).second) order.push_back(value);
    groups[value].layers.push_back(*layer);
  }
  std::vector<Group> out;
  for (const auto& value : order) {
    Group& group = groups[value];
    group.value = value;
    group.alone = readers(value, index) == group.layers.size();
    const size_t inputs = group.layers.front().inputs;
    if (std::ranges::all_of(group.layers, [&](const ChannelLayer& layer) { return layer.inputs == inputs; }))
      out.push_back(std::move(group));
  }
  return out;
}

// Divides what writes a value by the scales, in the constants on its way.
class Folding {
 public:
  Folding(const graph::Model& model, const graph::Index& index, ConstantEdits& edits)
      : model_(model), index_(index), edits_(edits) {}

  // false: nothing on the way can take the scales, and nothing was changed. `touched`: the values that changed.
  bool fold(const std::string& value, const Scales& scales, std::set<std::string>& touched) {
    std::vector<std::pair<std::string, size_t>> divided;
    std::set<std::string> values;
    if (!collect(value, scales.size(), divided, values)) return false;
    for (const auto& [node, input] : divided) {
      const auto layer = channel_layer(*index_.node(node), model_);
      auto& constants = edits_.values(node, input);
      for (size_t i = 0; i < constants.size(); i++) {
        const size_t channel = layer && input == 1 ? layer->output_of(i) : i % scales.size();
        constants[i] = static_cast<float>(constants[i] / scales[channel]);
      }
    }
    touched.merge(values);
    return true;
  }

 private:
  // A float constant along the value's last axis.
  bool is_vector(const graph::Node& node, size_t input, size_t channels) const {
    const Tensor* constant = ops::constant_input(node, input, model_);
    std::string why;
    return ops::is_quantizable_constant(constant, "a constant input", why) && !constant->shape().empty() &&
           static_cast<size_t>(constant->shape().back()) == channels;
  }

  bool collect(const std::string& value, size_t channels, std::vector<std::pair<std::string, size_t>>& divided,
               std::set<std::string>& values) {
    const graph::Node* node = index_.producer(value);
    if (node == nullptr || node->outputs[0] != value) return false;
    values.insert(value);
    const auto through = [&](size_t input) {
      const std::string& before = node->inputs[input];
      return sole_reader(before, index_) == node && collect(before, channels, divided, values);
    };
    const auto divide = [&](size_t input) { divided.emplace_back(node->name, input); };
    if (node->is("LayerNormalization")) {
      if (node->integer("axis", -1) != -1 || !is_vector(*node, 1, channels)) return false;
      if (ops::has_input(*node, 2) && !is_vector(*node, 2, channels)) return false;
      for (size_t input = 1; input < node->inputs.size(); input++) divide(input);
      return true;
    }
    if (node->is("Relu") || node->is("LeakyRelu")) return through(0);
    if (node->is("Mul")) {
      for (const size_t input : {0, 1}) {
        if (is_vector(*node, input, channels) && model_.initializer(node->inputs[1 - input]) == nullptr)
          return divide(input), true;
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
    if (!layer || layer->axis != -1 || layer->outputs != channels) return false;
    divide(1);
    if (layer->bias) divide(*layer->bias);
    return true;
  }

  const graph::Model& model_;
  const graph::Index& index_;
  ConstantEdits& edits_;
};

class SmoothQuant final : public Transform {
 public:
  explicit SmoothQuant(const Options& options) : alpha_(options.real("alpha")) {}

  std::map<std::string, int> needs(const graph::Model& model) const override {
    std::map<std::string, int> out;
    for (const auto& group : groups_of(model, graph::Index(model))) out[group.value] = -1;
    return out;
  }

  Transformed rewrite(const graph::Model& model, const stats::ChannelStatistics& seen) const override {
    Transformed out{.model = model};
    const graph::Index index(model);
    ConstantEdits edits(model);
    Folding folding(model, index, edits);
    std::map<std::string, Scales> inserted;
    size_t folded = 0, skipped = 0;
    for (const auto& group : groups_of(model, index)) {
      const auto found = seen.find(group.value);
      if (found == seen.end() || found->second.mean.size() != group.layers.front().inputs) continue;
      const Scales scales = scales_of(group, found->second, edits);
      if (group.alone && folding.fold(group.value, scales, out.values)) {
        folded++;
      } else if (comes_quantized(index.producer(group.value), model)) {
        skipped++;
        continue;
      } else {
        inserted[group.value] = scales;
      }
      for (const auto& layer : group.layers) {
        auto& weights = edits.values(layer.node, 1);
        for (size_t i = 0; i < weights.size(); i++) weights[i] = static_cast<float>(weights[i] * scales[layer.input_of(i)]);
      }
    }
    out.changes = folded + inserted.size();
    if (out.changes == 0) {
      out.notes.push_back("smooth_quant: no matrix product's input can be smoothed");
      return out;
    }
    out.model = std::move(edits).finish();
    insert(inserted, out);
    out.notes.push_back("smooth_quant: " + std::to_string(folded) + " inputs smoothed by what writes them, " +
                        std::to_string(inserted.size()) + " by a Mul, " + std::to_string(skipped) +
                        " left because they come quantized");
    return out;
  }

 private:
  Scales scales_of(const Group& group, const stats::ChannelStats& seen, ConstantEdits& edits) const {
    const size_t channels = group.layers.front().inputs;
    Scales weights(channels), scales(channels, 1);
    for (const auto& layer : group.layers) {
      const auto& values = edits.values(layer.node, 1);
      for (size_t i = 0; i < values.size(); i++) {
        double& largest = weights[layer.input_of(i)];
        largest = std::max<double>(largest, std::abs(values[i]));
      }
    }
    for (size_t c = 0; c < channels; c++) {
      const double input = std::max(std::abs(seen.low[c]), std::abs(seen.high[c]));
      // A channel that is always zero, or that nobody weighs, has nothing to share.
      if (input < 1e-5 || weights[c] < 1e-5) continue;
      scales[c] = std::clamp(std::pow(input, alpha_) / std::pow(weights[c], 1 - alpha_), 1e-5, 1e5);
    }
    return scales;
  }

  // Written by an operator that is quantized itself wherever that is possible; a LayerNormalization is float on most targets.
  static bool comes_quantized(const graph::Node* producer, const graph::Model& model) {
    std::string why;
    return producer != nullptr && !producer->is("LayerNormalization") && ops::roles_of(*producer, model, why).has_value();
  }

  // Division by the scales before the layers that read a value.
  static void insert(const std::map<std::string, Scales>& inserted, Transformed& out) {
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

  double alpha_;
};

}  // namespace

Entry<Transform> smooth_quant() {
  return {.help = "SmoothQuant: outliers in channels of matrix products' inputs move into the weights",
          .make = make_as<SmoothQuant, Transform>,
          .options = {{.name = "alpha",
                       .fallback = 0.5,
                       .help = "how much of an outlier moves: 0 none, 1 all",
                       .low = 0,
                       .high = 1,
                       .aliases = {"SmoothAlpha"}}}};
}

}  // namespace quasar::quant::transforms
