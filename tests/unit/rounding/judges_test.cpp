#include "quasar/rounding/judges.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace quasar::tune {
namespace {

TEST(Judges, AreSpreadAndHoldTheExtremes) {
  std::vector<Reach> reaches(300, {-1, 1});
  reaches[299].high = 5;
  reaches[7].high = 4;
  reaches[150].low = -9;
  reaches[151].low = -8;
  const auto chosen = judges(reaches, 64);
  ASSERT_EQ(chosen.size(), 64U);
  std::set<size_t> samples;
  double weights = 0;
  for (const Judge& judge : chosen) samples.insert(judge.sample), weights += judge.weight;
  EXPECT_EQ(samples.size(), 64U);
  EXPECT_NEAR(weights, 300, 1e-9);
  const size_t extremes[] = {299, 7, 150, 151};
  for (size_t i = 0; i < 4; i++) EXPECT_EQ(chosen[i].sample, extremes[i]);
  EXPECT_EQ(chosen[0].weight, 1);
  const auto late = std::count_if(chosen.begin() + 4, chosen.begin() + 16, [](const Judge& one) { return one.sample >= 150; });
  EXPECT_GE(late, 4);
  EXPECT_LE(late, 8);
}

// So the float model runs on few samples for many values.
TEST(Judges, AreMostlyTheSameWhicheverTheExtremes) {
  std::vector<Reach> one(100, {-1, 1}), other = one;
  one[31].high = one[32].high = 5;
  other[77].low = other[78].low = -5;
  const auto a = judges(one, 40), b = judges(other, 40);
  std::set<size_t> seen;
  for (size_t i = 0; i < 40; i++) seen.insert({a[i].sample, b[i].sample});
  EXPECT_LE(seen.size(), 48U);
}

TEST(Judges, AllWhereThereAreFew) {
  for (const size_t count : {0U, 1U, 2U, 3U, 64U}) {
    const auto chosen = judges(std::vector<Reach>(count), 64);
    std::set<size_t> samples;
    for (const Judge& judge : chosen) samples.insert(judge.sample);
    EXPECT_EQ(samples.size(), count);
  }
}

TEST(Judges, AGainIsCertainWhereItIsMoreThanNoiseAndBothHalvesHaveIt) {
  const std::vector<double> steady{1, 1.1, 0.9, 1}, one{4, 0.001, 0, 0}, half{3, -1, 3, -1};
  EXPECT_NEAR(certain_gain(steady, 2), 4, 1e-9);
  EXPECT_EQ(certain_gain(one, 2), 0);
  EXPECT_GT(certain_gain(one, 0), 0);
  EXPECT_EQ(certain_gain(half, 0), 0);
  EXPECT_EQ(certain_gain(std::vector<double>{1}, 0), 0);
}

TEST(Judges, SpreadOver) {
  EXPECT_EQ(spread_over(10, 4), (std::vector<size_t>{0, 2, 5, 7}));
  EXPECT_EQ(spread_over(2, 4), (std::vector<size_t>{0, 1}));
}

}  // namespace
}  // namespace quasar::tune
