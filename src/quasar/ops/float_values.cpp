// Which values are float32: operators hand on the type of their first input unless they stand in the lists below.
#include <algorithm>
#include <unordered_map>

#include "quasar/graph/bodies.hpp"
#include "quasar/ops/op.hpp"

namespace quasar::ops {
namespace {

using Types = std::unordered_map<std::string_view, DataType>;

bool among(std::string_view type, std::initializer_list<std::string_view> list) {
  return std::ranges::find(list, type) != list.end();
}

// The input whose type the first output has.
size_t typed_by(const graph::Node& node) {
  if (among(node.op_type, {"Where", "CastLike", "DequantizeLinear"})) return 1;
  if (among(node.op_type, {"OneHot", "MatMulIntegerToFloat", "GatherBlockQuantized"})) return 2;
  return 0;
}

DataType named_type(const graph::Node& node, std::string_view attribute, DataType fallback) {
  return static_cast<DataType>(node.integer(attribute, static_cast<int64_t>(fallback)));
}

// Operators whose first two inputs have one type, so that a constant second one tells the type of an unknown first one.
bool is_uniform(const graph::Node& node) {
  return node.inputs.size() > 1 && among(node.op_type, {"Conv", "ConvTranspose", "Gemm", "MatMul", "Add", "Sub", "Mul", "Div",
                                                        "PRelu", "BatchNormalization"});
}

// The type of the first output where the operator fixes it; undefined otherwise.
DataType fixed_type(const graph::Node& node) {
  const std::string_view type = node.op_type;
  if (among(type, {"Shape", "Size", "NonZero", "ArgMax", "ArgMin", "NonMaxSuppression"})) return DataType::int64;
  if (among(type, {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "And", "Or", "Xor", "Not", "IsNaN", "IsInf"})) {
    return DataType::boolean;
  }
  if (type == "Cast") return named_type(node, "to", DataType::undefined);
  if (type == "EyeLike") return named_type(node, "dtype", DataType::undefined);  // its input's type
  if (among(type, {"RandomNormal", "RandomUniform", "HannWindow", "HammingWindow", "BlackmanWindow", "MelWeightMatrix"})) {
    return type.ends_with("Window") || type == "MelWeightMatrix" ? named_type(node, "output_datatype", DataType::float32)
                                                                 : named_type(node, "dtype", DataType::float32);
  }
  if (type == "ConstantOfShape") {
    const auto* value = node.find("value");
    return value == nullptr ? DataType::float32 : std::get<Tensor>(value->value).type();
  }
  return DataType::undefined;
}

// ONNX Runtime's operators that make floats of codes, as models have them that are quantized in part.
bool leaves_codes(const graph::Node& node) {
  return node.domain == "com.microsoft" &&
         among(node.op_type, {"DequantizeLinear", "MatMulNBits", "DynamicQuantizeMatMul", "DynamicQuantizeLSTM",
                              "MatMulIntegerToFloat", "GatherBlockQuantized"});
}

// Whether nothing can be said: control flow, sequences, integer arithmetic with its own types, other domains.
bool is_unknown(const graph::Node& node) {
  if (leaves_codes(node)) return false;
  return !node.domain.empty() || !node.captures.empty() ||
         among(node.op_type, {"If",
                              "Loop",
                              "Scan",
                              "SequenceAt",
                              "SequenceConstruct",
                              "SequenceEmpty",
                              "SequenceInsert",
                              "SequenceErase",
                              "SequenceLength",
                              "SequenceMap",
                              "SplitToSequence",
                              "ConcatFromSequence",
                              "Optional",
                              "OptionalGetElement",
                              "OptionalHasElement",
                              "QuantizeLinear",
                              "DynamicQuantizeLinear",
                              "QLinearConv",
                              "QLinearMatMul",
                              "ConvInteger",
                              "MatMulInteger",
                              "Multinomial",
                              "Bernoulli",
                              "RandomNormalLike",
                              "RandomUniformLike",
                              "Unique",
                              "BitShift",
                              "StringNormalizer",
                              "TfIdfVectorizer",
                              "ImageDecoder"});
}

// The types that a body is entered with stand in the model; those that it gives are known when its node is reached.
std::vector<DataType> types_of_bodies(const graph::Node& node, const Types& known) {
  std::vector<DataType> out;
  if (node.domain == graph::entry_domain) {
    for (const int64_t type : node.integers("types")) out.push_back(static_cast<DataType>(type));
  } else if (node.bodies != nullptr) {
    const auto& outputs = node.bodies->front().outputs;
    for (size_t k = node.is("Loop") ? 1 : 0; k < outputs.size(); k++) {  // a Loop's first one is its condition
      const auto found = known.find(outputs[k].name);
      out.push_back(found == known.end() ? DataType::undefined : found->second);
    }
  }
  return out;
}

// Whether a further output has the first one's type (indices and masks do not).
bool shares_type(const graph::Node& node) {
  return among(node.op_type, {"Split", "LSTM", "GRU", "RNN", "BatchNormalization", "LayerNormalization"});
}

}  // namespace

std::set<std::string> float_values(const graph::Model& model) {
  Types types;
  for (const auto& input : model.inputs) types[input.name] = input.type;
  for (const auto& [name, tensor] : model.initializers) types[name] = tensor.type();
  std::set<std::string> floats;
  for (const auto& input : model.inputs) {
    if (input.type == DataType::float32) floats.insert(input.name);
  }
  for (const auto& node : model.nodes) {
    const std::vector<DataType> given = types_of_bodies(node, types);
    for (size_t k = 0; k < std::min(given.size(), node.outputs.size()); k++) {
      types[node.outputs[k]] = given[k];
      if (given[k] == DataType::float32) floats.insert(node.outputs[k]);
    }
    if (is_unknown(node)) continue;
    const auto known = [&](size_t input) {
      const auto found = input < node.inputs.size() ? types.find(node.inputs[input]) : types.end();
      return found == types.end() ? DataType::undefined : found->second;
    };
    DataType type = fixed_type(node);
    if (type == DataType::undefined && node.op_type != "Cast") type = known(typed_by(node));
    if (type == DataType::undefined && is_uniform(node)) {
      type = known(1);
      if (type == DataType::float32) floats.insert(node.inputs[0]);
    }
    for (size_t k = 0; k < node.outputs.size() && (k == 0 || shares_type(node)); k++) {
      if (node.outputs[k].empty()) continue;
      types[node.outputs[k]] = type;
      if (type == DataType::float32) floats.insert(node.outputs[k]);
    }
  }
  return floats;
}

}  // namespace quasar::ops
