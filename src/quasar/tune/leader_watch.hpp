// Lets a worker go whose leader has died and does not come back: nobody else would ever say that the time is up.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "quasar/base/deadline.hpp"
#include "quasar/search/study.hpp"

namespace quasar::tune {

class LeaderWatch {
 public:
  // Stops its token when nobody has led the search of `study` for `seconds` (nullopt: whatever happens), or when `outer` stops.
  // The study outlives it, and is not touched but for its storage.
  LeaderWatch(const search::Study& study, std::optional<double> seconds, std::stop_token outer);

  std::stop_token token() const { return stop_.token(); }
  bool passed() const { return passed_; }  // the seconds

 private:
  void watch(const std::stop_token& over, double seconds);

  const search::Study& study_;
  Deadline stop_;
  std::atomic<bool> passed_ = false;
  std::mutex mutex_;
  std::condition_variable_any pause_;
  std::jthread thread_;  // the last member: it ends first
};

}  // namespace quasar::tune
