// ReduceMean over height and width becomes GlobalAveragePool, which has integer kernels; a Squeeze behind it where the axes go.
#include "quasar/quant/config/transform.hpp"
#include "quasar/quant/graph_questions.hpp"

namespace quasar::quant::transforms {
namespace {

class ReduceMeanToGlobalAveragePool final : public Transform {
 public:
  Transformed rewrite(const graph::Model& model, const stats::ChannelStatistics&) const override {
    Transformed out{.model = model};
    KnownShapes shapes(model);
    graph::Names names(model);
    out.model.nodes.clear();
    for (graph::Node node : model.nodes) {
      const Shape* const shape = node.is("ReduceMean") ? shapes.of(node.inputs[0]) : nullptr;
      const auto axes = shape == nullptr ? std::nullopt : reduced_axes(node, model, shape->size());
      if (!axes || !are_spatial(*axes, shape->size())) {
        out.model.nodes.push_back(std::move(node));
        continue;
      }
      out.changes++;
      const bool keeps = node.integer("keepdims", 1) != 0;
      const std::string result = node.outputs[0];
      node.op_type = "GlobalAveragePool";
      node.inputs.resize(1);
      node.attributes.clear();
      if (!keeps) out.values.insert(node.outputs[0] = names.fresh(result + "_pooled"));
      const std::string pooled = node.outputs[0], name = node.name;
      out.model.nodes.push_back(std::move(node));
      if (keeps) continue;
      const std::string which = names.fresh(name + "_axes"), squeeze = names.fresh(name + "_Squeeze");
      out.model.initializers[which] = Tensor::of({static_cast<int64_t>(axes->size())}, *axes);
      out.model.nodes.push_back({squeeze, "Squeeze", "", {pooled, which}, {result}});
      out.became[name] = {name, squeeze};
    }
    if (out.changes > 0) graph::remove_unused(out.model);
    return out;
  }
};

}  // namespace

Entry<Transform> reduce_mean_to_global_average_pool() {
  return {.help = "ReduceMean over height and width becomes GlobalAveragePool (ConvertReduceMeanToGlobalAvgPool)",
          .make = make_as<ReduceMeanToGlobalAveragePool, Transform>};
}

}  // namespace quasar::quant::transforms
