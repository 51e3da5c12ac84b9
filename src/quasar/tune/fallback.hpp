// The ways in which tuning strategies give precision up: operators return to float one after another.
#pragma once

#include "quasar/tune/tuner.hpp"

namespace quasar::tune {

// Options of the operators of each type, all of a type alike: the product over types, the last type fastest, without the
// default; at most `most` of them.
std::vector<TuneConfig> by_op_type(const TuningSpace& space, size_t most);

// The configuration with these nodes in float (those that may be).
TuneConfig with_float(TuneConfig config, const TuningSpace& space, const std::vector<std::string>& nodes);

// Nodes that are quantized in `config` and may fall back, in topological order.
std::vector<std::string> quantized_nodes(const TuneConfig& config, const TuningSpace& space);

// Adds one group of nodes after another, a trial each.
void accumulate(Tuner& tuner, TuneConfig config, const std::vector<std::vector<std::string>>& groups);

// The nodes from a ranking that says how much each one's quantization costs, the most expensive first.
std::vector<std::string> ranked(std::vector<std::pair<std::string, double>> costs);

}  // namespace quasar::tune
