#include "quasar/report/importance.hpp"

#include <gtest/gtest.h>

#include "quasar/base/rng.hpp"
#include "unit/report/trials.hpp"

namespace quasar::report {
namespace {

double share_of(const std::vector<Importance>& all, const std::string& name) {
  for (const auto& one : all) {
    if (one.name == name) return one.share;
  }
  return 0;
}

// The variances of 3a and b on the grid are 6 and 1/4.
TEST(Importance, OfAnAdditiveFunctionIsItsVariances) {
  const auto found = importance_of(grid_trials());
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front().name, "a");
  EXPECT_NEAR(share_of(found, "a"), 6 / 6.25, 0.03);
  EXPECT_NEAR(share_of(found, "b"), 0.25 / 6.25, 0.03);
  EXPECT_LT(share_of(found, "c"), 0.01);
}

// Eight trials; b changes nothing, and every trial has one that differs from it in b alone.
TEST(Importance, OfWhatChangesNothingIsNone) {
  std::vector<search::Trial> trials;
  const std::vector<double> bytes{65000, 48865, 62104, 78679};
  for (int i = 0; i < 8; ++i) {
    const search::Categorical four{{0, 1, 2, 3}}, two{{0, 1}};
    trials.push_back(complete_trial(i, {{"a", i / 2}, {"b", i % 2}}, {four, two}, bytes[static_cast<size_t>(i / 2)]));
  }
  const auto found = importance_of(trials);
  EXPECT_EQ(share_of(found, "a"), 1);
  EXPECT_EQ(share_of(found, "b"), 0);
}

TEST(Importance, SharesAddToOneAndAreTheSameEveryTime) {
  const auto trials = grid_trials();
  const auto first = importance_of(trials), second = importance_of(trials);
  double sum = 0;
  ASSERT_EQ(first.size(), second.size());
  for (size_t i = 0; i < first.size(); ++i) {
    sum += first[i].share;
    EXPECT_EQ(first[i].share, second[i].share);
  }
  EXPECT_NEAR(sum, 1, 1e-12);
}

// y = x on [0, 1] against y = z²/10 on a logarithmic range.
TEST(Importance, OfNumbersFollowsTheirRange) {
  Rng rng(3);
  std::vector<search::Trial> trials;
  for (int i = 0; i < 120; ++i) {
    const double x = rng.uniform(), z = rng.uniform();
    trials.push_back(complete_trial(i, {{"x", x}, {"z", std::pow(10, 4 * z)}},
                                    {search::Real{.low = 0, .high = 1}, search::Real{.low = 1, .high = 1e4, .log = true}},
                                    x + z * z / 10));
  }
  const auto found = importance_of(trials);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found.front().name, "x");
  EXPECT_GT(found.front().share, 0.95);  // 1/12 against 4/45/100
}

// Of 40 trials half have the parameter `rate`, with y = 1 + effect · rate; the others have y = 2. `parent`: it depends on `on`.
std::vector<search::Trial> half_with_rate(double effect, bool parent) {
  std::vector<search::Trial> trials;
  const search::Distribution on = search::Categorical{{"yes", "no"}}, rate = search::Real{.low = 0, .high = 1};
  const search::Distribution other = search::Categorical{{"p", "q"}};
  for (int i = 0; i < 40; ++i) {
    const double x = (i % 20) / 20.0;
    search::Point point{{"other", i % 3 == 0 ? "p" : "q"}};
    std::vector<search::Distribution> distributions{other};
    if (parent) {
      point.set("on", i < 20 ? "yes" : "no");
      distributions.push_back(on);
    }
    if (i < 20) {
      point.set("rate", x);
      distributions.push_back(rate);
    }
    trials.push_back(complete_trial(i, point, distributions, i < 20 ? 1 + effect * x : 2));
  }
  return trials;
}

TEST(Importance, OfBeingThereIsTheParents) {
  const auto found = importance_of(half_with_rate(0, true));
  EXPECT_EQ(found.front().name, "on");
  EXPECT_GT(found.front().share, 0.99);
  EXPECT_LT(share_of(found, "rate"), 0.01);
}

TEST(Importance, OfAConditionalParameterIsWhatItsValueBrings) {
  const auto found = importance_of(half_with_rate(2, true));  // 1 … 3 where it is there, 2 on the average
  EXPECT_EQ(found.front().name, "rate");
  EXPECT_LT(share_of(found, "on"), 0.1);
}

// A group with one choice each: `on` has the effect, and `fixed` is no parameter that could be held.
TEST(Importance, OfOneValueIsNone) {
  std::vector<search::Trial> trials;
  const search::Distribution on = search::Categorical{{"yes", "no"}}, fixed = search::Categorical{{1}};
  for (int i = 0; i < 20; ++i) {
    const bool has = i % 2 == 0;
    trials.push_back(has ? complete_trial(i, {{"on", "yes"}, {"fixed", 1}}, {on, fixed}, 1)
                         : complete_trial(i, {{"on", "no"}}, {on}, 2));
  }
  const auto found = importance_of(trials);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().name, "on");
}

TEST(Importance, CountsWhetherAParameterIsThereWhereNothingElseTells) {
  const auto found = importance_of(half_with_rate(0, false));
  EXPECT_EQ(found.front().name, "rate");
  EXPECT_GT(found.front().share, 0.99);
}

// The bad ones, which a pruner gives up, count by what they had by then.
TEST(Importance, SeesTrialsThatWereGivenUp) {
  auto trials = grid_trials();
  for (auto& trial : trials) {
    if (trial.values.front() < 2) continue;
    trial.state = search::State::pruned;
    trial.intermediate[16] = trial.values.front();
    trial.values.clear();
  }
  const auto all = importance_of(grid_trials()), found = importance_of(trials);
  ASSERT_EQ(found.size(), all.size());
  EXPECT_EQ(found.front().share, all.front().share);
  EXPECT_TRUE(importance_of(trials, {.objective = 1}).empty());
}

TEST(Importance, IsUnknownWhereNothingVaries) {
  EXPECT_TRUE(importance_of({}).empty());
  auto trials = grid_trials();
  for (auto& trial : trials) trial.values = {1.0};
  EXPECT_TRUE(importance_of(trials).empty());
}

}  // namespace
}  // namespace quasar::report
