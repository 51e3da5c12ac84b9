#include "quasar/worker/watch.hpp"

#include "quasar/base/cancellation.hpp"
#include "quasar/base/memory_cap.hpp"

namespace quasar::tune {

Watch::Watch(std::function<bool()> has_come, double seconds, std::stop_token outer)
    : has_come_(std::move(has_come)), seconds_(seconds), stop_(std::move(outer)) {
  if (has_come_) thread_ = std::jthread([this](const std::stop_token& over) { run(over); });
}

void Watch::run(const std::stop_token& over) {
  const CancelScope scope(over);
  while (!over.stop_requested()) {
    try {
      const Uncapped no_cap;
      passed_ = has_come_();
    } catch (const std::exception&) {  // such as a storage that is gone
    }
    if (passed_) return stop_.stop();
    std::unique_lock lock(mutex_);
    pause_.wait_for(lock, over, std::chrono::duration<double>(seconds_), [] { return false; });
  }
}

}  // namespace quasar::tune
