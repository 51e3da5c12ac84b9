// When a search for an accuracy goal ends: tuning_criterion's max_trials and timeout, n_trials and search_stop_condition
// together.
//
// max_trials counts models: a trial whose configuration makes the same model as an earlier one costs nothing, and does not count.
// n_trials counts every trial, as in any other search.
#pragma once

#include <optional>
#include <string>

#include "quasar/job/job.hpp"
#include "quasar/search/stop.hpp"

namespace quasar::tune {

inline constexpr int64_t default_max_trials = 100;  // as Intel Neural Compressor's

// n_trials and search_stop_condition.n_trials, the smaller one; nullopt: neither is given.
std::optional<int64_t> n_trials_of(const Limits& limits);

// max_trials as given, or its default where a key of tuning is given and no number of trials is.
std::optional<int64_t> max_trials_of(const Limits& limits);

// max_trials of as many, and as duplicates alone would come without end, an end where most_duplicates of them come in a row.
std::unique_ptr<search::StopCondition> max_trials(int64_t most);
inline constexpr size_t most_duplicates = 1000;

// The conditions of a strategy that tunes operators: max_trials is 100 where no number of trials is given.
search::StopConditions exit_policy(const Limits& limits);

// Trials that it may start at all, and the key that says so.
struct MostTrials {
  int64_t count = 0;
  std::string key;  // "max_trials" (also its default) or "n_trials"
};
MostTrials most_trials_of(const Limits& limits);

// Trials that it may still start after these.
size_t trials_left(const Limits& limits, const search::Counts& used);

// A reason with the key that the user has written: timeout becomes a time_limit.
std::string in_the_users_words(const Limits& limits, std::string reason);

}  // namespace quasar::tune
