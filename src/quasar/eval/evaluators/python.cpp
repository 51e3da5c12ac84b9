// A Python function, in a Python process of its own that stays for the whole search: a function that hangs or crashes can be
// ended, and never takes the search with it. The process is `python3 -m quasar.evaluator FILE:FUNCTION` of Quasar's package;
// questions and answers are lines of JSON.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <mutex>

#include "quasar/base/file.hpp"
#include "quasar/base/json.hpp"
#include "quasar/base/process.hpp"
#include "quasar/data/npy_write.hpp"
#include "quasar/eval/custom.hpp"

namespace quasar::eval::evaluators {
namespace {

namespace fs = std::filesystem;

// In a process of Python that one, which has the package: its environment need not be the first on PATH.
std::string interpreter(const Options& options) {
  const char* const running = std::getenv("QUASAR_PYTHON");
  return options.given("interpreter") || running == nullptr || *running == '\0' ? options.text("interpreter") : running;
}

class Python final : public CustomEvaluator {
 public:
  explicit Python(const Options& options)
      : CustomEvaluator(own_metrics(options)), interpreter_(interpreter(options)), timeout_(options.real("timeout")) {
    const Json& words = options.json("python");
    function_ = words.is_string() ? words.get<std::string>() : "";
    const size_t colon = function_.rfind(':');
    if (colon == std::string::npos || colon == 0 || colon + 1 == function_.size())
      throw Error("search_evaluator: python is " + words.dump() + ", but must be FILE:FUNCTION, such as score.py:accuracy");
  }

  bool looks_at_samples() const override {
    const std::lock_guard lock(guard_);
    return kind_ == "outputs";
  }

  Values score(const Subject& subject) const override {
    Worker worker = take(subject.surroundings().base);
    const TemporaryFolder folder;
    Json question{{"model", subject.file().string()}, {"reference", subject.surroundings().reference_file.string()}};
    if (looks_at_samples()) question["outputs"] = outputs(subject, folder.path());
    const Json answer = ask(worker, question, timeout_);
    give_back(std::move(worker));
    Values values;
    for (const auto& [name, value] : answer.at("metrics").items()) values[name] = value.is_number() ? value.get<double>() : NAN;
    check_values(*this, values);
    return values;
  }

 private:
  // A Python process and what it wrote to its standard error.
  struct Worker {
    std::unique_ptr<TemporaryFolder> folder;
    std::unique_ptr<Process> process;
  };

  Worker take(const fs::path& base) const {
    {
      const std::lock_guard lock(guard_);
      if (!idle_.empty()) {
        Worker worker = std::move(idle_.back());
        idle_.pop_back();
        return worker;
      }
    }
    Worker worker{std::make_unique<TemporaryFolder>(), nullptr};
    worker.process = std::make_unique<Process>(ProcessOptions{.arguments = {interpreter_, "-m", "quasar.evaluator", function_},
                                                              .folder = base,
                                                              .errors = worker.folder->path() / "stderr"});
    // Importing what the function needs is not scoring.
    const Json hello =
        ask(worker, Json{{"version", 1}, {"first", metrics().front().name}}, timeout_ > 0 ? std::max(60.0, timeout_) : 0);
    const std::lock_guard lock(guard_);
    kind_ = hello.at("kind").get<std::string>();
    return worker;
  }

  void give_back(Worker worker) const {
    const std::lock_guard lock(guard_);
    idle_.push_back(std::move(worker));
  }

  // A worker that fails to answer is ended with `worker`; one whose function raised an exception is kept.
  Json ask(Worker& worker, const Json& question, double seconds) const {
    std::string line;
    const fs::path errors = worker.folder->path() / "stderr";
    if (!worker.process->ask(question.dump(), line, seconds)) {
      const Exit exit = worker.process->wait();
      const std::string why =
          exit.timed_out ? "took longer than its timeout of " + Json(seconds).dump() + " s" : "ended with " + to_string(exit);
      throw EvaluatorFailed("the Python evaluator " + why, "stderr", tail_of(errors));
    }
    Json answer = json_in(line).value_or(Json());
    if (!answer.is_object()) throw EvaluatorFailed("the Python evaluator's process gave no sense", "stderr", tail_of(errors));
    if (!answer.contains("error")) return answer;
    if (question.contains("model")) give_back(std::move(worker));
    throw EvaluatorFailed(answer["error"].get<std::string>(), "traceback", answer.value("traceback", ""));
  }

  // Where the process finds the outputs: {reference: [{name, file | files}], candidate: …, labels: file | null}.
  Json outputs(const Subject& subject, const fs::path& folder) const {
    const Surroundings& around = subject.surroundings();
    Json out{{"reference", reference(around.reference())}, {"candidate", written(subject.outputs(), folder)}};
    out["labels"] = nullptr;
    if (around.labels.empty()) return out;
    data::write_npy(folder / "labels.npy", Tensor::of<int64_t>({static_cast<int64_t>(around.labels.size())}, around.labels));
    out["labels"] = (folder / "labels.npy").string();
    return out;
  }

  // The float model's, written once for all candidates.
  Json reference(const Outputs& outputs) const {
    const std::lock_guard lock(guard_);
    if (reference_of_ != &outputs) {
      reference_folder_ = std::make_unique<TemporaryFolder>();
      reference_ = written(outputs, reference_folder_->path());
      reference_of_ = &outputs;
    }
    return reference_;
  }

  static Json written(const Outputs& outputs, const fs::path& folder) {
    Json out = Json::array();
    for (size_t i = 0; i < outputs.names.size(); ++i) {
      const fs::path file = folder / (std::to_string(i) + ".npy");
      if (const auto array = stacked(outputs.values[i])) {
        data::write_npy(file, *array);
        out.push_back({{"name", outputs.names[i]}, {"file", file.string()}});
        continue;
      }
      Json files = Json::array();
      for (size_t k = 0; k < outputs.values[i].size(); ++k) {
        const fs::path one = folder / (std::to_string(i) + "_" + std::to_string(k) + ".npy");
        data::write_npy(one, outputs.values[i][k]);
        files.push_back(one.string());
      }
      out.push_back({{"name", outputs.names[i]}, {"files", files}});
    }
    return out;
  }

  std::string function_, interpreter_;
  double timeout_;
  mutable std::mutex guard_;  // of what follows
  mutable std::vector<Worker> idle_;
  mutable std::string kind_;
  mutable const Outputs* reference_of_ = nullptr;
  mutable std::unique_ptr<TemporaryFolder> reference_folder_;
  mutable Json reference_;
};

}  // namespace

Entry<CustomEvaluator> python() {
  return {
      .help = "A function of a Python file, in a Python process that has Quasar's package (pip install).",
      .make = make_as<Python, CustomEvaluator>,
      .options = with_own_metrics(
          {{.name = "python", .fallback = nullptr, .help = "FILE:FUNCTION, such as score.py:accuracy"},
           {.name = "interpreter", .fallback = "python3", .help = "the Python that has the package quasar (in Python: this one)"},
           {.name = "timeout", .fallback = 0.0, .help = "seconds for one model; after that it fails (0: none)", .low = 0}})};
}

}  // namespace quasar::eval::evaluators
