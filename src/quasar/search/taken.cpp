#include "quasar/search/taken.hpp"

namespace quasar::search {

const std::unordered_set<uint64_t>& Taken::update(const History& history) {
  if (seen_ == 0) indices_ = history.space.forbidden();
  for (; seen_ < history.trials.size(); ++seen_) {
    const Trial& trial = history.trials[seen_];
    if (trial.is_prior() || trial.state == State::waiting) continue;
    if (const auto index = history.space.index_of(trial.point)) indices_.insert(*index);
  }
  return indices_;
}

uint64_t Taken::draw_free(uint64_t size, Rng& rng) const {
  uint64_t index = 0;
  if (indices_.size() * 2 < size) {  // two attempts on average
    do index = rng.below(size);
    while (contains(index));
    return index;
  }
  for (uint64_t skip = rng.below(size - indices_.size()); contains(index) || skip-- > 0;) ++index;
  return index;
}

}  // namespace quasar::search
