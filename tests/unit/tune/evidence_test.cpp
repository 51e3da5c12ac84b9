#include "quasar/tune/evidence.hpp"

#include <gtest/gtest.h>

#include "quasar/base/rng.hpp"

namespace quasar::tune {
namespace {

eval::Scores scored(double shift, double noise, uint64_t seed) {
  Rng rng(seed);
  eval::Score score;
  for (int i = 0; i < 60; ++i) {
    score.per_sample.push_back(i % 9 + shift + noise * rng.normal());
    score.value += score.per_sample.back() / 60;
  }
  return {{"L2", score}};
}

struct EvidenceOfRivals : testing::Test {
  void SetUp() override {
    aim.goals.objectives = {{"L2", Direction::minimize}};
    aim.metrics = {"L2"};
    book.keep(4, scored(0, 0, 1), 4.0, {});
    book.keep(7, scored(0.01, 0.2, 2), 4.01, {});  // as good, but for noise
    book.keep(9, scored(1, 0.1, 3), 5.0, {});      // clearly worse
  }
  Aim aim;
  ScoreBook book;
  int64_t winner = 4;
};

TEST_F(EvidenceOfRivals, NamesTheCandidatesWithinNoise) {
  const auto rivals = rivals_of(book, aim, winner);
  ASSERT_EQ(rivals.size(), 2U);
  EXPECT_EQ(rivals[0].trial, 7);
  EXPECT_TRUE(rivals[0].within_noise());
  EXPECT_EQ(rivals[1].trial, 9);
  EXPECT_FALSE(rivals[1].within_noise());
  EXPECT_NEAR(rivals[1].difference.value, 1, 0.1);
  const std::string warning = noise_warning(rivals, winner, "L2");
  EXPECT_NE(warning.find("between trial 4, the best, and trial 7 is within noise (L2 differs by"), std::string::npos) << warning;
}

TEST_F(EvidenceOfRivals, IsSilentWhenTheBestIsClear) {
  winner = 9;
  ScoreBook clear;
  clear.keep(9, scored(0, 0, 1), 4, {});
  clear.keep(3, scored(1, 0.1, 2), 5, {});
  EXPECT_EQ(noise_warning(rivals_of(clear, aim, winner), winner, "L2"), "");
}

TEST_F(EvidenceOfRivals, EqualScoresAreNoQuestionOfNoise) {
  book.keep(5, scored(0, 0, 1), 4.0, {});
  ScoreBook twins;
  twins.keep(4, scored(0, 0, 1), 4, {});
  twins.keep(5, scored(0, 0, 1), 4, {});
  EXPECT_EQ(noise_warning(rivals_of(twins, aim, winner), winner, "L2"),
            "trial 5 has the same L2 as trial 4, the best, on every sample: choose by size and speed");
  const std::string both = noise_warning(rivals_of(book, aim, winner), winner, "L2");
  EXPECT_NE(both.find("and trial 7 is within noise"), std::string::npos) << both;
  EXPECT_NE(both.find("; trial 5 has the same L2 as it, on every sample"), std::string::npos) << both;
}

TEST_F(EvidenceOfRivals, IsForSearchesOfOneMetricOnly) {
  aim.goals.objectives.push_back({"bytes", Direction::minimize});
  EXPECT_TRUE(rivals_of(book, aim, winner).empty());
  aim.goals.objectives = {{"bytes", Direction::minimize}};
  EXPECT_TRUE(rivals_of(book, aim, winner).empty());
  aim.goals.objectives = {{"L2", Direction::minimize}};
  aim.criterion = AccuracyCriterion();
  EXPECT_TRUE(rivals_of(book, aim, winner).empty());
  aim.criterion.reset();
  winner = 99;  // of an earlier run: its values are not known
  EXPECT_TRUE(rivals_of(book, aim, winner).empty());
}

TEST(ScoreBook, KeepsTheValuesOfTheBestTrials) {
  ScoreBook book;
  for (int64_t trial = 0; trial < 20; ++trial) book.keep(trial, scored(static_cast<double>(trial), 0, 1), 20.0 - trial, {});
  EXPECT_TRUE(book.by_sample(19).has_value());
  EXPECT_FALSE(book.by_sample(3).has_value());
  EXPECT_TRUE(book.find(3).has_value());
  const auto runners = book.front_runners("L2");
  ASSERT_EQ(runners.size(), 6U);
  EXPECT_EQ(runners[0].trial, 19);
  EXPECT_EQ(runners[5].trial, 14);
  book.keep(19, scored(0, 0, 1), 30, {});  // scored again: not twice in the list
  EXPECT_EQ(book.front_runners("L2")[0].trial, 18);
}

}  // namespace
}  // namespace quasar::tune
