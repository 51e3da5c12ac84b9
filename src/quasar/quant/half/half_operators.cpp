#include "quasar/quant/half/half_operators.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "quasar/ops/movers.hpp"

namespace quasar::quant {
namespace {

constexpr std::array<std::string_view, 45> of_all_inputs = {"Conv",
                                                            "ConvTranspose",
                                                            "Gemm",
                                                            "MatMul",
                                                            "Add",
                                                            "Sub",
                                                            "Mul",
                                                            "Div",
                                                            "Min",
                                                            "Max",
                                                            "Sum",
                                                            "Mean",
                                                            "Relu",
                                                            "Clip",
                                                            "LeakyRelu",
                                                            "PRelu",
                                                            "Sigmoid",
                                                            "HardSigmoid",
                                                            "HardSwish",
                                                            "Tanh",
                                                            "Elu",
                                                            "Selu",
                                                            "Softplus",
                                                            "Softsign",
                                                            "Gelu",
                                                            "Erf",
                                                            "Softmax",
                                                            "LogSoftmax",
                                                            "Exp",
                                                            "Log",
                                                            "Sqrt",
                                                            "Reciprocal",
                                                            "Abs",
                                                            "Neg",
                                                            "Sin",
                                                            "Cos",
                                                            "Pow",
                                                            "MaxPool",
                                                            "AveragePool",
                                                            "GlobalMaxPool",
                                                            "Concat",
                                                            "GlobalAveragePool",
                                                            "LayerNormalization",
                                                            "InstanceNormalization",
                                                            "BatchNormalization"};
// Besides what only moves: the others are axes, shapes, indices and factors. ReduceL2 is not among them: its squares are beyond
// float16 from a norm of 256 on.
constexpr std::array<std::string_view, 8> of_the_first = {"Resize",    "ReduceMax", "ReduceMin",       "ReduceMean",
                                                          "ReduceSum", "ReduceL1",  "ReduceSumSquare", "GatherElements"};

constexpr std::array<std::string_view, 30> with_arm_kernel = {"Conv",
                                                              "Gemm",
                                                              "MatMul",
                                                              "MaxPool",
                                                              "AveragePool",
                                                              "GlobalAveragePool",
                                                              "Add",
                                                              "Sub",
                                                              "Mul",
                                                              "Div",
                                                              "Min",
                                                              "Max",
                                                              "Clip",
                                                              "Relu",
                                                              "LeakyRelu",
                                                              "Gelu",
                                                              "LayerNormalization",
                                                              "Concat",
                                                              "Expand",
                                                              "Flatten",
                                                              "Gather",
                                                              "GatherElements",
                                                              "GatherND",
                                                              "Identity",
                                                              "Reshape",
                                                              "Slice",
                                                              "Split",
                                                              "Squeeze",
                                                              "Unsqueeze",
                                                              "Transpose"};

}  // namespace

std::vector<size_t> half_inputs(const graph::Node& node) {
  if (!node.domain.empty() || !node.inside.empty() || !node.captures.empty()) return {};
  if (node.is("Where")) return {1, 2};
  if (node.is("Pad"))
    return node.inputs.size() > 2 && !node.inputs[2].empty() ? std::vector<size_t>{0, 2} : std::vector<size_t>{0};
  if (ops::only_moves(node) || std::ranges::find(of_the_first, node.op_type) != of_the_first.end()) return {0};
  std::vector<size_t> out;
  if (std::ranges::find(of_all_inputs, node.op_type) == of_all_inputs.end()) return out;
  for (size_t k = 0; k < node.inputs.size(); ++k) {
    if (!node.inputs[k].empty()) out.push_back(k);
  }
  return out;
}

bool has_arm_kernel(const graph::Node& node, const graph::Model& model) {
  if (node.is("MaxPool") && node.outputs.size() > 1) return false;
  if (const int64_t groups = node.integer("group", 1); node.is("Conv") && groups != 1) {
    const Tensor* const weights = model.initializer(node.inputs[1]);
    if (weights == nullptr || weights->shape()[0] != groups || weights->shape()[1] != 1) return false;
  }
  return node.domain.empty() && std::ranges::find(with_arm_kernel, node.op_type) != with_arm_kernel.end();
}

bool moves_or_joins(const graph::Node& node) {
  return ops::only_moves(node) || node.is("Pad") || node.is("Concat");
}

bool fits_half(float number) {
  constexpr double most = 1.0 / 256;
  const double wide = number;
  if (wide == 0 || std::isinf(wide)) return true;
  const Tensor half = converted(Tensor::scalar(number), DataType::float16);
  return std::abs(to_doubles(half)[0] - wide) <= most * std::abs(wide);
}

}  // namespace quasar::quant
