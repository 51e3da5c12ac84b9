// What a model may cost: the key `budget`, by size and by time.
//
//   budget: {bytes: 0.3, latency: 0.6}         shares of the float model's
//   budget: {bytes: 12 MB, latency: 4 ms}      or absolute; one of the two is enough
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "quasar/base/json.hpp"
#include "quasar/job/goals.hpp"

namespace quasar::tune {

// What an operator can have: int4 is that of its weights, beside quantized activations; int16 that of its activations.
const std::vector<std::string>& budget_precisions();

struct Budget {
  std::optional<double> bytes = {};             // of the model's file
  std::optional<double> milliseconds = {};      // of one run on one thread
  std::optional<double> relative_latency = {};  // times that of the float model
  size_t groups = 48;                           // of operators, at most, each of which gets a precision
  std::vector<std::string> precisions = {};     // that it may have, of budget_precisions(); empty: those that suit the budget
};

// `model`: the float model's file, whose size shares are of. Throws Error for unknown keys (with the nearest) and units, numbers
// that are 0 and less or beyond the float model's, and a budget of nothing.
Budget parse_budget(const Json& words, const std::filesystem::path& model);

// What a trial must keep to be within it.
std::vector<Constraint> constraints_of(const Budget& budget);

}  // namespace quasar::tune
