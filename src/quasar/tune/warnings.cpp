#include "quasar/tune/warnings.hpp"

#include <algorithm>

#include "quasar/base/digits.hpp"
#include "quasar/base/machine.hpp"
#include "quasar/base/names.hpp"

namespace quasar::tune {

namespace {

// The three that lose most time.
std::vector<std::string> slower_operators(const Speed& speed) {
  constexpr size_t most = 3;
  std::vector<std::string> out;
  if (speed.operators.is_null()) return out;
  for (const Json& one : speed.operators["operators"]) {
    if (out.size() < most && one["quantized_us"] > one["float_us"]) out.push_back(one["node"]);
  }
  return out;
}

}  // namespace

void warn(Summary& summary, const Log& log, const std::string& warning) {
  if (warning.empty()) return;
  tell(log, Level::warning, warning);
  summary.warnings.push_back(warning);
}

void warn_of_noise(Summary& summary, const Aim& aim, const Log& log) {
  if (!summary.best) return;
  warn(summary, log,
       noise_warning(summary.best->evidence.rivals, summary.best->trial.number, aim.goals.objectives.front().metric));
}

void warn_of_tolerance(Summary& summary, const Aim& aim, const Log& log) {
  if (summary.status != Status::no_candidate || !summary.best || aim.tolerance.is_null()) return;
  const std::string& metric = aim.goals.objectives.front().metric;
  const auto value_in = [&](const eval::Scores& scores) { return in_digits(scores.at(metric).value); };
  warn(summary, log,
       "no trial is within search_metric_tolerance, " + in_digits(aim.tolerance.get<double>()) +
           ", of the float model: the best, trial " + std::to_string(summary.best->trial.number) + ", has " + metric + " " +
           value_in(summary.best->metrics) + " (float: " + value_in(summary.baseline.metrics) + ")");
}

void warn_of_costs(Summary& summary, const runtime::Device& device, const Log& log) {
  const Winner& best = *summary.best;
  if (best.bytes > summary.baseline.bytes)
    warn(summary, log,
         "the best model is larger than float: " + std::to_string(best.bytes) + " bytes, float " +
             std::to_string(summary.baseline.bytes));
  if (best.speed.faster() || !best.speed.counts) return;
  const auto ratio = [](const runtime::Ratio& time) {
    return in_digits(time.median, 3) + " times as long, 95 % interval " + in_digits(time.low, 3) + " to " +
           in_digits(time.high, 3);
  };
  if (best.speed.of_float.high < 1)
    return warn(summary, log,
                "the best model is faster than float on one thread, and slower on all " + std::to_string(cores()) +
                    " cores, of which float gains more (" + ratio(*best.speed.on_all) + ")");
  const bool unsure = best.speed.of_float.low < 1;
  std::string text =
      std::string(unsure ? "it is not sure that the best model is faster than float on this machine, which is busy: "
                         : "the best model is not faster than float on this machine: ") +
      in_digits(best.latency.median_ms, 3) + " ms, float " + in_digits(best.speed.in_float.median_ms, 3) + " (" +
      ratio(best.speed.of_float) + ")";
  const std::vector<std::string> slower = slower_operators(best.speed);
  if (!slower.empty()) text += "; what loses most: " + joined(slower);
  if (!device.is_cpu() && device.library == runtime::Library::onnxruntime)
    text +=
        "; ONNX Runtime's CUDA provider runs Q and DQ by themselves and everything between them in float: codes of 8 bits are "
        "fast on such devices through TensorRT only (target tensorrt)";
  warn(summary, log, text);
}

void warn_of_nearer_model(Summary& summary, const Job& job, const search::Trial& nearer, const Log& log) {
  constexpr double worth_telling = 0.5;
  const Objective& objective = job.aim.goals.objectives.front();
  const double best = summary.best->trial.values.front(), other = nearer.values.front();
  if (objective.direction != Direction::minimize || other > worth_telling * best) return;
  warn(summary, log,
       "trial " + std::to_string(nearer.number) + " is nearer to float (" + objective.metric + " " + in_digits(other, 3) +
           ", the best model " + in_digits(best, 3) + "), but is slower or quantizes less: `quasar quantize --from-study " +
           job.output.dir.string() + " --trial " + std::to_string(nearer.number) + " -o nearer.onnx` makes it");
}

void warn_of_options(Summary& summary, const Aim& aim, const eval::Head& head, const Log& log) {
  const std::string& suggested = head.suggested.empty() ? head.metric : head.suggested;
  for (const auto& metric : aim.metrics) {
    if (suggested.empty() || !eval::is_metric_in_results(metric)) continue;
    const auto options = eval::options_left_out(metric, suggested);
    if (!options.empty())
      warn(summary, log,
           "metric " + metric + " leaves out " + joined(options, ", ") + ", which this model's head (" + head.name +
               ") suggests: without it answers are compared place by place");
  }
}

void warn_of_holdout(Summary& summary, const Aim& aim, const Log& log) {
  if (!summary.best || !summary.best->holdout || !summary.baseline.holdout || !aim.criterion) return;
  const auto& criterion = *aim.criterion;
  const Measures found = measures_of(*summary.best->holdout), of_float = measures_of(*summary.baseline.holdout);
  const auto was_measured = [&](const auto& part) { return found.contains(part.metric) && of_float.contains(part.metric); };
  if (summary.status != Status::ok || !std::ranges::all_of(criterion.parts, was_measured)) return;
  if (excess_of(criterion, found, of_float) <= 0) return;
  warn(summary, log,
       "the goal is met on the evaluation samples, and not on the hold-out samples: there it is " +
           goal_in_words(criterion, of_float) + ", and the best model has " + reached(criterion, found, of_float) +
           "; with few samples of either this may be chance");
}

void warn_of_direction(Summary& summary, const Aim& aim, const Log& log) {
  const Objective& objective = aim.goals.objectives.front();
  const Measures of_float = measures_of(summary.baseline.metrics);
  const auto known = of_float.find(objective.metric);
  if (known == of_float.end() || !is_own(aim.goals, objective.metric)) return;
  std::vector<double> values;
  for (const auto& trial : summary.trials) {
    if (trial.state == search::State::complete && !trial.is_duplicate()) values.push_back(trial.values.front());
  }
  const bool maximize = objective.direction == Direction::maximize;
  const auto better = [&](double value) { return maximize ? value > known->second : value < known->second; };
  if (values.size() < 2 || !std::ranges::all_of(values, better)) return;
  const auto [least, most] = std::ranges::minmax(values);
  warn(summary, log,
       "every trial scores better than the float model (" + objective.metric + " " + in_digits(least, 3) + " to " +
           in_digits(most, 3) + ", float " + in_digits(known->second, 3) + "), which is rare: if " +
           (maximize ? "smaller" : "larger") +
           " values are better, say so by direction: " + (maximize ? "minimize" : "maximize"));
}

void warn_of_missing_models(Summary& summary, const Job& job, const search::Study& study, const Log& log) {
  if (job.output.keep_models == "best") return;
  std::vector<std::string> missing;
  bool elsewhere = false;
  for (const auto& trial : summary.trials) {
    const bool wanted = trial.state == search::State::complete && !trial.is_duplicate() &&
                        (job.output.keep_models == "all" || trial.is_candidate());
    if (!wanted || std::filesystem::exists(kept_file(job.study, trial.number))) continue;
    missing.push_back(std::to_string(trial.number));
    elsewhere = elsewhere || study.is_shared();
  }
  if (!missing.empty())
    warn(summary, log,
         "keep_models: " + job.output.keep_models + " does not reach trials of an earlier run" +
             (elsewhere ? " or of workers, which keep theirs in their own --output-dir" : "") + " (" + joined(missing) +
             "); `quasar quantize --from-study` makes their models again");
}

}  // namespace quasar::tune
