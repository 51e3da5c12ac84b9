// Clip(0, 6) becomes Relu, so that equalization can pass. This changes the function wherever a value exceeds 6.
#include "quasar/ops/op.hpp"
#include "quasar/quant/config/transform.hpp"

namespace quasar::quant::transforms {
namespace {

class Clip6ToRelu final : public Transform {
 public:
  bool equivalent() const override { return false; }

  Transformed rewrite(const graph::Model& model, const stats::ChannelStatistics&) const override {
    Transformed out{.model = model};
    for (auto& node : out.model.nodes) {
      std::string why;
      const auto roles = node.is("Clip") ? ops::roles_of(node, model, why) : std::nullopt;
      if (!roles || roles->bounds->low != 0 || roles->bounds->high != 6) continue;
      node.op_type = "Relu";
      node.inputs.resize(1);
      out.changes++;
    }
    if (out.changes == 0) return out;
    graph::remove_unused(out.model);
    // Whatever a value above 6 reaches.
    for (const auto& node : out.model.nodes) out.values.insert(node.outputs.begin(), node.outputs.end());
    out.values.erase("");
    out.notes.push_back("clip6_to_relu: " + std::to_string(out.changes) + " Clip(0, 6) replaced; this changes the float model");
    return out;
  }
};

}  // namespace

Entry<Transform> clip6_to_relu() {
  return {.help = "Clip(0, 6) becomes Relu (ReplaceClip6Relu); changes the function", .make = make_as<Clip6ToRelu, Transform>};
}

}  // namespace quasar::quant::transforms
