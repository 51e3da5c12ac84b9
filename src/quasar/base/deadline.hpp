// A token that stops at a moment, or together with another one.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

namespace quasar {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  // Stops when `outer` does, and at `moment` (nullopt: never by itself). A clock that jumps does not matter.
  explicit Deadline(std::stop_token outer, std::optional<Clock::time_point> moment = {});

  std::stop_token token() const { return source_.get_token(); }
  void stop() { source_.request_stop(); }

  // The moment has come, and stopped what `outer` had not.
  bool passed() const { return moment_ && Clock::now() >= *moment_ && !outer_.stop_requested(); }

  // `seconds` after `from`; at most 30 years, beyond which clocks overflow.
  static Clock::time_point after(double seconds, Clock::time_point from = Clock::now());

 private:
  std::stop_token outer_;
  std::optional<Clock::time_point> moment_;
  std::stop_source source_;
  struct Forward {
    std::stop_source source;
    void operator()() { source.request_stop(); }
  };
  std::stop_callback<Forward> forward_;
  // Here and not in the thread, which nobody would hear when memory is short.
  std::mutex mutex_;
  std::condition_variable_any passing_;
  std::jthread timer_;  // the last member: it ends first
};

}  // namespace quasar
