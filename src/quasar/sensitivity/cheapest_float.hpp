// Which operators of a plan would better stay in float, by what operators cost.
#pragma once

#include <set>
#include <string>

#include "quasar/quant/plan.hpp"
#include "quasar/sensitivity/operator_costs.hpp"
#include "quasar/stats/statistics.hpp"

namespace quasar::tune {

// The operators in float with which the sum of all costs is least: of each operator in the form that it has, and of each value
// that changes its form, once however many read it. A minimum cut (Boykov and Kolmogorov, An Experimental Comparison of
// Min-Cut/Max-Flow Algorithms, PAMI 2004, by Boost) between what is quantized and what stays in float. Among equal ones that with
// the fewest operators in float. `conversions`: how many times its price a change of form counts.
std::set<std::string> cheapest_float(const graph::Model& model, const quant::Plan& plan, const OperatorCosts& costs,
                                     const stats::Statistics& seen, double conversions = 1);

}  // namespace quasar::tune
