#include "quasar/eval/paired.hpp"

#include <gtest/gtest.h>

namespace quasar::eval {
namespace {

TEST(McNemar, IsTheTwoSidedBinomialTest) {
  EXPECT_EQ(mcnemar(0, 0), 1);
  EXPECT_EQ(mcnemar(5, 5), 1);
  EXPECT_NEAR(mcnemar(1, 9), 2.0 * 11 / 1024, 1e-12);
  EXPECT_NEAR(mcnemar(6, 0), 2.0 / 64, 1e-12);
  EXPECT_EQ(mcnemar(3, 8), mcnemar(8, 3));
  // scipy.stats.binomtest(450, 1000).pvalue
  EXPECT_NEAR(mcnemar(450, 550), 0.001730536, 1e-8);
}

Score values(std::vector<double> per_sample) {
  Score out;
  out.per_sample = std::move(per_sample);
  return out;
}

TEST(Against, CountsOnlyAnswersToLabels) {
  const Scores reference{{"top1", values({1, 1, 0, 1})}, {"L2", values({0, 0, 0, 0})}, {"agreement", values({1, 1, 1, 1})}};
  const Scores candidate{{"top1", values({0, 0, 1, 1})}, {"L2", values({1, 2, 3, 4})}, {"agreement", values({0, 0, 0, 1})}};
  const auto found = against(reference, candidate);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.at("top1").lost, 2U);
  EXPECT_EQ(found.at("top1").gained, 1U);
  EXPECT_EQ(found.at("top1").p, 1);
  EXPECT_TRUE(against(reference, {{"top1", values({})}}).empty());
}

TEST(Difference, IsPaired) {
  // Far apart from sample to sample, and always about 0.1 from each other: only the pairing sees that.
  Score best, rival;
  for (int i = 0; i < 50; ++i) {
    best.per_sample.push_back(i % 7 * 100.0);
    rival.per_sample.push_back(best.per_sample.back() + 0.1 + 0.01 * (i % 3));
    best.value += best.per_sample.back() / 50;
    rival.value += rival.per_sample.back() / 50;
  }
  const auto found = difference(best, rival);
  ASSERT_TRUE(found.has_value());
  EXPECT_NEAR(found->value, 0.11, 0.01);
  EXPECT_GT(found->low, 0.1);
  EXPECT_LT(found->high, 0.12);
  const auto none = difference(best, best);
  EXPECT_EQ(none->low, 0);
  EXPECT_EQ(none->high, 0);
}

TEST(Difference, OfMetricsThatAreNoMeansIsOfTheirResampledValues) {
  Score best, rival;
  best.value = 0.8;
  rival.value = 0.7;
  EXPECT_FALSE(difference(best, rival).has_value());
  for (int i = 0; i < 200; ++i) {
    best.resampled.push_back(0.8 + 0.001 * (i % 100));
    rival.resampled.push_back(best.resampled.back() - 0.1 - 0.0001 * (i % 10));
  }
  const auto found = difference(best, rival);
  EXPECT_NEAR(found->value, -0.1, 1e-9);
  EXPECT_LT(found->high, -0.0999);
  EXPECT_GT(found->low, -0.102);
}

}  // namespace
}  // namespace quasar::eval
