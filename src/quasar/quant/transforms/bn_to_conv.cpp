// A BatchNormalization that clean-up could not fold into a layer (behind Concat, Add, pooling …) becomes a depthwise 1×1 Conv:
//   y = γ (x − μ) / √(σ² + ε) + β  =  w x + b,   w = γ / √(σ² + ε),  b = β − μ w
#include <cmath>

#include "quasar/ops/constants.hpp"
#include "quasar/quant/config/transform.hpp"
#include "quasar/quant/graph_questions.hpp"

namespace quasar::quant::transforms {
namespace {

class BnToConv final : public Transform {
 public:
  Transformed rewrite(const graph::Model& model, const stats::ChannelStatistics&) const override {
    Transformed out{.model = model};
    KnownShapes shapes(model);
    graph::Names names(model);
    for (auto& node : out.model.nodes) {
      if (!node.is("BatchNormalization")) continue;
      if (convert(node, shapes.of(node.inputs[0]), out.model, names)) out.changes++;
    }
    if (out.changes > 0) graph::remove_unused(out.model);
    return out;
  }

 private:
  static bool convert(graph::Node& node, const Shape* shape, graph::Model& model, graph::Names& names) {
    if (shape == nullptr || shape->size() < 3 || node.outputs.size() > 1) return false;
    std::vector<std::vector<double>> parameters;  // γ, β, μ, σ²
    for (size_t input = 1; input < 5; input++) {
      const Tensor* values = ops::constant_input(node, input, model);
      if (values == nullptr || values->type() != DataType::float32) return false;
      parameters.push_back(to_doubles(*values));
    }
    const double epsilon = node.real("epsilon", 1e-5F);
    std::vector<float> weights, bias;
    for (size_t c = 0; c < parameters[0].size(); c++) {
      const double weight = parameters[0][c] / std::sqrt(parameters[3][c] + epsilon);
      weights.push_back(static_cast<float>(weight));
      bias.push_back(static_cast<float>(parameters[1][c] - parameters[2][c] * weight));
    }
    const auto channels = static_cast<int64_t>(weights.size());
    Shape kernel(shape->size(), 1);
    kernel[0] = channels;
    const std::string w = names.fresh(node.name + "_weight"), b = names.fresh(node.name + "_bias");
    model.initializers[w] = Tensor::of(kernel, weights);
    model.initializers[b] = Tensor::of({channels}, bias);
    node.op_type = "Conv";
    node.inputs = {node.inputs[0], w, b};
    node.attributes = {{"group", channels}};
    return true;
  }
};

}  // namespace

Entry<Transform> bn_to_conv() {
  return {.help = "BatchNormalization that is left becomes a depthwise Conv (ConvertBNToConv)",
          .make = make_as<BnToConv, Transform>};
}

}  // namespace quasar::quant::transforms
