// How a worker ends that finishes what it runs.
#include "quasar/worker/drain.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "quasar/base/error.hpp"

namespace quasar::tune {
namespace {

void wait_for_stop(const Drain& drain) {
  while (!drain.token().stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST(Drain, WithoutItAWorkerEndsAtOnce) {
  std::stop_source asked;
  const Drain drain({}, asked.get_token());
  asked.request_stop();
  wait_for_stop(drain);
  EXPECT_EQ(drain.reason(), "");
}

TEST(Drain, WhatRunsIsFinishedAndNothingElseBegins) {
  std::stop_source asked;
  Drain drain({.drain = 3600}, asked.get_token());
  std::atomic<bool> begun = false, may_end = false;
  std::jthread first([&] {
    const auto outcome = drain.run([&]() -> search::Outcome {
      begun = true;
      while (!may_end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return {.values = {1}};
    });
    EXPECT_EQ(outcome.values, std::vector<double>{1});
  });
  while (!begun) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  asked.request_stop();
  std::jthread second([&] {
    EXPECT_THROW(drain.run([]() -> search::Outcome {
      ADD_FAILURE() << "it was begun";
      return {};
    }),
                 Cancelled);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_FALSE(drain.token().stop_requested());
  may_end = true;
  wait_for_stop(drain);
  EXPECT_NE(drain.reason().find("has finished what it ran"), std::string::npos) << drain.reason();
}

TEST(Drain, WhatTakesLongerIsStopped) {
  std::stop_source asked;
  Drain drain({.drain = 0.1}, asked.get_token());
  std::atomic<bool> begun = false;
  std::jthread trial([&] {
    drain.run([&]() -> search::Outcome {
      begun = true;
      wait_for_stop(drain);
      return {};
    });
  });
  while (!begun) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  asked.request_stop();
  wait_for_stop(drain);
  EXPECT_FALSE(drain.was_idle());
}

TEST(Drain, NothingToDoCountsFromTheLastTrial) {
  Drain drain({.idle = 0.2}, {});
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_FALSE(drain.token().stop_requested());  // it has not begun
  drain.begin();
  drain.run([&]() -> search::Outcome {
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    EXPECT_FALSE(drain.token().stop_requested());
    return {};
  });
  wait_for_stop(drain);
  EXPECT_TRUE(drain.was_idle());
  EXPECT_EQ(drain.reason(), "there was nothing to do for 0.2 s (--until-idle)");
}

}  // namespace
}  // namespace quasar::tune
