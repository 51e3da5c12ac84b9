#include "quasar/search/heartbeat.hpp"

#include <algorithm>
#include <vector>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/memory_cap.hpp"

namespace quasar::search {
namespace {

constexpr double longest_deafness = 1;  // seconds; the leader waits for its workers to hear that the search has ended

}  // namespace

Heartbeat::Heartbeat(Study& study, std::function<void(const std::string&)> on_end)
    : study_(study),
      on_end_(std::move(on_end)),
      options_(study.heartbeat()),
      thread_([this](const std::stop_token& stop) { live(stop); }) {}

Heartbeat::~Heartbeat() = default;

void Heartbeat::begin(int64_t id) {
  const std::scoped_lock lock(guard_);
  mine_.insert(id);
}

void Heartbeat::end(int64_t id) {
  const std::scoped_lock lock(guard_);
  mine_.erase(id);
}

void Heartbeat::live(const std::stop_token& stop) {
  const CancelScope scope(stop);
  std::chrono::steady_clock::time_point next{};
  while (!stop.stop_requested()) {
    try {
      const Uncapped no_cap;
      if (std::chrono::steady_clock::now() >= next) {
        beat();
        look_for_the_dead();
        next = std::chrono::steady_clock::now() +
               std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(options_.interval));
      }
      listen();
    } catch (const std::exception&) {  // the storage is gone: trials go on, and whoever needs it waits for it
      seen_.clear();                   // nobody could beat meanwhile
    }
    std::unique_lock lock(guard_);
    wake_.wait_for(lock, stop, std::chrono::duration<double>(std::min(options_.interval, longest_deafness)),
                   [] { return false; });
  }
}

void Heartbeat::listen() {
  study_.look_for_a_stop();
  const auto word = study_.leader_message();
  options_ = word.heartbeat;
  if (word.ended && !told_) on_end_(*word.ended);
  told_ = told_ || word.ended;
}

void Heartbeat::beat() {
  std::vector<int64_t> mine;
  {
    const std::scoped_lock lock(guard_);
    mine.assign(mine_.begin(), mine_.end());
  }
  if (!mine.empty()) study_.sharing()->beat(mine);
}

void Heartbeat::look_for_the_dead() {
  const auto now = std::chrono::steady_clock::now();
  const auto grace = std::chrono::duration<double>(options_.grace);
  const auto beats = study_.sharing()->beats(study_.id());
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
