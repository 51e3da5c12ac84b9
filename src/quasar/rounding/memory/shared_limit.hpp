// A limit of memory that several holders share: what those hold that are not at work goes first.
#pragma once

#include <cstddef>
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

}  // namespace quasar::tune
