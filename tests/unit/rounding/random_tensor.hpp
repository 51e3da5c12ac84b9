// Normally distributed numbers.
#pragma once

#include <vector>

#include "quasar/base/rng.hpp"
#include "quasar/graph/tensor.hpp"

namespace quasar::tune {

inline Tensor random_tensor(const Shape& shape, uint64_t seed, float scale = 1) {
  Rng rng(seed);
  std::vector<float> values(count_of(shape));
  for (auto& value : values) value = scale * static_cast<float>(rng.normal());
  return Tensor::of(shape, values);
}

}  // namespace quasar::tune
