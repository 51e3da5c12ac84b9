#include "quasar/search/taken.hpp"

namespace quasar::search {

const std::unordered_set<uint64_t>& Taken::update(const History& history) {
  for (; seen_ < history.trials.size(); ++seen_) {
    const Trial& trial = history.trials[seen_];
    if (trial.interrupted() || trial.state == State::waiting) continue;
    if (const auto index = history.space.index_of(trial.point)) indices_.insert(*index);
  }
  return indices_;
}

}  // namespace quasar::search
