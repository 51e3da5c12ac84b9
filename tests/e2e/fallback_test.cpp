// How strategies give precision up: what a dictionary fixes, what returns, and what is said meanwhile.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "e2e/strategy_search.hpp"

namespace quasar::e2e {
namespace {

using Fallback = Strategies;

std::set<std::string> steps_of(const Json& result) {
  std::set<std::string> out;
  for (const auto& step : result["tuning"]["steps"]) out.insert(step["step"].get<std::string>());
  return out;
}

// Options of an operator's type were asked of it, too, and ended the strategy.
TEST_F(Fallback, AnOperatorThatADictionaryFixesKeepsItsType) {
  const std::string fixed = "op_name_dict: {block2/pointwise/conv: {activation: {dtype: [fp32]}, weight: {dtype: [fp32]}}}\n";
  for (const std::string name : {"basic", "auto"}) {
    const Ran ran = search(name, goal("0.0005") + fixed + "tuning_criterion: {max_trials: 40}\n");
    const Json result = this->result(name);
    EXPECT_NE(result["status"], "strategy_failed") << name << ": " << ran.err;
    EXPECT_NE(ran.code, 1) << name << ": " << ran.err;
    EXPECT_TRUE(name == "auto" || steps_of(result).contains("options by operator type")) << result["tuning"]["steps"];
    const Json& layers = result["best"]["layers"];
    const auto fixed_one =
        std::ranges::find_if(layers, [](const Json& layer) { return layer["node"] == "block2/pointwise/conv"; });
    ASSERT_NE(fixed_one, layers.end());
    EXPECT_EQ((*fixed_one)["runs"], "float") << *fixed_one;
  }
}

TEST_F(Fallback, BasicStartsFromTheBestOfOptionsAndRecipesAndTakesBack) {
  ASSERT_NE(search("basic", goal("0.0005") + "tuning_criterion: {max_trials: 80}\n").code, 1);
  const Json result = this->result("basic");
  EXPECT_EQ(result["status"], "ok");
  EXPECT_TRUE(steps_of(result).contains("take back")) << result["tuning"]["steps"];
  EXPECT_FALSE(steps_of(result).contains("fallback by blocks")) << "there is no attention";
}

TEST_F(Fallback, TrialsAreToldWithGoalStepAndOperatorsInFloat) {
  const Ran ran = search("mse", goal("0.0011"));
  EXPECT_NE(ran.err.find("goal: L2 at most 0.0011; float: L2 0\n"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find(" (goal: at most 0.0011); default configuration\n"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("a candidate, "), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find(" operators given up; fallback by mean squared error\n"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace quasar::e2e
