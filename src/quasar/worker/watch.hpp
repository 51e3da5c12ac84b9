// Who is alive: asks again and again whether something has come, beside the work that is to end then. A worker whose leader has
// died is let go so, and processes that were started together do not wait for the first of them when it has gone.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "quasar/base/deadline.hpp"
#include "quasar/base/log.hpp"
#include "quasar/job/job.hpp"
#include "quasar/search/storage.hpp"
#include "quasar/search/study.hpp"

namespace quasar::tune {

class Watch {
 public:
  // Calls `has_come` (empty: never) every `seconds` in a thread of its own, until it says so; then the token stops, as it does
  // when `outer` stops. What it throws means that nobody knows. A watch that ends cancels what it calls, and so does `outer`.
  Watch(std::function<bool()> has_come, double seconds, std::stop_token outer);

  std::stop_token token() const { return stop_.token(); }
  bool passed() const { return passed_; }  // it has come

 private:
  void run(const std::stop_token& over);

  const std::function<bool()> has_come_;
  const double seconds_;
  Deadline stop_;
  std::atomic<bool> passed_ = false;
  std::mutex mutex_;
  std::condition_variable_any pause_;
  std::jthread thread_;
  std::stop_callback<std::function<void()>> ends_with_outer_;  // the last member: it ends first, and then the thread
};

class LeaderWatch : public Watch {
 public:
  // Stops its token when nobody has led the search of `study` for `seconds` (nullopt: whatever happens), or when `outer` stops.
  // `log` hears of a leader that has gone without saying that the search has ended. The study outlives it, and is not touched but
  // for its storage.
  LeaderWatch(const search::Study& study, std::optional<double> seconds, std::stop_token outer, Log log = {});

  // Whether nobody leads the search at this moment, and nobody has said that it has ended.
  static bool has_gone(const search::Study& study);
};

// A launch is held in the storage as a study is, under an id that no study has.
int64_t id_of_launch(const std::string& launch);

// Seconds for which a launch, or a study, that was held is not held any more until its leader is taken to be gone: longer than
// one that lives needs to come back to a server that was restarted.
inline constexpr double launch_grace = 12;

// Holds the launch for as long as it lives.
class LaunchLead {
 public:
  // Of a storage that is not shared, and without a launch (""), there is nobody to be led. Throws Error when the storage cannot
  // be opened.
  LaunchLead(const StudyKeys& study, const std::string& launch);

  // For a process that fails, perhaps at once: returns when those that began with it have had the time to see that it was there,
  // or when `stop` stops.
  void let_others_see(const std::stop_token& stop) const;

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::unique_ptr<search::Storage> storage_;
  std::unique_ptr<search::StudyLock> lock_;
  std::optional<Watch> keeper_;  // the last member: it ends first
};

}  // namespace quasar::tune
