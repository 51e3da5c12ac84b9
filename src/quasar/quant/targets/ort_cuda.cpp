// ONNX Runtime's CUDA provider (1.30): it has kernels for QuantizeLinear and DequantizeLinear, but no QDQ fusion, so every node
// between them runs in float. Such models are measured there, and made for other processors; TensorRT has a target of its own. So
// everything that has a quantized form is quantized, activations count as fused, and types are kept.
//
// Q/DQ stand as on target generic, but none between a layer and its activation, and biases add to the sums.
#include "quasar/quant/target.hpp"

namespace quasar::quant::targets {
namespace {

class OrtCuda final : public Target {
 public:
  bool runs(const graph::Node& node, const ops::Roles&, const Config&, std::string& why) const override {
    if (!ops::is_recurrent(node)) return true;
    why = "ONNX Runtime's CUDA provider has no pairs for it";
    return false;
  }

  std::string remark(const Config& config) const override {
    if (config.activation.type == DataType::int8 && config.activation.symmetric) return "";
    return "ONNX Runtime's CUDA provider runs this model in float between Q and DQ, as a simulation; integers on NVIDIA's GPUs "
           "are "
           "TensorRT's (target tensorrt, scheme s8s8_tensorrt)";
  }

  std::string stand_in(bool on_cpu) const override {
    return on_cpu
               ? "target ort_cuda is judged on this machine's CPU, as search_devices names no GPU (cuda:0): scores are those of "
                 "the codes, and times say nothing of a GPU"
               : "";
  }

  std::string told_of_all() const override {
    return "ONNX Runtime's CUDA provider runs nothing of a quantized model in integers: what stands between pairs computes in "
           "float";
  }

  std::string refuses(Format format) const override {
    return format == Format::qdq ? "" : "ONNX Runtime's CUDA provider has no kernels for operators on codes";
  }

  // Its kernel of MatMulInteger multiplies int8 by int8, and has none for the uint8 that DynamicQuantizeLinear makes (ONNX
  // Runtime's docs/OperatorKernels.md). So both would run on the CPU, and their values travel there and back.
  std::string obstacle_to_run_time_scales() const override {
    return "ONNX Runtime's CUDA provider leaves operators that find them (DynamicQuantizeLinear, MatMulInteger of uint8) to the "
           "CPU; W8 and W4, weights only, need no samples either";
  }

  bool absorbs(const ops::Bounds&, const QuantParams&) const override { return true; }
  bool fuses_bias() const override { return true; }
  DataType activation_type(DataType wanted, size_t, int64_t) const override { return wanted; }
  DataType constant_type(DataType wanted) const override { return wanted; }
  std::string usual_preset() const override { return "ort_cuda_search"; }
};

}  // namespace

Entry<Target> ort_cuda() {
  return {.help = "ONNX Runtime's CUDA provider: Q and DQ run there, everything between them in float, as a simulation",
          .make = make_as<OrtCuda, Target>,
          .aliases = {"cuda", "CUDAExecutionProvider"}};
}

}  // namespace quasar::quant::targets
