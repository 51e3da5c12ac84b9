// Configurations in which nothing is quantized are no trials.
#include <gtest/gtest.h>

#include "unit/tune/made_up_trials.hpp"

namespace quasar::tune {
namespace {

Json weights_only_words(const char* strategy) {
  Json words = digits_words();
  words["strategy"] = strategy;
  words["approach"] = "weight_only";
  return words;
}

// GPTQ_G32ASYM_DISABLE_LAST_MATMUL leaves the only matrix product in float: its trial failed, and counted.
TEST(NothingQuantized, IsNoTrial) {
  for (const char* strategy : {"exhaustive", "random", "tpe", "bayesian", "repair"}) {
    MadeUpTrials trials(weights_only_words(strategy));
    trials.run([](const search::Point&) { return Measures{{"L2", 0.01}}; });
    EXPECT_EQ(trials.study.trials().size(), 4U) << strategy;
    for (const auto& trial : trials.study.trials())
      EXPECT_EQ(why_impossible(trials.trial_context(), trial.point), "") << strategy;
  }
}

TEST(NothingQuantized, UnderAnyOptionIsToldByExhaustive) {
  Json words = weights_only_words("exhaustive");
  words["recipes"] = {{"last_conv_or_matmul_quantization", false}};
  MadeUpTrials trials(words);
  const Finding finding = trials.run([](const search::Point&) { return Measures{{"L2", 0.01}}; });
  EXPECT_TRUE(trials.study.trials().empty());
  ASSERT_EQ(finding.warnings.size(), 1U);
  EXPECT_NE(finding.warnings.front().find("left in float by a recipe"), std::string::npos) << finding.warnings.front();
}

}  // namespace
}  // namespace quasar::tune
