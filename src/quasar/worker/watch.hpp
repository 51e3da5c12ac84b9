// Asks again and again whether something has come, beside the work that is to end then.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "quasar/base/deadline.hpp"

namespace quasar::tune {

class Watch {
 public:
  // Calls `has_come` (empty: never) every `seconds` in a thread of its own, until it says so; then the token stops, as it does
  // when `outer` stops. What it throws means that nobody knows. A watch that ends cancels what it calls.
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
  std::jthread thread_;  // the last member: it ends first
};

}  // namespace quasar::tune
