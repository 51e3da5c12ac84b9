#include "quasar/worker/watch.hpp"

#include <algorithm>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/hash.hpp"
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

namespace {

std::function<bool()> nobody_has_led_for(double seconds, const search::Study& study) {
  return [&study, seconds, seen = Deadline::Clock::now()]() mutable {
    bool led = true;
    try {
      led = study.sharing()->is_locked(study.id());
    } catch (const std::exception&) {  // the storage is gone: nobody knows
    }
    const auto now = Deadline::Clock::now();
    if (led) seen = now;
    return now >= Deadline::after(seconds, seen);
  };
}

}  // namespace

LeaderWatch::LeaderWatch(const search::Study& study, std::optional<double> seconds, std::stop_token outer)
    : Watch(seconds ? nobody_has_led_for(*seconds, study) : nullptr, std::min(study.heartbeat().interval, seconds.value_or(1)),
            std::move(outer)) {}

namespace {

constexpr double visible = 5;  // seconds at least
constexpr double keeping = 4;  // seconds between two looks whether the connection is still there

}  // namespace

int64_t id_of_launch(const std::string& launch) {
  constexpr int64_t beyond_studies = int64_t{1} << 30;  // which number from 1; PostgreSQL's locks have 31 bits
  return beyond_studies + std::stoll(hash_of(launch).substr(0, 7), nullptr, 16);
}

LaunchLead::LaunchLead(const StudyKeys& study, const std::string& launch) {
  if (launch.empty() || !search::is_shared_storage(study.storage)) return;
  storage_ = search::open_storage(storage_url(study));
  try {
    lock_ = storage_->lock({.id = id_of_launch(launch), .name = launch, .directions = {}, .user_attributes = {}});
  } catch (const Error&) {  // several searches that one script began: each leads nobody
    return;
  }
  // A call finds a connection that was lost, makes it anew and holds again.
  const auto look = [this] {
    storage_->sharing()->leaders("");
    return false;
  };
  keeper_.emplace(look, keeping, std::stop_token());
}

void LaunchLead::let_others_see(const std::stop_token& stop) const {
  const auto end = begin_ + std::chrono::duration<double>(visible);
  while (lock_ && !stop.stop_requested() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

}  // namespace quasar::tune
