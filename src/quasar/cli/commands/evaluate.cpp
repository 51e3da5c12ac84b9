#include "quasar/eval/evaluate.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iomanip>
#include <iostream>

#include "quasar/base/printable.hpp"
#include "quasar/base/yaml.hpp"
#include "quasar/cli/arguments.hpp"
#include "quasar/cli/command.hpp"
#include "quasar/job/models_key.hpp"
#include "quasar/ops/chosen_outputs.hpp"
#include "quasar/report/result.hpp"
#include "quasar/runtime/latency.hpp"
#include "quasar/runtime/session.hpp"
#include "quasar/tune/open_data.hpp"
#include "quasar/tune/processors.hpp"
#include "quasar/tune/self_comparison.hpp"

namespace quasar::cli::commands {
namespace {

class Evaluate final : public Command {
 public:
  void define(CLI::App& app) override {
    app.add_option("model", model_, "the model to score, or a configuration file with the key models")->required();
    app.add_option("--reference", reference_, "the float model it is compared with (default: the model itself)");
    app.add_option("--data", data_, data_help)->required();
    app.add_flag("--as-is", as_is_, as_is_help);
    metric_ =
        app.add_option("--metric", metrics_,
                       "see `quasar list metrics`; with options 'topk(k=3)'; may be given several times [parts, cos, and what "
                       "the model's head is measured by]");
    app.add_option("--decoder", decoder_, "of a detector's outputs, for mAP: a name, or '{name: yolov5, score_threshold: 0.1}'");
    app.add_option("--output-weights", output_weights_, "factors of outputs; 0 leaves one out: '{features: 0}'");
    app.add_option("--runtime", runtime_, "what the model runs in: onnxruntime (default), openvino or qnn_htp");
    libraries_.define(app);
    app.add_flag("--json", json_, json_help);
    app.footer(
        "Where a number alone says something, a word stands behind it: good, check or broken.\nExample: quasar evaluate "
        "int8.onnx --reference model.onnx --data eval.npz --metric L2 --metric top1");
  }

  int run() override {
    libraries_.load();
    const tune::GivenModel read = tune::given_model(model_);
    const graph::Model& model = read.model;
    bytes_ = read.bytes;
    const graph::Model reference = reference_.empty() ? model : tune::reference_for(model, reference_);
    const auto negative_ids = std::make_shared<data::NegativeIds>();
    const auto samples = tune::open_data(data_argument(data_, as_is_), reference, {}, negative_ids);
    eval::EvaluatorOptions options;
    options.metrics.clear();
    for (const auto& name : metrics_) options.metrics.push_back(eval::metric_text(name, "--metric"));
    if (!decoder_.empty()) options.decoder = parse_yaml(decoder_, "--decoder");
    if (!output_weights_.empty()) options.output_weights = parse_yaml(output_weights_, "--output-weights");
    if (decoder_.empty() && output_weights_.empty()) options.judged = ops::judged_of(reference, model);
    options.judge_head = metric_->count() == 0;
    options.exact_sums = false;
    options.device.library = runtime::parse_library(runtime_);
    runtime::check_device(options.device);
    const eval::Evaluator evaluator(reference, samples, options);
    const eval::Scores scores = reference_.empty() ? evaluator.reference() : evaluator.score(model, 0, options.device);
    if (const std::string doubt = evaluator.label_doubt(); !doubt.empty())
      std::cerr << "warning: " << printable_name(doubt) << "\n";
    tell_problem(evaluator.head());
    for (const auto& news : negative_ids->news()) std::cerr << "warning: " << printable_name(news) << "\n";
    if (reference_.empty()) blind_ = tune::blind_without_reference(model, shown(evaluator.head()));
    if (const std::string doubt = tune::comparison_with_itself(blind_); !doubt.empty())
      std::cerr << "warning: " << printable_name(doubt) << " (--reference)\n";
    const tune::Processors processors = processors_for(model, options.device.library);
    print(evaluator.head(), options.device, scores, runtime::latency(model, *samples, {}, options.device), to_json(processors));
    if (const std::string why = in_words(processors); !why.empty()) std::cerr << "warning: " << printable_name(why) << "\n";
    return exit_done;
  }

 private:
  // HTP adds in 32 bits.
  static tune::Processors processors_for(const graph::Model& model, runtime::Library library) {
    if (library == runtime::Library::qnn_htp) return {};
    return tune::processors_of(model, library == runtime::Library::openvino ? ops::Kernels::onednn : ops::Kernels::onnxruntime);
  }

  void tell_problem(const std::optional<eval::Head>& head) const {
    const auto boxes = [](const std::string& name) { return eval::make_metric(name)->needs_decoder(); };
    if (!head && !decoder_.empty() && std::ranges::none_of(metrics_, boxes))
      std::cerr << "warning: --decoder makes boxes, and none of the metrics counts them (mAP does)\n";
    if (!head || head->problem.empty()) return;
    const std::string who = decoder_.empty() ? "what the model's head is measured by" : "--decoder " + decoder_;
    std::cerr << "warning: " << printable_name(who + " is left out: " + head->problem) << "\n";
  }

  // The wanted metrics in their order, then the head's.
  std::vector<std::string> shown(const std::optional<eval::Head>& head) const {
    std::vector<std::string> names;
    for (const auto& name : metrics_) names.push_back(eval::metric_text(name));
    if (head && !head->metric.empty() && std::ranges::find(names, head->metric) == names.end()) names.push_back(head->metric);
    return names;
  }

  void print(const std::optional<eval::Head>& head, const runtime::Device& device, const eval::Scores& scores,
             const runtime::Latency& latency, const Json& processors) const {
    const std::vector<std::string> names = shown(head);
    Json report{{"model", model_}, {"bytes", bytes_}};
    if (head) report["head"] = to_json(*head);
    for (const auto& name : names) {
      report["metrics"][name] = report::score_json(name, scores.at(name));
      if (std::ranges::find(blind_, name) != blind_.end()) report["metrics"][name].erase("word");
    }
    report["latency_ms"] = {{"median", latency.median_ms}, {"p90", latency.p90_ms}};
    report["judge"] = runtime::facts_of(device);
    report["processors"] = processors;
    if (json_) {
      std::cout << report.dump(2) << "\n";
      return;
    }
    size_t longest = 10;
    for (const auto& name : names) longest = std::max(longest, name.size());
    const auto width = static_cast<int>(longest + 2);
    for (const auto& name : names) {
      const Json& score = report["metrics"][name];
      std::cout << std::left << std::setw(width) << name << std::setprecision(6) << score["value"].get<double>()
                << "  (95 %: " << score["low"].get<double>() << " to " << score["high"].get<double>() << ", " << score["samples"]
                << " samples)" << (score.contains("word") ? "  " + score["word"].get<std::string>() : "") << "\n";
    }
    std::cout << std::setw(width) << "bytes" << report["bytes"] << "\n"
              << std::setw(width) << "latency" << latency.median_ms << " ms (median), " << latency.p90_ms
              << " ms (90 %), one thread\n";
    if (report["judge"].contains("times")) std::cout << "latency is " << report["judge"]["times"].get<std::string>() << "\n";
  }

  std::string model_, reference_, data_, decoder_, output_weights_, runtime_ = "onnxruntime";
  uintmax_t bytes_ = 0;  // of the model's files
  std::vector<std::string> metrics_{"parts", "cos"};
  std::vector<std::string> blind_;  // that would compare a quantized model with itself
  const CLI::Option* metric_ = nullptr;
  bool json_ = false, as_is_ = false;
  OperatorLibraries libraries_;
};

}  // namespace

Entry<Command> evaluate() {
  return {"Scores a model against the float model and the labels.", make_as<Evaluate, Command>};
}

}  // namespace quasar::cli::commands
