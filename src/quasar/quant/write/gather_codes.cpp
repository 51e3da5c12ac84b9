#include "quasar/quant/write/gather_codes.hpp"

#include <optional>

#include "quasar/quant/codes/scheme.hpp"
#include "quasar/quant/codes/scheme_words.hpp"

namespace quasar::quant {
namespace {

struct Gathering {
  const graph::Node* dequantize;
  std::optional<int64_t> axis;  // of the scales behind the Gather; nullopt: there is one scale
};

// nullopt where the order matters, or is not to be changed.
std::optional<Gathering> gathering(const graph::Node& node, const graph::Index& index) {
  const graph::Node* dequantize = node.is("Gather") ? index.producer(node.inputs.front()) : nullptr;
  if (dequantize == nullptr || dequantize->op_type != "DequantizeLinear" || dequantize->integer("block_size", 0) != 0) return {};
  const Tensor* codes = index.model().initializer(dequantize->inputs[0]);
  const Tensor* scale = index.model().initializer(dequantize->inputs[1]);
  if (codes == nullptr || scale == nullptr || !is_integer(codes->type())) return {};
  if (bits_of(codes->type()) != 8 && bits_of(codes->type()) != 16) return {};
  if (scale->count() == 1) return Gathering{dequantize, std::nullopt};
  const auto rank = static_cast<int64_t>(codes->shape().size());
  const auto from_front = [rank](int64_t axis) { return axis < 0 ? axis + rank : axis; };
  const int64_t scales = from_front(dequantize->integer("axis", 1)), gathered = from_front(node.integer("axis", 0));
  if (scales == gathered) return {};
  return Gathering{dequantize, scales < gathered ? scales : scales - rank};  // the indices' dimensions stand in between
}

}  // namespace

void gather_codes_first(graph::Model& quantized) {
  const graph::Model before = quantized;
  const graph::Index index(before);
  graph::Names names(before);
  quantized.nodes.clear();
  for (graph::Node node : before.nodes) {
    const auto found = gathering(node, index);
    if (!found) {
      quantized.nodes.push_back(std::move(node));
      continue;
    }
    graph::Node values = *found->dequantize;
    values.name = names.fresh(node.outputs[0] + "_DequantizeLinear");
    values.outputs = node.outputs;
    if (found->axis) values.set({"axis", *found->axis});
    node.inputs[0] = values.inputs[0];
    node.outputs[0] = values.inputs[0] = names.fresh(node.outputs[0] + "_quantized");
    quantized.nodes.push_back(std::move(node));
    quantized.nodes.push_back(std::move(values));
  }
  graph::remove_unused(quantized);
}

}  // namespace quasar::quant
