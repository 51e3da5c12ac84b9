// The scores of the trials that this process ran, so that the winner is not scored again.
#pragma once

#include <map>
#include <mutex>
#include <optional>

#include "quasar/eval/evaluate.hpp"

namespace quasar::tune {

// Thread-safe. Values per sample are not kept.
class ScoreBook {
 public:
  void keep(int64_t trial, eval::Scores scores) {
    for (auto& [name, score] : scores) score.per_sample = {};
    const std::lock_guard lock(guard_);
    scores_[trial] = std::move(scores);
  }

  std::optional<eval::Scores> find(int64_t trial) const {
    const std::lock_guard lock(guard_);
    const auto found = scores_.find(trial);
    if (found == scores_.end()) return std::nullopt;
    return found->second;
  }

 private:
  mutable std::mutex guard_;
  std::map<int64_t, eval::Scores> scores_;
};

}  // namespace quasar::tune
