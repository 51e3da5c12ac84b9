// Weight scales below the configured ones: clipping a few weights may serve the others better than it hurts them.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "quasar/quant/codes/rounding.hpp"
#include "quasar/quant/codes/scheme.hpp"
#include "quasar/quant/plan.hpp"

namespace quasar::tune {

// The factors that are tried, 1 among them; {1} where clipping never pays: 8 bits with one scale per output or block are so fine.
// Powers of two stay such.
std::vector<double> shrinking_factors(const quant::QuantParams& params);

// Whether scales keep within the target's limits when they shrink by a factor.
bool within_limits(const quant::NodePlan& plan, double factor);

// For every block of inputs by itself: the factor of its scale with the least damped error, by so many sweeps of coordinate
// descent within the block, inputs of other blocks left as they are. -> [outputs, blocks]
std::vector<double> factors_by_block(const quant::GramProblem& problem, std::span<const double> factors, size_t sweeps,
                                     size_t threads);

}  // namespace quasar::tune
