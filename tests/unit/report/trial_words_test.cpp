// Lines of trials say what a trial misses.
#include "quasar/report/trial_words.hpp"

#include <gtest/gtest.h>

#include "unit/report/trials.hpp"

namespace quasar::report {
namespace {

search::Trial trial_of(double loss, double bytes) {
  search::Trial trial = complete_trial(3, {{"a", 1}}, {search::Categorical{{1, 2}}}, loss);
  trial.user_attributes["metrics"] = {{"L2", loss}, {"bytes", bytes}, {"cos", 0.9}};
  trial.set_constraints({bytes - 1000});
  return trial;
}

TEST(TrialWords, SayWhatATrialMisses) {
  tune::Aim aim;
  aim.goals.objectives = {{"L2", Direction::minimize}};
  aim.goals.constraints = {{"bytes", tune::Bound::max, 1000}};
  TrialWords words(aim);
  EXPECT_EQ(words.of(trial_of(0.5, 1200)), "L2 0.5") << "before the float model is known";
  tune::Measured baseline;
  baseline.metrics = {{"L2", {.value = 0}}, {"cos", {.value = 1}}};
  words.compare_with(baseline);
  EXPECT_EQ(words.of(trial_of(0.5, 900)), "L2 0.5");
  EXPECT_EQ(words.of(trial_of(0.5, 1200)), "L2 0.5, misses the constraint on bytes (max 1000, is 1200)");
  aim.criterion = tune::AccuracyCriterion{.parts = {{"cos", Direction::maximize}}, .relative = false, .tolerable_loss = 0.01};
  words.follow(aim);
  words.compare_with(baseline);
  search::Trial both = trial_of(0.5, 1200);
  both.set_constraints({200, 0.09});
  EXPECT_EQ(
      words.of(both),
      "L2 0.5, misses the accuracy criterion (cos at least 0.99, is cos 0.9) and the constraint on bytes (max 1000, is 1200)");
}

// A worker resumes nothing.
TEST(TrialWords, SayWhoRunsAnInterruptedTrial) {
  tune::Aim aim;
  aim.goals.objectives = {{"L2", Direction::minimize}};
  search::Trial trial = trial_of(0.5, 900);
  trial.state = search::State::waiting;
  EXPECT_EQ(TrialWords(aim).of(trial), "interrupted: --resume tries it again");
  EXPECT_EQ(TrialWords(aim, "process 1 on a", true).of(trial), "given back: another process runs it");
}

}  // namespace
}  // namespace quasar::report
