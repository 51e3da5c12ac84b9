#include "quasar/quant/keep_in_float.hpp"

#include <vector>

#include "quasar/quant/scheme.hpp"

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
  explicit Keeping(graph::Model& model) : model_(model), names_(model) {}

  void run() {
    const graph::Model before = model_;
    const graph::Index index(before);
    model_.nodes.clear();
    for (graph::Node node : before.nodes) {
      if (node.is("Conv") || node.is("ConvTranspose") || node.is("Gemm")) keep(node, index);
      model_.nodes.push_back(std::move(node));
    }
  }

 private:
  void keep(graph::Node& node, const graph::Index& index) {
    const Tensor* weights = index.model().initializer(node.inputs[1]);
    const graph::Node* pair = index.producer(node.inputs[0]);
    if (weights == nullptr || weights->type() != DataType::float32 || pair == nullptr || pair->op_type != "DequantizeLinear")
      return;
    const Tensor* scale = index.model().initializer(pair->inputs[1]);
    const Tensor* zero_point = index.model().initializer(pair->inputs[2]);
    if (!is_single(scale) || !is_single(zero_point)) return;
    const Channels channels = channels_of(node, weights->shape());
    if (channels.count > 1 && model_.opset() >= first_opset_of_axes) {
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
  graph::Names names_;
};

}  // namespace

void keep_in_float(graph::Model& quantized) {
  Keeping(quantized).run();
  graph::remove_unused(quantized);
}

}  // namespace quasar::quant
