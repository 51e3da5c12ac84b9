#include "quasar/quant/write/idle_bounds.hpp"

#include "quasar/graph/lookup.hpp"
#include "quasar/quant/codes/scheme.hpp"
#include "quasar/quant/placement.hpp"

namespace quasar::quant {
namespace {

// The grid of a QuantizeLinear of 8 bits with one scale.
std::optional<QuantParams> grid_behind(const graph::Node& clip, const graph::Index& index) {
  const graph::Node* reader = graph::sole_reader(clip.outputs.front(), index);
  if (reader == nullptr || reader->op_type != "QuantizeLinear" || reader->inputs.size() < 3) return std::nullopt;
  const Tensor* scale = index.model().initializer(reader->inputs[1]);
  const Tensor* zero_point = index.model().initializer(reader->inputs[2]);
  if (scale == nullptr || zero_point == nullptr || scale->count() != 1 || bits_of(zero_point->type()) != 8) return std::nullopt;
  return QuantParams{
      .type = zero_point->type(), .scales = {scale->as<float>()[0]}, .zero_points = {plain_codes(*zero_point).front()}};
}

// What a bound is to the end of a grid: whether both have one code, and whether the end lies beyond it.
struct Bound {
  bool idle = true, passed = false;
};

Bound bound_at(size_t input, const graph::Node& clip, int64_t code, const QuantParams& params, const graph::Model& model) {
  if (clip.inputs.size() <= input || clip.inputs[input].empty()) return {};
  const Tensor* value = model.initializer(clip.inputs[input]);
  if (value == nullptr || value->type() != DataType::float32 || value->count() != 1) return {.idle = false};
  const float bound = value->as<float>()[0], end = params.scales[0] * static_cast<float>(code - params.zero_points[0]);
  return {.idle = plain_codes(quantize(Tensor::scalar(bound), params)).front() == code,
          .passed = input == 1 ? end < bound : end > bound};
}

}  // namespace

void drop_idle_bounds(graph::Model& quantized) {
  const graph::Model before = quantized;
  const graph::Index index(before);
  for (auto& node : quantized.nodes) {
    const graph::Node* producer = node.is("Clip") ? index.producer(node.inputs.front()) : nullptr;
    const auto params = producer == nullptr || producer->op_type == "DequantizeLinear" ? std::nullopt : grid_behind(node, index);
    if (!params) continue;
    const Grid grid = grid_of(params->type, false);
    const Bound low = bound_at(1, node, grid.low, *params, before), high = bound_at(2, node, grid.high, *params, before);
    if (!low.idle || !high.idle) continue;
    if (high.passed) node.inputs[2].clear();
    if (low.passed) node.inputs[1].clear();
    while (node.inputs.back().empty()) node.inputs.pop_back();
  }
  graph::remove_unused(quantized);
}

}  // namespace quasar::quant
