// One model at a time: running, quantizing, scoring and looking at it.
#include <pybind11/stl.h>

#include <filesystem>

#include "quasar/api/evaluate.hpp"
#include "quasar/base/files/overwrite_guard.hpp"
#include "quasar/base/files/special_files.hpp"
#include "quasar/data/checked_ids.hpp"
#include "quasar/eval/metric.hpp"
#include "quasar/graph/pipeline/pipeline.hpp"
#include "quasar/inspect/examine.hpp"
#include "quasar/inspect/first_search.hpp"
#include "quasar/inspect/inputs.hpp"
#include "quasar/inspect/inspect.hpp"
#include "quasar/inspect/quantize.hpp"
#include "quasar/job/models_key.hpp"
#include "quasar/job/preset.hpp"
#include "quasar/quant/config/config.hpp"
#include "quasar/quant/config/named_schemes.hpp"
#include "quasar/quant/given_ranges.hpp"
#include "quasar/quant/target.hpp"
#include "quasar/report/writer.hpp"
#include "quasar/runtime/session.hpp"
#include "quasar/search/pruner.hpp"
#include "quasar/search/sampler.hpp"
#include "quasar/strategy/strategy.hpp"
#include "values.hpp"

namespace quasar::python {
namespace {

// Work without the interpreter's lock.
template <class F>
auto unlocked(const F& work) {
  const py::gil_scoped_release release;
  return work();
}

std::string described(const graph::Value& value) {
  return std::string(name_of(value.type)) + (value.shape ? to_string(*value.shape) : "[...]");
}

// Of a pipeline's description (tune::given_model) the models as one.
runtime::Session opened(const std::filesystem::path& path, int threads) {
  const runtime::SessionOptions options{.threads = threads};
  return tune::files_of_given(path).size() > 1 ? runtime::Session(tune::given_model(path).model, options)
                                               : runtime::Session(path, options);
}

// A model in ONNX Runtime, called with arrays by input name.
class Inference {
 public:
  Inference(const std::string& path, int threads) : path_(path), session_(unlocked([&] { return opened(path, threads); })) {}

  py::list run(const py::dict& feeds) const {
    std::vector<Tensor> inputs;
    for (const auto& input : session_.inputs()) {
      if (!feeds.contains(input.name))
        throw Error("the model's input '" + input.name + "' (" + described(input) + ") is not given");
      const Tensor given = to_tensor(py::array::ensure(feeds[input.name.c_str()]));
      inputs.push_back(given.type() == input.type ? given : converted(given, input.type));
    }
    if (feeds.size() != inputs.size())
      throw Error("there are " + std::to_string(feeds.size()) + " arrays, but " + std::to_string(inputs.size()) + " inputs");
    const auto outputs = unlocked([&] { return session_.run(inputs); });
    py::list out;
    for (const auto& output : outputs) out.append(to_numpy(output));
    return out;
  }

  py::list values(bool inputs) const {
    py::list out;
    for (const auto& value : inputs ? session_.inputs() : session_.outputs()) {
      py::object shape = py::none();
      if (value.shape) shape = py::cast(*value.shape);
      out.append(py::make_tuple(value.name, std::string(name_of(value.type)), shape));
    }
    return out;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  runtime::Session session_;
};

py::dict quantize(const std::string& model, const std::string& output, const py::object& configuration,
                  const py::object& calibration, const std::string& target, const py::object& ranges) {
  const tune::QuantizeOptions options{.model = model,
                                      .calibration = to_json(calibration),
                                      .words = py::isinstance<py::str>(configuration)
                                                   ? Json{{"scheme", configuration.cast<std::string>()}}
                                                   : to_json(configuration),
                                      .target = target,
                                      .ranges = to_json(ranges)};
  const Json facts = unlocked([&] {
    OverwriteGuard files;
    tune::reads_model(files, options.model);
    tune::reads_samples(files, options.calibration, "", "the calibration data");
    files.writes(output, "output");
    files.writes(output + ".data", "output");
    tune::writes_pieces(files, options.model, output, "output");
    files.check();
    check_writable("output", output);
    if (is_special_file(output)) throw Error("output '" + output + "' is no file");
    const tune::Quantized result = tune::quantize(options);
    const auto pieces = tune::write_model(result, output);
    Json nodes = Json::array(), skipped = Json::object();
    for (const auto& [name, planned] : result.plan.nodes) nodes.push_back(name);
    for (const auto& [name, why] : result.plan.skipped) skipped[name] = why;
    return Json{{"nodes", nodes},
                {"skipped", skipped},
                {"notes", result.plan.notes},
                {"config", quant::to_json(result.config)},
                {"models", tune::to_json(pieces)},
                {"ranges", quant::ranges_json(result.plan, result.config)}};
  });
  return to_python(facts);
}

Json ports(const std::vector<graph::Port>& all) {
  Json out = Json::object();
  for (const auto& port : all) out[port.own.name] = port.value;
  return out;
}

// [{name, file, inputs: {its name: value of the pipeline}, outputs}], in the order in which they run.
py::list split(const std::string& model, const std::string& folder) {
  const Json pieces = unlocked([&] {
    const graph::Model joined = tune::given_model(model).model;
    OverwriteGuard guard;
    tune::reads_model(guard, model);
    const auto layout = graph::pipeline_of(joined);
    if (layout) {
      for (const auto& file : graph::files_of(layout->parts)) guard.writes(std::filesystem::path(folder) / file, "folder");
    }
    guard.check("choose another folder");
    const auto files = tune::save_pieces(joined, folder);
    const auto pipeline = graph::pipeline_of(joined);
    Json out = Json::array();
    for (size_t i = 0; i < files.size(); ++i) {
      const graph::Part& part = pipeline->parts[i];
      out.push_back(
          {{"name", part.name}, {"file", files[i].string()}, {"inputs", ports(part.inputs)}, {"outputs", ports(part.outputs)}});
    }
    return out;
  });
  return to_python(pieces);
}

py::dict evaluate(const std::string& model, const std::string& reference, const py::object& data,
                  const std::vector<std::string>& metrics, bool latency, const py::object& decoder, const std::string& runtime,
                  const py::object& output_weights) {
  const api::EvaluateOptions options{.model = model,
                                     .reference = reference,
                                     .data = to_json(data),
                                     .metrics = metrics,
                                     .decoder = to_json(decoder),
                                     .latency = latency,
                                     .output_weights = to_json(output_weights),
                                     .runtime = runtime};
  return to_python(unlocked([&] { return api::evaluate(options); }));
}

py::dict inspect(const std::string& model, const std::string& target, const py::object& calibration) {
  const Json data = to_json(calibration);
  const Json facts = unlocked([&] {
    Json out = tune::inspect({.model = model, .target = target, .data = data});
    if (!data.is_null()) out["examination"] = tune::examine({.model = model, .data = data, .target = target});
    return out;
  });
  return to_python(facts);
}

// What a search would be for this model and these samples -> {words, lines, file}
py::dict first_search(const std::string& model, const py::object& data, const std::string& base, const py::dict& said) {
  const Json given = to_json(said);
  const auto text = [&](const char* key) { return given.at(key).get<std::string>(); };
  const tune::FirstSearchOptions options{
      .model = model,
      .data = to_json(data),
      .base = base,
      .labels = text("labels"),
      .metric = text("metric"),
      .target = text("target"),
      .loss = given.at("loss").is_null() ? std::nullopt : std::optional(given.at("loss").get<double>()),
      .seconds = tune::seconds_of(text("time")),
      .output_dir = text("output_dir")};
  const tune::FirstSearch first = unlocked([&] { return tune::first_search(options); });
  return to_python(Json{{"words", first.words}, {"lines", first.lines}, {"file", tune::file_of(first)}});
}

template <class T>
py::dict described_table(const Table<T>& table) {
  py::dict out;
  for (const auto& [name, entry] : table.items()) out[py::str(name)] = entry.help;
  return out;
}

py::dict listed(const std::string& kind) {
  const std::string wanted = normalized(kind);
  if (wanted == "presets") return described_table(tune::presets::table());
  if (wanted == "schemes") {
    py::dict out;
    for (const auto& scheme : quant::named_schemes()) out[py::str(scheme.name)] = scheme.help;
    return out;
  }
  if (wanted == "samplers") return described_table(search::samplers::table());
  if (wanted == "pruners") return described_table(search::pruners::table());
  if (wanted == "strategies") return described_table(tune::strategies::table());
  if (wanted == "metrics") return described_table(eval::metrics::table());
  if (wanted == "targets") return described_table(quant::targets::table());
  const std::vector<std::string> known{"presets", "schemes", "samplers", "pruners", "strategies", "metrics", "targets"};
  throw Error("there is no list of '" + kind + "'; known: " + joined(known) + did_you_mean(kind, known));
}

// How many ids a model knows: its inputs, and the tables by the inputs that are looked up there.
py::dict id_tables(const std::string& path) {
  const graph::Model model = tune::given_model(path).model;
  py::dict tables;
  for (const auto& [input, table] : data::id_tables(model)) tables[py::str(input)] = py::make_tuple(table.name, table.rows);
  py::list inputs;
  for (const auto& input : model.inputs) inputs.append(input.name);
  py::dict out;
  out["inputs"] = inputs;
  out["tables"] = tables;
  return out;
}

}  // namespace

void bind_models(py::module_& module) {
  py::class_<Inference>(module, "Inference")
      .def(py::init<const std::string&, int>(), py::arg("path"), py::arg("threads") = 1)
      .def("run", &Inference::run)
      .def("inputs", [](const Inference& self) { return self.values(true); })
      .def("outputs", [](const Inference& self) { return self.values(false); })
      .def("path", &Inference::path);
  module.def("load_custom_operators", [](const std::string& library) { runtime::load_custom_operators(library); });
  module.def("quantize", &quantize);
  module.def("split", &split);
  module.def("evaluate", &evaluate);
  module.def("inspect", &inspect);
  module.def("first_search", &first_search);
  module.def("listed", &listed);
  module.def("id_tables", &id_tables);
  module.def("preset", [](const std::string& name) { return to_python(tune::presets::table().make(name)->words()); });
  module.def("scheme", [](const std::string& name) { return to_python(quant::words_of_scheme(name)); });
}

}  // namespace quasar::python
