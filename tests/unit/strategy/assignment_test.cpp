#include "quasar/strategy/budget/assignment.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "quasar/base/rng.hpp"
#include "quasar/search/models/integer_program.hpp"

namespace quasar::tune {
namespace {

struct Assignments : testing::Test {
  void SetUp() override {
    if (!search::has_integer_solver()) GTEST_SKIP() << "this build has no solver";
  }
};

// Some groups, each in one of a few precisions: effects and bytes of single ones and of some pairs, values that cross.
AssignmentProblem random_problem(uint64_t seed) {
  Rng rng(seed);
  AssignmentProblem out;
  const size_t groups = 5;
  BoundedCost bytes{.name = "bytes"}, time{.name = "latency"};
  for (size_t g = 0; g < groups; g++) {
    const size_t choices = 2 + g % 2;
    out.loss.single.emplace_back();
    bytes.parts.single.emplace_back();
    time.parts.single.emplace_back();
    time.in_codes.emplace_back();
    for (size_t p = 0; p < choices; p++) {
      out.loss.single[g].push_back(rng.uniform() / static_cast<double>(1 + 3 * p));
      bytes.parts.single[g].push_back(1000 * rng.uniform() * static_cast<double>(1 + p));
      time.parts.single[g].push_back(rng.uniform());
      time.in_codes[g].push_back(p == 0);
    }
  }
  const auto pair_of = [&](size_t g, size_t h, double size) {
    std::vector<std::vector<double>> values;
    for (size_t p = 0; p < out.loss.single[g].size(); p++) {
      values.emplace_back();
      for (size_t q = 0; q < out.loss.single[h].size(); q++) values.back().push_back(size * (rng.uniform() - 0.5));
    }
    return values;
  };
  out.loss.pairs[{0, 1}] = pair_of(0, 1, 0.3);
  out.loss.pairs[{1, 3}] = pair_of(1, 3, 0.3);
  bytes.parts.pairs[{1, 2}] = pair_of(1, 2, 300);
  bytes.parts.constant = 100;
  time.crossings = {{std::nullopt, {0, 2}, 0.2, 0.1}, {0, {1, 2}, 0.3, 0.4}, {3, {4, std::nullopt}, 0.2, 0.3}, {2, {2}, 1, 1}};
  bytes.most = 100 + 1000 * static_cast<double>(groups) * (0.5 + rng.uniform());
  time.most = 1 + 3 * rng.uniform();
  out.costs = {bytes, time};
  return out;
}

std::vector<Assignment> all_of(const AssignmentProblem& problem) {
  std::vector<Assignment> out{{}};
  for (const auto& choices : problem.loss.single) {
    std::vector<Assignment> longer;
    for (const auto& start : out) {
      for (size_t p = 0; p < choices.size(); p++) {
        longer.push_back(start);
        longer.back().push_back(p);
      }
    }
    out = std::move(longer);
  }
  return out;
}

bool keeps(const AssignmentProblem& problem, const Assignment& assignment) {
  return std::ranges::all_of(problem.costs, [&](const BoundedCost& cost) { return cost.of(assignment) <= cost.most; });
}

TEST_F(Assignments, AreTheBestOfAllThatKeepTheBounds) {
  size_t solved = 0;
  for (uint64_t seed = 0; seed < 25; seed++) {
    const AssignmentProblem problem = random_problem(seed);
    double least = HUGE_VAL;
    for (const auto& one : all_of(problem)) {
      if (keeps(problem, one)) least = std::min(least, problem.loss.of(one));
    }
    const auto found = best_assignment(problem, {});
    ASSERT_EQ(found.has_value(), std::isfinite(least)) << seed;
    if (!found) continue;
    solved++;
    EXPECT_TRUE(keeps(problem, found->assignment)) << seed;
    EXPECT_NEAR(found->loss, least, 1e-6) << seed;
    EXPECT_TRUE(found->is_proven);
    EXPECT_LT(found->gap, 1e-6);
  }
  EXPECT_GT(solved, 8U);
  EXPECT_LT(solved, 25U) << "some have no assignment";
}

// The other way round: each cost as small as a bound of the loss, and the other cost's, allow.
TEST_F(Assignments, OfLeastCostAreTheCheapestThatLoseNoMore) {
  size_t solved = 0;
  for (uint64_t seed = 0; seed < 24; seed++) {
    AssignmentProblem problem = random_problem(seed);
    problem.least = seed % 2;
    problem.costs[*problem.least].most = HUGE_VAL;
    problem.most_loss = 0.2 + 0.05 * static_cast<double>(seed);
    double least = HUGE_VAL;
    for (const auto& one : all_of(problem)) {
      if (keeps(problem, one) && problem.loss.of(one) <= problem.most_loss)
        least = std::min(least, problem.costs[*problem.least].of(one));
    }
    const auto found = best_assignment(problem, {});
    ASSERT_EQ(found.has_value(), std::isfinite(least)) << seed;
    if (!found) continue;
    solved++;
    EXPECT_LE(found->loss, problem.most_loss + 1e-6) << seed;
    EXPECT_TRUE(keeps(problem, found->assignment)) << seed;
    EXPECT_NEAR(problem.costs[*problem.least].of(found->assignment), least, 1e-4) << seed;
    EXPECT_TRUE(found->is_proven);
  }
  EXPECT_GT(solved, 8U);
  EXPECT_LT(solved, 24U) << "some have no assignment";
}

TEST_F(Assignments, ThoseThatAreExcludedGiveWayToTheNextBest) {
  AssignmentProblem problem = random_problem(3);
  problem.costs.clear();
  std::vector<double> losses;
  for (const auto& one : all_of(problem)) losses.push_back(problem.loss.of(one));
  std::ranges::sort(losses);
  std::vector<Assignment> excluded;
  for (size_t i = 0; i < 10; i++) {
    const auto found = best_assignment(problem, excluded);
    ASSERT_TRUE(found);
    EXPECT_NEAR(found->loss, losses[i], 1e-6) << i;
    excluded.push_back(found->assignment);
  }
}

TEST_F(Assignments, OfThemAllNoneIsLeft) {
  const AssignmentProblem problem{.loss = {.single = {{1, 2}}}, .costs = {}};
  EXPECT_TRUE(best_assignment(problem, std::vector<Assignment>{{0}}));
  EXPECT_FALSE(best_assignment(problem, std::vector<Assignment>{{0}, {1}}));
}

TEST(CostsOfAssignments, AValueCrossesOnceHoweverManyReadIt) {
  const BoundedCost cost{.name = "latency",
                         .parts = {.single = {{0, 0}, {0, 0}, {0, 0}}},
                         .crossings = {{0, {1, 2}, 5, 7}},
                         .in_codes = {{true, false}, {true, false}, {true, false}}};
  EXPECT_EQ(cost.of({0, 0, 0}), 0);
  EXPECT_EQ(cost.of({0, 1, 1}), 7);
  EXPECT_EQ(cost.of({0, 0, 1}), 7);
  EXPECT_EQ(cost.of({1, 0, 0}), 5);
  EXPECT_EQ(cost.of({1, 1, 1}), 0);
}

}  // namespace
}  // namespace quasar::tune
