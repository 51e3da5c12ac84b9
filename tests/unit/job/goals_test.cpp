#include "quasar/job/goals.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "unit/error_of.hpp"

namespace quasar::tune {
namespace {

// A byte too many must not weigh more than a twentieth of the accuracy.
TEST(Goals, ExcessesAreSharesOfTheirBounds) {
  const Goals goals =
      parse_goals(nullptr, {{{"metric", "top1"}, {"max_drop", 0}}, {{"metric", "bytes"}, {"max", 78460}}}, {"L2"});
  eval::Scores reference;
  reference["top1"].value = 0.98;
  const auto byte_over = excesses(goals, {{"top1", 0.98}, {"bytes", 78461}}, reference);
  const auto inaccurate = excesses(goals, {{"top1", 0.93}, {"bytes", 78460}}, reference);
  EXPECT_EQ(byte_over[0], 0);
  EXPECT_NEAR(byte_over[1], 1.0 / 78460, 1e-12);
  EXPECT_NEAR(inaccurate[0], 0.05 / 0.98, 1e-12);
  EXPECT_EQ(inaccurate[1], 0);
}

TEST(Goals, ABoundOfZeroHasNoShares) {
  const Goals goals = parse_goals(nullptr, {{{"metric", "L2"}, {"max", 0}}, {{"metric", "L2"}, {"max_drop", 0.5}}}, {"L2"});
  eval::Scores reference;
  reference["L2"].value = 0;
  EXPECT_EQ(excesses(goals, {{"L2", 0.25}}, reference), (std::vector<double>{0.25, -0.5}));
  EXPECT_EQ(excesses(goals, {{"L2", 1.5}}, reference), (std::vector<double>{1.5, 2}));
}

// 0.97 − 0.96 is 0.010000000000000009.
TEST(Goals, ALossOfExactlyTheBoundIsWithinIt) {
  const Goals goals = parse_goals(nullptr,
                                  {{{"metric", "top1"}, {"max_drop", 0.01}},
                                   {{"metric", "top1"}, {"min", 0.1 + 0.2}},
                                   {{"metric", "L2"}, {"max", 0.3}},
                                   {{"metric", "L2"}, {"max_drop", 0.1}}},
                                  {"L2"});
  eval::Scores reference;
  reference["top1"].value = 0.97;
  reference["L2"].value = 0.7;
  const auto at = [&](double top1, double l2) { return excesses(goals, {{"top1", top1}, {"L2", l2}}, reference); };
  EXPECT_EQ(at(0.96, 0.8)[0], 0);
  EXPECT_EQ(at(0.96, 0.8)[3], 0);
  EXPECT_GT(at(0.96 - 1e-12, 0.8)[0], 0);
  EXPECT_GT(at(0.96, 0.8 + 1e-12)[3], 0);
  EXPECT_LE(at(0.3, 0.1 + 0.2)[1], 0);
  EXPECT_LE(at(0.3, 0.1 + 0.2)[2], 0);
  EXPECT_EQ(at(-HUGE_VAL, 0.3)[0], HUGE_VAL);
}

TEST(Goals, ABoundIsANumber) {
  const Json bound{{{"metric", "cos"}, {"min", NAN}}};
  const std::string said = test::error_of([&] { parse_goals(nullptr, bound, {"L2"}); });
  EXPECT_EQ(said, "constraints: min of cos is .nan, but must be a number");
}

TEST(Goals, OptionsStandBesideTheMetric) {
  const Json bound{{{"metric", "mAP"}, {"truth", "float"}, {"max_drop", 0.1}}};
  const Goals goals = parse_goals({{{"metric", "topk"}, {"k", 3}}}, bound, {"mAP(truth=float)"});
  EXPECT_EQ(goals.objectives.front().metric, "topk(k=3)");
  EXPECT_EQ(goals.constraints.front().metric, "mAP(truth=float)");
  EXPECT_EQ(goals.constraints.front().value, 0.1);
  const auto said = [](const Json& entry) { return test::error_of([&] { parse_goals(nullptr, Json::array({entry}), {"L2"}); }); };
  EXPECT_EQ(said({{"metric", "mAP"}, {"max_dorp", 0.1}}),
            "constraints: unknown key 'max_dorp'; known: metric, max_drop, max, min; did you mean 'max_drop'?");
  const std::string option = said({{"metric", "mAP"}, {"trooth", "float"}, {"max_drop", 0.1}});
  EXPECT_NE(option.find("unknown key 'trooth'"), std::string::npos) << option;
  EXPECT_NE(option.find("did you mean 'truth'"), std::string::npos) << option;
  const std::string cost = said({{"metric", "bytes"}, {"truth", "float"}, {"max", 1}});
  EXPECT_NE(cost.find("unknown key 'truth'"), std::string::npos) << cost;
}

}  // namespace
}  // namespace quasar::tune
