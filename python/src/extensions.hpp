// What a Python program brings to a search: samples in memory, evaluators, samplers, stop conditions, strategies. Each is known
// to its table under a name for as long as the registration lives.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <thread>

#include "calling_thread.hpp"
#include "quasar/base/plugin.hpp"
#include "quasar/search/run.hpp"
#include "quasar/search/trial.hpp"
#include "values.hpp"

namespace quasar::python {

// A trial as Python sees it: {number, state, params, values, attributes, intermediate, start, complete}.
py::dict to_python(const search::Trial& trial);

// Trials for Python: those that have ended are translated once.
class TrialList {
 public:
  py::list of(std::span<const search::Trial> trials);

 private:
  std::vector<py::object> ended_;
};

// A registration of any table, as Python holds it.
struct AnyRegistration {
  virtual ~AnyRegistration() = default;
};
template <class T>
struct RegistrationOf final : AnyRegistration {
  RegistrationOf(const Table<T>& table, const std::string& name, Entry<T> entry) : registration(table, name, std::move(entry)) {}
  Registration<T> registration;
};

template <class T>
std::unique_ptr<AnyRegistration> registered(const Table<T>& table, const std::string& name,
                                            std::function<std::unique_ptr<T>(const Options&)> make,
                                            std::vector<OptionSpec> options = {}, bool hidden = true) {
  return std::make_unique<RegistrationOf<T>>(
      table, name,
      Entry<T>{.help = "brought by the program", .make = std::move(make), .options = std::move(options), .hidden = hidden});
}

// Something of a search in the handle of Python, which may keep it beyond the search: then it is an error to use it. All with the
// interpreter's lock.
template <class T>
class Borrowed {
 public:
  Borrowed(T& thing, std::string name) : thing_(&thing), name_(std::move(name)) {}
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;

  T& operator*() const {
    if (thing_ == nullptr) throw Error("the search is over, and its " + name_ + " with it");
    return *thing_;
  }
  T* operator->() const { return &**this; }

  // What `work` gives, without the interpreter's lock, one call at a time. The work must own what it needs besides the thing
  // (CallingThread::away).
  template <class F>
  auto unlocked(F work) {
    using Result = decltype(work(**this));
    if (busy_->exchange(true))
      throw Error("the " + name_ +
                  " is at work for another call already; what may run side by side is one call of evaluate_all()");
    auto busy = std::make_shared<Busy>(busy_);
    const auto result = std::make_shared<std::optional<Result>>();
    CallingThread::away([&thing = **this, result, busy = std::move(busy), work = std::move(work)]() mutable {
      const auto end = std::move(busy);
      *result = work(thing);
    });
    return *std::move(*result);
  }

  // When the call of another thread that is on its way has ended.
  void end() {
    while (*busy_) {
      const py::gil_scoped_release release;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    thing_ = nullptr;
  }

 private:
  using Flag = std::shared_ptr<std::atomic<bool>>;
  struct Busy {
    explicit Busy(Flag flag) : flag_(std::move(flag)) {}
    ~Busy() { *flag_ = false; }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;
    Flag flag_;
  };

  T* thing_;
  std::string name_;
  Flag busy_ = std::make_shared<std::atomic<bool>>(false);
};

// Handle that Python may keep, with a Borrowed in them, which ends with the loan; made and ended without the interpreter's lock.
template <class Handle>
class Lease {
 public:
  template <class... Arguments>
  explicit Lease(Arguments&&... arguments) : handle_(std::make_shared<Handle>(std::forward<Arguments>(arguments)...)) {}
  ~Lease() {
    const py::gil_scoped_acquire lock;
    handle_->end();
    handle_.reset();
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  Handle* operator->() const { return handle_.get(); }
  const std::shared_ptr<Handle>& handle() const { return handle_; }

 private:
  std::shared_ptr<Handle> handle_;
};

// Raised in Python where a search ends within a strategy. No Exception there: what a strategy catches for itself lets it pass.
py::object search_over();

// Throws Cancelled for KeyboardInterrupt, SystemExit and the like, which stop the search and are raised when it has ended.
void throw_if_interruption(const std::shared_ptr<CallingThread>& caller, py::error_already_set& raised);

// Throws Cancelled in what was left to itself: it must not be looked at any more.
void throw_if_left(const std::shared_ptr<CallingThread>& caller);

// The end of a search whose strategy raised such a thing, which Python has kept.
search::RunResult interrupted_by(py::error_already_set& raised, search::RunResult so_far);

void bind_extensions(py::module_& module);         // samples in memory, evaluators
void bind_search_extensions(py::module_& module);  // samplers, stop conditions, strategies
void bind_tuning_strategies(py::module_& module);  // strategies that tune operators

}  // namespace quasar::python
