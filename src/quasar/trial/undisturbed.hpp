// Measurements of time that nothing else of the search disturbs: work is shared, measuring is alone.
#pragma once

#include <condition_variable>
#include <mutex>

namespace quasar::tune {

class Undisturbed {
 public:
  // Held while a trial computes. Begins when no measurement is waiting or running.
  class Work {
   public:
    explicit Work(Undisturbed& undisturbed) : undisturbed_(undisturbed) { undisturbed_.begin(); }
    ~Work() { undisturbed_.end(); }
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

    // Calls `measure` when all other work has paused; meanwhile nothing else begins.
    template <class Measure>
    auto alone(const Measure& measure) {
      const Alone scope(undisturbed_);
      return measure();
    }

   private:
    Undisturbed& undisturbed_;
  };

 private:
  // Hands the share of the work in for the whole, and back.
  class Alone {
   public:
    explicit Alone(Undisturbed& undisturbed) : undisturbed_(undisturbed) {
      std::unique_lock lock(undisturbed_.mutex_);
      --undisturbed_.working_;
      ++undisturbed_.waiting_;
      undisturbed_.changed_.notify_all();
      undisturbed_.changed_.wait(lock, [this] { return undisturbed_.working_ == 0 && !undisturbed_.measuring_; });
      --undisturbed_.waiting_;
      undisturbed_.measuring_ = true;
    }
    ~Alone() {
      const std::scoped_lock lock(undisturbed_.mutex_);
      undisturbed_.measuring_ = false;
      ++undisturbed_.working_;
      undisturbed_.changed_.notify_all();
    }
    Alone(const Alone&) = delete;
    Alone& operator=(const Alone&) = delete;

   private:
    Undisturbed& undisturbed_;
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
