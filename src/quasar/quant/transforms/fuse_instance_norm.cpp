// InstanceNormalization that was exported in parts becomes one node:
//   d = x − mean(x),  y = d / √(mean(d²) + ε) · γ + β,   means over all but batch and channels
#include "quasar/graph/lookup.hpp"
#include "quasar/quant/config/transform.hpp"
#include "quasar/quant/graph_questions.hpp"

namespace quasar::quant::transforms {
namespace {

// The nodes of one normalization, and what they hold.
struct InstanceNormParts {
  std::vector<const graph::Node*> nodes;
  std::string input, output;
  float epsilon = 0;
  std::vector<float> scale, shift;
};

class InstanceNormMatching {
 public:
  InstanceNormMatching(const graph::Index& index, KnownShapes& shapes) : index_(index), shapes_(shapes) {}

  // `mean`: the first node of the pattern.
  std::optional<InstanceNormParts> match(const graph::Node& mean) const {
    const Shape* const shape = shapes_.of(mean.inputs[0]);
    if (!averages(mean, shape)) return std::nullopt;
    const size_t rank = shape->size();
    const graph::Node* difference = graph::sole_reader(mean.outputs[0], "Sub", index_);
    if (difference == nullptr || difference->inputs != std::vector{mean.inputs[0], mean.outputs[0]}) return std::nullopt;
    const graph::Node* square = square_of(difference->outputs[0]);
    const graph::Node* variance = square == nullptr ? nullptr : graph::sole_reader(square->outputs[0], "ReduceMean", index_);
    if (variance == nullptr || !averages(*variance, shape)) return std::nullopt;
    const graph::Node* sum = graph::sole_reader(variance->outputs[0], "Add", index_);
    const auto epsilon = sum == nullptr ? std::nullopt : graph::single_value(other(*sum, variance->outputs[0]), index_.model());
    const graph::Node* root = sum == nullptr ? nullptr : graph::sole_reader(sum->outputs[0], "Sqrt", index_);
    const graph::Node* quotient = root == nullptr ? nullptr : graph::sole_reader(root->outputs[0], "Div", index_);
    if (!epsilon || quotient == nullptr || quotient->inputs != std::vector{difference->outputs[0], root->outputs[0]})
      return std::nullopt;
    // Nothing else reads the difference.
    if (index_.consumers(difference->outputs[0]).size() != 2 || index_.is_output(difference->outputs[0])) return std::nullopt;
    const graph::Node* scaled = graph::sole_reader(quotient->outputs[0], "Mul", index_);
    const graph::Node* shifted = scaled == nullptr ? nullptr : graph::sole_reader(scaled->outputs[0], "Add", index_);
    if (shifted == nullptr) return std::nullopt;
    const auto scale = per_channel(other(*scaled, quotient->outputs[0]), rank, index_.model());
    const auto shift = per_channel(other(*shifted, scaled->outputs[0]), rank, index_.model());
    if (!scale || !shift || scale->size() != shift->size() || static_cast<int64_t>(scale->size()) != (*shape)[1])
      return std::nullopt;
    return InstanceNormParts{{&mean, difference, square, variance, sum, root, quotient, scaled, shifted},
                             mean.inputs[0],
                             shifted->outputs[0],
                             *epsilon,
                             *scale,
                             *shift};
  }

 private:
  bool averages(const graph::Node& node, const Shape* shape) const {
    if (!node.is("ReduceMean") || shape == nullptr || node.integer("keepdims", 1) == 0) return false;
    const auto axes = reduced_axes(node, index_.model(), shape->size());
    return axes && are_spatial(*axes, shape->size());
  }

  const graph::Node* square_of(const std::string& value) const {
    for (const graph::Node* reader : index_.consumers(value)) {
      if (reader->is("Mul") && reader->inputs == std::vector{value, value}) return reader;
      if (reader->is("Pow") && reader->inputs[0] == value && graph::single_value(reader->inputs[1], index_.model()) == 2.0F)
        return reader;
    }
    return nullptr;
  }

  static const std::string& other(const graph::Node& node, const std::string& value) {
    return node.inputs[node.inputs[0] == value ? 1 : 0];
  }

  const graph::Index& index_;
  KnownShapes& shapes_;
};

class FuseInstanceNorm final : public Transform {
 public:
  Transformed rewrite(const graph::Model& model, const stats::ChannelStatistics&) const override {
    const graph::Index index(model);
    return fused(model, "ReduceMean", [&](const graph::Node& mean, KnownShapes& shapes, graph::Names& names) {
      const auto parts = InstanceNormMatching(index, shapes).match(mean);
      return parts ? std::optional(fusion_of(*parts, names)) : std::nullopt;
    });
  }

 private:
  static Fusion fusion_of(const InstanceNormParts& match, graph::Names& names) {
    const auto channels = static_cast<int64_t>(match.scale.size());
    const std::string scale = names.fresh(match.output + "_scale"), shift = names.fresh(match.output + "_shift");
    graph::Node node{.name = names.fresh(match.output + "_InstanceNormalization"),
                     .op_type = "InstanceNormalization",
                     .domain = "",
                     .inputs = {match.input, scale, shift},
                     .outputs = {match.output}};
    node.set({"epsilon", match.epsilon});
    return {match.nodes,
            std::move(node),
            {{scale, Tensor::of({channels}, match.scale)}, {shift, Tensor::of({channels}, match.shift)}}};
  }
};

}  // namespace

Entry<Transform> fuse_instance_norm() {
  return {.help = "InstanceNormalization in parts becomes one node (FuseInstanceNorm)",
          .make = make_as<FuseInstanceNorm, Transform>};
}

}  // namespace quasar::quant::transforms
