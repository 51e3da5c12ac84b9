// What is within search_metric_tolerance.
#include <gtest/gtest.h>

#include "quasar/trial/trial.hpp"

namespace quasar::tune {
namespace {

bool is_candidate(double was, double is, const std::string& metric) {
  const Aim aim{.goals = parse_goals(nullptr, nullptr, {metric}), .metrics = {metric}, .tolerance = 0.01};
  eval::Scores reference;
  reference[metric].value = was;
  return is_good_enough(aim, {{metric, is}}, reference);
}

TEST(Tolerance, ALossOfExactlyTheToleranceIsWithinIt) {
  EXPECT_TRUE(is_candidate(0.97, 0.96, "top1"));
  EXPECT_TRUE(is_candidate(0.03, 0.04, "L2"));
  EXPECT_FALSE(is_candidate(0.97, 0.96 - 1e-12, "top1"));
  EXPECT_FALSE(is_candidate(0.03, 0.04 + 1e-12, "L2"));
}

}  // namespace
}  // namespace quasar::tune
