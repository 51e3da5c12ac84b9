// ONNX Runtime's CPU provider on 64-bit Arm (phones, Raspberry Pi, Graviton, Apple). Its kernels add in 32 bits, but that without
// dot products two products of −128 · −128 share 16: weights may have all other codes, and x86-64 without VNNI may overflow.
#include "quasar/base/system/processor.hpp"
#include "quasar/quant/onnxruntime_cpu.hpp"

namespace quasar::quant::targets {
namespace {

class OrtArm64 final : public OnnxRuntimeCpu {
 public:
  bool timed_here() const override { return processor_is_arm64(); }
  ops::Kernels kernels() const override { return ops::Kernels::neon; }
  bool takes_half_in_islands() const override { return true; }
  std::string usual_preset() const override { return "arm64_search"; }
};

}  // namespace

Entry<Target> ort_arm64() {
  return {.help = "ONNX Runtime's CPU provider on 64-bit Arm: as ort_cpu, with weights of all 8 bits",
          .make = make_as<OrtArm64, Target>,
          .aliases = {"arm64", "aarch64"}};
}

}  // namespace quasar::quant::targets
