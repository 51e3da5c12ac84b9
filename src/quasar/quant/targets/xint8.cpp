// NPUs that compute in 8-bit integers and shift instead of multiplying, as AMD Quark quantizes for (XINT8): int8 weights,
// activations and biases, symmetric, one power-of-two scale per tensor; what else they want stands in rules/.
//
// Q/DQ stand on every value but those between a layer and the activation that it alone feeds: Relu, LeakyRelu, PRelu and Clip to
// 0…6 or 0…1 run in the same operation. Operators: those that Quark quantizes for NPUs.
#include <algorithm>
#include <array>
#include <cmath>

#include "quasar/quant/target.hpp"

namespace quasar::quant::targets {
namespace {

constexpr std::array<std::string_view, 45> operators = {"Conv",
                                                        "ConvTranspose",
                                                        "Gemm",
                                                        "MatMul",
                                                        "Add",
                                                        "Sub",
                                                        "Mul",
                                                        "Div",
                                                        "Min",
                                                        "Max",
                                                        "Where",
                                                        "Relu",
                                                        "Clip",
                                                        "LeakyRelu",
                                                        "PRelu",
                                                        "Sigmoid",
                                                        "Tanh",
                                                        "HardSigmoid",
                                                        "Gelu",
                                                        "Erf",
                                                        "Softmax",
                                                        "MaxPool",
                                                        "AveragePool",
                                                        "ReduceMean",
                                                        "GlobalAveragePool",
                                                        "InstanceNormalization",
                                                        "LayerNormalization",
                                                        "LpNormalization",
                                                        "Split",
                                                        "Slice",
                                                        "Pad",
                                                        "Reshape",
                                                        "Flatten",
                                                        "Squeeze",
                                                        "Unsqueeze",
                                                        "Transpose",
                                                        "Resize",
                                                        "Concat",
                                                        "Gather",
                                                        "DepthToSpace",
                                                        "SpaceToDepth",
                                                        "ReduceMax",
                                                        "ReduceMin",
                                                        "GlobalMaxPool",
                                                        "Expand"};

constexpr std::array<std::string_view, 8> with_activation = {"Conv", "ConvTranspose", "Gemm",        "MatMul",
                                                             "Add",  "MaxPool",       "AveragePool", "GlobalAveragePool"};

// The only HardSigmoid that processors compute; Quark treats no other either.
bool is_usual_hard_sigmoid(const graph::Node& node) {
  return std::abs(node.real("alpha", 0.2F) - 1.0F / 6) < 1e-5F && std::abs(node.real("beta", 0.5F) - 0.5F) < 1e-5F;
}

// Why these types do not run there; "" when they do.
std::string wrong_types(const Config& config) {
  const auto wrong = [](const Scheme& scheme) {
    return scheme.scale_type != ScaleType::power_of_two || !scheme.symmetric || bits_of(scheme.type) != 8;
  };
  const Scheme& weight = config.weight;
  const bool weights_wrong = wrong(weight) || weight.type != DataType::int8 || weight.granularity != Granularity::tensor;
  if (!weights_wrong && (wrong(config.activation) || config.activation.granularity != Granularity::tensor))
    return "the processor shifts: activations must be 8 bits, symmetric, with power-of-two scales (XInt8Spec)";
  if (weights_wrong) return "the processor shifts: weights must be int8, symmetric, with one power-of-two scale (XInt8Spec)";
  return "";
}

class XInt8 final : public Target {
 public:
  bool runs(const graph::Node& node, const ops::Roles&, const Config& config, std::string& why) const override {
    why = wrong_types(config);
    if (!why.empty()) return false;
    if (std::ranges::find(operators, node.op_type) == operators.end()) {
      why = "NPUs do not execute it";
    } else if (node.is("HardSigmoid") && !is_usual_hard_sigmoid(node)) {
      why = "NPUs compute HardSigmoid with alpha 1/6 and beta 1/2 only";
    }
    return why.empty();
  }

  std::string remark(const Config&) const override { return ""; }

  std::string refuses(Format format) const override {
    return format == Format::qdq ? "" : "compilers for its processors read Q/DQ pairs";
  }

  std::string obstacle_to_run_time_scales() const override {
    return "the processor shifts by scales that are in the file (XInt8Spec)";
  }

  bool absorbs(const ops::Bounds& bounds, const QuantParams&) const override {
    return bounds.low == 0 && (std::isinf(bounds.high) || bounds.high == 6 || bounds.high == 1);
  }

  bool fuses_bias() const override { return false; }
  bool shifts() const override { return true; }
  std::string usual_scheme() const override { return "xint8"; }
  std::string usual_preset() const override { return "npu_int8_search"; }

  bool fuses(const graph::Node& producer, const graph::Node&) const override {
    return std::ranges::find(with_activation, producer.op_type) != with_activation.end();
  }

  Json capability(const std::string&) const override {
    const Json side{{"dtype", {"xint8"}}, {"scheme", {"sym"}}, {"granularity", {"per_tensor"}}, {"algorithm", {"mse", "minmax"}}};
    return {{"activation", side}, {"weight", side}};
  }

  Json all_of(Json capability) const override { return capability; }

  DataType activation_type(DataType wanted, size_t, int64_t) const override { return wanted; }
  DataType constant_type(DataType wanted) const override { return wanted; }
};

}  // namespace

Entry<Target> xint8() {
  return {
      .help = "NPUs that shift instead of multiplying: int8, power-of-two scales, the rules of `quasar inspect --target xint8`",
      .make = make_as<XInt8, Target>,
      .aliases = {"npu", "npu_cnn", "ryzen_ai"}};
}

}  // namespace quasar::quant::targets
