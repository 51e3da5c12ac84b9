// ONNX Runtime's CUDA provider (1.30): it has kernels for QuantizeLinear and DequantizeLinear, but no QDQ fusion, so every node
// between them runs in float. Such models are measured there, or made for TensorRT, which fuses the same pairs where codes are
// int8 and symmetric. So everything that has a quantized form is quantized, activations count as fused, and types are kept.
//
// Q/DQ stand as on target generic; TensorRT wants no pair between a layer and its activation, and biases that add to the sums.
#include "quasar/quant/target.hpp"

namespace quasar::quant::targets {
namespace {

class OrtCuda final : public Target {
 public:
  bool runs(const graph::Node& node, const ops::Roles&, const Config&, std::string& why) const override {
    if (!ops::is_recurrent(node)) return true;
    why = "neither CUDA's provider nor TensorRT has an integer kernel for it";
    return false;
  }

  std::string remark(const Config& config) const override {
    if (config.activation.type == DataType::int8 && config.activation.symmetric) return "";
    return "ONNX Runtime's CUDA provider runs this model in float between Q and DQ, as a simulation; only int8 with symmetric "
           "activations can run in integers there, through TensorRT";
  }

  std::string refuses(Format format) const override {
    return format == Format::qdq
               ? ""
               : "ONNX Runtime's CUDA provider has no kernels for operators on codes, and TensorRT takes Q/DQ pairs";
  }

  bool absorbs(const ops::Bounds&, const QuantParams&) const override { return true; }
  bool fuses_bias() const override { return true; }
  DataType activation_type(DataType wanted, size_t, int64_t) const override { return wanted; }
  DataType constant_type(DataType wanted) const override { return wanted; }
};

}  // namespace

Entry<Target> ort_cuda() {
  return {
      .help = "ONNX Runtime's CUDA provider: Q and DQ run there, everything between them in float; int8 symmetric suits TensorRT",
      .make = make_as<OrtCuda, Target>,
      .aliases = {"cuda", "CUDAExecutionProvider"}};
}

}  // namespace quasar::quant::targets
