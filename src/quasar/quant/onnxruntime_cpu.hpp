// What ONNX Runtime's CPU provider (1.30) runs in integers, on x86-64 and on 64-bit Arm, as found by experiment: which operators
// its QDQ fusion turns into integer kernels. Processors differ in how these add.
//
// On x86-64 it computes with uint8 activations: an int8 Q/DQ pair becomes uint8 with a zero point moved by 128, but only a pair
// whose Q has one reader. Where a value is read several times, and in constants, the conversion is done here, or their readers
// would run in float. On Arm both types have kernels, but none that reads one and writes the other; models are judged on x86-64
// too.
//
// 4 and 16 bits: it has no integer kernels, every node runs in float between Q and DQ. Such models are made for other processors;
// here they are simulated, so all that has a quantized form is quantized and activations count as fused, as on target generic.
#pragma once

#include "quasar/quant/target.hpp"

namespace quasar::quant {

class OnnxRuntimeCpu : public Target {
 public:
  bool runs(const graph::Node& node, const ops::Roles& roles, const Config& config, std::string& why) const override;
  std::string remark(const Config& config) const override;
  bool absorbs(const ops::Bounds& bounds, const QuantParams& output) const override;
  bool fuses(const graph::Node& producer, const graph::Node& activation) const override;
  bool fuses_bias() const override { return true; }
  bool has_slow_prelu() const override { return true; }
  bool has_hard_sigmoid() const override { return false; }
  bool cheap_in_float(const graph::Node& node, const Config& config) const override;
  bool writes_float(const graph::Node& node, const Config& config) const override;
  DataType activation_type(DataType wanted, size_t readers, int64_t opset) const override;
  DataType constant_type(DataType wanted) const override { return wanted == DataType::int8 ? DataType::uint8 : wanted; }
  std::string usual_scheme() const override { return "u8s8_channel"; }
  std::optional<Saturation> saturation() const override { return Saturation::avoid; }
  bool is_told_by_onnxruntime() const override { return true; }
  PairFault fault(const NodeInPairs& at) const override;
};

}  // namespace quasar::quant
