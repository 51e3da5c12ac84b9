// How sure a search can be of its winner: against the float model, and against the candidates right behind it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quasar/eval/paired.hpp"
#include "quasar/job/goal_parts.hpp"
#include "quasar/trial/score_book.hpp"

namespace quasar::tune {

// A candidate right behind the winner.
struct Rival {
  int64_t trial = -1;
  eval::Difference difference;  // rival − winner in the first metric
  bool within_noise() const { return difference.low <= 0 && difference.high >= 0; }
};

struct Evidence {
  std::map<std::string, eval::Paired> against_float;                // by metric, on the evaluation samples
  std::vector<Rival> rivals;                                        // the best first
  std::optional<std::map<std::string, eval::Paired>> holdout = {};  // as against_float, on the hold-out samples
};

// {against_float: {metric: {lost, gained, p}}, rivals: [{trial, difference: {value, low, high}, within_noise}], holdout}
Json to_json(const Evidence& evidence);

// The candidates right behind this trial that this process scored in full. Nothing for searches whose winner is not simply the
// best by one metric.
std::vector<Rival> rivals_of(const ScoreBook& book, const Aim& aim, int64_t winner);

// What the user should be told of the rivals; "" when all are clearly worse.
std::string noise_warning(const std::vector<Rival>& rivals, int64_t winner, const std::string& metric);

}  // namespace quasar::tune
