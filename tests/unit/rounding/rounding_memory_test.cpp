#include "quasar/rounding/rounding_memory.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "quasar/rounding/memory/held_samples.hpp"
#include "unit/tune/generated_samples.hpp"

namespace quasar::tune {
namespace {

TEST(HeldSamples, WhatDoesNotFitIsReadAgain) {
  std::atomic<size_t> reads{0};
  const auto made = std::make_shared<GeneratedSamples>(4, [&](size_t index) {
    reads++;
    return data::Sample{Tensor::of(Shape{2}, std::vector<float>{static_cast<float>(index), 1})};
  });
  const HeldSamples samples(made, 20);  // two of eight bytes
  for (int round = 0; round < 2; round++) {
    for (size_t i = 0; i < samples.size(); i++) EXPECT_EQ(samples.at(i).front().as<float>()[0], static_cast<float>(i));
  }
  EXPECT_EQ(reads, 6U);
  EXPECT_EQ(samples.shapes(3), std::vector<Shape>{Shape{2}});
  EXPECT_EQ(reads, 6U);
}

TEST(Fitting, FirstSamplesThatFitWhateverTheOrder) {
  Fitting fitting(4, 10);
  fitting.add(2, 3);
  fitting.add(1, 5);
  EXPECT_FALSE(fitting.is_out(2));
  fitting.add(0, 4);  // 4 + 5 + 3 are too many
  EXPECT_TRUE(fitting.is_out(2));
  EXPECT_EQ(fitting.count(), 2U);
  EXPECT_EQ(fitting.bytes(), 9U);
  Fitting large(2, 10);
  large.add(0, 100);
  large.add(1, 100);
  EXPECT_EQ(large.count(), 1U);
}

struct Held : SharedLimit::Holder {
  bool give_up() override {
    if (!busy) given_up = true;
    return !busy;
  }
  bool busy = false, given_up = false;
};

TEST(SharedLimit, WhatIsNotAtWorkGoesFirst) {
  SharedLimit limit(100);
  Held old, working, latest;
  const SharedLimit::Work first(limit, working);
  limit.holds(working, 40);
  limit.holds(old, 40);
  EXPECT_FALSE(old.given_up);
  const SharedLimit::Work second(limit, latest);
  EXPECT_EQ(limit.each(), 50U);
  limit.holds(latest, 50);
  EXPECT_TRUE(old.given_up);
  EXPECT_FALSE(working.given_up);
  limit.holds(working, 90);  // more than its part, from the time when it was alone
  EXPECT_FALSE(latest.given_up);
  limit.holds(latest, 50);
  EXPECT_TRUE(working.given_up);
}

TEST(MemoryGate, WorkWaitsForMemory) {
  MemoryGate gate(100);
  std::atomic<bool> entered{false};
  std::thread other;
  {
    const MemoryGate::Pass pass(gate, 1000, {});  // all of it
    other = std::thread([&] {
      const MemoryGate::Pass later(gate, 1, {});
      entered = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(entered);
    EXPECT_THROW(MemoryGate::Pass(gate, 1, [] { throw std::runtime_error("cancelled"); }), std::runtime_error);
  }
  other.join();
  EXPECT_TRUE(entered);
}

}  // namespace
}  // namespace quasar::tune
