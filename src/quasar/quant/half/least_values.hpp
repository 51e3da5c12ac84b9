// How near to 0 the values of a model come.
#pragma once

#include <map>
#include <string>

#include "quasar/graph/model.hpp"
#include "quasar/stats/statistics.hpp"

namespace quasar::quant {

// By name, of values that stay above or below 0: a magnitude that they do not fall below. That is half of the smallest observed
// one, or what the operator before guarantees (a bound of Clip or Max, a number that is added to what is not negative), whichever
// is larger.
std::map<std::string, double> least_magnitudes(const graph::Model& model, const stats::Statistics& seen);

}  // namespace quasar::quant
