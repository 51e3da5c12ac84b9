// How a search whose best model is poor, misses the user's goal, or meets it with much in float, goes on: strategy repair, with
// what is left of the user's trials and time.
#pragma once

#include <optional>
#include <string>

#include "quasar/tune/summary.hpp"

namespace quasar::tune {

// Whether the job is one that goes on: preset cpu_int8_search and quant_level auto, which choose for the user what is tried.
bool is_rescued(const Job& job);

// The same job with two thirds of its limits on trials and time: the last third is for repair. With all of them where the user
// narrows operators in a way that repair cannot.
Job with_two_thirds(Job job);

// Why: the best model is poor; it misses the goal that the user gave; quant_level auto met the goal with more than a quarter of
// the multiply-adds in float. "": it needs none, or nobody wants more of it.
std::string why_rescued(const Job& job, const Summary& summary);

// Strategy repair towards answers that are of use, or that goal, from the same study's storage, in `folder`. On several machines
// it runs on the leader's alone: workers end with the first study. nullopt: it needs no rescue, nothing is left to try it with,
// or the user narrows operators in a way that repair cannot (which `log` hears). `whole`: the job with all its limits.
std::optional<Job> rescue_of(const Job& whole, const Summary& poor, const std::filesystem::path& folder, const Log& log);

// Whether what repair found takes the place of that model. Of a poor one: it is not poor, or less so (more of the float model's
// answers; where none are compared, a smaller error of the worst part). Of another: it meets the goal that was missed, or meets
// it with more in integers.
bool takes_the_place_of(const Summary& poor, const Summary& repaired);

// Where repair had another goal than the user's (answers that are of use), and its model misses that: the status and the reason
// say so. `whole`: as above.
void judge_by(const Aim& aim, Summary& repaired);

}  // namespace quasar::tune
