#include "quasar/base/memory_cap.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <optional>

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
  ASSERT_TRUE(can_take(400 * mega));
  {
    const MemoryCap cap(100 * mega);
    EXPECT_FALSE(can_take(400 * mega));
    EXPECT_TRUE(can_take(50 * mega));
    std::optional<MemoryCap> other(std::in_place, 400 * mega);
    EXPECT_TRUE(can_take(400 * mega));
    other.reset();
  }
  const MemoryCap none(0);
  EXPECT_TRUE(can_take(400 * mega));
}

}  // namespace
}  // namespace quasar
