// An earlier study as the beginning of a new one: its finished trials teach the sampler, its best are tried again first.
#pragma once

#include <vector>

#include "quasar/job/job.hpp"
#include "quasar/search/trial.hpp"

namespace quasar::tune {

// The trials with a value (complete, or given up on the way), no duplicates, of the study that warm_start names (an output
// folder, a database file or a URL, as past_study() takes them; of several studies the one of the job's own study_name, if
// given), then of the job's predecessor and those before it. Throws Error when there is none, or when it was about another
// metric.
std::vector<search::Trial> earlier_trials(const Job& job);

// The trials as the job's constraints judge them, whose bounds may be others than those of the study they come from. Complete
// ones that lack a metric of a constraint are left out: nobody knows whether they keep it.
std::vector<search::Trial> judged_anew(std::vector<search::Trial> trials, const Aim& aim, const eval::Scores& reference);

}  // namespace quasar::tune
