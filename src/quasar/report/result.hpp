// result.json: what a search found, for programs.
#pragma once

#include "quasar/tune/summary.hpp"

namespace quasar::report {

// All of result.json (docs/reports.md).
Json result_json(const tune::Job& job, const tune::Summary& summary);

// {value, low, high, samples, word}: a metric's score; `word` (trial/quality.hpp) where the number alone says something.
Json score_json(const std::string& metric, const eval::Score& score);

// Its parts, for a report while the search runs: versions, machine, seed and objectives; the float model; trials by what became
// of them; the best trial with what the study knows of it.
Json header_json(const tune::Job& job);
Json baseline_json(const std::filesystem::path& model, const tune::Measured& baseline);
Json counts_json(const search::Counts& counts);
Json best_so_far_json(const search::Trial& trial);

// "ok", "goal_missed", "no_candidate", "strategy_failed" or "interrupted".
std::string name_of(tune::Status status);

// What is wrong with a result that is of little use, and what to try; "" for others. result_table() begins with it.
std::string verdict(const tune::Summary& summary);

// The table that the terminal shows at the end, at most 80 columns wide: float, default configuration and best side by side.
std::string result_table(const tune::Aim& aim, const tune::Summary& summary);

}  // namespace quasar::report
