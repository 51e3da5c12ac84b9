#include "quasar/tune/leader_watch.hpp"

#include <algorithm>

#include "quasar/base/memory_cap.hpp"

namespace quasar::tune {

LeaderWatch::LeaderWatch(const search::Study& study, std::optional<double> seconds, std::stop_token outer)
    : study_(study), stop_(std::move(outer)) {
  if (seconds) thread_ = std::jthread([this, seconds = *seconds](const std::stop_token& over) { watch(over, seconds); });
}

void LeaderWatch::watch(const std::stop_token& over, double seconds) {
  auto seen = Deadline::Clock::now();
  while (!over.stop_requested()) {
    bool led = true;
    try {
      const Uncapped books;
      led = study_.sharing()->is_held(study_.id());
    } catch (const std::exception&) {  // the storage is gone: nobody knows
    }
    const auto now = Deadline::Clock::now();
    if (led) seen = now;
    if (now >= Deadline::after(seconds, seen)) {
      passed_ = true;
      stop_.stop();
      return;
    }
    std::unique_lock lock(mutex_);
    pause_.wait_for(lock, over, std::chrono::duration<double>(std::min(study_.pulse().interval, seconds)), [] { return false; });
  }
}

}  // namespace quasar::tune
