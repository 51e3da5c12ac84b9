#include "quasar/ops/constants.hpp"

#include <algorithm>
#include <cmath>

namespace quasar::ops {

bool has_input(const graph::Node& node, size_t input) {
  return input < node.inputs.size() && !node.inputs[input].empty();
}

const Tensor* constant_input(const graph::Node& node, size_t input, const graph::Model& model) {
  return has_input(node, input) ? model.initializer(node.inputs[input]) : nullptr;
}

bool is_quantizable_constant(const Tensor* constant, const std::string& role, std::string& why) {
  if (constant == nullptr) {
    why = role + " not constant";
  } else if (constant->type() != DataType::float32) {
    why = role + " of type " + std::string(name_of(constant->type())) + ", not float32";
  } else if (constant->empty()) {
    why = role + " empty";
  } else if (!std::ranges::all_of(constant->as<float>(), [](float value) { return std::isfinite(value); })) {
    why = role + " with infinite values or NaN";
  } else {
    return true;
  }
  return false;
}

bool may_be_activation(const graph::Node& node, size_t input, const graph::Model& model, std::string& why) {
  const Tensor* constant = constant_input(node, input, model);
  return constant == nullptr || is_quantizable_constant(constant, "a constant input", why);
}

}  // namespace quasar::ops
