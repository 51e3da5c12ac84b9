// Averages over windows or axes: the range shrinks, so the output has its own scale.
#include "quasar/ops/op.hpp"

namespace quasar::ops::types {
namespace {

class Pooling final : public OpFamily {
 public:
  std::vector<std::string_view> types() const override { return {"AveragePool", "GlobalAveragePool", "ReduceMean"}; }

  std::optional<Roles> roles(const graph::Node&, const graph::Model&, std::string&) const override {
    return Roles{.kind = Kind::elementwise, .activations = {0}};
  }
};

}  // namespace

Entry<OpFamily> pooling() {
  return {"Averages over windows or axes", make_as<Pooling, OpFamily>};
}

}  // namespace quasar::ops::types
