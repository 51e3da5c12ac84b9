// Which operators run on Qualcomm's NPU (HTP) on codes, in float, or not at all, as found by experiment (targets/qnn_htp.cpp).
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "quasar/graph/model.hpp"

namespace quasar::quant {

inline constexpr std::array<std::string_view, 4> htp_sums = {"Conv", "ConvTranspose", "Gemm", "MatMul"};

// Between pairs, in both widths.
inline constexpr std::array<std::string_view, 45> on_htp_codes = {
    "Conv",      "ConvTranspose", "Gemm",        "MatMul",  "Add",         "Sub",
    "Mul",       "Div",           "Min",         "Max",     "Where",       "Relu",
    "Clip",      "LeakyRelu",     "PRelu",       "Sigmoid", "HardSigmoid", "HardSwish",
    "Tanh",      "Elu",           "Gelu",        "Softmax", "MaxPool",     "LayerNormalization",
    "Concat",    "Reshape",       "Flatten",     "Squeeze", "AveragePool", "LpNormalization",
    "Transpose", "Slice",         "Split",       "Gather",  "Unsqueeze",   "GlobalAveragePool",
    "Expand",    "Tile",          "Pad",         "Resize",  "ReduceMean",  "GlobalMaxPool",
    "ReduceMax", "ReduceMin",     "DepthToSpace"};

// Besides, what runs there in float beside codes, or between pairs of others.
inline constexpr std::array<std::string_view, 28> runs_besides = {
    "SpaceToDepth", "Exp",      "Log",      "Sqrt",    "Abs",      "Neg",       "Softplus",
    "LogSoftmax",   "Pow",      "Identity", "Dropout", "Constant", "ReduceSum", "Cast",
    "Shape",        "Floor",    "Ceil",     "Sign",    "Sin",      "Cos",       "Reciprocal",
    "Mish",         "ReduceL2", "ArgMax",   "TopK",    "Einsum",   "LRN",       "BatchNormalization"};

// In float the compiler gives up on the whole model.
inline constexpr std::array<std::string_view, 16> never_in_float = {
    "Where",           "HardSigmoid", "Elu",   "Gelu", "InstanceNormalization",
    "LpNormalization", "Gather",      "Round", "Selu", "ThresholdedRelu",
    "ReduceLogSumExp", "CumSum",      "LSTM",  "GRU",  "ScatterND",
    "GridSample"};

// Nor does it compile between pairs.
inline constexpr std::array<std::string_view, 2> never_compile = {"Selu", "ThresholdedRelu"};

// Where one computes in float, and its result becomes codes that these read, the compiler gives up on the whole model. Add, Mul,
// Min and Max: of two values, and not of a value and a constant.
inline constexpr std::array<std::string_view, 5> never_before_codes = {"Sqrt", "Exp", "Reciprocal", "Div", "ReduceSum"};
inline constexpr std::array<std::string_view, 8> never_behind_floats = {"Conv", "ConvTranspose", "Gemm", "MatMul",
                                                                        "Mul",  "Min",           "Max",  "MaxPool"};
// Nor these, but behind a ReduceSum.
inline constexpr std::array<std::string_view, 4> rarely_behind_floats = {"Add", "LayerNormalization", "GlobalAveragePool",
                                                                         "ReduceMean"};

// What makes a condition of floats: a Where on it does not compile, but where the comparison stands between pairs.
inline constexpr std::array<std::string_view, 5> compares_values = {"Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Equal"};

// Behind these, and a pair, a Clip is skipped.
inline constexpr std::array<std::string_view, 8> skip_clips = {"Conv", "ConvTranspose", "Gemm", "MatMul",
                                                               "Add",  "Sub",           "Mul",  "Clip"};

inline constexpr std::array<std::string_view, 3> with_branches = {"If", "Loop", "Scan"};

// Gelu of ONNX Runtime's own domain runs as ONNX's does.
inline bool is_in(const auto& names, const graph::Node& node) {
  const bool known = node.domain.empty() || (node.domain == "com.microsoft" && node.op_type == "Gelu");
  return known && std::ranges::find(names, node.op_type) != names.end();
}

inline bool is_unsigned(DataType type) {
  return type == DataType::uint8 || type == DataType::uint16;
}

// Of two values with five axes in uint8 the product came out wrong.
inline size_t most_axes_there(const graph::Node& node, bool weighted) {
  return node.is("MatMul") && !weighted ? 4 : 5;
}

inline constexpr const char* without_its_own_scale =
    "its scale and shift stay in float, and then the compiler gives up on the whole model (QNN_COMMON_ERROR_MEM_ALLOC)";

}  // namespace quasar::quant
