#include "quasar/tune/accuracy.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "quasar/base/error.hpp"
#include "quasar/tune/goals.hpp"

namespace quasar::tune {
namespace {

AccuracyCriterion parsed(const Json& words, const std::string& metric) {
  return parse_criterion(words, metric, direction_of(metric, {}));
}

TEST(Accuracy, RelativeLossIsAShareOfTheBaseline) {
  const auto criterion = parsed({{"tolerable_loss", 0.02}}, "top1");
  EXPECT_DOUBLE_EQ(goal_of(criterion, 0.5), 0.49);
  EXPECT_TRUE(meets(criterion, 0.49, goal_of(criterion, 0.5)));
  EXPECT_FALSE(meets(criterion, 0.4899, goal_of(criterion, 0.5)));
}

TEST(Accuracy, AbsoluteLossIsInTheMetricsUnit) {
  const auto criterion = parsed({{"criterion", "absolute"}, {"tolerable_loss", 0.005}}, "top1");
  EXPECT_DOUBLE_EQ(goal_of(criterion, 0.485), 0.48);
  EXPECT_TRUE(meets(criterion, 0.48, goal_of(criterion, 0.485)));
}

TEST(Accuracy, LowerIsBetterForDistances) {
  const auto criterion = parsed({{"criterion", "absolute"}, {"tolerable_loss", 0.1}}, "L2");
  EXPECT_DOUBLE_EQ(goal_of(criterion, 0), 0.1);
  EXPECT_TRUE(meets(criterion, 0.05, 0.1));
  EXPECT_FALSE(meets(criterion, 0.11, 0.1));
}

TEST(Accuracy, ExactTiesWithZeroToleranceAreMet) {
  for (const double baseline : {0.3, 0.0, -2.5, 1e-300, 0.1 + 0.2}) {
    for (const char* kind : {"relative", "absolute"}) {
      const auto criterion = parsed({{"criterion", kind}, {"tolerable_loss", 0}}, "top1");
      EXPECT_TRUE(meets(criterion, baseline, goal_of(criterion, baseline))) << baseline << " " << kind;
    }
  }
}

TEST(Accuracy, ANegativeBaselineIsNoTrap) {
  AccuracyCriterion criterion{.tolerable_loss = 0.1};
  EXPECT_DOUBLE_EQ(goal_of(criterion, -10), -11);
  EXPECT_TRUE(meets(criterion, -10, goal_of(criterion, -10)));
  EXPECT_FALSE(meets(criterion, -12, goal_of(criterion, -10)));
}

TEST(Accuracy, AContradictedDirectionIsAnError) {
  EXPECT_THROW(parsed({{"higher_is_better", true}}, "L2"), Error);
  EXPECT_THROW(parsed({{"higher_is_better", "yes"}}, "top1"), Error);
  EXPECT_NO_THROW(parsed({{"higher_is_better", true}}, "top1"));
}

TEST(Accuracy, WhatNothingCouldMeetIsAnError) {
  const auto relative = parsed(Json::object(), "L2");
  EXPECT_THROW(check_reachable(relative, "L2", 0), Error);
  EXPECT_NO_THROW(check_reachable(parsed({{"criterion", "absolute"}}, "L2"), "L2", 0));
  EXPECT_THROW(check_reachable(parsed(Json::object(), "psnr"), "psnr", HUGE_VAL), Error);
}

TEST(Accuracy, UnknownKeysNameTheNearest) {
  try {
    parsed({{"tolerable_los", 0.1}}, "top1");
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("tolerable_loss"), std::string::npos) << e.what();
  }
  EXPECT_THROW(parsed({{"tolerable_loss", -1}}, "top1"), Error);
  EXPECT_THROW(parsed({{"criterion", "both"}}, "top1"), Error);
}

}  // namespace
}  // namespace quasar::tune
