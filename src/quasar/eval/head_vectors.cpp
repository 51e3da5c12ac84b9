#include "quasar/eval/head_vectors.hpp"

#include <cmath>

#include "quasar/eval/sums.hpp"

namespace quasar::eval {
namespace {

constexpr size_t fewest_samples = 8;  // from which something can be said of all

}  // namespace

std::optional<size_t> vector_axis(const HeadOutput& output) {
  std::optional<size_t> found;
  for (size_t axis = 0; axis < output.shape.size(); ++axis) {
    if (output.shape[axis] == 1) continue;
    if (found || output.shape[axis] < 2) return std::nullopt;
    found = axis;
  }
  return found;
}

std::optional<double> constant_share(const HeadFacts& facts, const HeadOutput& output) {
  const size_t count = facts.samples();
  if (count < fewest_samples) return std::nullopt;
  const size_t size = facts.values(0, output).size();
  std::vector<double> mean(size);
  double all = 0, squares = 0;
  for (size_t sample = 0; sample < count; ++sample) {
    const auto values = facts.values(sample, output);
    if (values.size() != size) return std::nullopt;
    for (size_t i = 0; i < size; ++i) {
      mean[i] += values[i] / static_cast<double>(count);
      all += values[i] / static_cast<double>(count * size);
      squares += static_cast<double>(values[i]) * values[i] / static_cast<double>(count * size);
    }
  }
  double constant = 0;
  for (const double one : mean) constant += (one - all) * (one - all) / static_cast<double>(size);
  const double total = squares - all * all;
  return total > 0 ? constant / total : 1;
}

bool have_one_sign(const HeadFacts& facts, const HeadOutput& output) {
  if (facts.samples() < fewest_samples) return false;
  bool above = true, below = true;
  for (size_t sample = 0; sample < facts.samples(); ++sample) {
    for (const float value : facts.values(sample, output)) {
      above = above && value > 0;
      below = below && value < 0;
    }
  }
  return above || below;
}

bool have_unit_norm(const HeadFacts& facts, const HeadOutput& output) {
  for (size_t sample = 0; sample < facts.samples(); ++sample) {
    const auto values = facts.values(sample, output);
    if (std::abs(std::sqrt(dot(values, values)) - 1) > 1e-3) return false;
  }
  return facts.samples() > 0;
}

}  // namespace quasar::eval
