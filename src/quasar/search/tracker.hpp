// Where one stage of a study stands, followed trial by trial for the stop conditions.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "quasar/search/stop.hpp"

namespace quasar::search {

// Not thread-safe.
class Tracker {
 public:
  // Begins with the stage's trials of earlier runs.
  Tracker(std::span<const Trial> trials, const std::string& stage, Direction direction);

  void start() { ++progress_.counts.running; }
  // A trial that was in state `before` until now, and was not finished; nullopt: it is new.
  void see(std::optional<State> before, const Trial& trial);

  const Counts& counts() const { return progress_.counts; }
  Progress progress(double seconds) const;

 private:
  void add(const Trial& trial);

  std::string stage_;
  Progress progress_;
  std::optional<double> best_;  // value of the trial that violates the constraints least
  double violation_ = 0;        // that trial's
};

}  // namespace quasar::search
