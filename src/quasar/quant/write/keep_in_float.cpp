#include "quasar/quant/write/keep_in_float.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "quasar/quant/codes/scheme.hpp"
#include "quasar/quant/onnxruntime_kernels.hpp"
#include "quasar/quant/pairs.hpp"

namespace quasar::quant {
namespace {

constexpr int64_t first_opset_of_axes = 13;

// How many channels the first input has along its axis.
struct Channels {
  int64_t axis = 1, count = 1;
};

Channels channels_of(const graph::Node& node, const Shape& weights) {
  if (node.op_type == "Conv") return {1, weights.at(1) * node.integer("group", 1)};
  if (node.op_type == "ConvTranspose") return {1, weights.at(0)};
  const bool transposed = node.integer("transA", 0) != 0;
  return {transposed ? 0 : 1, weights.at(node.integer("transB", 0) != 0 ? 1 : 0)};
}

// What moves values gives the same in codes.
bool computes_in_codes(const graph::Node& node) {
  return node.domain.empty() && in_codes(node.op_type) == InCodes::computed;
}

// Its pairs may come to stand on the other side of such a node, or the node be dropped.
bool lets_pairs_pass(const graph::Node& node) {
  return node.domain.empty() && (moves_codes(node.op_type) || node.is("Relu") || node.is("Clip") || node.is("Identity") ||
                                 node.is("Dropout") || node.is("Cast"));
}

// The inputs that such a node reads as codes: [first, last).
std::pair<size_t, size_t> value_inputs(const graph::Node& node) {
  if (node.is("Where")) return {1, node.inputs.size()};
  if (node.is("MatMul") || node.is("Gemm") || node.is("Conv")) return {0, 2};
  return {0, node.inputs.size()};
}

bool is_single(const Tensor* tensor) {
  return tensor != nullptr && tensor->count() == 1;
}

Tensor repeated(const Tensor& one, int64_t count) {
  if (bits_of(one.type()) == 4)
    return codes_tensor(one.type(), {count}, std::vector<int32_t>(static_cast<size_t>(count), plain_codes(one).front()));
  const auto bytes = one.bytes();
  std::vector<std::byte> all;
  for (int64_t i = 0; i < count; i++) all.insert(all.end(), bytes.begin(), bytes.end());
  return Tensor::copy(one.type(), {count}, all.data(), all.size());
}

Tensor halved(const Tensor& weights) {
  std::vector<float> values(weights.as<float>().begin(), weights.as<float>().end());
  for (float& value : values) value *= 0.5F;
  return Tensor::of(weights.shape(), values);
}

class Keeping {
 public:
  Keeping(graph::Model& model, const std::set<std::string>& in_codes, FloatGuard guard)
      : model_(model), in_codes_(in_codes), for_npu_(guard == FloatGuard::for_npu), names_(model) {}

  void run() {
    const graph::Model before = model_;
    const graph::Index index(before);
    model_.nodes.clear();
    for (graph::Node node : before.nodes) {
      if (node.is("Conv") || node.is("ConvTranspose") || node.is("Gemm")) keep(node, index);
      if (has_no_kernel_on_codes(node) || !in_codes_.contains(node.name)) keep_apart(node, index);
      const bool pools = !for_npu_ && pools_before_codes(node, index);
      const std::string result = pools ? std::exchange(node.outputs.front(), names_.fresh(node.name + "_output")) : "";
      model_.nodes.push_back(std::move(node));
      if (pools) copy(model_.nodes.back().name, model_.nodes.back().outputs.front(), result);
    }
  }

 private:
  // ONNX Runtime would write one all the same, and refuse the model.
  static bool has_no_kernel_on_codes(const graph::Node& node) { return node.is("AveragePool") && is_dilated(node); }

  void keep_apart(graph::Node& node, const graph::Index& index) {
    if (node.inputs.empty()) return;  // RandomNormal, SequenceEmpty
    const bool weighted = node.is("Conv") || node.is("ConvTranspose") || node.is("Gemm");
    const graph::Node* pair = index.producer(node.inputs.front());
    const bool folds = weighted && pair != nullptr && pair->op_type == "DequantizeLinear" &&
                       index.model().initializer(node.inputs[1]) == nullptr && is_constant(node.inputs[1], index);
    if (for_npu_ && node.is("Where")) return;  // its compiler has none in float
    const bool pads = for_npu_ && loses_border(node, index);
    if (!folds && !pads && (!computes_in_codes(node) || !stands_between_codes(node, index))) return;
    const auto [first, last] = value_inputs(node);
    size_t copied = first;
    while (copied + 1 < last && is_constant(node.inputs[copied], index)) copied++;
    std::string& input = node.inputs[copied];
    const std::string own = names_.fresh(node.name + "_input");
    copy(node.name, input, own);
    input = own;
  }

  // Between pairs it would run on codes, of which none means what it pads with.
  static bool loses_border(const graph::Node& node, const graph::Index& index) {
    const graph::Node* const pair = node.is("Pad") ? index.producer(node.inputs.front()) : nullptr;
    const auto grid = dequantizes(pair) ? grid_of(*pair, index) : std::nullopt;
    return grid && pads_beyond(node, *grid, index.model());
  }

  // Nothing before it is in codes, but what reads it.
  bool pools_before_codes(const graph::Node& node, const graph::Index& index) const {
    return node.domain.empty() && node.is("MaxPool") && node.outputs.size() == 1 &&
           !comes_from_codes(node.inputs.front(), index) && becomes_codes(node.outputs.front(), index);
  }

  void copy(const std::string& node, const std::string& from, const std::string& to) {
    const auto add_one = [&](const char* type, const std::string& input, const std::string& output) {
      model_.nodes.push_back(
          {.name = names_.fresh(node + "_" + type), .op_type = type, .domain = "", .inputs = {input}, .outputs = {output}});
    };
    if (!for_npu_) return add_one("Sum", from, to);
    const std::string negative = names_.fresh(node + "_negative");
    add_one("Neg", from, negative);
    add_one("Neg", negative, to);
  }

  // ONNX Runtime makes an initializer of it.
  static bool is_constant(const std::string& value, const graph::Index& index) {
    if (value.empty() || index.model().initializer(value) != nullptr) return true;
    const graph::Node* producer = index.producer(value);
    return producer != nullptr && producer->captures.empty() &&
           std::ranges::all_of(producer->inputs, [&](const std::string& input) { return is_constant(input, index); });
  }

  bool stands_between_codes(const graph::Node& node, const graph::Index& index) const {
    const auto [first, last] = value_inputs(node);
    bool any = false;
    for (size_t i = first; i < last; i++) {
      const bool from_codes = comes_from_codes(node.inputs[i], index);
      any = any || from_codes;
      // ONNX Runtime gives a constant of Where a pair of its own.
      if (!from_codes && !(node.is("Where") && is_constant(node.inputs[i], index))) return false;
    }
    if (!any) return false;
    return node.is("MatMul") || node.is("Gemm") || becomes_codes(node.outputs.front(), index);
  }

  // Of 8 bits, as ONNX Runtime's CPU computes with; the NPU has kernels for 16 too.
  bool has_narrow_codes(const graph::Node& pair, const graph::Index& index) const {
    const Tensor* zero_point = pair.inputs.size() > 2 ? index.model().initializer(pair.inputs[2]) : nullptr;
    if (zero_point == nullptr) return false;
    return bits_of(zero_point->type()) == 8 || (for_npu_ && bits_of(zero_point->type()) == 16);
  }

  bool comes_from_codes(const std::string& value, const graph::Index& index) const {
    const graph::Node* producer = index.producer(value);
    if (producer == nullptr) return false;
    if (producer->op_type == "DequantizeLinear") return has_narrow_codes(*producer, index);
    return lets_pairs_pass(*producer) && comes_from_codes(producer->inputs.front(), index);
  }

  bool becomes_codes(const std::string& value, const graph::Index& index) const {
    const auto& readers = index.consumers(value);
    if (readers.empty() || index.is_output(value)) return false;
    return std::ranges::all_of(readers, [&](const graph::Node* reader) {
      if (reader->op_type == "QuantizeLinear") return has_narrow_codes(*reader, index);
      return lets_pairs_pass(*reader) && becomes_codes(reader->outputs.front(), index);
    });
  }

  void keep(graph::Node& node, const graph::Index& index) {
    const Tensor* weights = index.model().initializer(node.inputs[1]);
    const graph::Node* pair = index.producer(node.inputs[0]);
    if (weights == nullptr || weights->type() != DataType::float32 || pair == nullptr || pair->op_type != "DequantizeLinear" ||
        pair->inputs.size() < 3)
      return;
    const Tensor* scale = index.model().initializer(pair->inputs[1]);
    const Tensor* zero_point = index.model().initializer(pair->inputs[2]);
    if (!is_single(scale) || !is_single(zero_point)) return;
    const Channels channels = channels_of(node, weights->shape());
    if (!for_npu_ && channels.count > 1 && model_.opset() >= first_opset_of_axes) {
      graph::Node own = *pair;
      own.name = names_.fresh(node.name + "_DequantizeLinear");
      own.inputs[1] = add(node.name + "_input_scale", repeated(*scale, channels.count));
      own.inputs[2] = add(node.name + "_input_zero_point", repeated(*zero_point, channels.count));
      own.outputs = {names_.fresh(node.name + "_input")};
      own.set({"axis", channels.axis});
      node.inputs[0] = own.outputs[0];
      model_.nodes.push_back(std::move(own));
    } else {
      const std::string doubled = names_.fresh(node.name + "_input");
      model_.nodes.push_back({.name = names_.fresh(node.name + "_Mul"),
                              .op_type = "Mul",
                              .domain = "",
                              .inputs = {node.inputs[0], add(node.name + "_two", Tensor::scalar(2.0F))},
                              .outputs = {doubled}});
      node.inputs[0] = doubled;
      node.inputs[1] = add(node.name + "_half_weights", halved(*weights));
    }
  }

  std::string add(const std::string& wish, Tensor values) {
    std::string name = names_.fresh(wish);
    model_.initializers[name] = std::move(values);
    return name;
  }

  graph::Model& model_;
  const std::set<std::string>& in_codes_;
  const bool for_npu_;
  graph::Names names_;
};

}  // namespace

void keep_in_float(graph::Model& quantized, const std::set<std::string>& in_codes, FloatGuard guard) {
  if (guard == FloatGuard::none) return;
  Keeping(quantized, in_codes, guard).run();
  graph::remove_unused(quantized);
}

}  // namespace quasar::quant
