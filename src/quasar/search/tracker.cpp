#include "quasar/search/tracker.hpp"

namespace quasar::search {

Tracker::Tracker(std::span<const Trial> trials, const std::string& stage, Direction direction) : stage_(stage) {
  progress_.direction = direction;
  for (const Trial& trial : trials) add(trial);
}

void Tracker::see(std::optional<State> before, const Trial& trial) {
  const bool mine = trial.user_attributes.value(attribute::stage, std::string()) == stage_;
  if (mine && before == State::running) --progress_.counts.running;
  add(trial);
}

Progress Tracker::progress(double seconds) const {
  Progress out = progress_;
  out.seconds = seconds;
  return out;
}

void Tracker::add(const Trial& trial) {
  if (trial.user_attributes.value(attribute::stage, std::string()) != stage_) return;
  count(progress_.counts, trial);
  if (!trial.finished()) return;
  progress_.duplicates_in_a_row = trial.is_duplicate() ? progress_.duplicates_in_a_row + 1 : 0;
  if (trial.is_duplicate()) return;
  ++progress_.since_best;
  if (trial.state != State::complete) return;
  const double value = trial.values.front(), violation = trial.violation();
  const bool is_best = !best_ || (violation == violation_ ? better(value, *best_, progress_.direction) : violation < violation_);
  if (is_best) {
    best_ = value;
    violation_ = violation;
    progress_.since_best = 0;
  }
  if (!trial.is_candidate()) return;
  ++progress_.candidates;
  auto& best = progress_.best_candidate;
  if (!best || better(value, *best, progress_.direction)) best = value;
}

}  // namespace quasar::search
