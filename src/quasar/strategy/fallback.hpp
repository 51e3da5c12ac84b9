// The ways in which tuning strategies give precision up: operators return to float one after another.
#pragma once

#include <functional>

#include "quasar/job/precision.hpp"
#include "quasar/strategy/tuner.hpp"

namespace quasar::tune {

// Options of the operators of each type, all of a type alike: the product over types, the last type fastest, without the
// default; at most `most` of them.
std::vector<TuneConfig> by_op_type(const TuningSpace& space, size_t most);

// A configuration that was tried.
struct Attempt {
  TuneConfig config;
  search::Trial trial;
};

// The default configuration, with each of SmoothQuant's alphas where the user gave some: the best of them.
Attempt first_attempt(Tuner& tuner);

// The best of these and the one before, a trial each.
Attempt best_of(Tuner& tuner, Attempt before, std::span<const TuneConfig> others);

// The best without fallback: first_attempt(), then at most `combinations` of by_op_type(), then with_dynamic().
Attempt best_options(Tuner& tuner, size_t combinations);

// Approach auto: the ranges of whatever can found at run time, once for each way to do that; {} where nothing can.
std::vector<TuneConfig> with_dynamic(const TuneConfig& config, const TuningSpace& space);

// The float type in which a node may fall back that is wanted in `type`: that one, or the cheapest that it has; "": it has none.
std::string float_type_of(const TunedNode& node, const std::string& type);

// The configuration with these nodes in this float type, or in the cheapest that they have where they lack it. What is in a
// dearer one stays.
TuneConfig with_float(TuneConfig config, const TuningSpace& space, const std::vector<std::string>& nodes,
                      const std::string& type = in_float);

// Nodes that with_float() would change, in topological order: what is quantized, or in a cheaper float type.
std::vector<std::string> fallible_nodes(const TuneConfig& config, const TuningSpace& space, const std::string& type = in_float);

// The float types to fall back to, one after another, from the cheapest; not those in which every node would be as in an earlier.
std::vector<std::string> fallback_types(const TuningSpace& space);

// Neighbours in pairs, and pairs of these, until there are at most `most` groups (at least 1).
std::vector<std::vector<std::string>> at_most(std::vector<std::vector<std::string>> groups, size_t most);

// Adds one group of nodes after another, a trial each, as long as something stays quantized; none where only kernels change.
void accumulate(Tuner& tuner, TuneConfig config, const std::vector<std::vector<std::string>>& groups,
                const std::string& type = in_float);

// The last of these groups stays quantized all along: where nothing met the goal, a few of those before it stay so in its stead.
void leave_another(Tuner& tuner, const TuneConfig& config, const std::vector<std::vector<std::string>>& groups,
                   const std::string& type = in_float);

// Runs `fall_back`; where that meets the goal, operators that were given up in vain return: each is asked once, in the order of
// `least_first`, to be what it was in `start`, as long as the goal holds. Ends as `fall_back` does.
void fall_back_with_return(Tuner& tuner, const TuneConfig& start, const std::function<void()>& fall_back,
                           const std::function<std::vector<std::string>()>& least_first);

// One of these nodes after another, to the cheapest types first, with return. `step` names it in the report.
void fall_back_in_order(Tuner& tuner, const TuneConfig& start, const std::vector<std::string>& most_first,
                        const std::string& step);

// The nodes from a ranking that says how much each one's quantization costs, the most expensive first.
std::vector<std::string> ranked(std::vector<std::pair<std::string, double>> costs);

}  // namespace quasar::tune
