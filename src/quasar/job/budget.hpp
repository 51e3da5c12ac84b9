// What a model may cost: the key `budget`, by size and by time.
//
//   budget: {bytes: 0.3, latency: 0.6}         shares of the float model's
//   budget: {bytes: 12 MB, latency: 4 ms}      or absolute; one of the two is enough
//   budget: {accuracy: {criterion: relative, tolerable_loss: 0.01}, bytes: 0.3}   what may be lost, and a cost is made small
#pragma once

#include <cstdint>
#include <functional>
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
  std::string least = {};                       // with `accuracy`: the cost that is made small, bytes or latency; "": the loss is

  bool weighs_bytes() const { return bytes || least == "bytes"; }
  bool weighs_latency() const { return milliseconds || relative_latency || least == "latency"; }
};

// What `accuracy` of the budget asks for, in the words of other keys: accuracy_criterion, and objectives with the cost that is
// made small (`minimize`, or else bytes, or latency where bytes are bounded and it is not). nullopt: it has none. Throws
// Error for values of the wrong kind.
struct AccuracyBudget {
  Json criterion;
  Json objectives;
};
std::optional<AccuracyBudget> accuracy_of_budget(const Json& words);

// `float_bytes`: the float model's size, of which shares are; asked for where the budget has bytes. Throws Error for unknown keys
// (with the nearest) and units, numbers that are 0 and less or beyond the float model's, and a budget of nothing.
Budget parse_budget(const Json& words, const std::function<uintmax_t()>& float_bytes);

// What a trial must keep to be within it.
std::vector<Constraint> constraints_of(const Budget& budget);

}  // namespace quasar::tune
