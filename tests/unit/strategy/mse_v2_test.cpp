// What strategy mse_v2 makes of trials that fail, or that would quantize nothing.
#include <gtest/gtest.h>

#include "quasar/job/precision.hpp"
#include "unit/sensitivity/model_of_sums.hpp"
#include "unit/tune/made_up_trials.hpp"

namespace quasar::tune {
namespace {

// The last operator that fell back is mostly the first that would return: a trial of that which failed ended the way back, as if
// it had missed the goal.
TEST(MseV2, AFailedTrialProvesNothing) {
  Json words = digits_words();
  words["strategy"] = "mse_v2";
  MadeUpTrials trials(words);
  bool met = false;
  const Finding finding = trials.run([&](const search::Point& point) {
    const size_t floats = float_nodes(point).size();
    if (floats == 5 && !met) throw Error("no room");
    met = met || floats >= 6;
    return Measures{{"L2", met && floats >= 4 ? 0.00005 : 0.01}};
  });
  ASSERT_TRUE(finding.winner);
  EXPECT_EQ(float_nodes(trials.study.at(*finding.winner).point).size(), 4U) << to_json(*finding.story);
}

// A product of constants that may not fall back is quantized to the end, where only operators in float read it: it stays in
// float, too.
TEST(MseV2, WhatQuantizesNothingIsNoTrial) {
  const TemporaryFolder folder;
  Json words = words_of_sums(folder);
  words["strategy"] = "mse_v2";
  words["op_name_dict"] = {{"scaled", {{"activation", {{"dtype", {"uint8"}}}}}}};
  MadeUpTrials trials(words);
  trials.run([](const search::Point&) { return Measures{{"L2", 0.01}}; });
  EXPECT_GE(trials.study.trials().size(), 2U);
  for (const auto& trial : trials.study.trials()) EXPECT_EQ(why_impossible(trials.trial_context(), trial.point), "");
  const search::Point all =
      changed(trials.setting.spaces.each.front(), trials.default_point(),
              std::vector<std::pair<std::string, Json>>{{"node first", in_float}, {"node second", in_float}});
  EXPECT_NE(why_impossible(trials.trial_context(), all), "") << "what it would come to";
}

}  // namespace
}  // namespace quasar::tune
