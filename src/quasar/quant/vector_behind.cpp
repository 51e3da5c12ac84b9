#include "quasar/quant/vector_behind.hpp"

#include <algorithm>

#include "quasar/graph/lookup.hpp"
#include "quasar/ops/constants.hpp"
#include "quasar/quant/placement.hpp"

namespace quasar::quant {

std::optional<VectorBehind> vector_behind(const graph::Node& product, size_t outputs, const graph::Index& index,
                                          const Plan& plan) {
  const graph::Node* sum = graph::sole_reader(product.outputs[0], index);
  if (sum == nullptr || !sum->is("Add")) return std::nullopt;
  const size_t input = sum->inputs[0] == product.outputs[0] ? 1 : 0;
  const Tensor* vector = ops::constant_input(*sum, input, index.model());
  if (vector == nullptr || vector->type() != DataType::float32 || vector->shape() != Shape{static_cast<int64_t>(outputs)})
    return std::nullopt;
  const auto planned = plan.nodes.find(sum->name);
  const auto has_codes = [input](const ConstantPlan& constant) { return constant.input == input; };
  if (planned == plan.nodes.end() || std::ranges::any_of(planned->second.constants, has_codes)) return std::nullopt;
  const auto replaced = planned->second.replaced.find(input);
  return VectorBehind{sum->name, input, replaced == planned->second.replaced.end() ? *vector : replaced->second};
}

}  // namespace quasar::quant
