// Bias correction (Nagel et al. 2019, section 4.2): rounding of weights shifts a layer's mean output, by what the inputs' means
// say; the bias takes it back.
//   b ← b + (W − Ŵ) · E[x]
// E[x] per input channel, over samples and positions of the float model; of a convolution's padding nothing is known here, so
// that at its borders the correction is approximate. Optimized rounding corrects the bias by itself; such layers are left alone.
#include "quasar/graph/lookup.hpp"
#include "quasar/quant/channels/channel_layer.hpp"
#include "quasar/quant/config/transform.hpp"
#include "quasar/quant/placement.hpp"
#include "quasar/quant/plan.hpp"
#include "quasar/quant/vector_behind.hpp"

namespace quasar::quant::transforms {
namespace {

// What a layer without bias gets: zeros.
bool takes_bias(const graph::Node& node) {
  return node.is("Conv") || node.is("ConvTranspose") || node.is("Gemm");
}

// Ŵ. Of weights that many layers read, as unrolled recurrent networks have them, those of the last plan are kept.
class RoundedWeights {
 public:
  explicit RoundedWeights(const graph::Index& index) : index_(index) {}

  Tensor of(const std::string& name, const Tensor& weights, const ConstantPlan& plan) {
    if (const auto found = kept_.find(name);
        found != kept_.end() && found->second.params == plan.params && found->second.limits == plan.limits)
      return found->second.rounded;
    const Tensor rounded = dequantize(quantize_within(weights, plan.params, plan.limits), plan.params);
    if (graph::readers(name, index_) > 1) kept_.insert_or_assign(name, Kept{plan.params, plan.limits, rounded});
    return rounded;
  }

 private:
  struct Kept {
    QuantParams params;
    CodeLimits limits;
    Tensor rounded;
  };
  const graph::Index& index_;
  std::map<std::string, Kept> kept_;
};

// (W − Ŵ) · E[x], per output.
std::vector<double> shift_of(const ChannelLayer& layer, const Tensor& weights, const Tensor& rounded,
                             const std::vector<double>& means) {
  const auto exact = weights.as<float>(), used = rounded.as<float>();
  std::vector<double> shift(layer.outputs);
  layer.for_weights([&](size_t i, size_t output, size_t input) { shift[output] += (double{exact[i]} - used[i]) * means[input]; });
  return shift;
}

Tensor shifted(const Tensor& values, const std::vector<double>& shift) {
  std::vector<float> out;
  const auto given = values.as<float>();
  for (size_t i = 0; i < given.size(); i++) out.push_back(static_cast<float>(given[i] + shift[i]));
  return Tensor::of(values.shape(), out);
}

class BiasCorrection final : public Transform {
 public:
  std::map<std::string, int> needs(const graph::Model& model) const override {
    std::map<std::string, int> out;
    for (const auto& node : model.nodes) {
      if (const auto layer = channel_layer(node, model)) out[node.inputs[0]] = layer->axis;
    }
    return out;
  }

  Transformed rewrite(const graph::Model& model, const stats::ChannelStatistics&) const override {
    Transformed out{.model = model};
    graph::Names names(model);
    for (auto& node : out.model.nodes) {
      const auto layer = channel_layer(node, model);
      if (!layer || layer->bias || !takes_bias(node)) continue;
      node.inputs.resize(3);
      node.inputs[2] = names.fresh(node.name + "_bias");
      out.model.initializers[node.inputs[2]] =
          Tensor::of({static_cast<int64_t>(layer->outputs)}, std::vector<float>(layer->outputs, 0.0F));
      out.changes++;
    }
    return out;
  }

  bool corrects_plan() const override { return true; }

  size_t correct(const graph::Model& model, const stats::ChannelStatistics& seen, Plan& plan) const override {
    const graph::Index index(model);
    RoundedWeights rounded(index);
    size_t corrected = 0;
    for (auto& [name, node_plan] : plan.nodes) {
      if (!node_plan.weight || node_plan.weight->optimized || (node_plan.bias && node_plan.bias->optimized)) continue;
      const graph::Node& node = *index.node(name);
      const auto layer = channel_layer(node, model);
      const auto means = layer ? seen.find(node.inputs[0]) : seen.end();
      if (means == seen.end() || means->second.mean.size() != layer->inputs) continue;
      const Tensor& weights = *model.initializer(node.inputs[1]);
      const auto shift = shift_of(*layer, weights, rounded.of(node.inputs[1], weights, *node_plan.weight), means->second.mean);
      if (node_plan.bias) {
        const QuantParams& params = node_plan.bias->params;
        const Tensor& bias = *model.initializer(node.inputs[node_plan.bias->input]);
        node_plan.bias->optimized = Optimized{params, quantize(shifted(bias, shift), params)};
      } else if (layer->bias && node_plan.form == NodeForm::pairs) {
        const auto known = node_plan.replaced.find(*layer->bias);
        const Tensor& bias = known != node_plan.replaced.end() ? known->second : *model.initializer(node.inputs[*layer->bias]);
        node_plan.replaced[*layer->bias] = shifted(bias, shift);
      } else {
        const auto behind = vector_behind(node, layer->outputs, index, plan);
        if (!behind) continue;
        plan.nodes.at(behind->node).replaced[behind->input] = shifted(behind->values, shift);
      }
      corrected++;
    }
    plan.notes.push_back("bias_correction: " + std::to_string(corrected) + " layers corrected");
    return corrected;
  }
};

}  // namespace

Entry<Transform> bias_correction() {
  return {.help = "Biases take back the shift of the mean output that rounding of weights causes",
          .make = make_as<BiasCorrection, Transform>};
}

}  // namespace quasar::quant::transforms
