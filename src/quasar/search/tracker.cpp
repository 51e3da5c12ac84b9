#include "quasar/search/tracker.hpp"

#include <algorithm>

namespace quasar::search {

Tracker::Tracker(std::span<const Trial> trials, const std::string& stage, std::vector<Direction> directions)
    : stage_(stage), directions_(std::move(directions)) {
  progress_.direction = directions_.front();
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
  if (improves(trial)) progress_.since_best = 0;
  if (!trial.is_candidate()) return;
  const double value = trial.values.front();
  ++progress_.candidates;
  auto& best = progress_.best_candidate;
  if (!best || better(value, *best, progress_.direction)) best = value;
}

bool Tracker::improves(const Trial& trial) {
  auto own = known_losses(trial, directions_);
  if (!own) return false;
  const auto is_as_good = [&](const Losses& other) {
    return dominates(other, *own) || (other.violation == own->violation && other.values == own->values);
  };
  if (std::ranges::any_of(front_, is_as_good)) return false;
  std::erase_if(front_, [&](const Losses& other) { return dominates(*own, other); });
  front_.push_back(std::move(*own));
  return true;
}

}  // namespace quasar::search
