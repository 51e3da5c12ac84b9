// Operators that read and write codes, in the place of float operators between DequantizeLinear and QuantizeLinear.
//   ONNX: QLinearConv, QLinearMatMul, ConvInteger
//   ONNX Runtime (com.microsoft): QGemm, MatMulIntegerToFloat, QLinearAdd, QLinearMul, QLinearSigmoid, QLinearLeakyRelu,
//   QLinearSoftmax, QLinearAveragePool, QLinearGlobalAveragePool, QLinearConcat, QLinearWhere
// (https://onnx.ai/onnx/operators, ONNX Runtime's docs/ContribOperators.md)
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "quasar/graph/model.hpp"

namespace quasar::quant {

// A tensor of codes: the names of the value, of its scales and of its zero points.
struct Codes {
  std::string codes, scale, zero_point;
  DataType type = DataType::undefined;
  size_t scales = 1;  // 1: one for the tensor
  int64_t axis = -1;  // of several scales
  bool operator==(const Codes&) const = default;
};

// A float operator, and what it reads and writes as codes.
struct Group {
  const graph::Node& node;
  std::vector<std::optional<Codes>> inputs;  // as the node's inputs; nullopt: a float value, or left out
  std::optional<Codes> output;               // nullopt: the result stays float
  std::string result;                        // the name under which a float result is written
  std::string added = {};                    // MatMul: a constant float vector that is added to the result; "": none
};

// What an operator may ask of the model that is written.
struct OperatorContext {
  const graph::Model& model;  // with the constants
  std::function<std::string(const std::string& wish)> fresh;
  std::function<std::string(const std::string& wish, const Tensor&)> add;  // a constant -> its name
};

// The nodes that compute the group on codes; nullopt: ONNX Runtime has no operator for it.
std::optional<std::vector<graph::Node>> on_codes(const Group& group, const OperatorContext& context);

}  // namespace quasar::quant
