#include "extensions.hpp"

#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <algorithm>

#include "quasar/base/cancellation.hpp"
#include "quasar/data/in_memory.hpp"
#include "quasar/eval/custom.hpp"
#include "quasar/search/state_name.hpp"

namespace quasar::python {
namespace {

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
    in_python(caller_, [&] {
      throw_if_cancelled();  // Ctrl-C may have come while this call waited for its turn, and would not come again
      try {
        const py::object asked = py::cast(Asked(subject));
        values = function_.get()(asked, metrics().front().name).cast<eval::Values>();
      } catch (py::error_already_set& error) {
        throw_if_interruption(caller_, error);
        throw_if_cancelled();  // what runs the model for the function, say
        auto [message, traceback] = described(error);
        throw eval::EvaluatorFailed(message, "traceback", traceback);
      } catch (const py::cast_error&) {
        throw eval::EvaluatorFailed("the evaluator's result is no mapping of names to numbers");
      }
    });
    throw_if_cancelled();
    check_values(*this, values);
    return values;
  }

 private:
  const std::shared_ptr<CallingThread> caller_ = CallingThread::current();
  Held function_;
  bool looks_;
};

// Texts and objects feed no model: what they are does not count.
Tensor to_held_tensor(const std::string& name, const py::array& given, bool shared) {
  const char kind = given.dtype().kind();
  if (kind == 'U' || kind == 'S' || kind == 'O') {
    const Shape shape(given.shape(), given.shape() + given.ndim());
    return Tensor::strings(shape, std::vector<std::string>(count_of(shape)));
  }
  try {
    return shared ? to_shared_tensor(given) : to_tensor(given);
  } catch (const Error& error) {
    throw Error(name.empty() ? error.what() : "'" + name + "': " + error.what());
  }
}

data::Item to_item(const py::dict& arrays, bool shared) {
  data::Item item;
  for (const auto& [key, array] : arrays) {
    const py::array given = py::array::ensure(array);
    const auto name = key.cast<std::string>();
    item[name] = to_held_tensor(name, given, shared);
  }
  return item;
}

data::Files files_of(const py::list& files) {
  data::Files out;
  for (const auto& file : files) out.emplace_back(file.cast<std::filesystem::path>());
  return out;
}

// Options that a dictionary holds beside its arrays: what is called as an input of the model is that input.
class BesideArrays final : public data::Reader {
 public:
  BesideArrays(Entry<data::Reader> entry, const Options& given) : entry_(std::move(entry)), given_(given) {}

  data::DatasetPtr open(const std::vector<graph::Value>& inputs, const std::filesystem::path& base) const override {
    return reader_for(inputs)->open(inputs, base);
  }
  std::vector<std::string> passed_over(const std::vector<graph::Value>& inputs) const override {
    return reader_for(inputs)->passed_over(inputs);
  }
  bool brings_classes() const override { return entry_.make(given_)->brings_classes(); }
  std::vector<std::string> whole_arrays() const override { return entry_.make(given_)->whole_arrays(); }
  data::Files files() const override { return entry_.make(given_)->files(); }

 private:
  std::unique_ptr<data::Reader> reader_for(const std::vector<graph::Value>& inputs) const {
    Json words = Json::object();
    for (const auto& [name, value] : given_.all().items()) {
      const bool feeds = std::ranges::any_of(inputs, [&name = name](const auto& input) { return input.name == name; });
      if (given_.given(name) && !feeds) words[name] = value;
    }
    return entry_.make(Options(entry_.options, words, "samples"));
  }

  Entry<data::Reader> entry_;
  Options given_;
};

std::vector<std::string> sample_options() {
  std::vector<std::string> out;
  for (const auto& option : data::memory(nullptr, "").options) out.push_back(option.name);
  return out;
}

// `shared`: the arrays stay as they are for as long as the registration lives, and are not copied.   `files`: that the items come
// from, known when all have been iterated.
std::unique_ptr<AnyRegistration> samples(const std::string& name, const py::iterable& items, const std::string& source,
                                         bool shared, const py::list& files) {
  auto held = std::make_shared<std::vector<data::Item>>();
  for (const auto& item : items) held->push_back(to_item(item.cast<py::dict>(), shared));
  const Entry<data::Reader> entry = data::memory(std::move(held), source, files_of(files));
  const auto make = [entry](const Options& given) { return std::make_unique<BesideArrays>(entry, given); };
  return registered<data::Reader>(data::readers::table(), name, make, entry.options);
}

// Python is asked for every item, from whatever thread needs it.
std::unique_ptr<AnyRegistration> stream(const std::string& name, size_t size, const py::object& item,
                                        const std::vector<int64_t>& labels, const std::string& source, const py::list& files) {
  const Held held(item);
  const auto read = [held, source](size_t index) {
    const py::gil_scoped_acquire lock;
    try {
      return to_item(held.get()(index).cast<py::dict>(), false);
    } catch (py::error_already_set& error) {
      const auto [message, traceback] = described(error);
      throw Error("samples of " + source + ", item " + std::to_string(index) + ": " + message + "\n" + traceback);
    }
  };
  const Entry<data::Reader> entry = data::streamed({size, read, labels}, source, files_of(files));
  return registered<data::Reader>(data::readers::table(), name, entry.make, entry.options);
}

std::unique_ptr<AnyRegistration> evaluator(const std::string& name, const py::object& function, bool looks) {
  const Held held(function);
  std::vector<OptionSpec> options = eval::with_own_metrics({{.name = name, .fallback = nullptr, .help = "what it is, in words"}});
  return registered<eval::CustomEvaluator>(
      eval::evaluators::table(), name,
      [held, looks](const Options& given) { return std::make_unique<Evaluator>(given, held, looks); }, std::move(options));
}

}  // namespace

py::dict to_python(const search::Trial& trial) {
  py::dict out, params;
  for (const auto& [name, value] : trial.point.values()) params[py::str(name)] = to_python(value);
  out["number"] = trial.number;
  out["state"] = search::name_of(trial.state);
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

py::object search_over() {
  return py::module_::import("quasar._core").attr("SearchOver");
}

void throw_if_interruption(const std::shared_ptr<CallingThread>& caller, py::error_already_set& raised) {
  if (caller && !raised.matches(search_over()) && caller->interrupted_by(raised)) throw Cancelled(described(raised).first);
}

void throw_if_left(const std::shared_ptr<CallingThread>& caller) {
  if (caller && caller->is_left()) throw Cancelled("the search was left to itself");
}

search::RunResult interrupted_by(py::error_already_set& raised, search::RunResult so_far) {
  so_far.end = search::RunResult::End::interrupted;
  so_far.reason = "interrupted: the strategy raised " + described(raised).first;
  return so_far;
}

void bind_extensions(py::module_& module) {
  py::class_<AnyRegistration>(module, "AnyRegistration");
  py::class_<TrialList, std::shared_ptr<TrialList>>(module, "TrialList");
  py::class_<Asked>(module, "Asked")
      .def_property_readonly("model", &Asked::model)
      .def_property_readonly("reference", &Asked::reference)
      .def_property_readonly("labels", &Asked::labels)
      .def("outputs", &Asked::outputs)
      .def("reference_outputs", &Asked::reference_outputs);
  module.def("sample_options", &sample_options);
  module.def("bring_samples", &samples);
  module.def("bring_stream", &stream);
  module.def("bring_evaluator", &evaluator);
}

}  // namespace quasar::python
