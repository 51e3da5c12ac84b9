#include "quasar/base/survive_abort.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <stdexcept>
#include <thread>

namespace quasar {
namespace {

TEST(SurviveAbort, OnlyTheCallEnds) {
  int done = 0;
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(survives_abort([&] {
      done++;
      std::abort();
    }));
  }
  EXPECT_EQ(done, 3);
  EXPECT_TRUE(survives_abort([&] { done++; }));
  EXPECT_EQ(done, 4);
}

TEST(SurviveAbort, OneInsideOfAnother) {
  bool inner = true, after = false;
  EXPECT_FALSE(survives_abort([&] {
    inner = survives_abort([] { std::abort(); });
    after = true;
    std::abort();
  }));
  EXPECT_FALSE(inner);
  EXPECT_TRUE(after);
}

TEST(SurviveAbort, ExceptionsPass) {
  EXPECT_THROW(survives_abort([] { throw std::runtime_error("mine"); }), std::runtime_error);
}

TEST(SurviveAbort, OnEveryThread) {
  bool here = true, there = true;
  std::thread other([&] { there = survives_abort([] { std::abort(); }); });
  here = survives_abort([] { std::abort(); });
  other.join();
  EXPECT_FALSE(here);
  EXPECT_FALSE(there);
}

// Outside of it, and after it, abort() is what it was; an exception must not leave the guard up.
TEST(SurviveAbortDeathTest, NobodyElsesAbort) {
  EXPECT_TRUE(survives_abort([] {}));
  EXPECT_THROW(survives_abort([] { throw std::runtime_error("mine"); }), std::runtime_error);
  EXPECT_EXIT(std::abort(), testing::KilledBySignal(SIGABRT), "");
}

}  // namespace
}  // namespace quasar
