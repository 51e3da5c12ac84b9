#include "quasar/tune/search.hpp"

#include <algorithm>
#include <chrono>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/deadline.hpp"
#include "quasar/base/names.hpp"
#include "quasar/base/stopwatch.hpp"
#include "quasar/graph/files_of.hpp"
#include "quasar/search/late_trials.hpp"
#include "quasar/search/pareto.hpp"
#include "quasar/strategy/exit_policy.hpp"
#include "quasar/tune/evidence.hpp"
#include "quasar/tune/output_folder.hpp"
#include "quasar/tune/prepared_job.hpp"
#include "quasar/tune/search_parts.hpp"
#include "quasar/tune/story.hpp"
#include "quasar/tune/study_guard.hpp"
#include "quasar/tune/winner.hpp"

namespace quasar::tune {
namespace fs = std::filesystem;
namespace {

// Throws Error when the float model's own values make the job's goal impossible.
Measured measure_float(const Job& job, const PreparedJob& prepared, const eval::Evaluator& evaluator) {
  if (job.criterion) check_reachable(*job.criterion, measures_of(evaluator.reference()));
  return {.metrics = evaluator.reference(),
          .holdout = {},
          .bytes = graph::bytes_on_disk(job.model),
          .latency = runtime::latency(prepared.model, *prepared.samples.evaluation, 50, 30, job.devices.front())};
}

Status status_of(const Job& job, const Summary& summary, const Finding& result) {
  if (result.end == search::RunResult::End::interrupted) return Status::interrupted;
  if (result.failed) return Status::strategy_failed;
  if (!summary.best) return Status::no_candidate;
  if (job.criterion && !summary.best->trial.is_candidate()) return Status::goal_missed;
  if (!job.tolerance.is_null() && !summary.best->trial.is_candidate()) return Status::no_candidate;
  if (summary.best->trial.violation() > 0) return Status::goal_missed;
  return Status::ok;
}

// Told now, and shown in the report.
void warn(Summary& summary, const Log& log, const std::string& warning) {
  tell(log, Level::warning, warning);
  summary.warnings.push_back(warning);
}

void warn_of_noise(Summary& summary, const Job& job, const Log& log) {
  if (!summary.best) return;
  const auto noisy = noise_warning(summary.best->evidence["rivals"], *summary.best, job.goals.objectives.front().metric);
  if (!noisy.empty()) warn(summary, log, noisy);
}

// Models that keep_models asks for, of trials that an earlier run scored.
void warn_of_missing_models(Summary& summary, const Job& job, const search::Study& study, const Log& log) {
  if (job.keep_models == "best") return;
  std::vector<std::string> missing;
  bool elsewhere = false;
  for (const auto& trial : summary.trials) {
    const bool wanted =
        trial.state == search::State::complete && !trial.is_duplicate() && (job.keep_models == "all" || trial.is_candidate());
    if (!wanted || fs::exists(kept_file(job, trial.number))) continue;
    missing.push_back(std::to_string(trial.number));
    elsewhere = elsewhere || study.is_shared();
  }
  if (!missing.empty())
    warn(summary, log,
         "keep_models: " + job.keep_models + " does not reach trials of an earlier run" +
             (elsewhere ? " or of workers, which keep theirs in their own --output-dir" : "") + " (" + joined(missing) +
             "); `quasar quantize --from-study` makes their models again");
}

// Without those that other programs told: no model can be made of them.
std::vector<search::Trial> own_trials(const search::Study& study) {
  std::vector<search::Trial> out(study.trials().begin(), study.trials().end());
  std::erase_if(out, [](const auto& trial) { return !trial.user_attributes.contains("config"); });
  return out;
}

constexpr double patience_with_workers = 5;  // seconds, for them to end what they run

std::string still_running(size_t trials) {
  return std::to_string(trials) + (trials == 1 ? " trial of another process was" : " trials of other processes were") +
         " still running when the results were written: what comes of it stands in the study, and --resume takes it up";
}

// What the model answers, and whether that can be judged.
void tell_head(Summary& summary, const eval::Evaluator& evaluator, const Log& log) {
  const auto& head = evaluator.head();
  if (!head) return;
  summary.head = eval::to_json(*head);
  tell(log, Level::info, (head->is_known() ? "head: " + head->name + " (" : "unknown head (") + head->why + ")");
  if (!head->problem.empty())
    warn(summary, log, "the model's head is " + head->name + ", but what it finds cannot be judged: " + head->problem);
}

// The whole program but for its limits: fills in the summary phase by phase.
void carry_out(Summary& summary, const Job& asked, const Monitor& monitor, Deadline::Clock::time_point begin) {
  const std::stop_token limit = current_cancellation();
  OutputFolder folder(asked.output_dir);
  Stopwatch phase;
  const PreparedJob prepared = prepare(asked);
  tell_spaces(asked, prepared, monitor.log);
  for (const auto& note : prepared.spaces.notes) warn(summary, monitor.log, note);
  Variants variants = variants_of(asked, prepared, monitor.log);
  auto storage = open_early(asked);
  summary.prepare_s = phase.seconds();

  phase = {};
  const eval::Evaluator evaluator = evaluator_of(asked, prepared);
  const Job job = with_head(asked, evaluator);
  tell_head(summary, evaluator, monitor.log);
  summary.baseline = measure_float(job, prepared, evaluator);
  if (monitor.baseline) monitor.baseline(summary.baseline);
  if (job.criterion) {
    const std::string empty = empty_goal(*job.criterion, measures_of(summary.baseline.metrics));
    if (!empty.empty()) warn(summary, monitor.log, empty);
  }
  summary.float_s = phase.seconds();
  variants.observe();
  for (const auto& news : prepared.guard->news()) warn(summary, monitor.log, news);

  phase = {};
  if (!storage) storage = search::open_storage(storage_url(job));
  storage->tell_to(monitor.log);
  const auto warning = [&](const std::string& text) { warn(summary, monitor.log, text); };
  search::Study study = lead_study(job, *storage, {evaluator, prepared.samples, warning}, monitor.launch);
  for (const int64_t number : study.died_too_often())
    tell(monitor.log, Level::warning,
         "trial " + std::to_string(number) +
             " has failed: " + study.at(number).user_attributes.value(search::attribute::error, ""));
  ScoreBook book;
  Undisturbed undisturbed;
  runtime::DeviceRing devices(job.devices);
  const auto racer = prepared.strategy->races() ? racer_of(job, study, evaluator) : nullptr;
  if (const std::string note = idle_pruner(job); !note.empty()) warn(summary, monitor.log, note);
  const auto rejection = EarlyRejection::of(job, evaluator);
  const TrialContext context{
      job,         prepared.model, *prepared.target, prepared.spaces.all, variants, evaluator, book, *prepared.samples.evaluation,
      undisturbed, devices,        racer.get(),      rejection.get()};
  StudyGuard guard(*storage, folder, job, monitor);
  const Finding result = run_strategy(context, prepared, study, guard.monitor(), begin);
  guard.expect_folder();
  const std::string reason = guard.has_stopped() ? storage->lost() : in_the_users_words(job, result.reason);
  study.announce("ended", result.end == search::RunResult::End::interrupted ? "it was interrupted" : reason);
  const auto late = search::late_trials(study, patience_with_workers);
  if (late.running > 0) warn(summary, monitor.log, still_running(late.running));
  for (const auto& told : result.warnings) warn(summary, monitor.log, told);
  tell_story(monitor.log, result.story);
  summary.calibrate_s = variants.seconds();
  summary.trials_s = phase.seconds();

  const CancelScope to_the_end{std::stop_token()};  // what was found is written, whatever stopped the search
  const search::Trial* best = result.winner ? &study.at(*result.winner) : study.best();
  const Closing closing{prepared.samples, folder.unfinished(), limit, monitor.stop, warning};
  if (best != nullptr) summary.best = measure_winner(context, *best, closing);
  if (best != nullptr && !summary.best->quality.metric_blind.empty()) warning(summary.best->quality.metric_blind);
  measure_holdout(summary, context, closing);
  for (const auto& news : prepared.guard->news()) warn(summary, monitor.log, news);
  warn_of_noise(summary, job, monitor.log);
  summary.trials.assign(study.trials().begin(), study.trials().end());
  warn_of_missing_models(summary, job, study, monitor.log);
  summary.front = search::pareto_front(own_trials(study), job.goals.directions());
  summary.counts = search::sum(result.counts, late.counts);
  summary.reason = reason;
  summary.story = result.story;
  summary.status = monitor.stop.stop_requested() ? Status::interrupted : status_of(job, summary, result);
  summary.lost = guard.lost();
  if (!summary.lost.empty()) {
    tell(monitor.log, Level::error, summary.lost);
    summary.warnings.push_back(summary.lost);
  }
  summary.seconds = std::chrono::duration<double>(Deadline::Clock::now() - begin).count();
  guard.expect_folder();
  if (monitor.results) monitor.results(summary, folder.unfinished());
  folder.put_in_place({"best.onnx.data", "best.onnx", "best_params.json", "best_config.yaml"}, "result.json");
}

}  // namespace

Summary search(const Job& job, const Monitor& monitor) {
  const Stopwatch total;
  const auto begin = Deadline::Clock::now();
  Summary summary;
  for (const auto& warning : job.warnings) warn(summary, monitor.log, warning);
  const auto seconds = time_limit_of(conditions_of(job));
  const Deadline limit(monitor.stop, seconds ? std::optional(Deadline::after(*seconds, begin)) : std::nullopt);
  try {
    const CancelScope scope(limit.token());
    carry_out(summary, job, monitor, begin);
  } catch (const Cancelled&) {
    if (!limit.passed()) throw;
    summary.status = Status::no_candidate;
    summary.reason = in_the_users_words(job, "time_limit of " + Json(*seconds).dump() + " s reached before the first trial");
    summary.seconds = total.seconds();
  }
  return summary;
}

}  // namespace quasar::tune
