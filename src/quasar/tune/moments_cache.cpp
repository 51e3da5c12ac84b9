#include "quasar/tune/moments_cache.hpp"

namespace quasar::tune {
namespace {

size_t bytes_of(const Moments& moments) {
  const size_t values = moments.gram.size() + moments.cross.size() + moments.inputs.size() + moments.outputs.size();
  return sizeof(double) * (values + moments.squares.size());
}

}  // namespace

std::shared_ptr<const Moments> MomentsCache::find(const std::string& key) {
  const std::lock_guard lock(guard_);
  const auto found = slots_.find(key);
  if (found == slots_.end()) return nullptr;
  recent_.splice(recent_.begin(), recent_, found->second.place);
  return found->second.moments;
}

void MomentsCache::keep(const std::string& key, std::shared_ptr<const Moments> moments) {
  const std::lock_guard lock(guard_);
  const size_t bytes = bytes_of(*moments);
  if (bytes > limit_ || slots_.contains(key)) return;
  recent_.push_front(key);
  slots_[key] = {std::move(moments), recent_.begin(), bytes};
  bytes_ += bytes;
  while (bytes_ > limit_) {
    const auto last = slots_.find(recent_.back());
    bytes_ -= last->second.bytes;
    slots_.erase(last);
    recent_.pop_back();
  }
}

}  // namespace quasar::tune
