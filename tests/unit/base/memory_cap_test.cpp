#include "quasar/base/memory_cap.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>

#include "quasar/base/file.hpp"
#include "quasar/base/process.hpp"

namespace quasar {
namespace {

// Whether so much can be had, without touching it.
bool can_take(size_t bytes) {
  try {
    const std::unique_ptr<char[]> taken(new char[bytes]);
    return taken != nullptr;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

constexpr size_t mega = size_t{1} << 20;

TEST(MemoryCap, WhatIsTooMuchFailsAndCanBeHadAfterwards) {
  ASSERT_TRUE(can_take(4000 * mega));
  {
    const MemoryCap cap(100 * mega);
    EXPECT_FALSE(can_take(4000 * mega));
    EXPECT_TRUE(can_take(50 * mega));
    std::optional<MemoryCap> other(std::in_place, 4000 * mega);
    EXPECT_TRUE(can_take(4000 * mega));
    other.reset();
  }
  const MemoryCap none(0);
  EXPECT_TRUE(can_take(4000 * mega));
}

TEST(MemoryCap, IsLiftedForAMoment) {
  EXPECT_FALSE(capped_memory());
  const MemoryCap cap(100 * mega);
  const auto most = capped_memory();
  ASSERT_TRUE(most);
  {
    const Uncapped one;
    std::optional<Uncapped> two(std::in_place);
    EXPECT_TRUE(can_take(4000 * mega));
    const MemoryCap later(100 * mega);
    EXPECT_TRUE(can_take(4000 * mega));
    two.reset();
    EXPECT_TRUE(can_take(4000 * mega));
    EXPECT_GT(capped_memory(), most);
  }
  EXPECT_FALSE(can_take(4000 * mega));
}

// A wait for minutes, such as for a server, is no moment.
TEST(MemoryCap, HoldsWhileOneWhoIsFreeOfItWaits) {
  const MemoryCap cap(100 * mega);
  const Uncapped one, two;
  EXPECT_TRUE(can_take(4000 * mega));
  {
    const CappedMeanwhile wait;
    EXPECT_FALSE(can_take(4000 * mega));
    {
      const Uncapped inner;
      EXPECT_TRUE(can_take(4000 * mega));
    }
    std::jthread([] {
      const Uncapped other;
      EXPECT_TRUE(can_take(4000 * mega));
    }).join();
    EXPECT_FALSE(can_take(4000 * mega));
  }
  EXPECT_TRUE(can_take(4000 * mega));
}

// Whatever the caps of this process are at the moment when a program is started.
TEST(MemoryCap, HoldsForProgramsThatAreStarted) {
  const TemporaryFolder folder;
  const auto limit = [&] {
    Process({.arguments = {"sh", "-c", "ulimit -d"}, .folder = {}, .output = folder.path() / "out", .errors = {}}).wait();
    const std::string said = read_file(folder.path() / "out");
    return said.substr(0, said.find('\n'));
  };
  const MemoryCap cap(100 * mega);
  const auto most = capped_memory();
  ASSERT_TRUE(most);
  EXPECT_EQ(limit(), std::to_string(*most >> 10));
  const Uncapped lifted;
  EXPECT_EQ(limit(), std::to_string(*most >> 10));
}

}  // namespace
}  // namespace quasar
