// How sure a search can be of its winner: against the float model, and against the candidates right behind it.
#pragma once

#include <string>
#include <vector>

#include "quasar/data/overlap.hpp"
#include "quasar/trial/score_book.hpp"
#include "quasar/tune/summary.hpp"

namespace quasar::tune {

// {metric: {lost, gained, p}} of the winner on the evaluation samples (eval::against); {} where this process did not score it.
Json against_float(const ScoreBook& book, const eval::Scores& reference, const Winner& winner);

// [{trial, difference: {value, low, high}, within_noise}] of the candidates right behind the winner that this process scored in
// full, the best first; the difference is rival − winner in the first metric, and within noise when its interval holds 0.
// [] for searches whose winner is not simply the best by one metric.
Json rivals_of(const ScoreBook& book, const Job& job, const Winner& winner);

// What the user should be told of `rivals` (as rivals_of gives them); "" when all are clearly worse.
std::string noise_warning(const Json& rivals, const Winner& winner, const std::string& metric);

}  // namespace quasar::tune
