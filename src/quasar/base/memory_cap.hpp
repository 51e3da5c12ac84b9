// A bound on what this process may take of the memory while some work is done, so that one greedy piece of work fails by
// std::bad_alloc instead of bringing the machine down.
#pragma once

#include <cstddef>
#include <optional>

namespace quasar {

// For as long as it lives, allocations of this process fail beyond `bytes` more than it has now (Linux: the soft limit
// RLIMIT_DATA, private writable memory; no other system is asked to). Several at the same time: each adds its own bytes, and they
// share what they have together. 0 bytes: no bound.
class MemoryCap {
 public:
  explicit MemoryCap(size_t bytes);
  ~MemoryCap();
  MemoryCap(const MemoryCap&) = delete;
  MemoryCap& operator=(const MemoryCap&) = delete;

 private:
  size_t bytes_;
};

// For as long as it lives, no cap holds in this process: for short work that must not fail because others are greedy. Ends in the
// thread that it began in.
class Uncapped {
 public:
  Uncapped();
  ~Uncapped();
  Uncapped(const Uncapped&) = delete;
  Uncapped& operator=(const Uncapped&) = delete;
};

// For as long as it lives, this thread's Uncapped lift nothing: for a long wait in the middle of short work.
class CappedMeanwhile {
 public:
  CappedMeanwhile();
  ~CappedMeanwhile();
  CappedMeanwhile(const CappedMeanwhile&) = delete;
  CappedMeanwhile& operator=(const CappedMeanwhile&) = delete;

 private:
  size_t lifted_;
};

// The limit of RLIMIT_DATA that the caps ask for, whether or not it holds at this moment; nullopt: there is none. A program that
// is started gets it.
std::optional<size_t> capped_memory();

}  // namespace quasar
