// Normalizations of one tensor; scale and shift stay in float.
#include "quasar/ops/op.hpp"

namespace quasar::ops::types {
namespace {

class Normalization final : public OpFamily {
 public:
  std::vector<std::string_view> types() const override {
    return {"LayerNormalization", "InstanceNormalization", "GroupNormalization"};
  }

  std::optional<Roles> roles(const graph::Node& node, const graph::Model&, std::string& why) const override {
    for (size_t k = 1; k < node.outputs.size(); k++) {
      if (node.outputs[k].empty()) continue;
      why = "its mean or deviation is used";
      return std::nullopt;
    }
    return Roles{.kind = Kind::elementwise, .activations = {0}};
  }
};

}  // namespace

Entry<OpFamily> normalization() {
  return {"Normalizations over channels or rows", make_as<Normalization, OpFamily>};
}

}  // namespace quasar::ops::types
