// What a wider budget would bring, of a problem whose answers are known.
#include <gtest/gtest.h>

#include <cmath>

#include "quasar/search/models/integer_program.hpp"
#include "quasar/strategy/budget/more.hpp"

namespace quasar::tune {
namespace {

// Two groups, each in 4 bits, 8 bits or float: what they lose, weigh and take.
AssignmentProblem two_groups() {
  AssignmentProblem problem;
  problem.loss = {.constant = 0, .single = {{9, 4, 0}, {5, 2, 0}}};
  problem.costs = {{.name = "bytes", .parts = {.constant = 1e6, .single = {{5e5, 1e6, 4e6}, {5e5, 1e6, 4e6}}}, .most = 3e6},
                   {.name = "latency", .parts = {.constant = 1, .single = {{3, 1, 2}, {3, 1, 2}}}, .most = 8}};
  return problem;
}

TEST(MoreOfABudget, TheLeastOfACostIsFoundWhateverIsLost) {
  if (!search::has_integer_solver()) GTEST_SKIP() << "this build has no solver";
  AssignmentProblem problem = two_groups();
  EXPECT_NEAR(least_of(problem, 0).value(), 2e6, 1);
  EXPECT_NEAR(least_of(problem, 1).value(), 3, 1e-6);
  problem.costs[0].most = 1;  // no bound holds it up
  EXPECT_NEAR(least_of(problem, 1).value(), 3, 1e-6);
}

TEST(MoreOfABudget, ATimeThatIsTooShortIsAWarningWithTheLeastOne) {
  if (!search::has_integer_solver()) GTEST_SKIP() << "this build has no solver";
  std::vector<std::pair<Level, std::string>> told;
  const Log log = [&](Level level, const std::string& text) { told.emplace_back(level, text); };
  EXPECT_NEAR(told_least_latency(two_groups(), {2, 5}, log).value(), 3, 1e-6);
  EXPECT_NEAR(told_least_latency(two_groups(), {4, 5}, log).value(), 3, 1e-6);
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0].first, Level::warning);
  EXPECT_TRUE(
      told[0].second.starts_with("budget.latency is 2 ms, but the fastest assignment is estimated to take 3 ms (float: 5 ms)"))
      << told[0].second;
  EXPECT_EQ(told[1], std::pair(Level::info, std::string("the fastest assignment is estimated to take 3 ms")));
}

TEST(MoreOfABudget, GapsAreToldInOneLine) {
  Gaps gaps;
  gaps.add({.assignment = {}, .loss = 1, .gap = 0});
  EXPECT_EQ(in_words(gaps), "integer programs: 1 assignments, each proved to be the best by the estimates (gap 0 %)");
  gaps.add({.assignment = {}, .loss = 1, .gap = 0.02, .is_proven = false});
  EXPECT_EQ(in_words(gaps), "integer programs: 2 assignments, 1 of them not proved in time (gap at most 2 %)");
}

TEST(MoreOfABudget, IsToldInWords) {
  EXPECT_EQ(in_words_of_more({{"more_of", "bytes"}, {"by", 1e6}, {"step", "1 MB"}, {"takes_off", "loss"}, {"share", 0.163}}),
            "1 MB more of bytes would take an estimated 16 % off the loss");
  EXPECT_EQ(in_words_of_more({{"more_of", "loss"}, {"by", 0.1}, {"step", "a tenth"}, {"takes_off", "latency"}, {"share", 0}}),
            "a tenth more of loss would take an estimated 0 % off latency");
}

}  // namespace
}  // namespace quasar::tune
