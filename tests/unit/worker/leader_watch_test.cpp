#include <gtest/gtest.h>

#include "quasar/base/cancellation.hpp"
#include "quasar/worker/watch.hpp"

namespace quasar::tune {
namespace {

using namespace std::chrono_literals;

// Waits for as long as a test may take.
bool stops(const LeaderWatch& watch) {
  for (int i = 0; i < 100000 && !watch.token().stop_requested(); ++i) std::this_thread::sleep_for(10ms);
  return watch.token().stop_requested();
}

// A server that is silent holds the thread that asks, and with it the connection that others wait for.
TEST(Watch, EndsWhatItCallsWithTheWorkAround) {
  std::stop_source outer;
  std::atomic<bool> called = false, ended = false;
  const auto asks_until_ended = [&] {
    called = true;
    for (int i = 0; i < 30000 && !current_cancellation().stop_requested(); i++)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ended = current_cancellation().stop_requested();
    return false;
  };
  const Watch watch(asks_until_ended, 60, outer.get_token());
  while (!called) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  outer.request_stop();
  for (int i = 0; i < 30000 && !ended; i++) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(ended);
  EXPECT_FALSE(watch.passed());
}

TEST(LeaderWatch, LetsAWorkerGoWhoseLeaderDoesNotComeBack) {
  const auto storage = search::storage::table().make("memory", {{"shared", true}});
  std::optional<search::Study> led(std::in_place, *storage, search::StudyOptions{.heartbeat = {.interval = 0.05, .grace = 600}});
  const search::Study study(*storage, {.worker = true});
  const LeaderWatch watch(study, 0.3, {}), never(study, std::nullopt, {});
  std::this_thread::sleep_for(1s);
  EXPECT_FALSE(watch.token().stop_requested());  // somebody leads
  led.reset();
  EXPECT_TRUE(stops(watch));
  EXPECT_TRUE(watch.passed());
  EXPECT_FALSE(never.token().stop_requested());
}

TEST(LeaderWatch, SaysOnceOfALeaderThatItHasGoneWithoutAWord) {
  const auto storage = search::storage::table().make("memory", {{"shared", true}});
  for (const bool says_so : {true, false}) {
    const search::StudyOptions options{.name = says_so ? "ended" : "died", .heartbeat = {.interval = 0.02, .grace = 0.1}};
    std::optional<search::Study> led(std::in_place, *storage, options);
    const search::Study study(*storage, {.name = options.name, .worker = true});
    std::mutex mutex;
    std::vector<std::string> said;
    const LeaderWatch watch(study, 1, {}, [&](Level, const std::string& text) {
      const std::scoped_lock lock(mutex);
      said.push_back(text);
    });
    EXPECT_FALSE(LeaderWatch::has_gone(study));
    if (says_so) led->announce("ended", "n_trials of 3 reached");
    led.reset();
    EXPECT_EQ(LeaderWatch::has_gone(study), !says_so);
    EXPECT_TRUE(stops(watch));  // ten times the grace later
    const std::scoped_lock lock(mutex);
    ASSERT_EQ(said.size(), says_so ? 0u : 1u);
    for (const auto& text : said) EXPECT_NE(text.find("has gone without a word"), std::string::npos) << text;
  }
}

TEST(LeaderWatch, StopsWithWhatIsAround) {
  const auto storage = search::storage::table().make("memory", {{"shared", true}});
  const search::Study led(*storage, {});
  const search::Study study(*storage, {.worker = true});
  std::stop_source outer;
  const LeaderWatch watch(study, 100, outer.get_token());
  outer.request_stop();
  EXPECT_TRUE(watch.token().stop_requested());
  EXPECT_FALSE(watch.passed());
}

}  // namespace
}  // namespace quasar::tune
