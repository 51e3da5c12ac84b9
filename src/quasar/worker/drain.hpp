// How a worker ends that is not to lose what it runs: it finishes that and starts nothing more, when it is asked to end, or when
// there has been nothing to do for a while.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "quasar/search/heartbeat.hpp"

namespace quasar::tune {

struct DrainOptions {
  std::optional<double> drain =
      {};  // seconds that trials may take still once the worker is asked to end; nullopt: they are stopped
  std::optional<double> idle = {};  // seconds without a trial after which the worker ends; nullopt: it stays
};

class Drain {
 public:
  // `asked` stops when the worker is asked to end.
  Drain(DrainOptions options, std::stop_token asked);
  ~Drain();
  Drain(const Drain&) = delete;
  Drain& operator=(const Drain&) = delete;

  // Stops when nothing is to run any more.
  std::stop_token token() const { return stop_.get_token(); }

  // The search was joined: seconds without a trial count from here.
  void begin();
  // For a further trial, which lives until its result is stored. Throws Cancelled, once the token has stopped, where the worker
  // was asked to end before.
  std::unique_ptr<search::Heartbeat::Turn> turn();

  // Why the token stopped, in words; "": it has not, or the worker was to end at once.
  std::string reason() const;
  bool was_idle() const;

 private:
  using Clock = std::chrono::steady_clock;
  class Mine;
  void watch(const std::stop_token& over);
  void look(Clock::time_point now);
  void end(const std::string& reason);

  const DrainOptions options_;
  const std::stop_token asked_;
  std::stop_source stop_;
  mutable std::mutex mutex_;  // guards all below
  std::condition_variable_any changed_;
  size_t choosing_ = 0, running_ = 0;  // turns without a trial, and with one
  bool idle_ = false;
  std::optional<Clock::time_point> asked_at_, free_since_;
  std::string reason_;
  std::jthread thread_;  // the last member: it ends first
};

}  // namespace quasar::tune
