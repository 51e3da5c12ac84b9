// Limits of memory: one that several holders share, where what those hold that are not at work goes first; and one that lets work
// begin when the memory that it will take is free.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>

namespace quasar::tune {

// Thread-safe.
class SharedLimit {
 public:
  // Holds what it can make again.
  class Holder {
   public:
    virtual ~Holder() = default;
    virtual bool give_up() = 0;  // lets go of all it holds, without waiting; false: in use just now
  };

  // A holder is at work for as long as this lives.
  class Work {
   public:
    Work(SharedLimit& limit, Holder& holder);
    ~Work();
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

   private:
    SharedLimit& limit_;
    Holder& holder_;
  };

  explicit SharedLimit(size_t bytes) : bytes_(bytes) {}

  size_t each() const;                       // bytes that one of those at work may hold
  void holds(Holder& holder, size_t bytes);  // now; others give up theirs where that is too much together
  void forget(Holder& holder);

 private:
  struct Entry {
    size_t bytes = 0, works = 0, used = 0;
  };
  size_t at_work() const;
  size_t held() const;
  void free(size_t most, bool working, const Holder& but);

  const size_t bytes_;
  size_t clock_ = 0;
  mutable std::mutex guard_;
  std::map<Holder*, Entry> entries_;
};

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
