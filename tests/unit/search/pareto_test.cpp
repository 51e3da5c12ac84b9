// Who dominates whom, and how much a front covers.
#include "quasar/search/pareto.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "quasar/base/rng.hpp"

namespace quasar::search {
namespace {

std::vector<Losses> drawn(uint64_t seed, size_t n, size_t objectives) {
  Rng rng(seed);
  std::vector<Losses> out(n);
  for (Losses& l : out) {
    for (size_t k = 0; k < objectives; ++k) l.values.push_back(static_cast<double>(rng.below(6)));
    if (rng.below(4) == 0) l.violation = static_cast<double>(rng.below(3));
  }
  return out;
}

TEST(Pareto, AFrontIsOneMoreThanTheHighestThatDominatesIt) {
  EXPECT_TRUE(rc::check([] {
    const auto all = drawn(*rc::gen::arbitrary<uint64_t>(), 25, *rc::gen::inRange<size_t>(1, 4));
    const auto rank = fronts(all);
    for (size_t a = 0; a < all.size(); ++a) {
      size_t expected = 0;
      for (size_t b = 0; b < all.size(); ++b) {
        if (dominates(all[b], all[a])) expected = std::max(expected, rank[b] + 1);
      }
      RC_ASSERT(rank[a] == expected);
    }
  }));
}

TEST(Pareto, TheEndsOfAFrontComeFirst) {
  const std::vector<Losses> all{{{2, 2}}, {{0, 4}}, {{1, 3}}, {{4, 0}}, {{5, 5}}, {{1, 1}, 0.5}};
  const auto order = by_rank(all);
  EXPECT_EQ(order, (std::vector<size_t>{1, 3, 0, 2, 4, 5}));
}

TEST(Pareto, HypervolumeAgreesWithCountingCells) {
  EXPECT_TRUE(rc::check([] {
    const size_t objectives = *rc::gen::inRange<size_t>(1, 4);
    const auto all = drawn(*rc::gen::arbitrary<uint64_t>(), 8, objectives);
    std::vector<std::vector<double>> points;
    for (const Losses& l : all) points.push_back(l.values);
    const std::vector<double> corner(objectives, 5);
    double cells = 0;
    const size_t total = objectives == 1 ? 5 : objectives == 2 ? 25 : 125;
    for (size_t i = 0; i < total; ++i) {
      const double at[] = {static_cast<double>(i % 5), static_cast<double>(i / 5 % 5), static_cast<double>(i / 25)};
      bool covered = false;
      for (const auto& p : points) {
        bool below = true;
        for (size_t k = 0; k < objectives; ++k) below = below && p[k] <= at[k];
        covered = covered || below;
      }
      cells += covered ? 1 : 0;
    }
    RC_ASSERT(hypervolume(points, corner) == cells);
  }));
}

Trial trial(int64_t number, std::vector<double> values, double constraint = 0) {
  Trial out;
  out.number = number;
  out.state = State::complete;
  out.values = std::move(values);
  out.system_attributes[constraints_attribute] = {constraint};
  return out;
}

TEST(Pareto, TheFrontOfAStudyIsFeasibleAndHasNoDuplicates) {
  std::vector<Trial> trials{trial(0, {1, 1}), trial(1, {0, 9}, 2), trial(2, {2, 3}), trial(3, {0, 0.5}), trial(4, {0, 0.5})};
  trials[4].user_attributes[attribute::duplicate_of] = 3;
  const Direction directions[] = {Direction::minimize, Direction::maximize};
  EXPECT_EQ(pareto_front(trials, directions), (std::vector<int64_t>{0, 2, 3}));
}

TEST(Pareto, PrunedTrialsStandBehindCompleteOnes) {
  const Direction directions[] = {Direction::minimize};
  Trial complete, pruned, empty;
  complete.state = State::complete;
  complete.values = {3};
  pruned.state = State::pruned;
  pruned.values = {1};
  pruned.intermediate = {{0, 5}, {1, 2}};
  empty.state = State::pruned;
  const auto whole = known_losses(complete, directions), part = known_losses(pruned, directions);
  ASSERT_TRUE(whole && part);
  EXPECT_EQ(part->values, std::vector<double>{2});
  EXPECT_TRUE(dominates(*whole, *part));
  EXPECT_FALSE(known_losses(empty, directions));
  EXPECT_FALSE(known_losses(Trial{}, directions)) << "it is running";
}

}  // namespace
}  // namespace quasar::search
