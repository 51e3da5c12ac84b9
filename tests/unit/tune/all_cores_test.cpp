#include "quasar/tune/all_cores.hpp"

#include <gtest/gtest.h>

#include "quasar/base/machine.hpp"
#include "quasar/tune/summary.hpp"
#include "unit/tune/made_up_trials.hpp"

namespace quasar::tune {
namespace {

TEST(AllCores, WhatIsSlowOnNeitherWinsByTheGreaterTime) {
  EXPECT_EQ(fast_on_both({0.8, 0.9, 0.85}, {1.2, 0.91, 0.95}, 0, 1.02), 1U);
  EXPECT_EQ(fast_on_both({0.8, 1.01}, {1.2, 0.7}, 0, 1.02), 1U) << "within the factor";
  EXPECT_FALSE(fast_on_both({0.8, 1.1}, {1.2, 0.7}, 0, 1.02)) << "one is slow on all cores, the other on one thread";
  EXPECT_FALSE(fast_on_both({0.5, 0.99}, {1.05, 0.98}, 0, 1.02)) << "one thread would lose half, for a twentieth on all cores";
}

TEST(AllCores, SlowerIsBeyondTheFactorAndNoise) {
  EXPECT_TRUE(is_slower({.median = 1.1, .low = 1.01, .high = 1.2}, 1.02));
  EXPECT_FALSE(is_slower({.median = 1.1, .low = 0.99, .high = 1.3}, 1.02)) << "noise";
  EXPECT_FALSE(is_slower({.median = 1.01, .low = 1.005, .high = 1.02}, 1.02)) << "as good as equal";
}

// `faster` holds for whoever runs the model on one thread and on all.
TEST(AllCores, AModelThatIsSlowerThereIsNotCalledFaster) {
  Speed speed{.of_float = {.median = 0.8, .low = 0.79, .high = 0.81}};
  EXPECT_TRUE(speed.faster()) << "one core only";
  speed.on_all = {.median = 1.01, .low = 1.005, .high = 1.02};
  EXPECT_TRUE(speed.faster());
  speed.on_all = {.median = 1.2, .low = 1.1, .high = 1.3};
  EXPECT_FALSE(speed.faster());
  speed = {.of_float = {.median = 1, .low = 0.9, .high = 1.1}, .on_all = runtime::Ratio{.median = 0.5, .low = 0.4, .high = 0.6}};
  EXPECT_FALSE(speed.faster()) << "one thread is not sure";
}

// A model slower than float on all cores alone counts there, the others on one thread.
TEST(AllCores, EachModelIsComparedWithTheFirstWhereItIsTheSlower) {
  if (cores() == 1) GTEST_SKIP() << "one core";
  MadeUpTrials trials(digits_words());
  const graph::Model& model = trials.setting.model;
  Timers timers;
  timers.models = [](auto, auto&, const runtime::Effort& effort, auto&) {
    const auto times = [](double time) { return std::vector<double>(20, time); };
    return effort.threads > 1 ? std::vector{times(2), times(3), times(1), times(2.02)}
                              : std::vector{times(2), times(1), times(1.5), times(1)};
  };
  const auto ratios =
      beside_float({&model, &model, &model, &model}, *trials.setting.samples.evaluation, {.turns = 3}, 1.02, {}, timers);
  ASSERT_EQ(ratios.size(), 3U);
  EXPECT_DOUBLE_EQ(ratios[0].median, 1.5) << "slower on all cores";
  EXPECT_DOUBLE_EQ(ratios[1].median, 0.75) << "faster there";
  EXPECT_DOUBLE_EQ(ratios[2].median, 0.5) << "within the factor there";
}

}  // namespace
}  // namespace quasar::tune
