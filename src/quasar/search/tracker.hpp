// Where one stage of a study stands, followed trial by trial for the stop conditions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quasar/search/pareto.hpp"
#include "quasar/search/stop.hpp"

namespace quasar::search {

// Not thread-safe.
class Tracker {
 public:
  // Begins with the stage's trials of earlier runs.
  Tracker(std::span<const Trial> trials, const std::string& stage, std::vector<Direction> directions);

  void start() { ++progress_.counts.running; }
  // A trial that was in state `before` until now, and was not finished; nullopt: it is new.
  void see(std::optional<State> before, const Trial& trial);

  const Counts& counts() const { return progress_.counts; }
  Progress progress(double seconds) const;

 private:
  void add(const Trial& trial);
  bool improves(const Trial& trial);  // on all trials so far

  std::string stage_;
  std::vector<Direction> directions_;
  Progress progress_;
  std::vector<Losses> front_;  // of complete trials, each once
};

}  // namespace quasar::search
