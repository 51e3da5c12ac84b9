#include "quasar/api/evaluate.hpp"

#include "quasar/base/machine.hpp"
#include "quasar/data/checked_ids.hpp"
#include "quasar/data/described.hpp"
#include "quasar/eval/evaluate.hpp"
#include "quasar/eval/metric.hpp"
#include "quasar/job/models_key.hpp"
#include "quasar/ops/chosen_outputs.hpp"
#include "quasar/runtime/latency.hpp"
#include "quasar/tune/open_data.hpp"
#include "quasar/tune/self_comparison.hpp"

namespace quasar::api {
Json evaluate(const EvaluateOptions& options) {
  const tune::GivenModel read = tune::given_model(options.model);
  const graph::Model& candidate = read.model;
  const graph::Model original = options.reference.empty() ? candidate : tune::reference_for(candidate, options.reference);
  const auto negative_ids = std::make_shared<data::NegativeIds>();
  const auto samples = tune::open_data(options.data, original, std::filesystem::current_path(), negative_ids);
  eval::EvaluatorOptions how;
  how.metrics.clear();
  for (const auto& name : options.metrics) how.metrics.push_back(eval::metric_text(name));
  how.decoder = options.decoder;
  how.output_weights = options.output_weights;
  if (options.decoder.is_null() && options.output_weights.is_null()) how.judged = ops::judged_of(original, candidate);
  how.exact_sums = false;  // as the model runs on this processor
  how.device.library = runtime::parse_library(options.runtime);
  runtime::check_device(how.device);
  const eval::Evaluator evaluator(original, samples, how);
  const eval::Scores scores = options.reference.empty() ? evaluator.reference() : evaluator.score(candidate, cores(), how.device);
  Json out{{"metrics", Json::object()}, {"bytes", read.bytes}};
  for (const auto& [name, score] : scores)
    out["metrics"][name] = {{"value", score.value},
                            {"low", score.low},
                            {"high", score.high},
                            {"samples", score.samples},
                            {"per_sample", score.per_sample}};
  out["warnings"] = data::news_of_arrays(options.data, original.inputs);
  for (auto& news : negative_ids->news()) out["warnings"].push_back(std::move(news));
  if (const std::string doubt = evaluator.label_doubt(); !doubt.empty()) out["warnings"].push_back(doubt);
  if (options.reference.empty()) {
    const std::string doubt = tune::comparison_with_itself(tune::blind_without_reference(candidate, how.metrics));
    if (!doubt.empty()) out["warnings"].push_back(doubt);
  }
  if (options.latency) {
    const runtime::Latency measured = runtime::latency(candidate, *samples, {}, how.device);
    out["latency_ms"] = {{"median", measured.median_ms}, {"p90", measured.p90_ms}};
  }
  return out;
}

}  // namespace quasar::api
