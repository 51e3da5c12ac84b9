// What processes do for each other's next trials changes no trial.
#include "quasar/strategy/trials_ahead.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "unit/tune/scored_trials.hpp"

namespace quasar::tune {
namespace {

// Two processes on one study in memory, which tell when they have rounded a model.
class TwoProcesses {
 public:
  using Way = std::function<void(size_t process, TrialsAhead& trials, const MadeUpTrials& own)>;
  using Value = std::function<double(size_t process, const search::RunningTrial& trial)>;

  void go(const Way& way, const Value& value) {
    const auto storage = search::storage::table().make("memory", {{"shared", true}});
    const search::StudyOptions leading{.name = "study", .resume = true}, working{.name = "study", .resume = true, .worker = true};
    search::Study led(*storage, leading);
    std::jthread other([&] {
      search::Study study(*storage, working);
      walk(1, study, way, value);
    });
    walk(0, led, way, value);
  }

  // Until so many models have been rounded, by both together.
  void wait_for_rounded(size_t count) {
    std::unique_lock lock(guard_);
    told_.wait(lock, [&] { return rounded_[0] + rounded_[1] >= count; });
  }
  size_t rounded() const { return rounded_[0] + rounded_[1]; }

 private:
  void walk(size_t process, search::Study& study, const Way& way, const Value& value) {
    Json words = digits_words();
    words["eval_data_reader"]["limit"] = 16;
    const MadeUpTrials own(words, {.rounding = {.log = [&](Level, const std::string& text) { note(process, text); }}});
    const Foresight foresight(own.trial_context(), 0);
    search::Sequence sequence({.stage = "s"}, study, own.trial_context().space, {}, [&](search::RunningTrial& trial) {
      foresight.prepare(trial.point(), {});
      return search::Outcome{.values = {value(process, trial)}};
    });
    TrialsAhead trials(sequence, study, foresight);
    way(process, trials, own);
  }

  void note(size_t process, const std::string& text) {
    if (!text.starts_with("adaquant: ")) return;
    const std::scoped_lock lock(guard_);
    ++rounded_.at(process);
    told_.notify_all();
  }

  std::mutex guard_;
  std::condition_variable told_;
  std::array<size_t, 2> rounded_{0, 0};
};

// Models that round differently.
std::vector<search::Point> way_of(const MadeUpTrials& trials) {
  std::vector<search::Point> points;
  for (const char* node : {"", "softmax", "classifier", "stem/conv"}) {
    std::vector<std::pair<std::string, Json>> changes{{"algorithms", "adaquant"}, {"fallback", "before rounding"}};
    if (*node != 0) changes.emplace_back(precision_of(node), in_float);
    points.push_back(with(trials, changes));
  }
  return points;
}

auto after(const std::vector<search::Point>& points, size_t place) {
  return [&points, place]() mutable { return ++place < points.size() ? std::optional(points[place]) : std::nullopt; };
}

TEST(TrialsAhead, WhoeverHasMadeAPointReadyTriesIt) {
  TwoProcesses processes;
  std::vector<size_t> who;
  std::array<std::vector<int64_t>, 2> numbers;
  processes.go(
      [&](size_t process, TrialsAhead& trials, const MadeUpTrials& own) {
        const std::vector<search::Point> points = way_of(own);
        for (size_t i = 0; i < points.size(); ++i) {
          const Guess guess{after(points, i), [](const search::Trial&) { return true; }};
          numbers.at(process).push_back(trials.evaluate(points[i], "step", guess).number);
        }
      },
      [&](size_t process, const search::RunningTrial& trial) {
        who.push_back(process);
        processes.wait_for_rounded(who.size() + 1);
        return static_cast<double>(trial.number());
      });
  ASSERT_EQ(who.size(), 4U);
  for (size_t i = 1; i < 4; ++i) EXPECT_NE(who[i], who[i - 1]) << "trial " << i;
  EXPECT_EQ(processes.rounded(), 5U) << "nothing is rounded twice but the last one, as nothing comes next";
  for (const auto& own : numbers) EXPECT_EQ(own, (std::vector<int64_t>{0, 1, 2, 3}));
}

TEST(TrialsAhead, AWrongGuessIsForgotten) {
  TwoProcesses processes;
  std::array<std::vector<int64_t>, 2> numbers;
  std::vector<size_t> who;
  processes.go(
      [&](size_t process, TrialsAhead& trials, const MadeUpTrials& own) {
        const std::vector<search::Point> points = way_of(own);
        const Guess guess{after(points, 0), [](const search::Trial& trial) { return trial.number > 0; }};
        for (const size_t i : {0, 2, 1}) numbers.at(process).push_back(trials.evaluate(points[i], "step", guess).number);
      },
      [&](size_t process, const search::RunningTrial& trial) {
        who.push_back(process);
        if (who.size() == 1) processes.wait_for_rounded(2);
        return static_cast<double>(trial.number());
      });
  EXPECT_EQ(who.size(), 3U);
  for (const auto& own : numbers) EXPECT_EQ(own, (std::vector<int64_t>{0, 1, 2}));
}

}  // namespace
}  // namespace quasar::tune
