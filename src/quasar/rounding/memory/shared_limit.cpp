#include "quasar/rounding/memory/shared_limit.hpp"

#include <algorithm>
#include <vector>

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

}  // namespace quasar::tune
