#include "calling_thread.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/error.hpp"

namespace quasar::python {
namespace {

thread_local std::shared_ptr<CallingThread> here_now;

std::atomic<int> left_alone = 0;

std::mutex presence;  // guards `present`
std::condition_variable gone;
std::set<std::shared_ptr<CallingThread>> present;
bool closed = false;  // guarded, too

}  // namespace

const std::shared_ptr<CallingThread>& CallingThread::current() {
  return here_now;
}

CallingThread::Scope::Scope(std::shared_ptr<CallingThread> here) : before_(std::exchange(here_now, std::move(here))) {}

CallingThread::Scope::~Scope() {
  here_now = std::move(before_);
}

CallingThread::Present::Present(std::shared_ptr<CallingThread> here) : here_(std::move(here)) {
  const std::lock_guard lock(presence);
  if (closed) throw Error("the program ends: no search can begin");
  present.insert(here_);
}

CallingThread::Present::~Present() {
  const std::lock_guard lock(presence);
  present.erase(here_);
  gone.notify_all();
}

bool CallingThread::end_all(std::chrono::seconds most) {
  const py::gil_scoped_release release;
  std::unique_lock lock(presence);
  closed = true;
  for (const auto& here : present) here->request_stop();
  return gone.wait_for(lock, most, [] { return present.empty(); });
}

void CallingThread::attend(const std::shared_ptr<CallingThread>& here, std::function<void()> work) {
  {
    const py::gil_scoped_release release;
    here->waits_ = true;  // nobody else is there yet
    std::thread worker([here, work = std::move(work)]() mutable {
      {
        const Scope scope(here);
        try {
          work();
        } catch (...) {
          here->thrown_ = std::current_exception();
        }
        work = nullptr;
      }
      const std::lock_guard lock(here->mutex_);
      here->ended_ = true;
      here->changed_.notify_all();
      if (here->left_) --left_alone;
    });
    here->serve_until([&] { return here->ended_; });
    if (here->left_) {
      worker.detach();
    } else {
      worker.join();
    }
  }
  if (here->interruption_) std::rethrow_exception(std::exchange(here->interruption_, nullptr));
  if (here->thrown_) std::rethrow_exception(std::exchange(here->thrown_, nullptr));
}

void CallingThread::call(const std::function<void()>& python, Busy busy) {
  if (std::this_thread::get_id() == home_) {
    const py::gil_scoped_acquire lock;
    python();
    return;
  }
  Call call{.python = python, .cancellation = current_cancellation()};
  if (!offer(call, busy)) {
    alone(python);
  } else if (call.failure) {
    std::rethrow_exception(call.failure);
  }
}

// -> whether the attending thread has done it
bool CallingThread::offer(Call& call, Busy busy) {
  std::unique_lock lock(mutex_);
  if (left_) throw Cancelled("the search was left to itself");
  if (busy == Busy::side_by_side && (!waits_ || !offered_.empty())) return false;
  offered_.push_back(&call);
  changed_.notify_all();
  for (;;) {
    changed_.wait(lock,
                  [&] { return call.done || call.work || (left_ && std::ranges::find(offered_, &call) != offered_.end()); });
    if (call.work) {
      std::function<void()> work = std::exchange(call.work, nullptr);
      lock.unlock();
      try {
        work();
      } catch (...) {
        call.work_failure = std::current_exception();
      }
      work = nullptr;
      lock.lock();
      call.worked = true;
      changed_.notify_all();
    } else if (call.done) {
      return true;
    } else {
      std::erase(offered_, &call);
      throw Cancelled("the search was left to itself");
    }
  }
}

void CallingThread::alone(const std::function<void()>& python) {
  const py::gil_scoped_acquire lock;
  if (interruption_) throw Cancelled("the search was interrupted");
  struct Known {
    std::multiset<unsigned long>& all;
    const std::multiset<unsigned long>::iterator place = all.insert(PyThread_get_thread_ident());
    ~Known() {
      PyThreadState_SetAsyncExc(*place, nullptr);
      all.erase(place);
    }
  };
  const Known known{alone_};
  python();
}

void CallingThread::away(std::function<void()> work) {
  const std::shared_ptr<CallingThread> here = current();
  Call* const call = here && here->home_ == std::this_thread::get_id() ? here->served_ : nullptr;
  const py::gil_scoped_release release;
  if (call == nullptr) {
    work();
    return;
  }
  {
    const std::lock_guard lock(here->mutex_);
    call->work = std::move(work);
    call->worked = false;
    here->waits_ = true;  // from now on: the work may be quick to ask for Python
    here->changed_.notify_all();
  }
  here->serve_until([&] { return call->worked; });
  if (here->left_) {
    const py::gil_scoped_acquire back;
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    throw py::error_already_set();
  }
  if (call->work_failure) std::rethrow_exception(std::exchange(call->work_failure, nullptr));
}

// Without the interpreter's lock. `ended` is asked under the mutex.
template <class Ended>
void CallingThread::serve_until(const Ended& ended) {
  using namespace std::chrono_literals;
  std::unique_lock lock(mutex_);
  while (!left_) {
    if (!offered_.empty()) {
      serve(lock);
    } else if (ended()) {
      break;
    } else if (changed_.wait_for(lock, 50ms); offered_.empty()) {
      lock.unlock();
      heed_signals();
      lock.lock();
    }
  }
  waits_ = false;
}

void CallingThread::serve(std::unique_lock<std::mutex>& lock) {
  Call& call = *offered_.front();
  offered_.pop_front();
  waits_ = false;
  lock.unlock();
  {
    const py::gil_scoped_acquire back;
    const CancelScope scope(call.cancellation);
    Call* const outer = std::exchange(served_, &call);
    try {
      call.python();
    } catch (...) {
      call.failure = std::current_exception();
    }
    served_ = outer;
  }
  lock.lock();
  call.done = true;
  waits_ = true;
  changed_.notify_all();
}

void CallingThread::heed_signals() {
  const py::gil_scoped_acquire back;
  if (PyErr_CheckSignals() == 0) return;
  py::error_already_set raised;
  if (!interruption_) {
    interrupt(raised);
    return;
  }
  const py::gil_scoped_release release;
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  left_ = true;
  ++left_alone;
  changed_.notify_all();
}

bool CallingThread::interrupted_by(py::error_already_set& raised) {
  if (raised.matches(PyExc_Exception)) return false;
  interrupt(raised);
  return true;
}

void CallingThread::interrupt(py::error_already_set& raised) {
  if (interruption_) return;  // others know, and may be at work on what was raised there
  {
    // Before anybody knows why: a trial that is given up for that reason waits only in a search that is to stop, and fails in
    // others.
    const py::gil_scoped_release release;
    std::call_once(stopping_, [this] { stop_.request_stop(); });
  }
  if (interruption_) return;
  interruption_ = std::make_exception_ptr(raised);
  for (const unsigned long thread : alone_) {
    if (thread != PyThread_get_thread_ident()) PyThreadState_SetAsyncExc(thread, PyExc_KeyboardInterrupt);
  }
}

void in_python(const std::shared_ptr<CallingThread>& caller, const std::function<void()>& python, CallingThread::Busy busy) {
  if (caller) {
    caller->call(python, busy);
  } else {
    const py::gil_scoped_acquire lock;
    python();
  }
}

bool a_search_is_left() {
  return left_alone > 0;
}

}  // namespace quasar::python
