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

bool moves_codes(const std::string& op_type) {
  return in_codes(op_type) == InCodes::moved || in_codes(op_type) == InCodes::moved_alone;
}

}  // namespace quasar::quant
