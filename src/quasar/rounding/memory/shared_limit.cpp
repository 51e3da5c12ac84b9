#include "quasar/rounding/memory/shared_limit.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include "quasar/base/cancellation.hpp"

namespace quasar::tune {

SharedLimit::Work::Work(SharedLimit& limit, Holder& holder) : limit_(limit), holder_(holder) {
  const std::lock_guard lock(limit_.guard_);
  limit_.entries_[&holder_].works++;
}

SharedLimit::Work::~Work() {
  const std::lock_guard lock(limit_.guard_);
  limit_.entries_[&holder_].works--;
}

size_t SharedLimit::at_work() const {
  const auto count = std::ranges::count_if(entries_, [](const auto& entry) { return entry.second.works > 0; });
  return std::max<size_t>(static_cast<size_t>(count), 1);
}

size_t SharedLimit::held() const {
  size_t sum = 0;
  for (const auto& [holder, entry] : entries_) sum += entry.bytes;
  return sum;
}

size_t SharedLimit::each() const {
  const std::lock_guard lock(guard_);
  return bytes_ / at_work();
}

// The longest unused first.
void SharedLimit::free(size_t most, bool working, const Holder& but) {
  std::vector<std::pair<size_t, Holder*>> order;
  for (const auto& [holder, entry] : entries_) {
    if (holder != &but && entry.bytes > most && (entry.works > 0) == working) order.emplace_back(entry.used, holder);
  }
  std::ranges::sort(order);
  for (const auto& [used, holder] : order) {
    if (held() <= bytes_) return;
    if (holder->give_up()) entries_[holder].bytes = 0;
  }
}

void SharedLimit::holds(Holder& holder, size_t bytes) {
  const std::lock_guard lock(guard_);
  Entry& entry = entries_[&holder];
  entry.bytes = bytes;
  entry.used = ++clock_;
  free(0, false, holder);
  free(bytes_ / at_work(), true, holder);
}

void SharedLimit::forget(Holder& holder) {
  const std::lock_guard lock(guard_);
  entries_.erase(&holder);
}

MemoryGate::Pass::Pass(MemoryGate& gate, size_t bytes, const std::function<void()>& check)
    : gate_(gate), bytes_(std::min(bytes, gate.limit_)) {
  using namespace std::chrono_literals;
  std::unique_lock lock(gate_.guard_);
  while (gate_.taken_ + bytes_ > gate_.limit_) {
    gate_.freed_.wait_for(lock, 50ms);
    lock.unlock();
    throw_if_cancelled();
    if (check) check();
    lock.lock();
  }
  gate_.taken_ += bytes_;
}

MemoryGate::Pass::~Pass() {
  {
    const std::lock_guard lock(gate_.guard_);
    gate_.taken_ -= bytes_;
  }
  gate_.freed_.notify_all();
}

}  // namespace quasar::tune
