// What this process knows of the trials that it ran, so that the winner is neither built nor scored again.
#pragma once

#include <map>
#include <mutex>
#include <optional>

#include "quasar/eval/evaluate.hpp"

namespace quasar::tune {

// Thread-safe. Of the best trial so far the model and the values per sample are kept too.
class ScoreBook {
 public:
  // `loss`: the objective, negated when it is maximized.
  void keep(int64_t trial, eval::Scores scores, double loss, const graph::Model& model) {
    const std::lock_guard lock(guard_);
    if (!best_ || loss < best_->loss) best_ = {trial, loss, model, scores};
    for (auto& [name, score] : scores) {
      score.per_sample = {};
      score.answers = {};
    }
    scores_[trial] = std::move(scores);
  }

  std::optional<eval::Scores> find(int64_t trial) const {
    const std::lock_guard lock(guard_);
    const auto found = scores_.find(trial);
    if (found == scores_.end()) return std::nullopt;
    return found->second;
  }

  // nullopt: another trial is the best, or none is known.
  std::optional<graph::Model> model(int64_t trial) const {
    const std::lock_guard lock(guard_);
    if (!best_ || best_->trial != trial) return std::nullopt;
    return best_->model;
  }

  // The same with values per sample.
  std::optional<eval::Scores> by_sample(int64_t trial) const {
    const std::lock_guard lock(guard_);
    if (!best_ || best_->trial != trial) return std::nullopt;
    return best_->scores;
  }

 private:
  struct Best {
    int64_t trial;
    double loss;
    graph::Model model;
    eval::Scores scores;  // with values per sample
  };

  mutable std::mutex guard_;
  std::map<int64_t, eval::Scores> scores_;
  std::optional<Best> best_;
};

}  // namespace quasar::tune
