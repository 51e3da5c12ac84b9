#include "guests.hpp"

#include <pybind11/stl.h>

#include <mutex>

#include "quasar/base/cancellation.hpp"
#include "quasar/data/memory.hpp"
#include "quasar/eval/custom.hpp"
#include "quasar/search/sampler.hpp"
#include "quasar/search/sequence.hpp"
#include "quasar/search/stop.hpp"
#include "quasar/tune/strategy.hpp"

namespace quasar::python {
namespace {

const char* name_of(search::State state) {
  switch (state) {
    case search::State::running:
      return "running";
    case search::State::complete:
      return "complete";
    case search::State::pruned:
      return "pruned";
    case search::State::failed:
      return "failed";
    case search::State::waiting:
      return "waiting";
  }
  return "";
}

py::object seconds_of(const std::optional<search::Time>& time) {
  if (!time) return py::none();
  return py::float_(std::chrono::duration<double>(time->time_since_epoch()).count());
}

py::dict arrays(const eval::Outputs& outputs) {
  py::dict out;
  for (size_t i = 0; i < outputs.names.size(); ++i) {
    if (const auto array = eval::stacked(outputs.values[i])) {
      out[py::str(outputs.names[i])] = to_numpy(*array);
      continue;
    }
    py::list list;
    for (const auto& value : outputs.values[i]) list.append(to_numpy(value));
    out[py::str(outputs.names[i])] = list;
  }
  return out;
}

// What a Python evaluator may ask of a model.
class Asked {
 public:
  explicit Asked(const eval::Subject& subject) : subject_(subject) {}
  std::string model() const {
    const py::gil_scoped_release release;
    return subject_.file().string();
  }
  std::string reference() const { return subject_.surroundings().reference_file.string(); }
  py::dict outputs() const {
    const eval::Outputs* found = nullptr;
    {
      const py::gil_scoped_release release;
      found = &subject_.outputs();
    }
    return arrays(*found);
  }
  py::dict reference_outputs() const {
    const eval::Outputs* found = nullptr;
    {
      const py::gil_scoped_release release;
      found = &subject_.surroundings().reference();
    }
    return arrays(*found);
  }
  py::object labels() const {
    const auto& labels = subject_.surroundings().labels;
    if (labels.empty()) return py::none();
    return to_numpy(Tensor::of<int64_t>({static_cast<int64_t>(labels.size())}, labels));
  }

 private:
  const eval::Subject& subject_;
};

class Evaluator final : public eval::CustomEvaluator {
 public:
  Evaluator(const Options& options, Held function, bool looks)
      : CustomEvaluator(eval::own_metrics(options)), function_(std::move(function)), looks_(looks) {}

  bool looks_at_samples() const override { return looks_; }

  eval::Values score(const eval::Subject& subject) const override {
    eval::Values values;
    {
      const py::gil_scoped_acquire lock;
      try {
        const py::object asked = py::cast(Asked(subject));
        values = function_.get()(asked, metrics().front().name).cast<eval::Values>();
      } catch (py::error_already_set& error) {
        auto [message, traceback] = described(error);
        throw eval::EvaluatorFailed(message, "traceback", traceback);
      } catch (const py::cast_error&) {
        throw eval::EvaluatorFailed("the evaluator's result is no mapping of names to numbers");
      }
    }
    throw_if_cancelled();
    check_values(*this, values);
    return values;
  }

 private:
  Held function_;
  bool looks_;
};

class Sampler final : public search::Sampler {
 public:
  explicit Sampler(Held object) : object_(std::move(object)), trials_(py::cast(std::make_shared<TrialList>())) {}

  std::optional<search::Point> next(const search::History& history, Rng& rng) override {
    const py::gil_scoped_acquire lock;
    const py::list trials = trials_.get().cast<std::shared_ptr<TrialList>>()->of(history.trials);
    const py::object found = object_.get().attr("_next")(py::cast(history.space), trials, rng.next() >> 1);
    if (found.is_none()) return std::nullopt;
    return history.space.encode(to_json(found));
  }

 private:
  Held object_;
  Held trials_;
};

class StopCondition final : public search::StopCondition {
 public:
  explicit StopCondition(Held object) : object_(std::move(object)) {}

  std::optional<std::string> met(const search::Progress& progress) const override {
    const py::gil_scoped_acquire lock;
    py::dict facts;
    facts["running"] = progress.counts.running;
    facts["complete"] = progress.counts.complete;
    facts["pruned"] = progress.counts.pruned;
    facts["failed"] = progress.counts.failed;
    facts["duplicate"] = progress.counts.duplicates;
    facts["finished"] = progress.counts.finished();
    facts["seconds"] = progress.seconds;
    facts["candidates"] = progress.candidates;
    facts["best_candidate"] = progress.best_candidate;
    facts["since_best"] = progress.since_best;
    const py::object answer = object_.get().attr("_met")(facts);
    if (answer.is_none()) return std::nullopt;
    return answer.cast<std::string>();
  }

 private:
  Held object_;
};

// A strategy's hands: it tries configurations, and sees the trials.
class Bench {
 public:
  Bench(const tune::Workbench& bench, const std::string& stage)
      : bench_(bench),
        sequence_({.seed = bench.job.seed,
                   .n_jobs = static_cast<size_t>(bench.job.n_jobs),
                   .stage = stage,
                   .listener = bench.listener,
                   .stop = bench.stop,
                   .begin = bench.begin},
                  bench.study, bench.space, tune::conditions_of(bench.job), bench.objective) {}
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  const search::Space& space() const { return bench_.space; }
  py::object first() const { return to_python(bench_.space.decode(tune::default_point(bench_.space))); }

  py::list evaluate(const py::list& configurations) {
    std::vector<search::Point> points;
    for (const auto& words : configurations) points.push_back(bench_.space.encode(to_json(words)));
    std::vector<search::Trial> trials;
    try {
      const py::gil_scoped_release release;
      trials = sequence_.evaluate(points);
    } catch (const search::SequenceOver& over) {
      over_ = over.result;
      PyErr_SetString(search_over().ptr(), over.result.reason.c_str());
      throw py::error_already_set();
    }
    py::list out;
    for (const auto& trial : trials) out.append(to_python(trial));
    return out;
  }

  py::list trials() const {
    py::list out;
    for (const auto& trial : bench_.study.trials()) out.append(to_python(trial));
    return out;
  }

  search::RunResult result() const { return over_ ? *over_ : sequence_.finished("the strategy is done"); }

 private:
  const tune::Workbench& bench_;
  search::Sequence sequence_;
  std::optional<search::RunResult> over_;
};

class Strategy final : public tune::Strategy {
 public:
  Strategy(std::string name, Held object) : name_(std::move(name)), object_(std::move(object)) {}

  void check(const tune::Job& job, const tune::Spaces& spaces) const override {
    if (spaces.each.size() != 1) throw Error("strategy " + name_ + " takes one search_space, not several");
    tune::condition_words(job);
  }

  tune::Finding run(const tune::Workbench& bench) const override {
    Bench hands(bench, name_);
    tune::Finding finding;
    {
      const py::gil_scoped_acquire lock;
      try {
        const py::object winner = object_.get().attr("_run")(py::cast(&hands, py::return_value_policy::reference));
        if (!winner.is_none()) finding.winner = winner.cast<int64_t>();
      } catch (py::error_already_set& error) {
        if (!error.matches(search_over())) throw;
      }
    }
    static_cast<search::RunResult&>(finding) = hands.result();
    if (finding.winner) bench.study.at(*finding.winner);  // there must be one of that number
    finding.story = {{"strategy", name_}};
    return finding;
  }

 private:
  std::string name_;
  Held object_;
};

// A guest of any table, for Python.
struct Visitor {
  virtual ~Visitor() = default;
};
template <class T>
struct VisitorOf final : Visitor {
  VisitorOf(const Table<T>& table, const std::string& name, Entry<T> entry) : guest(table, name, std::move(entry)) {}
  Guest<T> guest;
};

template <class T>
std::unique_ptr<Visitor> visitor(const Table<T>& table, const std::string& name,
                                 std::function<std::unique_ptr<T>(const Options&)> make, std::vector<OptionSpec> options = {}) {
  return std::make_unique<VisitorOf<T>>(
      table, name, Entry<T>{.help = "brought by the program", .make = std::move(make), .options = std::move(options)});
}

std::unique_ptr<Visitor> samples(const std::string& name, const py::list& items, const std::string& source) {
  auto held = std::make_shared<std::vector<data::Item>>();
  for (const auto& item : items) {
    data::Item arrays;
    for (const auto& [key, array] : item.cast<py::dict>()) arrays[key.cast<std::string>()] = to_tensor(py::array::ensure(array));
    held->push_back(std::move(arrays));
  }
  const Entry<data::Reader> entry = data::memory(std::move(held), source);
  return visitor<data::Reader>(data::readers::table(), name, entry.make, entry.options);
}

std::unique_ptr<Visitor> evaluator(const std::string& name, const py::object& function, bool looks) {
  const Held held(function);
  std::vector<OptionSpec> options = eval::with_own_metrics({{.name = name, .fallback = nullptr, .help = "what it is, in words"}});
  return visitor<eval::CustomEvaluator>(
      eval::evaluators::table(), name,
      [held, looks](const Options& given) { return std::make_unique<Evaluator>(given, held, looks); }, std::move(options));
}

std::unique_ptr<Visitor> sampler(const std::string& name, const py::object& object) {
  const Held held(object);
  return visitor<search::Sampler>(search::samplers::table(), name, [held](const Options&) {
    const py::gil_scoped_acquire lock;
    return std::make_unique<Sampler>(held);
  });
}

std::unique_ptr<Visitor> stop(const std::string& name, const py::object& object) {
  const Held held(object);
  return visitor<search::StopCondition>(search::stop::table(), name,
                                        [held](const Options&) { return std::make_unique<StopCondition>(held); },
                                        {{.name = "value", .fallback = nullptr, .help = "anything"}});
}

std::unique_ptr<Visitor> strategy(const std::string& name, const py::object& object) {
  const Held held(object);
  return visitor<tune::Strategy>(tune::strategies::table(), name,
                                 [held, name](const Options&) { return std::make_unique<Strategy>(name, held); });
}

}  // namespace

py::object search_over() {
  return py::module_::import("quasar._core").attr("SearchOver");
}

py::dict to_python(const search::Trial& trial) {
  py::dict out, params;
  for (const auto& [name, value] : trial.point.values()) params[py::str(name)] = to_python(value);
  out["number"] = trial.number;
  out["state"] = name_of(trial.state);
  out["params"] = params;
  out["values"] = trial.values;
  out["intermediate"] = trial.intermediate;
  out["attributes"] = to_python(trial.user_attributes);
  out["start"] = seconds_of(trial.start);
  out["complete"] = seconds_of(trial.complete);
  return out;
}

py::list TrialList::of(std::span<const search::Trial> trials) {
  py::list out;
  ended_.resize(std::max(ended_.size(), trials.size()));
  for (size_t i = 0; i < trials.size(); ++i) {
    if (ended_[i]) {
      out.append(ended_[i]);
      continue;
    }
    const py::object translated = to_python(trials[i]);
    if (trials[i].finished()) ended_[i] = translated;
    out.append(translated);
  }
  return out;
}

void bind_guests(py::module_& module) {
  module.attr("SearchOver") = py::exception<search::SequenceOver>(module, "SearchOver", PyExc_Exception);
  py::class_<Visitor>(module, "Visitor");
  py::class_<TrialList, std::shared_ptr<TrialList>>(module, "TrialList");
  py::class_<Asked>(module, "Asked")
      .def_property_readonly("model", &Asked::model)
      .def_property_readonly("reference", &Asked::reference)
      .def_property_readonly("labels", &Asked::labels)
      .def("outputs", &Asked::outputs)
      .def("reference_outputs", &Asked::reference_outputs);
  py::class_<Bench>(module, "Bench")
      .def_property_readonly("space", &Bench::space, py::return_value_policy::reference)
      .def("first", &Bench::first)
      .def("evaluate", &Bench::evaluate)
      .def("trials", &Bench::trials);
  module.def("bring_samples", &samples);
  module.def("bring_evaluator", &evaluator);
  module.def("bring_sampler", &sampler);
  module.def("bring_stop", &stop);
  module.def("bring_strategy", &strategy);
}

}  // namespace quasar::python
