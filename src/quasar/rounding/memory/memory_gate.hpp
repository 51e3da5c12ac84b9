// Lets work begin when the memory that it will take is free.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>

namespace quasar::tune {

// Thread-safe. What is at work together takes no more than the limit, as far as work knows its needs beforehand.
class MemoryGate {
 public:
  explicit MemoryGate(size_t limit) : limit_(limit) {}
  size_t limit() const { return limit_; }

  // Memory for as long as this lives.
  class Pass {
   public:
    // Waits for `bytes`; more than the limit is all of it. `check` is called meanwhile; what it throws ends the waiting.
    Pass(MemoryGate& gate, size_t bytes, const std::function<void()>& check);
    ~Pass();
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

   private:
    MemoryGate& gate_;
    const size_t bytes_;
  };

 private:
  const size_t limit_;
  size_t taken_ = 0;
  std::mutex guard_;
  std::condition_variable freed_;
};

}  // namespace quasar::tune
