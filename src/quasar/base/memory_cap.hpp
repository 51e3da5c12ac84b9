// A bound on what this process may take of the memory while some work is done, so that one greedy piece of work fails by
// std::bad_alloc instead of bringing the machine down.
#pragma once

#include <cstddef>

namespace quasar {

// For as long as it lives, allocations of this process fail beyond `bytes` more than it has now (Linux: the soft limit
// RLIMIT_DATA, private writable memory). Several at the same time: each adds its own bytes. 0 bytes: no bound.
class MemoryCap {
 public:
  explicit MemoryCap(size_t bytes);
  ~MemoryCap();
  MemoryCap(const MemoryCap&) = delete;
  MemoryCap& operator=(const MemoryCap&) = delete;

 private:
  size_t bytes_;
};

}  // namespace quasar
