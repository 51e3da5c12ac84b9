// Falling back where operators may be left in different float types.
#include <gtest/gtest.h>

#include "made_up_trials.hpp"
#include "quasar/tune/precision.hpp"

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
  EXPECT_EQ(finding.reason, "the accuracy criterion is met");
  ASSERT_TRUE(finding.winner);
}

TEST_P(FloatTypes, TheCheapestThatIsEnoughComesFirst) {
  MadeUpTrials trials(words({"uint8", "fp16", "fp32"}));
  const Finding finding = trials.run([](const search::Point& point) {
    const Json conv = precision_at(point, "block1/depthwise/conv");
    return Measures{{"L2", conv == float16 || conv == in_float ? 0.00005 : 0.01}};
  });
  ASSERT_TRUE(finding.winner) << finding.reason;
  EXPECT_EQ(precision_at(trials.study.at(*finding.winner).point, "block1/depthwise/conv"), float16);
}

INSTANTIATE_TEST_SUITE_P(Strategies, FloatTypes, testing::Values("basic", "mse", "mse_v2", "conservative"));

}  // namespace
}  // namespace quasar::tune
