// Measurements of time that nothing else of the search disturbs: work is shared, measuring is alone.
#pragma once

#include <condition_variable>
#include <mutex>

namespace quasar::tune {

class Quiet {
 public:
  // Held while a trial computes. Begins when no measurement is waiting or running.
  class Work {
   public:
    explicit Work(Quiet& quiet) : quiet_(quiet) { quiet_.begin(); }
    ~Work() { quiet_.end(); }
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

    // Calls `measure` when all other work has paused; meanwhile nothing else begins.
    template <class Measure>
    auto alone(const Measure& measure) {
      const Alone scope(quiet_);
      return measure();
    }

   private:
    Quiet& quiet_;
  };

 private:
  // Hands the share of the work in for the whole, and back.
  class Alone {
   public:
    explicit Alone(Quiet& quiet) : quiet_(quiet) {
      std::unique_lock lock(quiet_.mutex_);
      --quiet_.working_;
      ++quiet_.waiting_;
      quiet_.changed_.notify_all();
      quiet_.changed_.wait(lock, [this] { return quiet_.working_ == 0 && !quiet_.measuring_; });
      --quiet_.waiting_;
      quiet_.measuring_ = true;
    }
    ~Alone() {
      const std::scoped_lock lock(quiet_.mutex_);
      quiet_.measuring_ = false;
      ++quiet_.working_;
      quiet_.changed_.notify_all();
    }
    Alone(const Alone&) = delete;
    Alone& operator=(const Alone&) = delete;

   private:
    Quiet& quiet_;
  };

  void begin() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_ == 0 && !measuring_; });
    ++working_;
  }
  void end() {
    const std::scoped_lock lock(mutex_);
    --working_;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  size_t working_ = 0, waiting_ = 0;
  bool measuring_ = false;
};

}  // namespace quasar::tune
