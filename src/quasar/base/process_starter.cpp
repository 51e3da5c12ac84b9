#include "quasar/base/process_starter.hpp"

#ifndef _WIN32  // where programs are not started
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <thread>

namespace quasar {
namespace {

// Linux ends a program together with the thread that started it (PR_SET_PDEATHSIG). This thread lives as long as the process,
// whichever thread needs a program.
class Starter {
 public:
  Starter() : thread_([this] { serve(); }) { thread_.detach(); }

  int run(const std::function<int()>& work) {
    const std::lock_guard one_at_a_time(queue_);
    std::unique_lock lock(guard_);
    work_ = &work;
    changed_.notify_all();
    changed_.wait(lock, [&] { return work_ == nullptr; });
    return result_;
  }

  const pid_t owner = ::getpid();  // a process that was forked from it has no such thread

 private:
  void serve() {
    for (std::unique_lock lock(guard_);;) {
      changed_.wait(lock, [&] { return work_ != nullptr; });
      result_ = (*work_)();
      work_ = nullptr;
      changed_.notify_all();
    }
  }

  std::mutex queue_, guard_;
  std::condition_variable changed_;
  const std::function<int()>* work_ = nullptr;
  int result_ = 0;
  std::thread thread_;  // the last member: it needs the others
};

}  // namespace

int run_by_starter(const std::function<int()>& work) {
  static std::mutex guard;
  static Starter* starter = nullptr;  // never destroyed: its thread may outlive whatever is
  {
    const std::lock_guard lock(guard);
    if (starter == nullptr || starter->owner != ::getpid()) starter = new Starter();
  }
  return starter->run(work);
}

}  // namespace quasar
#endif
