// What a quantized layer reads and writes is quantized, so that it runs in integers from end to end.
#include "quasar/quant/npu/positions.hpp"

namespace quasar::quant::rules {
namespace {

class Complete final : public Rule {
 public:
  std::vector<Fault> check(const Layer& layer, const Network&) const override {
    std::vector<Fault> faults;
    if (layer.own_codes) return faults;
    for (size_t i = 0; i < layer.inputs.size(); i++) {
      if (!layer.inputs[i])
        faults.push_back({"its input " + std::to_string(i) + " is not quantized, while others are", {{"input", i}}});
    }
    if (!layer.output) faults.push_back({"its output is not quantized, while its input is"});
    return faults;
  }
};

}  // namespace

Entry<Rule> complete() {
  return {"inputs and outputs of quantized layers are quantized", make_as<Complete, Rule>};
}

}  // namespace quasar::quant::rules
