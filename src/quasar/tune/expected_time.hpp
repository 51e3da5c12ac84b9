// How long the trials of a job will take, said before they run.
#pragma once

#include <span>

#include "quasar/search/trial.hpp"
#include "quasar/tune/prepared_job.hpp"

namespace quasar::tune {

// Seconds of one trial, on average: as the user expects it, else as those of `finished`, trials of the same study, took, else as
// those of earlier studies did, else from a run of the float model and, where the space rounds, from rounding one configuration
// (a guess where that alone would take more than some 20 s). `trials`: how many there will be; of two stages the second rounds.
double seconds_per_trial(const Job& job, const PreparedJob& prepared, std::span<const search::Trial> finished, uint64_t trials);

}  // namespace quasar::tune
