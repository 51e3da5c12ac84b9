#include "quasar/trial/early_rejection.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "quasar/base/rng.hpp"

namespace quasar::tune {
namespace {

constexpr size_t samples = 400;

// Right answers of the float model: about two in three.
std::vector<double> right(uint64_t seed) {
  Rng rng(seed);
  std::vector<double> values(samples);
  for (double& value : values) value = rng.uniform() < 0.66 ? 1 : 0;
  return values;
}

// The same with so many changed for the worse, and for the better.
std::vector<double> changed(std::vector<double> values, size_t lost, size_t gained, uint64_t seed) {
  Rng rng(seed);
  for (const size_t i : rng.permutation(samples)) {
    if (values[i] == 1 && lost > 0) {
      values[i] = 0;
      --lost;
    } else if (values[i] == 0 && gained > 0) {
      values[i] = 1;
      --gained;
    }
  }
  return values;
}

// After how many samples the candidate is rejected; nullopt: never.
std::optional<size_t> rejected_after(const EarlyRejection& rejection, const std::vector<double>& candidate) {
  std::vector<double> seen;
  for (const size_t i : rejection.order()) {
    seen.push_back(candidate[i]);
    if (seen.size() < samples && seen.size() % 8 == 0 && rejection.out_of_reach(seen)) return seen.size();
  }
  return std::nullopt;
}

TEST(EarlyRejection, WhatMeetsTheCriterionIsHardlyEverRejected) {
  const auto reference = right(1);
  EarlyRejection rejection(reference, Direction::maximize, 1, 0.01, 0);
  size_t rejected = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    rejection.begin(changed(reference, 40, 5, 1000 + seed));                         // an earlier model
    rejected += rejected_after(rejection, changed(reference, 12, 8, seed)) ? 1 : 0;  // 4 of 400: a tie
  }
  EXPECT_LE(rejected, 2u) << "1 in 1000 is allowed";
}

TEST(EarlyRejection, WhatIsHopelessIsRejectedSoon) {
  const auto reference = right(2);
  EarlyRejection rejection(reference, Direction::maximize, 1, 0.01, 0);
  rejection.begin({});
  const auto candidate = changed(reference, 200, 2, 3);
  const auto at_random = rejected_after(rejection, candidate);
  ASSERT_TRUE(at_random);
  EXPECT_LE(*at_random, 60u);
  rejection.begin(candidate);  // an earlier model failed on the same samples
  const auto hardest_first = rejected_after(rejection, candidate);
  ASSERT_TRUE(hardest_first);
  EXPECT_LE(*hardest_first, samples * 2 / 3);
}

TEST(EarlyRejection, TheHardestOrderTheWorkAndProveNothing) {
  const auto reference = right(4);
  EarlyRejection rejection(reference, Direction::maximize, 1, 0.01, 0);
  const auto earlier = changed(reference, 60, 0, 5);
  rejection.begin(earlier);
  EXPECT_EQ(std::set<size_t>(rejection.order().begin(), rejection.order().end()).size(), samples) << "every sample once";
  for (size_t k = 0; k < 60; ++k) EXPECT_GT(reference[rejection.order()[k]], earlier[rejection.order()[k]]) << k;
  // A candidate that has all of the hardest right is scored to its end: it may have lost others.
  EXPECT_FALSE(rejection.out_of_reach(std::vector<double>(60, 1.0)));
}

// A distance cannot come down again: as soon as its sum is too great, nothing that follows helps.
TEST(EarlyRejection, ADistanceIsRejectedWhenItsSumIsTooGreat) {
  EarlyRejection rejection(std::vector<double>(samples, 0.0), Direction::minimize, 0, 0.1, 0);
  rejection.begin(std::vector<double>(samples, 1.0));
  EXPECT_FALSE(rejection.out_of_reach(std::vector<double>(39, 1.0)));
  EXPECT_TRUE(rejection.out_of_reach(std::vector<double>(41, 1.0)));
  EXPECT_FALSE(rejection.out_of_reach(std::vector<double>(399, 0.1)));
}

TEST(EarlyRejection, WatchesBetweenBeginAndEndOnly) {
  EarlyRejection rejection(right(6), Direction::maximize, 1, 0.01, 0);
  EXPECT_FALSE(rejection.watches());
  {
    const Watching watching(&rejection, {});
    EXPECT_TRUE(rejection.watches());
    rejection.pause(true);
    EXPECT_FALSE(rejection.watches());
    rejection.pause(false);
    EXPECT_TRUE(rejection.watches());
  }
  EXPECT_FALSE(rejection.watches());
  const Watching nobody(nullptr, {});
}

}  // namespace
}  // namespace quasar::tune
