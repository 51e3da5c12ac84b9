// The search, in a thread of its own: the interpreter's lock is free, and Ctrl-C is heeded.
#include <sstream>

#include "calling_thread.hpp"
#include "extensions.hpp"
#include "quasar/base/file.hpp"
#include "quasar/base/yaml.hpp"
#include "quasar/job/v1.hpp"
#include "quasar/report/recorded_search.hpp"
#include "quasar/report/result.hpp"
#include "quasar/report/trial_words.hpp"
#include "quasar/search/storage.hpp"
#include "quasar/strategy/parse_job.hpp"
#include "quasar/studies/written_result.hpp"
#include "quasar/worker/launch.hpp"
#include "quasar/worker/watch.hpp"
#include "quasar/worker/worker.hpp"

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
class Callbacks {
 public:
  Callbacks(const py::object& log, const py::object& event, std::shared_ptr<CallingThread> caller, const tune::Job& job)
      : log_(log),
        event_(event),
        caller_(std::move(caller)),
        name_(tune::name_among_others(job.study)),
        words_(job.aim, name_, tune::rank() > 0) {}

  report::TrialWords& words() { return words_; }

  Log log() {
    return [this](Level level, const std::string& text) {
      const py::gil_scoped_acquire lock;
      guarded([&] { log_.get()(name_of(level), name_.empty() ? text : name_ + ": " + text); });
    };
  }

  search::Listener listener() {
    return [this](const search::Event& event) {
      log()(Level::info, words_.line_of(event));
      caller_->call([&] {
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
    try {
      call();
    } catch (py::error_already_set& error) {
      if (caller_->interrupted_by(error)) return;
      if (!failure_) failure_ = std::current_exception();
      caller_->request_stop();
    }
  }

  Held log_, event_;
  std::shared_ptr<CallingThread> caller_;
  const std::string name_;  // of this process, where others work beside it
  report::TrialWords words_;
  std::exception_ptr failure_;  // guarded by the interpreter's lock
};

// What a search needs and makes, which outlives a caller that leaves it to itself.
struct Search {
  tune::Job job;
  Callbacks callbacks;
  std::string launch;  // of the processes that mpirun or srun started together, for this search; "": it is the only one
  std::string table = {};
  std::optional<report::Searched> searched = {};
  Json result = {};
  std::vector<search::Trial> trials = {};
};

// A script may search several times, one after the other.
std::string launch_for(const tune::Job& job) {
  const std::string launch = tune::launch();
  return launch.empty() ? "" : launch + " " + job.study.name;
}

py::dict found(const Search& own, const std::string& storage) {
  py::list trials;
  for (const auto& trial : own.trials) trials.append(to_python(trial));
  py::dict out;
  out["result"] = to_python(own.result);
  out["table"] = own.table;
  out["trials"] = trials;
  out["output_dir"] = own.job.output.dir.string();
  out["storage"] = storage;
  return out;
}

// A process that is not the first of those that were started together: it works for the first one's search, and gives what that
// one has written. Throws Error where it is not seen from here.
void work_for_first(Search& own, const std::stop_token& stop) {
  const TemporaryFolder scratch;
  const Log log = [&own](Level level, const std::string& text) {
    if (level >= Level::warning) own.callbacks.log()(level, text);
  };
  constexpr double patience = 600;  // seconds, as `quasar worker` waits
  const tune::WorkerRun done =
      tune::work(tune::in_scratch(own.job, scratch.path()), {.log = log, .stop = stop, .launch = own.launch}, patience);
  if (done.interrupted) return;
  tune::wait_for_first(own.job.study, own.launch, stop);
  own.result = tune::read_result(own.job.output.dir);
  if (!own.result.is_object())
    throw Error("this process has worked for the search that the first one led, but does not see what that has written: '" +
                own.job.output.dir.string() + "' must be a folder that all processes share");
  const auto storage = search::open_storage(tune::storage_url(own.job.study));
  for (const auto& study : storage->studies()) {
    if (study.name == own.result.value("study_name", std::string())) own.trials = storage->trials(study.id);
  }
}

void run(Search& own, const std::stop_token& stop) {
  report::TrialWords& words = own.callbacks.words();
  own.searched = report::search(own.job, {.log = own.callbacks.log(),
                                          .listener = own.callbacks.listener(),
                                          .stop = stop,
                                          .baseline = [&](const tune::Measured& baseline) { words.compare_with(baseline); },
                                          .goes_on = [&](const tune::Job& next) { words.follow(next.aim); },
                                          .launch = own.launch});
  const tune::Summary& summary = own.searched->summary;
  own.table = report::result_table(own.searched->job.aim, summary);
  own.result = own.searched->result;
  own.trials = summary.trials;
  std::istringstream lines(own.table + "status=" + report::name_of(summary.status) + " reason=" + summary.reason);
  for (std::string line; std::getline(lines, line);) own.callbacks.log()(Level::info, line);
}

// `file`: of the configuration; "": none. -> {result, table, trials, output_dir, storage}
py::dict search(const py::object& words, const std::string& base, const std::string& file, const py::object& log,
                const py::object& event, const py::object& ready) {
  const auto caller = std::make_shared<CallingThread>();
  const CallingThread::Scope scope(caller);
  const CallingThread::Present present(caller);
  tune::Job job = tune::parse_job(to_json(words), base);
  Callbacks callbacks(log, event, caller, job);
  const std::string launch = launch_for(job);
  const auto own = std::make_shared<Search>(Search{std::move(job), std::move(callbacks), launch});
  if (tune::rank() > 0) {
    tune::require_shared(own->job.study);
    CallingThread::attend(caller, [own, stop = caller->stop()] { work_for_first(*own, stop); });
    own->callbacks.raise_what_was_raised();
    return found(*own, tune::storage_url(own->job.study));
  }
  const tune::LaunchLead first(own->job.study, own->launch);
  try {
    report::refuse_to_overwrite(own->job, file);
    ready(own->job.output.dir.string());
    CallingThread::attend(caller, [own, stop = caller->stop()] { run(*own, stop); });
    own->callbacks.raise_what_was_raised();
  } catch (const std::exception&) {
    const py::gil_scoped_release release;
    first.let_others_see(caller->stop());
    throw;
  }
  return found(*own, tune::storage_url(own->searched->job.study));
}

// When the program ends: searches of threads that end with it write what they found; one that a second Ctrl-C left to itself, or
// that takes too long, must not outlive the interpreter.
void leave_with_a_search() {
  const bool ended = CallingThread::end_all(std::chrono::seconds(30));
  if (ended && !a_search_is_left()) return;
  for (const char* stream : {"stdout", "stderr"}) {
    try {
      py::module_::import("sys").attr(stream).attr("flush")();
    } catch (const py::error_already_set&) {
    }
  }
  _exit(130);
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
  bind_extensions(module);
  bind_search_extensions(module);
  bind_tuning_strategies(module);
  module.def("search", &search);
  py::module_::import("atexit").attr("register")(py::cpp_function(&leave_with_a_search));
  module.def("dry_run", &dry_run);
  module.def("rank", &tune::rank);
  module.def("launch", &tune::launch);
  module.def("read_words", [](const std::string& file) { return to_python(tune::read_words(file)); });
  module.def("base_of", [](const py::object& words) { return to_python(tune::base_of(to_json(words))); });
  module.def("earlier_search", [](const std::string& folder) { return report::earlier_search(folder); });
  module.def("rooted_key", [](const std::string& key, const py::object& value, const std::string& folder) {
    Json words = Json::object();
    tune::set_key(words, key, to_json(value), folder);
    return to_python(words);
  });
  module.def("canonical_keys", [](const py::object& words) { return to_python(tune::canonical_keys(to_json(words))); });
}

}  // namespace quasar::python
