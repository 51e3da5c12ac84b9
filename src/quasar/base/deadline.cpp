#include "quasar/base/deadline.hpp"

#include <algorithm>

namespace quasar {

Deadline::Deadline(std::stop_token outer, std::optional<Clock::time_point> moment)
    : outer_(std::move(outer)), moment_(moment), forward_(outer_, Forward{source_}) {
  if (!moment_) return;
  timer_ = std::jthread([this](const std::stop_token& over) {
    std::unique_lock lock(mutex_);
    passing_.wait_until(lock, over, *moment_, [] { return false; });
    if (!over.stop_requested()) source_.request_stop();
  });
}

Deadline::Clock::time_point Deadline::after(double seconds, Clock::time_point from) {
  constexpr double longest = 1e9;
  return from + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(seconds, longest)));
}

}  // namespace quasar
