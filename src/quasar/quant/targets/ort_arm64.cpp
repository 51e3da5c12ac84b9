// ONNX Runtime's CPU provider on 64-bit Arm (phones, Raspberry Pi, Graviton, Apple). Its kernels add in 32 bits, but that without
// dot products two products of −128 · −128 share 16: weights may have all other codes, and x86-64 without VNNI may overflow.
#include "quasar/base/system/processor.hpp"
#include "quasar/quant/onnxruntime_cpu.hpp"

namespace quasar::quant::targets {
namespace {

class OrtArm64 final : public OnnxRuntimeCpu {
 public:
  // Where int8 values become uint8 for one of their readers (ort_cpu), all do: its library leaves int8 as it is, and has no
  // kernel that reads one and writes the other.
  DataType activation_type(DataType wanted, size_t, int64_t) const override { return constant_type(wanted); }
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
