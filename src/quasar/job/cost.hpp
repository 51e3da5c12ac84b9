// What a configuration is expected to cost, before anything was measured: the order in which a grid runs, and the priority of
// random draws.
#pragma once

#include "quasar/quant/config/config.hpp"
#include "quasar/search/run.hpp"

namespace quasar::tune {

// In units of scoring the float model once on the evaluation samples.
double expected_cost(const quant::Config& config);

// The same for a point; an empty function for a space that is too large to be ordered, or continuous. A point that is no
// configuration costs nothing: it fails at once.
search::Cost cost_of(const search::Space& space);

// Of the points of this space (of several: of the one that decodes them all), which must outlive it: configurations that differ
// only in what no plan depends on are alike.
search::Likeness likeness_of(const search::Space& space);

}  // namespace quasar::tune
