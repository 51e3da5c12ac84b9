// Samplers, stop conditions and strategies that are Python objects.
#include <pybind11/stl.h>

#include "extensions.hpp"
#include "quasar/base/cancellation.hpp"
#include "quasar/search/sampler.hpp"
#include "quasar/search/sequence.hpp"
#include "quasar/search/stop.hpp"
#include "quasar/sensitivity/loss.hpp"
#include "quasar/strategy/exit_policy.hpp"
#include "quasar/strategy/strategy.hpp"

namespace quasar::python {
namespace {

class Sampler final : public search::Sampler {
 public:
  explicit Sampler(Held object) : object_(std::move(object)), trials_(py::cast(std::make_shared<TrialList>())) {}

  std::optional<search::Point> next(const search::History& history, Rng& rng) override {
    std::optional<search::Point> next;
    in_python(caller_, [&] {
      const py::list trials = trials_.get().cast<std::shared_ptr<TrialList>>()->of(history.trials);
      try {
        const py::object found = object_.get().attr("_next")(py::cast(history.space), trials, rng.next() >> 1);
        if (!found.is_none()) next = history.space.encode(to_json(found));
      } catch (py::error_already_set& error) {
        throw_if_interruption(caller_, error);
        throw;
      }
    });
    return next;
  }

 private:
  const std::shared_ptr<CallingThread> caller_ = CallingThread::current();
  Held object_;
  Held trials_;
};

class StopCondition final : public search::StopCondition {
 public:
  explicit StopCondition(Held object) : object_(std::move(object)) {}

  std::optional<std::string> met(const search::Progress& progress) const override {
    std::optional<std::string> reason;
    in_python(caller_, [&] {
      try {
        const py::object answer = object_.get().attr("_met")(facts_of(progress));
        if (!answer.is_none()) reason = answer.cast<std::string>();
      } catch (py::error_already_set& error) {
        if (!caller_ || !caller_->interrupted_by(error)) throw;
        reason = "interrupted";
      }
    });
    return reason;
  }

 private:
  static py::dict facts_of(const search::Progress& progress) {
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
    return facts;
  }

  const std::shared_ptr<CallingThread> caller_ = CallingThread::current();
  Held object_;
};

// A strategy's handle: it tries configurations, and sees the trials.
class StrategyHandle {
 public:
  StrategyHandle(const tune::StrategyContext& context, const std::string& stage)
      : context_(context, "bench"),
        sequence_({.seed = context.job.seed,
                   .n_jobs = static_cast<size_t>(context.job.n_jobs),
                   .stage = stage,
                   .listener = context.listener,
                   .stop = context.stop,
                   .begin = context.begin},
                  context.study, context.space, tune::conditions_of(context.job.limits), context.objective) {}
  StrategyHandle(const StrategyHandle&) = delete;
  StrategyHandle& operator=(const StrategyHandle&) = delete;

  const search::Space& space() const { return context_->space; }
  py::object first() const { return to_python(space().decode(tune::default_point(space()))); }

  py::list evaluate(const py::list& configurations) {
    std::vector<search::Point> points;
    for (const auto& words : configurations) points.push_back(space().encode(to_json(words)));
    std::vector<search::Trial> trials;
    try {
      trials = context_.unlocked([this, points](const tune::StrategyContext&) {
        in_a_trial_ = true;
        return sequence_.evaluate(points);
      });
    } catch (const search::SequenceOver& over) {
      over_ = over.result;
      PyErr_SetString(search_over().ptr(), over.result.reason.c_str());
      throw py::error_already_set();
    }
    in_a_trial_ = false;
    passed_ = true;
    py::list out;
    for (const auto& trial : trials) out.append(to_python(trial));
    return out;
  }

  // Whether an exception now is the strategy's own, and something was found that is worth keeping.
  bool keeps_what_was_found() const { return passed_ && !in_a_trial_ && context_->study.best() != nullptr; }

  py::list trials() const {
    py::list out;
    for (const auto& trial : context_->study.trials()) out.append(to_python(trial));
    return out;
  }

  search::RunResult result() const { return over_ ? *over_ : sequence_.finished("the strategy is done"); }

  void end() { context_.end(); }

 private:
  Borrowed<const tune::StrategyContext> context_;
  search::Sequence sequence_;
  std::optional<search::RunResult> over_;
  bool in_a_trial_ = false, passed_ = false;
};

class Strategy final : public tune::Strategy {
 public:
  Strategy(std::string name, Held object) : name_(std::move(name)), object_(std::move(object)) {}

  void check(const tune::Job& /*job*/, const tune::Spaces& spaces) const override {
    if (spaces.each.size() != 1) throw Error("strategy " + name_ + " takes one search_space, not several");
  }
  bool learns_from_earlier() const override { return false; }
  bool tries_enqueued() const override { return false; }

  tune::Finding run(const tune::StrategyContext& context) const override {
    tune::Finding finding;
    const Lease<StrategyHandle> handle(context, name_);
    in_python(caller_, [&] { finding = found(handle); });
    if (finding.winner) context.study.at(*finding.winner);  // there must be one of that number
    finding.story = tune::Story{.strategy = name_};
    return finding;
  }

 private:
  // With the interpreter's lock.
  tune::Finding found(const Lease<StrategyHandle>& handle) const {
    tune::Finding finding;
    try {
      const py::object winner = object_.get().attr("_run")(handle.handle());
      finding.result = handle->result();
      if (!winner.is_none()) finding.winner = winner.cast<int64_t>();
    } catch (py::error_already_set& error) {  // Python has kept the exception itself
      throw_if_left(caller_);
      const bool own = error.matches(PyExc_Exception);
      if (own && !handle->keeps_what_was_found()) throw;
      finding.result = handle->result();
      if (own) {
        tune::tell_exception(finding, name_, described(error).first, handle->result());
      } else if (!error.matches(search_over())) {
        if (caller_) caller_->interrupted_by(error);
        finding.result = interrupted_by(error, handle->result());
      }
    }
    return finding;
  }

  const std::shared_ptr<CallingThread> caller_ = CallingThread::current();
  std::string name_;
  Held object_;
};

// Of each of the model's float outputs, for hawq_v2.
class Loss final : public tune::Loss {
 public:
  explicit Loss(Held function) : function_(std::move(function)) {}

  bool takes_any_size() const override { return true; }  // the function sees both

  double of(const Tensor& output, const Tensor& reference, std::optional<int64_t> label) const override {
    double value = 0;
    const auto ask = [&] {
      throw_if_cancelled();
      const py::object target = label ? py::object(py::int_(*label)) : py::object(to_numpy(reference));
      try {
        value = function_.get()(to_numpy(output), target).cast<double>();
      } catch (py::error_already_set& error) {
        throw_if_interruption(caller_, error);
        throw Error(described(error).first);
      }
    };
    in_python(caller_, ask, CallingThread::Busy::afterwards);  // one at a time in any case: they are short, or hold the lock
    return value;
  }

 private:
  const std::shared_ptr<CallingThread> caller_ = CallingThread::current();
  Held function_;
};

std::unique_ptr<AnyRegistration> sampler(const std::string& name, const py::object& object) {
  const Held held(object);
  return registered<search::Sampler>(search::samplers::table(), name, [held](const Options&) {
    const py::gil_scoped_acquire lock;
    return std::make_unique<Sampler>(held);
  });
}

std::unique_ptr<AnyRegistration> stop(const std::string& name, const py::object& object) {
  const Held held(object);
  return registered<search::StopCondition>(search::stop::table(), name,
                                           [held](const Options&) { return std::make_unique<StopCondition>(held); },
                                           {{.name = "value", .fallback = nullptr, .help = "anything"}});
}

// `stage`: under which a study counts its trials; the name itself where the user gave it.
std::unique_ptr<AnyRegistration> strategy(const std::string& name, const std::string& stage, const py::object& object) {
  const Held held(object);
  return registered<tune::Strategy>(
      tune::strategies::table(), name, [held, stage](const Options&) { return std::make_unique<Strategy>(stage, held); }, {},
      stage != name);
}

std::unique_ptr<AnyRegistration> loss(const std::string& name, const py::object& function) {
  const Held held(function);
  return registered<tune::Loss>(tune::losses::table(), name, [held](const Options&) { return std::make_unique<Loss>(held); });
}

}  // namespace

void bind_search_extensions(py::module_& module) {
  module.attr("SearchOver") = py::exception<search::SequenceOver>(module, "SearchOver", PyExc_BaseException);
  py::class_<StrategyHandle, std::shared_ptr<StrategyHandle>>(module, "StrategyHandle")
      .def_property_readonly("space", &StrategyHandle::space, py::return_value_policy::copy)
      .def("first", &StrategyHandle::first)
      .def("evaluate", &StrategyHandle::evaluate)
      .def("trials", &StrategyHandle::trials);
  module.def("bring_sampler", &sampler);
  module.def("bring_stop", &stop);
  module.def("bring_strategy", &strategy);
  module.def("bring_loss", &loss);
}

}  // namespace quasar::python
