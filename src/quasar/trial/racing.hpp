// Which trials of a job may be given up early, and by whom.
#pragma once

#include <memory>
#include <string>

#include "quasar/eval/evaluate.hpp"
#include "quasar/job/job.hpp"
#include "quasar/job/spaces.hpp"
#include "quasar/search/racer.hpp"

namespace quasar::tune {

// What the user should know of a pruner that he named and that cannot act; "" when it can.
std::string idle_pruner(const Job& job);

// The racer of the job's pruner; nullptr for the pruner none, and where the objective is no mean over samples or not the only
// one. Trials of forms that are faster than the first one are not given up, as time speaks for them; nor are rounded ones of
// forms that may win beside a nearer one.
std::unique_ptr<search::Racer> racer_of(const Aim& aim, const Named& pruner_keys, const Spaces& spaces,
                                        const search::Study& study, const eval::Evaluator& evaluator);

}  // namespace quasar::tune
