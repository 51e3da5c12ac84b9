#include "quasar/search/heartbeat.hpp"

#include <algorithm>
#include <condition_variable>
#include <utility>
#include <vector>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/memory_cap.hpp"

namespace quasar::search {
namespace {

constexpr double after_trouble = 1;  // seconds until a storage that was lost is looked for again

Deadline::Clock::duration in_clock(double seconds) {
  return std::chrono::duration_cast<Deadline::Clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

Heartbeat& Heartbeat::of(Study& study) {
  if (study.companion() == nullptr) study.keep(std::make_unique<Heartbeat>(study));
  return static_cast<Heartbeat&>(*study.companion());
}

Heartbeat::Heartbeat(Study& study)
    : study_(study),
      options_(study.heartbeat()),
      stop_(current_cancellation()),
      thread_([this](const std::stop_token& over) { live(over); }) {}

Heartbeat::~Heartbeat() {
  stop_.stop();
}

void Heartbeat::hear(Listener listener) {
  const std::scoped_lock lock(listening_);
  listener_ = std::move(listener);
  told_ = false;
}

void Heartbeat::deafen() {
  const std::scoped_lock lock(listening_);
  listener_ = {};
}

void Heartbeat::begin(int64_t id) {
  const std::scoped_lock lock(guard_);
  mine_.insert(id);
}

void Heartbeat::end(int64_t id) {
  const std::scoped_lock lock(guard_);
  mine_.erase(id);
}

void Heartbeat::live(const std::stop_token& over) {
  const CancelScope scope(stop_.token());
  Clock::time_point next{};
  std::mutex alone;
  std::condition_variable_any pause;
  while (!over.stop_requested()) {
    try {
      const Uncapped no_cap;
      if (Clock::now() >= next) {
        beat();
        next = Clock::now() + in_clock(options_.interval);
      }
      const double left = std::chrono::duration<double>(next - Clock::now()).count();
      tell_of(study_.sharing()->wait_for_news(study_.id(), std::max(left, 0.0), over));
    } catch (const std::exception&) {  // the storage is gone: trials go on, and whoever needs it waits for it
      seen_.clear();                   // nobody could beat meanwhile
      std::unique_lock lock(alone);
      pause.wait_for(lock, over, std::chrono::duration<double>(std::min(options_.interval, after_trouble)), [] { return false; });
      next = {};
    }
  }
}

void Heartbeat::tell_of(const News& news) {
  if (news.words) study_.hear(study_.sharing()->pulse(study_.id(), {}, Study::words()).words);
  const auto word = study_.leader_message();
  options_ = word.heartbeat;
  const std::scoped_lock lock(listening_);
  if (word.ended && listener_.on_end && !told_) told_ = listener_.on_end(*word.ended);
  if (news.trials && listener_.on_trials) listener_.on_trials();
}

void Heartbeat::beat() {
  std::vector<int64_t> mine;
  {
    const std::scoped_lock lock(guard_);
    mine.assign(mine_.begin(), mine_.end());
  }
  const auto now = Clock::now();
  Pulse pulse = study_.sharing()->pulse(study_.id(), mine, Study::words());
  study_.hear(pulse.words);
  for (const int64_t id : mine) pulse.beats.erase(id);
  look_for_the_dead(pulse.beats, now);
}

void Heartbeat::look_for_the_dead(const std::map<int64_t, std::string>& beats, Clock::time_point now) {
  const auto grace = std::chrono::duration<double>(options_.grace);
  // Who knows what has happened while nobody looked.
  if (now - looked_ > grace / 2 + 2 * std::chrono::duration<double>(options_.interval)) seen_.clear();
  looked_ = now;
  std::erase_if(seen_, [&](const auto& entry) { return !beats.contains(entry.first); });
  for (const auto& [id, beat] : beats) {
    Seen& seen = seen_[id];
    if (seen.beat != beat) {
      seen = {beat, now};
    } else if (now - seen.since > grace && study_.sharing()->requeue_dead(id, beat, options_.max_retry)) {
      seen_.erase(id);
    }
  }
}

}  // namespace quasar::search
