#include "quasar/ops/constants.hpp"

#include <bit>
#include <cstdint>
#include <span>

namespace quasar::ops {
namespace {

// Without a branch a value, as weights are looked at often.
bool all_finite(std::span<const float> values) {
  constexpr uint32_t exponent = 0x7f800000;
  uint32_t infinite = 0;
  for (const float value : values) infinite |= (std::bit_cast<uint32_t>(value) & exponent) == exponent ? 1U : 0U;
  return infinite == 0;
}

}  // namespace

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
  } else if (!all_finite(constant->as<float>())) {
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
