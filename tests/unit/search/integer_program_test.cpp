#include "quasar/search/models/integer_program.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/rng.hpp"

namespace quasar::search {
namespace {

struct NeedsSolver : testing::Test {
  void SetUp() override {
    if (!has_integer_solver()) GTEST_SKIP() << "this build has no solver";
  }
};
using IntegerPrograms = NeedsSolver;

// Knapsacks, with the best of all subsets.
TEST_F(IntegerPrograms, TheMinimumIsThatOfAllSubsets) {
  Rng rng(1);
  for (int round = 0; round < 20; round++) {
    constexpr size_t count = 10;
    std::vector<double> costs, weights;
    double whole = 0;
    for (size_t j = 0; j < count; j++) {
      costs.push_back(-rng.uniform() * std::pow(10, round - 15));  // of any size
      weights.push_back(rng.uniform());
      whole += weights.back();
    }
    IntegerProgram program;
    IntegerProgram::Row row;
    for (size_t j = 0; j < count; j++) row.emplace_back(program.add_variable(costs[j], true), weights[j]);
    program.add_row(row, -IntegerProgram::unbounded, whole / 2);
    double least = 0;
    for (size_t set = 0; set < size_t{1} << count; set++) {
      double cost = 0, weight = 0;
      for (size_t j = 0; j < count; j++) {
        if ((set >> j & 1) == 0) continue;
        cost += costs[j];
        weight += weights[j];
      }
      if (weight <= whole / 2) least = std::min(least, cost);
    }
    const auto found = program.minimum();
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->is_proven);
    EXPECT_NEAR(found->objective / least, 1, 1e-6) << round;
    EXPECT_NEAR(found->bound / least, 1, 1e-6) << round;
    for (const double value : found->values) EXPECT_TRUE(value == 0 || value == 1) << value;
  }
}

TEST_F(IntegerPrograms, WithoutAPointThereIsNoMinimum) {
  IntegerProgram program;
  const size_t a = program.add_variable(1, true), b = program.add_variable(1, true);
  program.add_row({{a, 1}, {b, 1}}, 3, IntegerProgram::unbounded);
  EXPECT_FALSE(program.minimum());
}

// 2x + 2y = 3 has no whole solution, and one of halves.
TEST_F(IntegerPrograms, WholeVariablesAreWhole) {
  const auto program = [](bool whole) {
    IntegerProgram out;
    const size_t x = out.add_variable(1, whole), y = out.add_variable(2, whole);
    out.add_row({{x, 2}, {y, 2}}, 3, 3);
    return out;
  };
  EXPECT_FALSE(program(true).minimum());
  const auto found = program(false).minimum();
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->objective, 2, 1e-9);  // x = 1, y = 1/2
}

TEST_F(IntegerPrograms, AVariableThatIsNamedTwiceCountsTwice) {
  IntegerProgram program;
  const size_t x = program.add_variable(-1, false);
  program.add_row({{x, 1}, {x, 1}}, 0, 1);
  const auto found = program.minimum();
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->values[x], 0.5, 1e-9);
}

TEST(IntegerProgramsWithoutASolver, TheErrorNamesThePackage) {
  EXPECT_NE(std::string(NoSolver().what()).find("coinor-libcbc-dev"), std::string::npos);
}

TEST_F(IntegerPrograms, AreNotBegunWhereTheWorkIsToEnd) {
  IntegerProgram program;
  program.add_variable(-1, true);
  std::stop_source stop;
  const CancelScope scope(stop.get_token());
  EXPECT_TRUE(program.minimum());
  stop.request_stop();
  EXPECT_THROW(program.minimum(), Cancelled);
}

}  // namespace
}  // namespace quasar::search
