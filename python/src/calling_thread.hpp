// The thread that called search() attends to it: while the search works in threads of its own, this one waits, and does what
// Python is asked for meanwhile. Ctrl-C reaches that thread alone, and so ends a strategy, an evaluator or a sampler wherever it
// is, in time.sleep() too.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <thread>

#include "values.hpp"

namespace quasar::python {

class CallingThread {
 public:
  // Of the thread that makes it.
  CallingThread() = default;
  CallingThread(const CallingThread&) = delete;
  CallingThread& operator=(const CallingThread&) = delete;

  // Of the search that this thread belongs to; nullptr: none.
  static const std::shared_ptr<CallingThread>& current();
  class Scope {
   public:
    explicit Scope(std::shared_ptr<CallingThread> here);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    std::shared_ptr<CallingThread> before_;
  };

  // For as long as a search is at work, in whichever thread. Throws Error after end_all().
  class Present {
   public:
    explicit Present(std::shared_ptr<CallingThread> here);
    ~Present();
    Present(const Present&) = delete;
    Present& operator=(const Present&) = delete;

   private:
    std::shared_ptr<CallingThread> here_;
  };
  // Stops all that are at work, and waits for them without the interpreter's lock; false: not all have ended in time.
  static bool end_all(std::chrono::seconds most);

  std::stop_token stop() const { return stop_.get_token(); }
  void request_stop() { stop_.request_stop(); }

  // Runs the work in another thread, from the thread of this caller and with the interpreter's lock. When it has ended:
  // raises what interrupted it, throws what it threw. A second Ctrl-C is raised at once, and the work left to itself: it must own
  // what it needs.
  static void attend(const std::shared_ptr<CallingThread>& here, std::function<void()> work);

  // Where `python` runs while the attending thread has something else to do: side by side in the caller's thread, where Ctrl-C
  // waits for what is no Python (a sleep); or afterwards.
  enum class Busy { side_by_side, afterwards };

  // Runs `python` with the interpreter's lock, in the attending thread where that can be. What it throws is thrown here. To be
  // called without the lock.
  void call(const std::function<void()>& python, Busy busy = Busy::side_by_side);

  // From what call() runs: does `work` without the interpreter's lock, where the call came from; elsewhere in this thread. The
  // work must own what it needs: a second Ctrl-C is raised before it has ended.
  static void away(std::function<void()> work);

  // Whether this is KeyboardInterrupt, SystemExit or the like, which stops the search and is raised when it has ended. With the
  // interpreter's lock.
  bool interrupted_by(py::error_already_set& raised);

  // Whether the search was left to itself: it must not be looked at any more.
  bool is_left() const { return left_; }

 private:
  struct Call {
    const std::function<void()>& python;
    std::stop_token cancellation;
    bool done = false;
    std::exception_ptr failure = nullptr;
    std::function<void()> work = nullptr;  // of away(): waits to be done
    bool worked = false;
    std::exception_ptr work_failure = nullptr;
  };

  bool offer(Call& call, Busy busy);
  void alone(const std::function<void()>& python);
  template <class Ended>
  void serve_until(const Ended& ended);
  void serve(std::unique_lock<std::mutex>& lock);
  void heed_signals();
  void interrupt(py::error_already_set& raised);

  const std::thread::id home_ = std::this_thread::get_id();
  std::stop_source stop_;
  std::once_flag stopping_;  // by an interruption: who comes second waits until everybody has been told

  std::mutex mutex_;  // guards what follows; never held together with the interpreter's lock
  std::condition_variable changed_;
  bool waits_ = false;         // the attending thread has nothing to do
  std::deque<Call*> offered_;  // wait for it
  bool ended_ = false;         // the work
  std::exception_ptr thrown_;

  Call* served_ = nullptr;              // by the attending thread, the innermost; its own
  std::exception_ptr interruption_;     // guarded by the interpreter's lock
  std::multiset<unsigned long> alone_;  // threads that run Python by themselves; guarded by the interpreter's lock
  std::atomic<bool> left_ = false;
};

// call() of the caller, or with the interpreter's lock in this thread where there is none.
void in_python(const std::shared_ptr<CallingThread>& caller, const std::function<void()>& python,
               CallingThread::Busy busy = CallingThread::Busy::side_by_side);

// Whether a search was left to itself that has not ended.
bool a_search_is_left();

}  // namespace quasar::python
