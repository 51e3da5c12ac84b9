// No processor in particular: everything that can be quantized is, the activation is fused with its producer, types are kept.
#include "quasar/quant/target.hpp"

namespace quasar::quant::targets {
namespace {

class Generic final : public Target {
 public:
  bool runs(const graph::Node&, const ops::Roles&, const Config&, std::string&) const override { return true; }
  std::string remark(const Config&) const override { return ""; }
  bool absorbs(const ops::Bounds&, const QuantParams&) const override { return true; }
  bool fuses_bias() const override { return false; }
  DataType activation_type(DataType wanted, size_t, int64_t) const override { return wanted; }
  DataType constant_type(DataType wanted) const override { return wanted; }
  // Nothing is known of its sums: only what is asked for.
  std::optional<Saturation> saturation() const override { return Saturation::ignore; }
};

}  // namespace

Entry<Target> generic() {
  return {.help = "Every operator that has a quantized form, in the types that were asked for", .make = make_as<Generic, Target>};
}

}  // namespace quasar::quant::targets
