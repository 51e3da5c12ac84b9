// How a worker ends that finishes what it runs.
#include "quasar/worker/drain.hpp"

#include <gtest/gtest.h>

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
  auto running = drain.turn(), without_a_trial = drain.turn();
  running->taken();
  asked.request_stop();
  const std::jthread second([&] { EXPECT_THROW(drain.turn(), Cancelled); });  // before there is a trial to be given back
  without_a_trial.reset();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_FALSE(drain.token().stop_requested());
  running.reset();
  wait_for_stop(drain);
  EXPECT_NE(drain.reason().find("has finished what it ran"), std::string::npos) << drain.reason();
}

// A server that does not answer, say: nothing runs that could be lost.
TEST(Drain, WhoOnlyLooksForATrialHoldsNobody) {
  std::stop_source asked;
  Drain drain({.drain = 1e6}, asked.get_token());
  const auto looking = drain.turn();
  asked.request_stop();
  wait_for_stop(drain);
  EXPECT_NE(drain.reason().find("has finished what it ran"), std::string::npos) << drain.reason();
}

TEST(Drain, WhatTakesLongerIsStopped) {
  std::stop_source asked;
  Drain drain({.drain = 0.1}, asked.get_token());
  const auto trial = drain.turn();
  trial->taken();
  asked.request_stop();
  wait_for_stop(drain);
  EXPECT_FALSE(drain.was_idle());
  EXPECT_NE(drain.reason().find("what it ran after 0.1 s waits for others"), std::string::npos) << drain.reason();
}

TEST(Drain, NothingToDoCountsFromTheLastTrial) {
  Drain drain({.idle = 0.2}, {});
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_FALSE(drain.token().stop_requested());  // it has not begun
  drain.begin();
  {
    const auto trial = drain.turn();
    trial->taken();
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    EXPECT_FALSE(drain.token().stop_requested());
  }
  drain.turn().reset();  // there was no trial
  wait_for_stop(drain);
  EXPECT_TRUE(drain.was_idle());
  EXPECT_EQ(drain.reason(), "there was nothing to do for 0.2 s (--until-idle)");
}

}  // namespace
}  // namespace quasar::tune
