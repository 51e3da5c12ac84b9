#include "quasar/rounding/scale_search.hpp"

#include <algorithm>
#include <cmath>

#include "quasar/base/parallel.hpp"
#include "quasar/quant/codes/gram_descent.hpp"

namespace quasar::tune {
namespace {

// One block of the inputs as a problem of its own: what its weights give is to be given by their codes.
quant::GramProblem part_of(const quant::GramProblem& whole, size_t block) {
  const size_t first = block * whole.block, k = std::min(whole.block, whole.inputs - first);
  quant::GramProblem part{.outputs = whole.outputs, .inputs = k};
  part.low = whole.low;
  part.high = whole.high;
  part.damping = whole.damping;
  for (size_t i = 0; i < k; i++) {
    const auto row = whole.gram.begin() + static_cast<std::ptrdiff_t>((first + i) * whole.inputs + first);
    part.gram.insert(part.gram.end(), row, row + static_cast<std::ptrdiff_t>(k));
  }
  for (size_t o = 0; o < whole.outputs; o++) {
    const auto weights = whole.weights.begin() + static_cast<std::ptrdiff_t>(o * whole.inputs + first);
    part.weights.insert(part.weights.end(), weights, weights + static_cast<std::ptrdiff_t>(k));
    double power = 0;
    for (size_t i = 0; i < k; i++) {
      double sum = 0;
      for (size_t j = 0; j < k; j++) sum += part.gram[i * k + j] * static_cast<double>(weights[static_cast<std::ptrdiff_t>(j)]);
      part.cross.push_back(sum);
      power += sum * static_cast<double>(weights[static_cast<std::ptrdiff_t>(i)]);
    }
    part.power.push_back(power);
    part.zero_points.push_back(whole.zero_points[o * whole.blocks() + block]);
  }
  return part;
}

}  // namespace

std::vector<double> shrinking_factors(const quant::QuantParams& params) {
  if (params.scales.size() > 1 && bits_of(params.type) >= 8) return {1};
  const bool powers = std::ranges::all_of(params.scales, [](float scale) {
    int exponent = 0;
    return std::frexp(scale, &exponent) == 0.5F;
  });
  return powers ? std::vector<double>{1, 0.5} : std::vector<double>{1, 0.94, 0.88, 0.82, 0.76, 0.7};
}

bool within_limits(const quant::NodePlan& plan, double factor) {
  return static_cast<float>(static_cast<double>(plan.weight->params.scales[0]) * factor) >= plan.least_weight_scale;
}

std::vector<double> factors_by_block(const quant::GramProblem& problem, std::span<const double> factors, size_t sweeps,
                                     size_t threads) {
  const size_t blocks = problem.blocks();
  std::vector<double> best(problem.outputs * blocks, 1);
  parallel_for(blocks, threads, [&](size_t block) {
    quant::GramProblem part = part_of(problem, block);
    std::vector<double> least(problem.outputs, INFINITY);
    for (const double factor : factors) {
      part.scales.clear();
      for (size_t o = 0; o < problem.outputs; o++)
        part.scales.push_back(static_cast<double>(static_cast<float>(problem.scales[o * blocks + block] * factor)));
      const quant::Solution found = quant::descend(part, {.sweeps = sweeps, .threads = 1});
      for (size_t o = 0; o < problem.outputs; o++) {
        if (found.damped[o] >= least[o]) continue;
        least[o] = found.damped[o];
        best[o * blocks + block] = factor;
      }
    }
  });
  return best;
}

}  // namespace quasar::tune
