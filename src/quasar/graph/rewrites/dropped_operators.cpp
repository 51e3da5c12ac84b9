#include "quasar/graph/rewrites/dropped_operators.hpp"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>
#include <limits>

#include "quasar/base/error.hpp"

namespace quasar::graph {
namespace {

constexpr int64_t first_opset_without = 10;
constexpr std::array dropped{
    "Affine", "Crop", "DynamicSlice", "GivenTensorFill", "GRUUnit", "ImageScaler", "ParametricSoftplus", "Scale", "ScaledTanh"};

const std::string no_equivalent =
    "newer operator sets dropped it without an equivalent, and quantization needs them; export the model with opset 13 or newer";

const onnx::AttributeProto* attribute_of(const onnx::NodeProto& node, std::string_view name) {
  const auto found = std::ranges::find(node.attribute(), name, [](const auto& one) { return std::string_view(one.name()); });
  return found == node.attribute().end() ? nullptr : &*found;
}

float real_of(const onnx::NodeProto& node, std::string_view name, float fallback) {
  const auto* attribute = attribute_of(node, name);
  return attribute == nullptr ? fallback : attribute->f();
}

// A chain of operators from the node's input to its output; the last one has the node's name.
class Chain {
 public:
  Chain(const onnx::NodeProto& node, const ConvertOptions& options)
      : node_(node), options_(options), base_(node.name().empty() ? node.output(0) : node.name()), value_(node.input(0)) {}

  Chain& by(const std::string& op, const std::vector<float>& values, const std::vector<int64_t>& dims = {}) {
    onnx::TensorProto tensor;
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    for (const int64_t dim : dims) tensor.add_dims(dim);
    for (const float value : values) tensor.add_float_data(value);
    return step(op, {constant(tensor)});
  }

  Chain& slice(const std::vector<int64_t>& starts, const std::vector<int64_t>& ends) {
    return step("Slice", {constant(longs_of(starts)), constant(longs_of(ends)), constant(longs_of({2, 3}))});
  }

  Chain& step(const std::string& op, const std::vector<std::string>& more = {}) {
    onnx::NodeProto next;
    next.set_op_type(op);
    next.add_input(value_);
    for (const auto& input : more) next.add_input(input);
    value_ = options_.fresh(base_ + "_" + op);
    next.set_name(options_.fresh(base_ + "_" + op + "_node"));
    next.add_output(value_);
    nodes_.push_back(std::move(next));
    return *this;
  }

  std::vector<onnx::NodeProto> nodes() {
    nodes_.back().set_name(node_.name());
    nodes_.back().set_output(0, node_.output(0));
    return std::move(nodes_);
  }

 private:
  static onnx::TensorProto longs_of(const std::vector<int64_t>& values) {
    onnx::TensorProto tensor;
    tensor.set_data_type(onnx::TensorProto::INT64);
    tensor.add_dims(static_cast<int64_t>(values.size()));
    for (const int64_t value : values) tensor.add_int64_data(value);
    return tensor;
  }

  std::string constant(const onnx::TensorProto& tensor) {
    std::string name = options_.fresh(base_ + "_constant");
    onnx::NodeProto made;
    made.set_name(options_.fresh(name + "_node"));
    made.set_op_type("Constant");
    made.add_output(name);
    auto& value = *made.add_attribute();
    value.set_name("value");
    value.set_type(onnx::AttributeProto::TENSOR);
    *value.mutable_t() = tensor;
    nodes_.push_back(std::move(made));
    return name;
  }

  const onnx::NodeProto& node_;
  const ConvertOptions& options_;
  std::string base_, value_;
  std::vector<onnx::NodeProto> nodes_;
};

// [N, C, H, W] · scale + bias of each channel.
std::vector<onnx::NodeProto> image_scaler(const onnx::NodeProto& node, const ConvertOptions& options) {
  const auto* bias = attribute_of(node, "bias");
  if (bias == nullptr || bias->floats().empty()) throw Error("it has no bias");
  const std::vector<float> values(bias->floats().begin(), bias->floats().end());
  const auto channels = static_cast<int64_t>(values.size());
  return Chain(node, options).by("Mul", {real_of(node, "scale", 1)}).by("Add", values, {channels, 1, 1}).nodes();
}

// Its axes were fixed: those of the picture and of the samples, and with across_channels all.
std::vector<onnx::NodeProto> normalization(const onnx::NodeProto& node, const ConvertOptions& options) {
  const auto flag = [&](std::string_view name, int64_t fallback) {
    const auto* attribute = attribute_of(node, name);
    return attribute == nullptr ? fallback : attribute->i();
  };
  if (flag("normalize_variance", 1) == 0) throw Error("without normalize_variance it has no equivalent");
  auto nodes = Chain(node, options).step("MeanVarianceNormalization").nodes();
  auto& axes = *nodes.back().add_attribute();
  axes.set_name("axes");
  axes.set_type(onnx::AttributeProto::INTS);
  for (const int64_t axis : {0, 1, 2, 3}) {
    if (axis != 1 || flag("across_channels", 0) != 0) axes.add_ints(axis);
  }
  return nodes;
}

// border: left, top, right, bottom; scale: height and width that are left, in the place of right and bottom.
std::vector<onnx::NodeProto> crop(const onnx::NodeProto& node, const ConvertOptions& options) {
  const auto* border = attribute_of(node, "border");
  const auto* size = attribute_of(node, "scale");
  if (border == nullptr || border->ints_size() != 4) throw Error("its border does not have four values");
  const bool sized = size != nullptr && size->ints_size() == 2;
  const auto end = [&](int axis) {
    const int64_t start = border->ints(1 - axis), cut = border->ints(3 - axis);
    if (sized) return start + size->ints(axis);
    return cut == 0 ? std::numeric_limits<int64_t>::max() : -cut;
  };
  return Chain(node, options).slice({border->ints(1), border->ints(0)}, {end(0), end(1)}).nodes();
}

}  // namespace

bool is_dropped_operator(const std::string& op, int64_t from, int64_t to) {
  if (op == "MeanVarianceNormalization") return from < 9 && to >= 9;
  return from < first_opset_without && to >= first_opset_without && std::ranges::find(dropped, op) != dropped.end();
}

std::vector<onnx::NodeProto> without_dropped(const onnx::NodeProto& node, const ConvertOptions& options) {
  const std::string& op = node.op_type();
  if (node.output_size() != 1 || node.input_size() < 1 || (op == "Crop" && node.input_size() > 1)) {
    throw Error(no_equivalent);
  }
  const float alpha = real_of(node, "alpha", 1), beta = real_of(node, "beta", op == "Affine" ? 0.0F : 1.0F);
  if (op == "ImageScaler") return image_scaler(node, options);
  if (op == "MeanVarianceNormalization") return normalization(node, options);
  if (op == "Crop") return crop(node, options);
  if (op == "Scale") return Chain(node, options).by("Mul", {real_of(node, "scale", 1)}).nodes();
  if (op == "Affine") return Chain(node, options).by("Mul", {alpha}).by("Add", {beta}).nodes();
  if (op == "ScaledTanh") return Chain(node, options).by("Mul", {beta}).step("Tanh").by("Mul", {alpha}).nodes();
  if (op == "ParametricSoftplus") return Chain(node, options).by("Mul", {beta}).step("Softplus").by("Mul", {alpha}).nodes();
  throw Error(no_equivalent);
}

}  // namespace quasar::graph
