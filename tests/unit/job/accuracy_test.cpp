#include "quasar/job/accuracy.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "quasar/base/error.hpp"
#include "unit/error_of.hpp"

namespace quasar::tune {
namespace {

AccuracyCriterion parsed(const Json& words, const std::string& metric) {
  return parse_criterion(words, metric);
}

bool meets(const AccuracyCriterion& criterion, double value, double baseline) {
  const std::string& metric = criterion.parts.front().metric;
  return excess_of(criterion, {{metric, value}}, {{metric, baseline}}) <= 0;
}

TEST(Accuracy, RelativeLossIsAShareOfTheBaseline) {
  const auto criterion = parsed({{"tolerable_loss", 0.02}}, "top1");
  EXPECT_NEAR(loss_of(criterion, {{"top1", 0.49}}, {{"top1", 0.5}}), 0.02, 1e-12);
  EXPECT_TRUE(meets(criterion, 0.49, 0.5));
  EXPECT_FALSE(meets(criterion, 0.4899, 0.5));
}

TEST(Accuracy, AbsoluteLossIsInTheMetricsUnit) {
  const auto criterion = parsed({{"criterion", "absolute"}, {"tolerable_loss", 0.005}}, "top1");
  EXPECT_TRUE(meets(criterion, 0.48, 0.485));
  EXPECT_FALSE(meets(criterion, 0.4799, 0.485));
}

TEST(Accuracy, LowerIsBetterForDistances) {
  const auto criterion = parsed({{"criterion", "absolute"}, {"tolerable_loss", 0.1}}, "L2");
  EXPECT_TRUE(meets(criterion, 0.1, 0));
  EXPECT_TRUE(meets(criterion, 0.05, 0));
  EXPECT_FALSE(meets(criterion, 0.11, 0));
}

TEST(Accuracy, ExactTiesWithZeroToleranceAreMet) {
  for (const double baseline : {0.3, 0.0, -2.5, 1e-300, 0.1 + 0.2}) {
    for (const char* kind : {"relative", "absolute"}) {
      const auto criterion = parsed({{"criterion", kind}, {"tolerable_loss", 0}}, "top1");
      EXPECT_TRUE(meets(criterion, baseline, baseline)) << baseline << " " << kind;
      EXPECT_FALSE(meets(criterion, baseline - 0.01, baseline)) << baseline << " " << kind;
    }
  }
  // Means of the same values in another order.
  EXPECT_TRUE(meets(parsed({{"tolerable_loss", 0}}, "top1"), 0.1 + 0.2, 0.3));
  EXPECT_TRUE(meets(parsed({{"tolerable_loss", 0}}, "top1"), 0.3, 0.1 + 0.2));
}

TEST(Accuracy, ANegativeBaselineIsNoTrap) {
  const AccuracyCriterion criterion{.parts = {{"sqnr"}}, .tolerable_loss = 0.1};
  EXPECT_TRUE(meets(criterion, -10, -10));
  EXPECT_TRUE(meets(criterion, -11, -10));
  EXPECT_FALSE(meets(criterion, -12, -10));
}

TEST(Accuracy, ABaselineOfZeroIsMetByZeroAndBetter) {
  const auto criterion = parsed({{"tolerable_loss", 0.01}}, "top1");
  EXPECT_TRUE(meets(criterion, 0, 0));
  EXPECT_TRUE(meets(criterion, 0.2, 0));
  const auto distance = AccuracyCriterion{.parts = {{"L2", Direction::minimize}}, .relative = true};
  EXPECT_FALSE(meets(distance, 1e-9, 0));
}

TEST(Accuracy, AContradictedDirectionIsAnError) {
  EXPECT_THROW(parsed({{"higher_is_better", true}}, "L2"), Error);
  EXPECT_THROW(parsed({{"higher_is_better", "yes"}}, "top1"), Error);
  EXPECT_NO_THROW(parsed({{"higher_is_better", true}}, "top1"));
}

TEST(Accuracy, WhatNothingCouldMeetIsAnError) {
  EXPECT_THROW(check_reachable(parsed(Json::object(), "L2"), {{"L2", 0}}), Error);
  EXPECT_NO_THROW(check_reachable(parsed({{"criterion", "absolute"}}, "L2"), {{"L2", 0}}));
  EXPECT_THROW(check_reachable(parsed(Json::object(), "psnr"), {{"psnr", HUGE_VAL}}), Error);
}

TEST(AccuracyCriterion, ABaselineOfZeroBoundsNothing) {
  const Json absolute{{"criterion", "absolute"}};
  EXPECT_NE(empty_goal(parsed(Json::object(), "top1"), {{"top1", 0}}).find("top1 is 0"), std::string::npos);
  EXPECT_NE(empty_goal(parsed(absolute, "top1"), {{"top1", 0}}), "");
  EXPECT_EQ(empty_goal(parsed(Json::object(), "top1"), {{"top1", 0.5}}), "");
  EXPECT_EQ(empty_goal(parsed(absolute, "L2"), {{"L2", 0}}), "") << "of a distance 0 is the best";
}

// 1 where 1 % is meant.
TEST(AccuracyCriterion, ALossOfEverythingBoundsNothing) {
  const auto goal = [](const char* criterion, double loss) { return Json{{"criterion", criterion}, {"tolerable_loss", loss}}; };
  EXPECT_NE(empty_goal(parsed(goal("relative", 1), "top1"), {{"top1", 0.9}}).find("1 % is 0.01"), std::string::npos);
  EXPECT_NE(empty_goal(parsed(goal("absolute", 0.9), "top1"), {{"top1", 0.9}}), "");
  EXPECT_EQ(empty_goal(parsed(goal("absolute", 0.8), "top1"), {{"top1", 0.9}}), "");
  EXPECT_EQ(empty_goal(parsed(goal("relative", 0.99), "top1"), {{"top1", 0.9}}), "");
  EXPECT_EQ(empty_goal(parsed(goal("absolute", 5), "L2"), {{"L2", 0}}), "") << "distances have no end";
}

// A user's accuracy difference is 0 for the float model by its nature, and so may be what goes below zero.
TEST(AccuracyCriterion, ABaselineOfZeroBoundsWhereThereIsWorse) {
  const Json absolute{{"criterion", "absolute"}};
  const std::vector<eval::OwnMetric> own{{"gain", Direction::maximize}, {"accuracy", Direction::maximize}};
  for (const char* metric : {"gain", "accuracy"})
    EXPECT_EQ(empty_goal(parse_criterion(absolute, metric, own), {{metric, 0}}), "") << metric;
  EXPECT_NE(empty_goal(parse_criterion(Json::object(), "gain", own), {{"gain", 0}}).find("a share of 0 is 0"), std::string::npos);
  for (const char* metric : {"cos", "ssim", "psnr", "sqnr", "embedding_cos"})
    EXPECT_EQ(empty_goal(parsed(absolute, metric), {{metric, 0}}), "") << metric;
  for (const char* metric : {"F1", "mAP", "mean_iou", "topk(k=3)", "token_accuracy"})
    EXPECT_NE(empty_goal(parsed(absolute, metric), {{metric, 0}}), "") << metric;
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

std::string said_of(const Json& words) {
  return test::error_of([&] { parsed(words, "top1"); });
}

TEST(Accuracy, NumbersThatAreNoneStandAsTheyWereWritten) {
  EXPECT_NE(said_of({{"tolerable_loss", NAN}}).find("'tolerable_loss' is .nan, but must be a number"), std::string::npos)
      << said_of({{"tolerable_loss", NAN}});
  const std::string all = empty_goal(parsed({{"tolerable_loss", INFINITY}}, "top1"), {{"top1", 0.9}});
  EXPECT_NE(all.find("tolerable_loss is .inf: all of"), std::string::npos) << all;
}

TEST(Accuracy, OnlyMetricsAreListedWhereACostIsNone) {
  const std::string said = said_of({{"metrics", {"foo"}}});
  EXPECT_NE(said.find("unknown metric 'foo'; known: "), std::string::npos) << said;
  EXPECT_EQ(said.find("latency"), std::string::npos) << said;
  EXPECT_EQ(said.find("did you mean"), std::string::npos) << said;
  EXPECT_NE(said_of({{"metrics", {"latency"}}}).find("latency is no metric; bound it in 'constraints'"), std::string::npos);
}

// Losses and gains are shares of each metric's own baseline, and outweigh each other by weight, whatever their directions.
TEST(Accuracy, SeveralMetricsCountTogether) {
  const auto criterion = parsed({{"metrics", {{"top1", 3}, {"cos", 1}}}, {"tolerable_loss", 0.02}}, "L2");
  const Measures baseline{{"top1", 0.5}, {"cos", 4}};
  EXPECT_NEAR(loss_of(criterion, {{"top1", 0.49}, {"cos", 3.6}}, baseline), (3 * 0.02 + 0.1) / 4, 1e-12);
  EXPECT_LE(excess_of(criterion, {{"top1", 0.49}, {"cos", 3.92}}, baseline), 0);
  EXPECT_GT(excess_of(criterion, {{"top1", 0.49}, {"cos", 3.9}}, baseline), 0);
  EXPECT_LE(excess_of(criterion, {{"top1", 0.48}, {"cos", 4.16}}, baseline), 0) << "a gain makes up for a loss";
  EXPECT_GT(excess_of(criterion, {{"top1", 0.5}}, baseline), 0) << "a value that is missing is no success";
  EXPECT_EQ(metrics_of_criterion({{"metrics", {"top1", "cos"}}}), (std::vector<std::string>{"top1", "cos"}));
}

// Whatever the samples are, so that --dry-run says it.
TEST(Accuracy, NoShareOfADistanceCanBeLost) {
  EXPECT_THROW(parsed({{"tolerable_loss", 0.01}}, "L2"), Error);
  EXPECT_THROW(parsed({{"metrics", {{"top1", 3}, {"mse", 1}}}}, "top1"), Error);
  EXPECT_EQ(parsed({{"criterion", "absolute"}, {"tolerable_loss", 0.01}}, "L2").relative, false);
}

TEST(Accuracy, AGoalIsToldAsABoundOfItsMetric) {
  EXPECT_EQ(goal_in_words(parsed({{"tolerable_loss", 0.01}}, "top1"), {{"top1", 0.5}}), "top1 at least 0.495");
  EXPECT_EQ(goal_in_words(parsed({{"criterion", "absolute"}, {"tolerable_loss", 0.01}}, "L2"), {{"L2", 0}}), "L2 at most 0.01");
  EXPECT_EQ(
      goal_in_words(parsed({{"metrics", {{"top1", 3}, {"F1", 1}}}, {"tolerable_loss", 0.02}}, "top1"), {{"top1", 1}, {"F1", 1}}),
      "a loss of at most 0.02 of top1 and F1");
}

TEST(Accuracy, MistakesInSeveralMetricsAreTold) {
  for (const Json& metrics : {Json{{"top1", 0}}, Json{{"top1", "much"}}, Json{{"topp1", 1}}, Json{{"latency", 1}}, Json::object(),
                              Json::array(), Json(3), Json{"top1", "Top1"}}) {
    EXPECT_THROW(parsed({{"metrics", metrics}}, "top1"), Error) << metrics;
  }
  EXPECT_THROW(parsed({{"metrics", {"top1", "L2"}}, {"higher_is_better", true}}, "top1"), Error);
}

}  // namespace
}  // namespace quasar::tune
