// Falling back where operators may be left in different float types.
#include <gtest/gtest.h>

#include "quasar/job/precision.hpp"
#include "unit/tune/made_up_trials.hpp"

namespace quasar::tune {
namespace {

struct FloatTypes : testing::TestWithParam<const char*> {
  static Json words(const Json& types) {
    Json out = digits_words();
    out["strategy"] = GetParam();
    out["target"] = "generic";
    out["op_type_dict"] = {{"Conv", {{"activation", {{"dtype", types}}}}}};
    return out;
  }
};

// Neither type alone reaches the goal.
TEST_P(FloatTypes, Combine) {
  MadeUpTrials trials(words({"uint8", "fp16"}));
  const Finding finding = trials.run([](const search::Point& point) {
    const bool both = precision_at(point, "block1/depthwise/conv") == float16 && precision_at(point, "classifier") == in_float;
    return Measures{{"L2", both ? 0.00005 : 0.01}};
  });
  EXPECT_EQ(finding.result.reason, "the accuracy criterion is met");
  ASSERT_TRUE(finding.winner);
}

TEST_P(FloatTypes, TheCheapestThatIsEnoughComesFirst) {
  MadeUpTrials trials(words({"uint8", "fp16", "fp32"}));
  const Finding finding = trials.run([](const search::Point& point) {
    const Json conv = precision_at(point, "block1/depthwise/conv");
    return Measures{{"L2", conv == float16 || conv == in_float ? 0.00005 : 0.01}};
  });
  ASSERT_TRUE(finding.winner) << finding.result.reason;
  EXPECT_EQ(precision_at(trials.study.at(*finding.winner).point, "block1/depthwise/conv"), float16);
}

// A model of casts alone has next to no distance, and would win every search.
TEST(FallingBackToHalves, IsNoQuantization) {
  Json words = digits_words();
  words["strategy"] = "mse";
  words["op_type_dict"] = {{".*", {{"activation", {{"dtype", {"uint8", "fp16"}}}}}}};
  const MadeUpTrials trials(words);
  const search::Space& space = trials.setting.spaces.each.front();
  Json in_halves = Json::object();
  for (const auto& parameter : space.parameters()) {
    if (parameter.name.starts_with(precision_of(""))) in_halves[parameter.name] = float16;
  }
  const std::string why = why_impossible(trials.trial_context(), space.nearest_to(in_halves));
  EXPECT_NE(why.find("16-bit floats to fall back to are no quantization"), std::string::npos) << why;
  in_halves[precision_of("stem/conv")] = quantized;
  EXPECT_EQ(why_impossible(trials.trial_context(), space.nearest_to(in_halves)), "");
  EXPECT_EQ(why_impossible(trials.trial_context(), trials.default_point()), "");
}

TEST(FallingBackToHalves, IsNotWhatASchemeOfHalvesDoes) {
  for (const char* scheme : {"BF16", "FP16"}) {
    Json words = digits_words();
    words["search_space"] = {{"scheme", {scheme}}};
    const MadeUpTrials trials(words);
    EXPECT_EQ(why_impossible(trials.trial_context(), trials.default_point()), "") << scheme;
  }
}

// The operators of one type in float for a reason that the step knows which tried them.
TEST(Conservative, TheReasonIsTheStepThatRefused) {
  Json words = digits_words();
  words["strategy"] = "conservative";
  MadeUpTrials trials(words);
  const Finding finding = trials.run([](const search::Point& point) {
    const bool bad = precision_at(point, "stem/conv") == quantized;
    return Measures{{"L2", bad ? 0.00136 : 0.00005}};
  });
  ASSERT_TRUE(finding.winner);
  bool found = false;
  for (const auto& node : finding.story->in_float) {
    found = found || node.node == "stem/conv";
    EXPECT_EQ(node.why, "quantize every Conv: loss 0.00136 > 0.0001");
    EXPECT_DOUBLE_EQ(node.gained.value_or(0), 0.00136);
  }
  EXPECT_TRUE(found) << to_json(*finding.story);
}

// mse never put the operator into float that it ranks last.
TEST(Mse, AnotherOperatorThanTheLastMayStayQuantized) {
  Json words = digits_words();
  words["strategy"] = "mse";
  MadeUpTrials missed(words);
  const auto ranking = missed.run([](const search::Point&) { return Measures{{"L2", 0.001}}; }).story->sensitivity.value();
  ASSERT_GT(ranking.size(), 2U);
  const std::string kept = ranking[ranking.size() - 2].node;
  MadeUpTrials trials(words);
  const Finding finding = trials.run([&](const search::Point& point) {
    const bool met = float_nodes(point).size() == ranking.size() - 1 && precision_at(point, kept) == quantized;
    return Measures{{"L2", met ? 0.00005 : 0.001}};
  });
  EXPECT_EQ(finding.result.reason, "the accuracy criterion is met") << kept;
}

INSTANTIATE_TEST_SUITE_P(Strategies, FloatTypes, testing::Values("basic", "mse", "mse_v2", "conservative"));

}  // namespace
}  // namespace quasar::tune
