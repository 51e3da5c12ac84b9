// Custom evaluators: a score of the user's own, computed by a program, a shared library or a function. One file each in
// evaluators/; a program that embeds Quasar brings others as registrations of their table.
//
//   search_evaluator: {command: [python3, score.py, "{model}"], timeout: 600, metrics: {map50: maximize, npu_ms: minimize}}
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quasar/base/api.hpp"
#include "quasar/base/plugin.hpp"
#include "quasar/eval/metric.hpp"
#include "quasar/graph/model.hpp"

namespace quasar {
class TemporaryFolder;
}

namespace quasar::eval {

// What a custom evaluator gives: names that no built-in metric has. The first one is what the search is about.
struct OwnMetric {
  std::string name;
  Direction direction;
};

// All outputs of a model on all samples.
struct Outputs {
  std::vector<std::string> names;
  std::vector<std::vector<Tensor>> values;  // per output, per sample
};

// One array of an output's values on all samples, the first axis counts them; nullopt when they differ in shape.
QUASAR_API std::optional<Tensor> stacked(const std::vector<Tensor>& values);

// What evaluators share of a search.
struct Surroundings {
  std::filesystem::path base = {};            // where relative paths of the configuration start
  std::filesystem::path reference_file = {};  // the float model, as the user gave it
  std::function<const Outputs&()> reference;  // its outputs on the samples, computed when they are asked for
  std::vector<int64_t> labels = {};           // of the samples; empty where they have none
  std::filesystem::path candidates = {};  // folder of models that are written to be scored; "": the system's for temporary files
};

// A model that is to be scored, as evaluators see it; used by one thread.
class QUASAR_API Subject {
 public:
  // `file`: where the model stands; empty: it is written somewhere when it is asked for. `run`: computes its outputs.
  Subject(const graph::Model& model, const Surroundings& surroundings, std::filesystem::path file, std::function<Outputs()> run);

  const Surroundings& surroundings() const { return surroundings_; }
  // The model as an ONNX file, which is there as long as the subject is.
  const std::filesystem::path& file() const;
  // Its outputs on the samples.
  const Outputs& outputs() const;

 private:
  const graph::Model& model_;
  const Surroundings& surroundings_;
  std::function<Outputs()> run_;
  mutable std::filesystem::path file_;
  mutable std::shared_ptr<TemporaryFolder> own_;
  mutable std::optional<Outputs> outputs_;
};

using Values = std::map<std::string, double>;

// score() may be called from several threads at once.
class QUASAR_API CustomEvaluator {
 public:
  explicit CustomEvaluator(std::vector<OwnMetric> metrics) : metrics_(std::move(metrics)) {}
  virtual ~CustomEvaluator() = default;

  const std::vector<OwnMetric>& metrics() const { return metrics_; }

  // Whether it scored outputs on the samples; otherwise it brings its own data, and hold-out samples mean nothing to it. Asked
  // after a first score.
  virtual bool looks_at_samples() const { return false; }

  // A value for each of metrics(), and for others that are to be reported. Throws EvaluatorFailed, or Cancelled when this
  // thread's work is.
  virtual Values score(const Subject& subject) const = 0;

 private:
  std::vector<OwnMetric> metrics_;
};

// The evaluator could not score a model. `details` are what it had to say itself.
class QUASAR_API EvaluatorFailed : public Error {
 public:
  explicit EvaluatorFailed(const std::string& what, std::string kind_of_details = "", std::string details_text = "")
      : Error(what), kind(std::move(kind_of_details)), details(std::move(details_text)) {}
  std::string kind;  // "stderr", "traceback"; "": there are none
  std::string details;
};

// The options that every evaluator has: metrics and direction.
QUASAR_API std::vector<OptionSpec> with_own_metrics(std::vector<OptionSpec> own);

// `metrics`: null ({score: maximize}), a list of names, or a mapping of names to directions; `direction`: of those that have no
// other, and never a contradiction to the first. Throws Error for names that built-in metrics have.
QUASAR_API std::vector<OwnMetric> own_metrics(const Options& options);

// From the words of a configuration: {command: …}, {library: …}, {python: …} with options; nullptr for null. `direction`: as the
// configuration's key of that name; "": not given. Throws Error.
QUASAR_API std::shared_ptr<const CustomEvaluator> custom_evaluator(const Json& words, const std::string& direction = "");

// Every one of the evaluator's metrics is there, and finite. Throws EvaluatorFailed otherwise.
QUASAR_API void check_values(const CustomEvaluator& evaluator, const Values& values);

// What a program wrote: a number on the last line, which is the first metric's; or a JSON object of metrics (members that are no
// numbers are passed over), on the last line or as a whole. Throws EvaluatorFailed with what was found.
QUASAR_API Values parse_values(const std::string& text, const CustomEvaluator& evaluator);

// The last `most` bytes of a file, from the beginning of a line; "" when there is no file.
QUASAR_API std::string tail_of(const std::filesystem::path& file, size_t most = 16384);

}  // namespace quasar::eval

namespace quasar::eval::evaluators {
QUASAR_API const Table<CustomEvaluator>& table();
}
