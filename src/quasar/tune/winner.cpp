#include "quasar/tune/winner.hpp"

#include <algorithm>
#include <array>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/digits.hpp"
#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"
#include "quasar/base/machine.hpp"
#include "quasar/base/parallel.hpp"
#include "quasar/base/system/processor.hpp"
#include "quasar/base/yaml.hpp"
#include "quasar/eval/share.hpp"
#include "quasar/graph/files_of.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/quant/npu/npu.hpp"
#include "quasar/quant/standalone.hpp"
#include "quasar/runtime/judged_nodes.hpp"
#include "quasar/runtime/kernels.hpp"
#include "quasar/runtime/oldest_release.hpp"
#include "quasar/sensitivity/operator_costs.hpp"
#include "quasar/trial/recall.hpp"
#include "quasar/tune/all_cores.hpp"
#include "quasar/tune/prepared_job.hpp"

namespace quasar::tune {
namespace fs = std::filesystem;
namespace {

// What was found must not be lost because something that only the report shows cannot be had: no room for temporary files, say.
template <class Work>
void or_warn(const Closing& closing, const std::string& what, const Work& work) {
  try {
    work();
  } catch (const Error& e) {
    closing.warn("the report does not know " + what + ": " + e.what());
  }
}

// What is built in knows intervals besides, which are not worth waiting for once the search is to end.
eval::Scores scores_of(const TrialContext& context, const search::Trial& trial, const graph::Model& model,
                       const Closing& closing) {
  if (auto known = context.book.find(trial.number)) return *std::move(known);
  const eval::Scores said = said_before(context.job.aim, trial);
  if (all_there(context.job.aim, said)) return said;
  const auto score = [&] { return context.evaluator.score(model, cores(), context.devices.first(), said); };
  auto recorded = recorded_scores(context.job.aim, trial);
  if (!recorded) return score();
  try {
    const CancelScope scope(closing.limit);
    return score();
  } catch (const Cancelled&) {
    return *std::move(recorded);
  }
}

// Whether candidates run in a library of the target's own, so that times here are its times.
bool is_in_own_library(const TrialContext& context) {
  const runtime::Library library = context.devices.first().library;
  return library != runtime::Library::onnxruntime && runtime::has_times(library) &&
         context.target.runtime() == runtime::name_of(library) && context.target.stand_in(true).empty();
}

// The float model that users have: as it came, where it takes the same samples as after clean-up and runs.
const graph::Model& float_of_users(const TrialContext& context) {
  const graph::Model& original = context.variants.original();
  const bool alike = std::ranges::equal(original.inputs, context.model.inputs, {}, &graph::Value::type, &graph::Value::type);
  if (!alike || context.devices.first().library != runtime::Library::onnxruntime) return context.model;
  try {
    runtime::latency(original, context.samples, {.turns = 1, .seconds = 0.1}, context.devices.first());
    return original;
  } catch (const Error&) {
    return context.model;
  }
}

// Of float and the winner, as runtime::times_in_turn(). Once the search's time is up, of so many seconds.
std::vector<std::vector<double>> times_of(const std::array<const graph::Model*, 2>& models, const TrialContext& context,
                                          const Closing& closing, runtime::Effort effort, double seconds_at_end) {
  const auto measured = [&] { return runtime::times_in_turn(models, context.samples, effort, context.devices.first()); };
  try {
    const CancelScope scope(closing.limit);
    return measured();
  } catch (const Cancelled&) {
    effort.seconds = seconds_at_end;
    return measured();
  }
}

// The winner's latency, and its speed beside the model as it came, which is what users have.
void measure_speed_of(Winner& winner, const TrialContext& context, const graph::Model& model, const Closing& closing) {
  const std::array models{&float_of_users(context), &model};
  const auto times = times_of(models, context, closing, {.turns = 50, .seconds = 60, .at_least = 0.1}, 0.5);
  winner.latency = runtime::latency_of(times[1]);
  winner.speed = {.in_float = runtime::latency_of(times[0]),
                  .of_float = runtime::ratio_of(times[1], times[0]),
                  .counts = context.target.timed_here() || is_in_own_library(context)};
  // The ratio of neighbouring runs is the surer measure. What stands beside it must not contradict it, as medians of short runs
  // do.
  winner.latency.median_ms = winner.speed.in_float.median_ms * winner.speed.of_float.median;
  winner.latency.p90_ms = std::max(winner.latency.p90_ms, winner.latency.median_ms);
  if (!context.devices.first().is_cpu() || closing.stop.stop_requested()) return;
  constexpr double long_run = 100;  // milliseconds
  const bool has_time = !closing.limit.stop_requested() || winner.speed.in_float.median_ms < long_run;
  if (winner.speed.counts && cores() > 1 && has_time) {
    or_warn(closing, "how fast the best model is on all cores", [&] {
      constexpr double seconds = 8, seconds_at_end = 2;
      const auto on_all = times_of(models, context, closing, on_all_cores(seconds), seconds_at_end);
      // The least and the greatest of fewer ratios are no interval of 95 %; runs that take long differ less.
      constexpr size_t fewest = 6;
      if (on_all[0].size() >= fewest || on_all[0].front() >= long_run)
        winner.speed.on_all = runtime::ratio_of(on_all[1], on_all[0]);
    });
  }
  if (closing.limit.stop_requested()) return;
  or_warn(closing, "what operators cost", [&] {
    constexpr double seconds = 3;
    winner.speed.operators = to_json(operator_costs(context.model, model, context.samples, seconds), context.model);
  });
}

// The winner's scores with values per sample; an earlier process may have scored it.
eval::Scores by_sample(const TrialContext& context, const Winner& winner, const graph::Model& model, const Closing& closing) {
  if (auto scores = context.book.by_sample(winner.trial.number)) return *std::move(scores);
  eval::Scores out = winner.metrics;
  const auto known = out.find(context.job.aim.metrics.front());
  if (is_own(context.job.aim.goals, context.job.aim.metrics.front())) return out;  // a user's evaluator says one number
  if (closing.limit.stop_requested() || (known != out.end() && !known->second.per_sample.empty())) return out;
  or_warn(closing, "which samples the winner gets wrong", [&] {
    out = context.evaluator.score(model, cores(), context.devices.first(), said_before(context.job.aim, winner.trial));
  });
  return out;
}

// Which of the planned nodes run on codes, and who says so. As planned where it cannot be found out, and for processors that are
// only simulated here. ONNX Runtime's CUDA provider runs none so, wherever candidates were judged (quant/targets/ort_cuda.cpp).
struct Kernels {
  std::map<std::string, bool> runs;
  std::string source;  // the library, in words, or "plan"
};

Kernels kernels_of(const graph::Model& model, const quant::Plan& plan, const TrialContext& context, const Closing& closing) {
  const runtime::Device& device = context.job.devices.front();
  const bool own_library = device.library != runtime::Library::onnxruntime;
  const bool as_planned = plan.shifts || (context.target.checks_pairs() && !own_library);
  const bool in_float = !own_library && (!device.is_cpu() || !context.target.told_of_all().empty());
  std::vector<std::string> nodes;
  Kernels out{.runs = {}, .source = "plan"};
  for (const auto& [name, planned] : plan.nodes) {
    nodes.push_back(name);
    out.runs[name] = !in_float || as_planned;
  }
  if (as_planned) return out;
  const std::string library = runtime::facts_of(device).at("library");
  if (in_float) return {.runs = std::move(out.runs), .source = library};
  or_warn(closing, "what " + library + " runs in integers, and shows what was planned", [&] {
    out.runs = own_library ? runtime::runs_quantized_in(device, model, nodes)
                           : runtime::runs_quantized(model, nodes, context.target.kernels() == ops::Kernels::neon);
    out.source = library;
  });
  // What an operator on codes took in when the model was written runs there.
  const graph::Index written(model);
  for (auto& [name, runs] : out.runs) runs = runs || written.node(name) == nullptr;
  return out;
}

// Scores are those of exact sums. Where this processor's kernels add otherwise, what users of it will see is said beside them.
Processors processors_for(const TrialContext& context, const Winner& winner, const graph::Model& model, const Closing& closing) {
  if (!context.target.saturation()) return {};  // it adds in 32 bits
  Processors facts = processors_of(model, context.target.kernels());
  if (const std::string why = in_words(facts); !why.empty()) closing.warn(why);
  const bool in_onnxruntime = context.devices.first().library == runtime::Library::onnxruntime;
  const bool for_this_one = context.target.kernels() != ops::Kernels::neon || processor_is_arm64();
  if (!in_onnxruntime || !for_this_one || !runtime::sums_overflow_here(model) || closing.limit.stop_requested()) return facts;
  or_warn(closing, "what this processor's sums make of the scores", [&] {
    eval::EvaluatorOptions options = evaluator_options(context.job, context.evaluator.judged_values(), true);
    options.exact_sums = false;
    const eval::Evaluator evaluator(context.model, closing.samples.evaluation, options);
    for (const auto& [name, score] : evaluator.score(model, cores(), context.devices.first())) {
      facts.here[name] = score.value;
      const double exact = winner.metrics.contains(name) ? winner.metrics.at(name).value : score.value;
      if (score.value != exact)
        closing.warn("on this processor, where sums overflow, " + name + " is " + in_digits(score.value) + " and not " +
                     in_digits(exact));
    }
  });
  return facts;
}

// The metric by which answers are compared: that of the head. Where it is unknown, outputs name classes if the user counts them;
// "": nobody said so.
std::string answers_of(const Aim& aim, const std::optional<eval::Head>& head) {
  if (head && !head->decoder.is_null()) return "mAP(truth=float,iou=0.5)";  // an object is found again, however tightly
  // What has another unit than shares, as psnr, says of no answer whether it is the same.
  const auto compares = [](const eval::Metric& metric) {
    const bool is_share = dynamic_cast<const eval::Share*>(&metric) != nullptr || metric.best_possible() == 1.0;
    return is_share && metric.needs() == eval::Truth::none;
  };
  if (head && !head->metric.empty() && compares(*eval::make_metric(head->metric))) return head->metric;
  const auto counts_classes = [&](const std::string& metric) {
    return !is_own(aim.goals, metric) && (metric == "agreement" || eval::make_metric(metric)->needs() == eval::Truth::label);
  };
  return std::ranges::any_of(aim.metrics, counts_classes) ? "agreement" : "";
}

Quality judged(const TrialContext& context, const Winner& winner, const graph::Model& model, const Closing& closing) {
  // Few operators have kernels for weights only and for scales found at run time: who asks for these gets what there is.
  const bool pairs = quant::form_of(winner.config.activation) == quant::NodeForm::pairs;
  const std::string unquantized =
      !pairs ? ""
             : hardly_quantized(plan_of(context, winner.config), context.variants.graph_of(winner.config)->model,
                                context.variants.seen(winner.config), ChosenFloat::counted);
  Quality out;
  if (closing.stop.stop_requested() || context.job.aim.evaluator) return out;  // whoever scores himself knows what is good
  try {
    const CancelScope scope(closing.stop);
    or_warn(closing, "whether the best model is of use", [&] {
      const auto answers = answers_of(context.job.aim, context.evaluator.head());
      const bool classes = std::ranges::any_of(std::array{"agreement", "sequence_accuracy", "token_accuracy", "mean_iou"},
                                               [&](const char* metric) { return answers.starts_with(metric); });
      const eval::ExaminationOptions options{.answers = answers, .device = context.devices.first()};
      const auto examination = eval::examine(context.evaluator, context.model, model, options);
      out = quality_of({.aim = context.job.aim,
                        .words = context.job.words,
                        .reference = context.evaluator.reference(),
                        .scores = winner.metrics,
                        .evaluator = context.evaluator,
                        .examination = examination,
                        .repaired = strategies::table().make(context.job.strategy)->repairs(),
                        .classes = classes,
                        .unquantized = unquantized});
    });
  } catch (const Cancelled&) {  // what was found comes first
  }
  return out;
}

// By the first metric that has values per sample; nullopt when none has.
std::optional<Flips> flips(const TrialContext& context, const eval::Scores& scores, const data::Dataset& samples) {
  const eval::Scores& reference = context.evaluator.reference();
  for (const auto& metric : context.job.aim.metrics) {
    if (!scores.contains(metric) || !reference.contains(metric)) continue;
    auto found = flips_of(samples, reference.at(metric), scores.at(metric));
    if (!found) continue;
    found->metric = metric;
    add_pictures(*found, samples, context.job.output.dir);
    return found;
  }
  return std::nullopt;
}

// How many rules of NPUs the model breaks; the first is told.
size_t check_rules(const graph::Model& model, const Closing& closing) {
  const auto violations = quant::violations(model);
  if (!violations.empty())
    closing.warn("the best model breaks " + std::to_string(violations.size()) + " rules of NPUs, first at " +
                 violations.front().node + ": " + violations.front().what +
                 "; `quasar inspect best.onnx --target xint8` lists them");
  return violations.size();
}

}  // namespace

Winner measure_winner(const TrialContext& context, const search::Trial& trial, const Closing& closing) {
  const data::Dataset& samples = *closing.samples.evaluation;
  Winner winner;
  winner.trial = trial;
  winner.config = config_of(context, trial);
  const quant::Plan plan = plan_of(context, winner.config);
  const auto built = context.book.model(trial.number);
  const graph::Model model = built ? *built : build(context, winner.config, plan).model;
  const fs::path path = closing.folder / "best.onnx";
  graph::save(model, path, external(winner.config));
  winner.bytes = graph::bytes_on_disk(path);
  try {
    winner.pieces = write_pieces(context.model, model, path, external(winner.config));
  } catch (const Error& e) {  // all else is worth keeping
    closing.warn("best.onnx is one model, and its models are not there: " + std::string(e.what()));
  }
  winner.needs = runtime::needs_json(model);
  winner.metrics = scores_of(context, trial, model, closing);
  measure_speed_of(winner, context, model, closing);
  if (plan.shifts) winner.broken_rules = check_rules(model, closing);
  if (!plan.shifts) winner.processors = processors_for(context, winner, model, closing);
  const QuantizedShare share =
      share_of(plan, context.variants.graph_of(winner.config)->model, context.variants.seen(winner.config), ChosenFloat::counted);
  winner.quantized_work = share.work;
  winner.unit_of_work = share.unit();
  winner.quality = judged(context, winner, model, closing);
  const auto graph = context.variants.graph_of(winner.config);
  const eval::Scores scores = by_sample(context, winner, model, closing);
  Kernels kernels;
  LayerErrors errors;
  // The one that waits for the disk beside those that compute.
  parallel_for(3, one_at_a_time(graph->model) ? 1 : 3, [&](size_t i) {
    if (i == 0 && !closing.limit.stop_requested()) {
      const CancelScope scope(closing.limit);
      errors = measure_errors({graph->model, plan, model, context.job.limits.memory}, samples);
    }
    if (i == 1) kernels = kernels_of(model, plan, context, closing);
    if (i == 2) winner.flips = flips(context, scores, samples);
  });
  for (const auto& [name, runs] : kernels.runs) (runs ? winner.quantized_nodes : winner.float_nodes)++;
  winner.float_nodes += plan.skipped.size();
  count_operators(winner.pieces, model, plan, kernels.runs);
  winner.nodes_by = kernels.source;
  winner.lost_parts = plan.lost_parts;
  const Json rounding = trial.user_attributes.value("rounding", Json());
  const QuantizedFacts facts{graph->model, plan, context.variants.seen(winner.config), kernels.runs, rounding, kernels.source};
  winner.layers = layers_of(facts, errors);
  winner.ranges = ranges_of(facts, worst_of(winner.layers));
  winner.evidence = {.against_float = eval::against(context.evaluator.reference(),
                                                    context.book.by_sample(trial.number).value_or(winner.metrics)),
                     .rivals = rivals_of(context.book, context.job.aim, trial.number)};
  Json params = Json::object();
  for (const auto& [name, value] : trial.point.values()) params[name] = value;
  write_file(closing.folder / "best_params.json", params.dump(2) + "\n");
  Json words = quant::to_json(winner.config);
  words["target"] = context.job.target;  // `quasar quantize --config` quantizes for it
  write_file(closing.folder / "best_config.yaml", to_yaml(words));
  return winner;
}

void measure_holdout(Summary& summary, const TrialContext& context, const Closing& closing) {
  if (!closing.samples.holdout || !summary.best) return;
  try {
    const CancelScope scope(closing.stop);
    const auto options = evaluator_options(context.job, context.evaluator.judged_values(), true);
    if (options.metrics.empty()) return;
    or_warn(closing, "the scores on the hold-out samples", [&] {
      const eval::Evaluator evaluator(context.model, closing.samples.holdout, options);
      summary.best->holdout = evaluator.score(graph::load(closing.folder / "best.onnx"), cores(), context.devices.first());
      summary.baseline.holdout = evaluator.reference();
      summary.best->evidence.holdout = eval::against(evaluator.reference(), *summary.best->holdout);
    });
  } catch (const Cancelled&) {
  }
}

}  // namespace quasar::tune
