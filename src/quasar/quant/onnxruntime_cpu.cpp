#include "quasar/quant/onnxruntime_cpu.hpp"

#include <algorithm>

#include "quasar/quant/onnxruntime_kernels.hpp"

namespace quasar::quant {
namespace {

bool has_integer_kernel(const graph::Node& node) {
  const InCodes how = in_codes(node.op_type);
  return how != InCodes::no && how != InCodes::moved_alone;
}

// Its pair must clip at 0 (WrittenAs::clipped_sum).
bool is_clipped_sum(const graph::Node& node, const Config& config) {
  const Scheme& scheme = config.activation;
  return node.is("HardSigmoid") && node.real("alpha", 0.2F) > 0 && scheme.type == DataType::uint8 && !scheme.symmetric &&
         scheme.scale_type == ScaleType::float32;
}

// Activations in float are not quantized at all: their nodes have kernels of their own.
bool simulated(const Config& config) {
  return config.activation.type != DataType::float32 && !config.activation.dynamic &&
         (!is_byte(config.activation.type) || !is_byte(config.weight.type));
}

}  // namespace

bool OnnxRuntimeCpu::runs(const graph::Node& node, const ops::Roles& roles, const Config& config, std::string& why) const {
  if (simulated(config) || is_clipped_sum(node, config)) return true;
  if (!has_integer_kernel(node) || (node.is("Resize") && roles.kind != ops::Kind::movement)) {
    why = "ONNX Runtime's CPU has no integer kernel for it";
  } else if (node.is("AveragePool") && is_dilated(node)) {
    why = "ONNX Runtime's integer AveragePool takes no dilations";
  } else {
    return true;
  }
  return false;
}

std::string OnnxRuntimeCpu::remark(const Config& config) const {
  const auto for_npus = [](const Scheme& scheme) { return scheme.scale_type == ScaleType::power_of_two && scheme.symmetric; };
  if (!simulated(config) && for_npus(config.activation) && for_npus(config.weight))
    return "power-of-two scales alone do not make a model for NPUs: target xint8 keeps their rules";
  if (!simulated(config)) return "";
  if (is_half(config.activation.type))
    return "ONNX Runtime's CPU computes in float32: values are rounded to 16 bits by casts, weights take half the space";
  const bool four = bits_of(config.activation.type) == 4 || bits_of(config.weight.type) == 4;
  return std::string("ONNX Runtime's CPU has no integer kernels for ") + (four ? "4" : "16") +
         " bits with quantized activations: what has them runs there in float between Q and DQ, as a simulation";
}

// Its fusion compares the ends of the grid with the bounds.
bool OnnxRuntimeCpu::absorbs(const ops::Bounds& bounds, const QuantParams& output) const {
  return !is_byte(output.type) || keeps_within(output, bounds);
}

// Where two of them follow a Conv without a pair between them, its fusion (1.30) makes two nodes of one name, and it refuses
// the model.
bool OnnxRuntimeCpu::fuses(const graph::Node& producer, const graph::Node&) const {
  return !producer.is("Clip") && !producer.is("Relu");
}

bool OnnxRuntimeCpu::cheap_in_float(const graph::Node& node, const Config& config) const {
  return !simulated(config) && (node.is("Add") || node.is("Mul"));
}

// MatMulIntegerToFloat, and QGemm without an output scale.
bool OnnxRuntimeCpu::writes_float(const graph::Node& node, const Config& config) const {
  return !simulated(config) && (node.is("MatMul") || node.is("Gemm"));
}

// From opset 21 on, its own change of int8 to uint8 leaves the pairs that it moved before a Gemm with the old type
// (1.30, 1.31).
DataType OnnxRuntimeCpu::activation_type(DataType wanted, size_t readers, int64_t opset) const {
  return wanted == DataType::int8 && (readers > 1 || opset >= 21) ? DataType::uint8 : wanted;
}

PairFault OnnxRuntimeCpu::fault(const NodeInPairs& at) const {
  if (has_own_codes(at.node)) return {};
  const bool values = std::ranges::any_of(at.inputs, [](const auto& input) { return input && !input->constant; });
  if (!values && !at.output) return {};  // weights alone are in codes
  const auto is_other = [](const std::optional<Pair>& pair) {
    return pair && !is_byte(pair->type) && !(pair->constant && pair->type == DataType::int32);
  };
  const auto wrong = std::ranges::find_if(at.inputs, is_other);
  if (wrong != at.inputs.end() || is_other(at.output)) {
    const Pair& pair = wrong != at.inputs.end() ? **wrong : *at.output;
    return {"types", "'" + pair.value + "' has codes of " + std::string(name_of(pair.type)) +
                         ", for which ONNX Runtime's CPU has no integer kernels: it runs in float"};
  }
  if (in_codes(at.node.op_type) == InCodes::absorbed || has_integer_kernel(at.node) || !only_rounds(at)) return {};
  return {"float", "ONNX Runtime's CPU has no integer kernel of " + at.node.op_type + ": the pairs around it only round"};
}

}  // namespace quasar::quant
