// What this process knows of the trials that it ran, so that the winner is neither built nor scored again.
#pragma once

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "quasar/eval/evaluate.hpp"

namespace quasar::tune {

// One of the best trials with its score by one metric, values per sample included.
struct FrontRunner {
  int64_t trial;
  eval::Score score;
};

// Thread-safe. Of the best trial so far the model and the values per sample are kept too, of those right behind it the values.
class ScoreBook {
 public:
  // `loss`: the objective, negated when it is maximized.
  void keep(int64_t trial, eval::Scores scores, double loss, const graph::Model& model) {
    const std::lock_guard lock(guard_);
    if (!best_ || loss < best_->loss) best_ = {trial, loss, model};
    std::erase_if(front_, [&](const Runner& one) { return one.trial == trial; });
    front_.insert(std::ranges::upper_bound(front_, loss, {}, &Runner::loss), {trial, loss, scores});
    if (front_.size() > most_front_runners) front_.pop_back();
    scores_[trial] = without_samples(std::move(scores));
  }

  // Of a trial that is not among the best, as it violates a constraint.
  void note(int64_t trial, eval::Scores scores) {
    const std::lock_guard lock(guard_);
    scores_[trial] = without_samples(std::move(scores));
  }

  std::optional<eval::Scores> find(int64_t trial) const {
    const std::lock_guard lock(guard_);
    const auto found = scores_.find(trial);
    if (found == scores_.end()) return std::nullopt;
    return found->second;
  }

  // Two plans may come to one model: what rounding chose can coincide. `content`: a hash of all that the model holds.
  void know(const std::string& content, int64_t trial) {
    const std::lock_guard lock(guard_);
    models_.emplace(content, trial);
  }
  std::optional<int64_t> same_model(const std::string& content) const {
    const std::lock_guard lock(guard_);
    const auto found = models_.find(content);
    return found == models_.end() ? std::nullopt : std::optional(found->second);
  }

  // nullopt: another trial is the best, or none is known.
  std::optional<graph::Model> model(int64_t trial) const {
    const std::lock_guard lock(guard_);
    if (!best_ || best_->trial != trial) return std::nullopt;
    return best_->model;
  }

  // The same with values per sample; nullopt: the trial is none of the best.
  std::optional<eval::Scores> by_sample(int64_t trial) const {
    const std::lock_guard lock(guard_);
    const auto found = std::ranges::find(front_, trial, &Runner::trial);
    if (found == front_.end()) return std::nullopt;
    return found->scores;
  }

  // The best trials by loss, the best first, with this metric's score.
  std::vector<FrontRunner> front_runners(const std::string& metric) const {
    const std::lock_guard lock(guard_);
    std::vector<FrontRunner> out;
    for (const auto& [trial, loss, scores] : front_) {
      if (scores.contains(metric)) out.push_back({trial, scores.at(metric)});
    }
    return out;
  }

 private:
  static eval::Scores without_samples(eval::Scores scores) {
    for (auto& [name, score] : scores) {
      score.per_sample = {};
      score.resampled = {};
      score.answers = {};
    }
    return scores;
  }

  static constexpr size_t most_front_runners = 6;

  struct Best {
    int64_t trial;
    double loss;
    graph::Model model;
  };
  struct Runner {
    int64_t trial;
    double loss;
    eval::Scores scores;  // with values per sample
  };

  mutable std::mutex guard_;
  std::map<int64_t, eval::Scores> scores_;
  std::map<std::string, int64_t> models_;  // by content: the trial that was scored completely
  std::optional<Best> best_;
  std::vector<Runner> front_;  // by loss
};

}  // namespace quasar::tune
