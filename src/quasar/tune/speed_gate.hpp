// Operators that stay in float throughout a search, since the quantized model is faster so.
#pragma once

#include "quasar/tune/prepared_job.hpp"

namespace quasar::tune {

struct SpeedGate {
  std::map<std::string, std::vector<std::string>> regions = {};  // operators that are neighbours, by the first of them
  double planned = 1;  // median time of a run as the space's first point is planned, in those of the float model
  double gated = 1;    // the same with the regions in float
  std::map<std::string, double> form_times = {};  // of the spaces' forms with the regions in float, by name, as `gated`
  std::set<std::string> slower_forms = {};        // than float and the first of them
  std::set<std::string> idle_forms = {};          // that quantize hardly anything with the regions in float
  std::string saturation = {};                    // that all points have (quant/codes/code_limits.hpp); "": their own
  std::optional<double> on_all = {};              // as `gated`, with as many threads as there are cores; nullopt: not measured
  std::string told;                               // what was decided and why, in words
};

Json to_json(const SpeedGate& gate);

// What these times say (runtime::times_in_turn() of the float model, as planned and, where there is one, with `operators` more in
// float): the latter counts if it is faster than as planned by this factor at least, and beyond noise. Without regions.
SpeedGate decide_speed(const std::vector<std::vector<double>>& times, double factor, size_t operators);

// These operators, neighbours together, by the first of them in topological order.
std::map<std::string, std::vector<std::string>> regions_of(const graph::Model& model, const std::set<std::string>& nodes);

// What stands in the study; nullopt: nothing was decided for it.
std::optional<SpeedGate> decided_speed(const search::Study& study);

// Makes the regions part of all spaces, as parameters "region <operator>", and takes the slower forms out. Where the
// first form gains a tenth of the time, those that gain less than half as much are lesser ones.
void apply(const SpeedGate& gate, Spaces& spaces);

}  // namespace quasar::tune
