#include "quasar/search/new_results.hpp"

#include <algorithm>
#include <cmath>

namespace quasar::search {

std::vector<Result> NewResults::update(const History& history) {
  for (; seen_ < history.trials.size(); ++seen_) unfinished_.push_back(seen_);
  std::vector<Result> out;
  std::vector<size_t> still;
  for (const size_t position : unfinished_) {
    const Trial& trial = history.trials[position];
    if (!trial.finished()) still.push_back(position);
    auto losses = known_losses(trial, history.directions);
    if (!losses) continue;
    Coordinates x = coordinates(history.space, trial.point);
    if (std::ranges::any_of(x, [](double v) { return !std::isnan(v); }))
      out.push_back({&trial, std::move(x), *std::move(losses)});
  }
  unfinished_ = std::move(still);
  return out;
}

}  // namespace quasar::search
