#include "quasar/ops/overflow.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>

#include "quasar/ops/constants.hpp"
#include "quasar/ops/op.hpp"
#include "quasar/ops/sum_order.hpp"

namespace quasar::ops {
namespace {

constexpr int whole_byte = 255;

// Operators whose outputs hold nothing that their input does not.
constexpr std::array<std::string_view, 13> passing = {
    "DequantizeLinear", "QuantizeLinear", "Identity", "Reshape", "Flatten", "Squeeze",      "Unsqueeze",
    "Transpose",        "MaxPool",        "Slice",    "Split",   "Gather",  "GlobalMaxPool"};

// Operators on codes: which inputs are weights.
const std::map<std::string_view, std::vector<size_t>>& on_codes() {
  static const std::map<std::string_view, std::vector<size_t>> all{
      {"QLinearConv", {3}},           {"QLinearMatMul", {3}},        {"MatMulInteger", {1}},          {"QGemm", {3}},
      {"DynamicQuantizeMatMul", {1}}, {"MatMulIntegerToFloat", {1}}, {"DynamicQuantizeLSTM", {1, 2}}, {"QAttention", {1}}};
  return all;
}

float upper_bound(const graph::Node& node, const graph::Model& model) {
  if (node.is("Sigmoid") || node.is("HardSigmoid") || node.is("Softmax")) return 1;
  std::string why;
  const auto roles = node.is("Clip") ? roles_of(node, model, why) : std::nullopt;
  return roles && roles->bounds ? roles->bounds->high : std::numeric_limits<float>::infinity();
}

class Search {
 public:
  Search(const graph::Model& model, Kernels kernels) : model_(model), index_(model), kernels_(kernels) {}

  std::vector<Overflow> run() {
    for (const auto& node : model_.nodes) {
      if (const auto known = on_codes().find(node.op_type); known != on_codes().end()) {
        if (is_signed(node)) continue;
        for (const size_t input : known->second) look_at(node, constant_input(node, input, model_), whole_byte);
      } else if (node.is("Conv") || node.is("ConvTranspose") || node.is("MatMul") || node.is("Gemm")) {
        look_between_pairs(node);
      }
    }
    return std::move(found_);
  }

 private:
  // Values of int8 have kernels with wider sums. (Between pairs of Q and DQ, ONNX Runtime makes them uint8 first.)
  bool is_signed(const graph::Node& node) const {
    if (node.op_type != "QLinearConv" && node.op_type != "QLinearMatMul" && node.op_type != "QGemm") return false;
    const Tensor* const zero_point = constant_input(node, 2, model_);
    return zero_point != nullptr && zero_point->type() == DataType::int8;
  }

  // Without codes on both sides, with values of more or fewer than 8 bits, and with scales of float16, the node runs in float.
  void look_between_pairs(const graph::Node& node) {
    if (node.inputs.size() < 2) return;
    const graph::Node* const values = dequantizer(node.inputs[0]);
    const graph::Node* const weights = dequantizer(node.inputs[1]);
    if (values == nullptr || weights == nullptr || !is_byte(*values) || is_signed_input(values->inputs[0])) return;
    const Tensor* const scale = constant_input(*weights, 1, model_);
    if (scale != nullptr && scale->type() == DataType::float16) return;
    look_at(node, constant_input(*weights, 0, model_), most_input(*values));
  }

  bool is_byte(const graph::Node& dequantize) const {
    const Tensor* const zero_point = constant_input(dequantize, 2, model_);
    return zero_point == nullptr || zero_point->type() == DataType::int8 || zero_point->type() == DataType::uint8;
  }

  bool is_signed_input(const std::string& value) const {
    const auto found = std::ranges::find(model_.inputs, value, &graph::Value::name);
    return found != model_.inputs.end() && found->type == DataType::int8;
  }

  const graph::Node* dequantizer(const std::string& value) const {
    const graph::Node* const node = index_.producer(value);
    return node != nullptr && node->op_type == "DequantizeLinear" ? node : nullptr;
  }

  int most_input(const graph::Node& dequantize) const {
    const Tensor* const scale = constant_input(dequantize, 1, model_);
    const Tensor* const zero_point = constant_input(dequantize, 2, model_);
    if (scale == nullptr || scale->type() != DataType::float32 || scale->count() != 1) return whole_byte;
    if (zero_point == nullptr) return whole_byte;
    // Between pairs, ONNX Runtime stores values of int8 as uint8 on the same grid.
    constexpr int to_unsigned = 128;
    const bool is_signed = zero_point->type() == DataType::int8;
    if (!is_signed && zero_point->type() != DataType::uint8) return whole_byte;
    const int stored = is_signed ? zero_point->as<int8_t>()[0] + to_unsigned : zero_point->as<uint8_t>()[0];
    return most_code(index_, dequantize.inputs[0], scale->as<float>()[0], stored);
  }

  void look_at(const graph::Node& node, const Tensor* weights, int most_input) {
    if (weights == nullptr || weights->type() != DataType::int8) return;
    const bool in_32_bits = kernels_ == Kernels::neon;
    const auto order = sum_order(node, weights->shape(), in_32_bits ? Kernels::onnxruntime : kernels_);
    if (!order) return;
    const auto stored = weights->as<int8_t>();
    const std::vector<int32_t> codes(stored.begin(), stored.end());
    Overflow one{.node = node.name, .pairs = order->pairs()};
    if (!in_32_bits) one.overflowing = overflowing_pairs(codes, *order, most_input);
    one.lowest = static_cast<size_t>(std::ranges::count(codes, -128));
    if (one.overflowing > 0 || one.lowest > 1) found_.push_back(std::move(one));
  }

  const graph::Model& model_;
  const graph::Index index_;
  const Kernels kernels_;
  std::vector<Overflow> found_;
};

}  // namespace

std::vector<Overflow> overflows(const graph::Model& quantized, Kernels kernels) {
  return Search(quantized, kernels).run();
}

int most_code(const graph::Index& index, const std::string& value, float scale, int zero_point) {
  const graph::Node* writer = index.producer(value);
  while (writer != nullptr && std::ranges::find(passing, writer->op_type) != passing.end()) {
    writer = index.producer(writer->inputs.front());
  }
  if (writer == nullptr) return whole_byte;
  const float code = std::ceil(upper_bound(*writer, index.model()) / scale) + static_cast<float>(zero_point);
  return code < static_cast<float>(whole_byte) ? std::max(static_cast<int>(code), 0) : whole_byte;
}

}  // namespace quasar::ops
