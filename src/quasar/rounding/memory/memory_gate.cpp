#include "quasar/rounding/memory/memory_gate.hpp"

#include <algorithm>
#include <chrono>

#include "quasar/base/cancellation.hpp"

namespace quasar::tune {

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
