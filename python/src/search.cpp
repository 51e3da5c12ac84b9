// The search, in a thread of its own: the interpreter's lock is free, and Ctrl-C is heeded.
#include "quasar/report/search.hpp"

#include <atomic>
#include <condition_variable>
#include <thread>

#include "guests.hpp"
#include "quasar/base/yaml.hpp"
#include "quasar/report/result.hpp"
#include "quasar/tune/v1.hpp"

namespace quasar::python {
namespace {

const char* name_of(Level level) {
  switch (level) {
    case Level::debug:
      return "debug";
    case Level::info:
      return "info";
    case Level::warning:
      return "warning";
    case Level::error:
      return "error";
  }
  return "";
}

// Calls of Python from the search's threads. The first exception stops the search and is raised when it has ended.
class Ear {
 public:
  Ear(py::object log, py::object event, std::stop_source& stop) : log_(std::move(log)), event_(std::move(event)), stop_(stop) {}

  Log log() {
    return [this](Level level, const std::string& text) { guarded([&] { log_.get()(name_of(level), text); }); };
  }

  search::Listener listener() {
    return [this](const search::Event& event) {
      guarded([&] {
        if (event_.get().is_none()) return;
        py::dict facts;
        facts["kind"] = event.kind == search::Event::Kind::started ? "started" : "finished";
        facts["trial"] = to_python(event.trial);
        facts["best"] = event.best == nullptr ? py::object(py::none()) : py::object(to_python(*event.best));
        facts["finished"] = event.counts.finished();
        facts["total"] = event.total ? py::object(py::int_(*event.total)) : py::object(py::none());
        event_.get()(facts);
      });
    };
  }

  // With the interpreter's lock.
  void raise_what_was_raised() {
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  template <class F>
  void guarded(const F& call) {
    const py::gil_scoped_acquire lock;
    try {
      call();
    } catch (py::error_already_set&) {
      if (!failure_) failure_ = std::current_exception();
      stop_.request_stop();
    }
  }

  Held log_, event_;
  std::stop_source& stop_;
  std::exception_ptr failure_;  // guarded by the interpreter's lock
};

// Runs the work in another thread; meanwhile Ctrl-C stops it, and is raised when the work has ended.
void attended(std::stop_source& stop, const std::function<void()>& work) {
  std::exception_ptr thrown, interrupted;
  {
    const py::gil_scoped_release release;
    std::mutex guard;
    std::condition_variable ended;
    bool done = false;
    std::jthread worker([&] {
      try {
        work();
      } catch (...) {
        thrown = std::current_exception();
      }
      const std::lock_guard lock(guard);
      done = true;
      ended.notify_all();
    });
    for (std::unique_lock lock(guard); !done;) {
      if (ended.wait_for(lock, std::chrono::milliseconds(50), [&] { return done; })) break;
      lock.unlock();
      {
        const py::gil_scoped_acquire back;
        if (PyErr_CheckSignals() != 0) {
          interrupted = std::make_exception_ptr(py::error_already_set());
          stop.request_stop();
        }
      }
      lock.lock();
    }
  }
  if (interrupted) std::rethrow_exception(std::exchange(interrupted, nullptr));
  if (thrown) std::rethrow_exception(std::exchange(thrown, nullptr));
}

// -> {result, table, output_dir}
py::dict search(const py::object& words, const std::string& base, const py::object& log, const py::object& event,
                const py::object& ready) {
  const tune::Job job = tune::parse_job(to_json(words), base);
  report::refuse_to_overwrite(job);
  ready(job.output_dir.string());
  std::stop_source stop;
  Ear ear(log, event, stop);
  Json result;
  std::string table;
  py::list trials;
  attended(stop, [&] {
    const auto searched = report::search(job, {.log = ear.log(), .listener = ear.listener(), .stop = stop.get_token()});
    result = searched.result;
    table = report::result_table(job, searched.summary);
    const py::gil_scoped_acquire lock;
    for (const auto& trial : searched.summary.trials) trials.append(to_python(trial));
  });
  ear.raise_what_was_raised();
  py::dict out;
  out["result"] = to_python(result);
  out["table"] = table;
  out["trials"] = trials;
  out["output_dir"] = job.output_dir.string();
  return out;
}

py::object dry_run(const py::object& words, const std::string& base) {
  const tune::Job job = tune::parse_job(to_json(words), base);
  Json facts;
  {
    const py::gil_scoped_release release;
    facts = tune::dry_run(job);
  }
  return to_python(facts);
}

}  // namespace

void bind_search(py::module_& module) {
  bind_guests(module);
  bind_deciders(module);
  bind_tuners(module);
  module.def("search", &search);
  module.def("dry_run", &dry_run);
  module.def("read_words", [](const std::string& file) { return to_python(tune::read_words(file)); });
  module.def("base_of", [](const py::object& words) { return to_python(tune::base_of(to_json(words))); });
  module.def("canonical_keys", [](const py::object& words) { return to_python(tune::canonical_keys(to_json(words))); });
}

}  // namespace quasar::python
