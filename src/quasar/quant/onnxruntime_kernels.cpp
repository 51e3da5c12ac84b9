#include "quasar/quant/onnxruntime_kernels.hpp"

#include <algorithm>
#include <map>

namespace quasar::quant {

bool is_dilated(const graph::Node& node) {
  return std::ranges::any_of(node.integers("dilations"), [](int64_t step) { return step != 1; });
}

InCodes in_codes(const std::string& op_type) {
  static const std::map<std::string, InCodes> all = [] {
    std::map<std::string, InCodes> out{{"SpaceToDepth", InCodes::moved_alone},
                                       {"Pad", InCodes::moved_alone},
                                       {"Relu", InCodes::absorbed},
                                       {"Clip", InCodes::absorbed}};
    for (const char* type : {"Softmax", "Sigmoid", "LeakyRelu", "AveragePool", "GlobalAveragePool", "Add", "Mul", "Concat",
                             "Where", "MatMul", "Gemm", "Conv"})
      out[type] = InCodes::computed;
    for (const char* type : {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Slice", "Split", "Gather", "Expand",
                             "Tile", "MaxPool", "ReduceMax", "ReduceMin", "Resize", "DepthToSpace"})
      out[type] = InCodes::moved;
    return out;
  }();
  const auto found = all.find(op_type);
  return found == all.end() ? InCodes::no : found->second;
}

namespace {

// Of a convolution with constant weights [outputs, inputs of a group, kernel].
bool has_slow_groups(const graph::Node& node, const Shape& weights) {
  constexpr int64_t lanes = 16;  // of its vectors
  const int64_t groups = node.integer("group", 1);
  if (groups <= 1) return false;
  const int64_t inputs = weights[1], outputs = weights[0] / groups;
  return inputs == 1 && outputs == 1 ? groups % lanes != 0 : std::min(inputs, outputs) < lanes;
}

}  // namespace

bool is_slower_in_codes(const graph::Node& node, const graph::Model& model) {
  constexpr int64_t small_window = 16;
  if (node.is("Softmax")) return true;
  if (node.is("AveragePool")) {
    int64_t window = 1;
    for (const int64_t size : node.integers("kernel_shape")) window *= size;
    return window < small_window;
  }
  if (!node.is("Conv")) return false;
  const Tensor* weights = model.initializer(node.inputs[1]);
  return weights != nullptr && weights->shape().size() > 2 && has_slow_groups(node, weights->shape());
}

bool moves_codes(const std::string& op_type) {
  return in_codes(op_type) == InCodes::moved || in_codes(op_type) == InCodes::moved_alone;
}

}  // namespace quasar::quant
