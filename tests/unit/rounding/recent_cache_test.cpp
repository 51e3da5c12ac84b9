#include "quasar/rounding/memory/recent_cache.hpp"

#include <gtest/gtest.h>

#include "quasar/rounding/layer_moments.hpp"

namespace quasar::tune {
namespace {

std::shared_ptr<const Moments> moments(size_t inputs) {
  LinearLayer layer;
  layer.outputs = 1;
  layer.inputs = inputs;
  return std::make_shared<const Moments>(layer);
}

TEST(RecentCache, TheLeastRecentlyUsedGo) {
  RecentCache<Moments> cache(2500);  // two of 10 inputs
  cache.keep("a", moments(10));
  cache.keep("b", moments(10));
  EXPECT_NE(cache.find("a"), nullptr);
  cache.keep("c", moments(10));
  EXPECT_NE(cache.find("a"), nullptr);
  EXPECT_EQ(cache.find("b"), nullptr);
  EXPECT_NE(cache.find("c"), nullptr);
}

TEST(RecentCache, WhatNeverFitsIsNotKept) {
  RecentCache<Moments> cache(500);
  cache.keep("small", moments(4));
  cache.keep("large", moments(100));
  EXPECT_EQ(cache.find("large"), nullptr);
  EXPECT_NE(cache.find("small"), nullptr);
}

}  // namespace
}  // namespace quasar::tune
