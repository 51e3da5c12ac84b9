// What was computed of layers behind identical prefixes, kept for later trials: what a configuration changes at the end of a
// network, or in the solver's effort, leaves the layers before as they are.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace quasar::tune {

// Thread-safe. Beyond `limit` bytes the least recently used go. T has a function bytes_of(const T&).
template <class T>
class RecentCache {
 public:
  explicit RecentCache(size_t limit) : limit_(limit) {}

  // nullptr: not there
  std::shared_ptr<const T> find(const std::string& key) {
    const std::lock_guard lock(guard_);
    const auto found = slots_.find(key);
    if (found == slots_.end()) return nullptr;
    recent_.splice(recent_.begin(), recent_, found->second.place);
    return found->second.value;
  }

  void keep(const std::string& key, std::shared_ptr<const T> value) {
    const std::lock_guard lock(guard_);
    const size_t bytes = bytes_of(*value);
    if (bytes > limit_ || slots_.contains(key)) return;
    recent_.push_front(key);
    slots_[key] = {std::move(value), recent_.begin(), bytes};
    bytes_ += bytes;
    while (bytes_ > limit_) {
      const auto last = slots_.find(recent_.back());
      bytes_ -= last->second.bytes;
      slots_.erase(last);
      recent_.pop_back();
    }
  }

 private:
  struct Slot {
    std::shared_ptr<const T> value;
    std::list<std::string>::iterator place;
    size_t bytes;
  };
  size_t limit_, bytes_ = 0;
  std::mutex guard_;
  std::list<std::string> recent_;  // the latest first
  std::map<std::string, Slot> slots_;
};

}  // namespace quasar::tune
