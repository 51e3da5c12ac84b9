// Strategies that tune operators, as Python objects: the library's Tuner in their handle.
#include <pybind11/stl.h>

#include <limits>

#include "extensions.hpp"
#include "quasar/base/cancellation.hpp"
#include "quasar/job/precision.hpp"
#include "quasar/strategy/tuner.hpp"

namespace quasar::python {
namespace {

// What Python sees of a tune::Tuner. How the search ended passes through Python as SearchOver, and is thrown again behind it.
class Handle {
 public:
  explicit Handle(tune::Tuner& tuner) : tuner_(tuner, "tuner") {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  py::list operators() const {
    py::list out;
    for (const auto& node : tuner_->space().nodes) {
      py::dict facts;
      facts["name"] = node.name;
      facts["op_type"] = node.op_type;
      facts["options"] = to_python(Json(node.all_options()));
      facts["floats"] = node.floats;
      out.append(facts);
    }
    return out;
  }

  // The other parameters, with their choices.
  py::dict settings() const {
    py::dict out;
    for (const auto& parameter : tuner_->context().space.parameters()) {
      const auto* choices = std::get_if<search::Categorical>(parameter.distribution.get());
      if (choices == nullptr || choices->choices.size() < 2 || parameter.name.starts_with(tune::precision_of(""))) continue;
      out[py::str(parameter.name)] = to_python(Json(choices->choices));
    }
    return out;
  }

  py::list evaluate(const py::list& configurations, bool explore) {
    std::vector<tune::TuneConfig> configs;
    for (const auto& words : configurations) configs.push_back(config_of(to_json(words)));
    std::vector<search::Trial> trials;
    try {
      trials = tuner_.unlocked(
          [configs, explore](tune::Tuner& tuner) { return explore ? tuner.explore(configs) : tuner.evaluate(configs); });
    } catch (const tune::Tuner::Over&) {
      end("the accuracy criterion is met");
    } catch (const search::SequenceOver& over) {
      end(over.result.reason);
    } catch (const Cancelled& cancelled) {
      end(cancelled.what());
    }
    py::list out;
    for (const auto& trial : trials) out.append(to_python(trial));
    return out;
  }

  double loss(int64_t trial) const {
    if (trial < 0) return std::numeric_limits<double>::infinity();  // what was not tried
    return tuner_->loss(tuner_->context().study.at(trial));
  }
  py::object best() const { return tuner_->best() ? py::object(to_python(*tuner_->best())) : py::object(py::none()); }
  bool met() const { return tuner_->met(); }
  size_t left() const { return tuner_->left(); }
  void tell(const std::string& step) { tuner_->tell(step); }

  void end() { tuner_.end(); }
  void rethrow() const {
    if (over_) std::rethrow_exception(over_);
  }

 private:
  // By an operator's name, as trials have it ("node conv1") or plain; everything else is a setting.
  tune::TuneConfig config_of(const Json& words) const {
    tune::TuneConfig config;
    const std::string prefix = tune::precision_of("");
    for (const auto& [key, choice] : words.items()) {
      const bool as_trials_have_it = key.starts_with(prefix);
      if (!as_trials_have_it && tuner_->context().space.find(key) != nullptr) {
        config.settings[key] = choice;
        continue;
      }
      const std::string name = as_trials_have_it ? key.substr(prefix.size()) : key;
      if (!config.nodes.emplace(name, choice).second)
        throw Error("the strategy's configuration names one operator twice: '" + name + "' and '" + prefix + name + "'");
    }
    return config;
  }

  // Within a catch block.
  [[noreturn]] void end(const std::string& why) {
    over_ = std::current_exception();
    PyErr_SetString(search_over().ptr(), why.c_str());
    throw py::error_already_set();
  }

  Borrowed<tune::Tuner> tuner_;
  std::exception_ptr over_;
};

class TuningStrategy final : public tune::TuningStrategy {
 public:
  TuningStrategy(std::string name, Held object) : name_(std::move(name)), object_(std::move(object)) {}

  void traverse(tune::Tuner& tuner) const override {
    const Lease<Handle> handle(tuner);
    in_python(caller_, [&] {
      try {
        object_.get().attr("_traverse")(handle.handle());
      } catch (py::error_already_set& error) {  // Python has kept the exception itself
        throw_if_left(caller_);
        handle->rethrow();
        if (error.matches(PyExc_Exception)) throw Error(described(error).first);
        if (caller_) caller_->interrupted_by(error);
        throw search::SequenceOver{interrupted_by(error, tuner.finished(""))};
      }
    });
    handle->rethrow();
  }

 protected:
  std::string name() const override { return name_; }

 private:
  const std::shared_ptr<CallingThread> caller_ = CallingThread::current();
  std::string name_;
  Held object_;
};

// `stage`: under which a study counts its trials; the name itself where the user gave it.
std::unique_ptr<AnyRegistration> tuning_strategy(const std::string& name, const std::string& stage, const py::object& object) {
  const Held held(object);
  return registered<tune::Strategy>(
      tune::strategies::table(), name, [held, stage](const Options&) { return std::make_unique<TuningStrategy>(stage, held); },
      {}, stage != name);
}

}  // namespace

void bind_tuning_strategies(py::module_& module) {
  py::class_<Handle, std::shared_ptr<Handle>>(module, "Tuner")
      .def("operators", &Handle::operators)
      .def("settings", &Handle::settings)
      .def("evaluate", &Handle::evaluate)
      .def("loss", &Handle::loss)
      .def("best", &Handle::best)
      .def("met", &Handle::met)
      .def("left", &Handle::left)
      .def("tell", &Handle::tell);
  module.def("bring_tuning_strategy", &tuning_strategy);
}

}  // namespace quasar::python
