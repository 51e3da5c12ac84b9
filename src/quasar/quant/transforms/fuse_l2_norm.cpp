// x / ‖x‖₂ along one axis, exported in parts, becomes LpNormalization:  y = x / max(‖x‖₂, ε)
// The bound ε is for vectors of zeros, which LpNormalization leaves zero as well; where it is above 10⁻¹⁰ the parts stay, because
// short vectors would change.
#include "quasar/graph/lookup.hpp"
#include "quasar/quant/config/transform.hpp"
#include "quasar/quant/graph_questions.hpp"

namespace quasar::quant::transforms {
namespace {

constexpr float greatest_bound = 1e-10F;

struct L2Parts {
  std::vector<const graph::Node*> nodes;
  std::string input, output;
  int64_t axis = 0;
};

class L2Matching {
 public:
  L2Matching(const graph::Index& index, KnownShapes& shapes) : index_(index), shapes_(shapes) {}

  // `norm`: ReduceL2.
  std::optional<L2Parts> match(const graph::Node& norm) const {
    const std::string& input = norm.inputs[0];
    const Shape* const shape = shapes_.of(input);
    if (shape == nullptr || norm.integer("keepdims", 1) == 0) return std::nullopt;
    const auto axes = reduced_axes(norm, index_.model(), shape->size());
    if (!axes || axes->size() != 1) return std::nullopt;
    L2Parts out{.nodes = {&norm}, .input = input, .output = "", .axis = axes->front()};
    std::string length = norm.outputs[0];
    if (const graph::Node* bound = bound_of(length)) {
      out.nodes.push_back(bound);
      length = bound->outputs[0];
    }
    if (const graph::Node* expand = graph::sole_reader(length, "Expand", index_)) {
      if (!is_shape_of(expand->inputs[1], input, *shape)) return std::nullopt;
      out.nodes.push_back(expand);
      length = expand->outputs[0];
    }
    const graph::Node* quotient = graph::sole_reader(length, "Div", index_);
    if (quotient == nullptr || quotient->inputs != std::vector{input, length}) return std::nullopt;
    out.nodes.push_back(quotient);
    out.output = quotient->outputs[0];
    return out;
  }

 private:
  // Clip(‖x‖, ε) or Max(‖x‖, ε).
  const graph::Node* bound_of(const std::string& length) const {
    for (const char* type : {"Clip", "Max"}) {
      const graph::Node* node = graph::sole_reader(length, type, index_);
      if (node == nullptr || node->inputs.size() != 2) continue;
      const auto epsilon = graph::single_value(node->inputs[node->inputs[0] == length ? 1 : 0], index_.model());
      if (epsilon && *epsilon >= 0 && *epsilon <= greatest_bound) return node;
    }
    return nullptr;
  }

  bool is_shape_of(const std::string& value, const std::string& tensor, const Shape& known) const {
    const graph::Node* producer = index_.producer(value);
    if (producer != nullptr) return producer->is("Shape") && producer->inputs[0] == tensor;
    const Tensor* constant = index_.model().initializer(value);
    return constant != nullptr && constant->type() == DataType::int64 &&
           Shape(constant->as<int64_t>().begin(), constant->as<int64_t>().end()) == known;
  }

  const graph::Index& index_;
  KnownShapes& shapes_;
};

class FuseL2Norm final : public Transform {
 public:
  Transformed rewrite(const graph::Model& model, const stats::ChannelStatistics&) const override {
    const graph::Index index(model);
    return fused(model, "ReduceL2", [&](const graph::Node& norm, KnownShapes& shapes, graph::Names& names) {
      const auto parts = L2Matching(index, shapes).match(norm);
      return parts ? std::optional(fusion_of(*parts, names)) : std::nullopt;
    });
  }

 private:
  static Fusion fusion_of(const L2Parts& match, graph::Names& names) {
    graph::Node node{.name = names.fresh(match.output + "_LpNormalization"),
                     .op_type = "LpNormalization",
                     .domain = "",
                     .inputs = {match.input},
                     .outputs = {match.output}};
    node.set({"axis", match.axis});
    node.set({"p", int64_t{2}});
    return {match.nodes, std::move(node)};
  }
};

}  // namespace

Entry<Transform> fuse_l2_norm() {
  return {.help = "Division by the L2 norm in parts becomes LpNormalization (FuseL2Norm)",
          .make = make_as<FuseL2Norm, Transform>};
}

}  // namespace quasar::quant::transforms
