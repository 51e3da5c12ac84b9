// Stop conditions: when a search has done enough. One file each in stop/; several are combined by "any".
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quasar/base/api.hpp"
#include "quasar/base/plugin.hpp"
#include "quasar/search/trial.hpp"

namespace quasar::search {

// Where a run stands. Trials of other stages do not count; those of the resumed study do.
struct Progress {
  Counts counts;
  double seconds = 0;  // since the start of this run
  Direction direction = Direction::minimize;
  size_t candidates = 0;                 // complete trials, no duplicates, that are good enough for the user
  std::optional<double> best_candidate;  // the best value among them
  size_t since_best = 0;                 // trials executed since the last one that no earlier one dominates or equals
  size_t duplicates_in_a_row = 0;        // since the last trial that was executed
};

class QUASAR_API StopCondition {
 public:
  virtual ~StopCondition() = default;

  // Why no further trial is to be started; nullopt: go on.
  virtual std::optional<std::string> met(const Progress& progress) const = 0;

  // Seconds after which even running trials are cancelled.
  virtual std::optional<double> deadline() const { return std::nullopt; }

  // The number of finished trials at which it will hold, when that is known beforehand.
  virtual std::optional<uint64_t> limit() const { return std::nullopt; }
};

using StopConditions = std::vector<std::unique_ptr<StopCondition>>;

// {"n_trials": 20, "time_limit": 60}: one condition per key, whose first option is the value; null and -1 switch it off. Throws
// Error for unknown keys and values out of range.
QUASAR_API StopConditions stop_conditions(const Json& words);

}  // namespace quasar::search

namespace quasar::search::stop {
QUASAR_API const Table<StopCondition>& table();
}
