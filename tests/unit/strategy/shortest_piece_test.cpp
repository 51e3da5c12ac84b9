#include "quasar/strategy/shortest_piece.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace quasar::tune {
namespace {

struct Search {
  std::vector<size_t> tried;
  void run(const Ranked& ranking, size_t enough, size_t fails_from = SIZE_MAX) {
    find_shortest(ranking, [&](size_t k) {
      tried.push_back(k);
      return k >= fails_from ? Verdict::unknown : k >= enough ? Verdict::enough : Verdict::too_little;
    });
  }
  bool has(size_t k) const { return std::ranges::find(tried, k) != tried.end(); }
};

TEST(ShortestPiece, IsFoundByDoublingAndBisection) {
  for (size_t all = 1; all < 40; all++) {
    for (size_t enough = 1; enough <= all; enough++) {
      Search search;
      search.run({0, all, true}, enough);
      EXPECT_TRUE(enough == all || search.has(enough)) << all << " " << enough;
      EXPECT_TRUE(enough == 1 || search.has(enough - 1)) << all << " " << enough;
      EXPECT_LE(search.tried.size(), 11U);
    }
  }
}

TEST(ShortestPiece, WhereItIsForeseenSaysNoMoreThanWhereToBegin) {
  for (size_t enough = 1; enough <= 20; enough++) {
    for (size_t foreseen = 1; foreseen <= 20; foreseen++) {
      Search search;
      search.run({0, 20, true, foreseen}, enough);
      EXPECT_TRUE(foreseen == 20 || search.tried.front() == foreseen);
      EXPECT_TRUE(enough == 20 || search.has(enough)) << enough << " " << foreseen;
      EXPECT_TRUE(enough == 1 || search.has(enough - 1)) << enough << " " << foreseen;
    }
  }
}

TEST(ShortestPiece, MayBeLongerByAPart) {
  Search search;
  search.run({0, 100, true, 38, 4}, 38);
  EXPECT_EQ(search.tried, (std::vector<size_t>{38, 19, 28, 33}));
  Search few;
  few.run({0, 100, true, 3, 4}, 3);
  EXPECT_EQ(few.tried, (std::vector<size_t>{3, 1, 2}));
}

TEST(ShortestPiece, OfARankingWhoseEndFails) {
  Search search;
  search.run({1, 17, false}, 3, 7);
  EXPECT_EQ(search.tried, (std::vector<size_t>{2, 4, 3}));
  Search none;
  none.run({1, 17, false}, 100);
  EXPECT_EQ(none.tried, (std::vector<size_t>{2, 4, 8, 16}));
}

TEST(ShortestPiece, TheGreatestNumberThatHolds) {
  for (size_t all = 0; all < 40; all++) {
    for (size_t holds = 0; holds <= all; holds++) {
      size_t asked = 0;
      EXPECT_EQ(greatest(all,
                         [&](size_t k) {
                           asked++;
                           return k <= holds;
                         }),
                holds);
      EXPECT_LE(asked, 8U);
    }
  }
}

}  // namespace
}  // namespace quasar::tune
