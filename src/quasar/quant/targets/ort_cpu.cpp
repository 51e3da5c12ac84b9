// ONNX Runtime's CPU provider on x86-64. Without VNNI it adds two products in 16 bits.
#include "quasar/quant/onnxruntime_cpu.hpp"
#include "quasar/quant/onnxruntime_kernels.hpp"

namespace quasar::quant::targets {
namespace {

class OrtCpu final : public OnnxRuntimeCpu {
 public:
  bool timed_here() const override { return true; }
  bool is_slower_in_codes(const graph::Node& node, const graph::Model& model) const override {
    return quant::is_slower_in_codes(node, model);
  }
};

}  // namespace

Entry<Target> ort_cpu() {
  return {.help = "ONNX Runtime's CPU provider: what its integer kernels run",
          .make = make_as<OrtCpu, Target>,
          .aliases = {"cpu", "CPUExecutionProvider"}};
}

}  // namespace quasar::quant::targets
