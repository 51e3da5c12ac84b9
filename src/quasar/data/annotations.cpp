#include "quasar/data/annotations.hpp"

namespace quasar::data {

std::optional<Boxes> boxes_of(const Dataset& samples, size_t index) {
  const auto* truths = dynamic_cast<const Truths*>(&samples);
  return truths == nullptr ? std::nullopt : truths->boxes(index);
}

std::optional<Tensor> target_of(const Dataset& samples, size_t index) {
  const auto* truths = dynamic_cast<const Truths*>(&samples);
  return truths == nullptr ? std::nullopt : truths->target(index);
}

}  // namespace quasar::data
