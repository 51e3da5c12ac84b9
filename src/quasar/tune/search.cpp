#include "quasar/tune/search.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/deadline.hpp"
#include "quasar/base/digits.hpp"
#include "quasar/base/names.hpp"
#include "quasar/base/stopwatch.hpp"
#include "quasar/data/described.hpp"
#include "quasar/graph/files_of.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/search/late_trials.hpp"
#include "quasar/search/pareto.hpp"
#include "quasar/strategy/exit_policy.hpp"
#include "quasar/studies/attributes.hpp"
#include "quasar/studies/comparable.hpp"
#include "quasar/studies/kept_files.hpp"
#include "quasar/trial/racing.hpp"
#include "quasar/tune/foreign_trials.hpp"
#include "quasar/tune/idle_forms.hpp"
#include "quasar/tune/measure_speed.hpp"
#include "quasar/tune/output_folder.hpp"
#include "quasar/tune/prepared_job.hpp"
#include "quasar/tune/search_parts.hpp"
#include "quasar/tune/speed_gate.hpp"
#include "quasar/tune/study_guard.hpp"
#include "quasar/tune/told_limits.hpp"
#include "quasar/tune/warnings.hpp"
#include "quasar/tune/winner.hpp"

namespace quasar::tune {
namespace fs = std::filesystem;
namespace {

Status status_of(const Aim& aim, const Summary& summary, const Finding& finding) {
  if (finding.result.end == search::RunResult::End::interrupted) return Status::interrupted;
  if (finding.failed) return Status::strategy_failed;
  if (!summary.best) return Status::no_candidate;
  if (aim.criterion && !summary.best->trial.is_candidate()) return Status::goal_missed;
  if (!aim.tolerance.is_null() && !summary.best->trial.is_candidate()) return Status::no_candidate;
  if (summary.best->trial.violation() > 0) return Status::goal_missed;
  return Status::ok;
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

// What samples turned out to be when they were read.
void tell_news(Summary& summary, const PreparedJob& prepared, const Log& log) {
  for (const auto& news : prepared.guard->news()) warn(summary, log, news);
  for (const auto& news : prepared.negative_ids->news()) warn(summary, log, news);
}

// Arrays of a program's samples that feed nothing, once for each source.
void tell_arrays(Summary& summary, const Job& job, const PreparedJob& prepared, const Log& log) {
  const auto& samples = job.samples;
  std::vector<std::string> told;
  for (const Json* words : {&samples.data, &samples.calibration, &samples.evaluation, &samples.holdout}) {
    for (auto& news : data::news_of_arrays(*words, prepared.model.inputs)) {
      if (std::ranges::find(told, news) != told.end()) continue;
      warn(summary, log, news);
      told.push_back(std::move(news));
    }
  }
}

// Loads, checks and tells what does not need the float model's outputs.
PreparedJob prepare_and_tell(Summary& summary, const Job& job, const Log& log) {
  PreparedJob prepared = prepare(job);
  if (const auto& device = job.devices.front(); device.library != runtime::Library::onnxruntime) {
    const Json facts = runtime::facts_of(device);
    const std::string where = facts["library"].get<std::string>() + " " + facts["version"].get<std::string>() + " on its " +
                              facts["device"].get<std::string>();
    tell(log, Level::info,
         "candidates are scored " + (facts.contains("times") ? "in " + where + "; times are " + facts["times"].get<std::string>()
                                                             : "and timed in " + where));
  }
  tell_spaces(job, prepared, log);
  for (const auto& note : prepared.spaces.notes) warn(summary, log, note);
  tell_arrays(summary, job, prepared, log);
  if (!prepared.chosen.outputs.empty()) warn(summary, log, in_words(prepared.chosen));
  if (prepared.chosen.outputs.empty() && !prepared.chosen.judged.empty()) tell(log, Level::info, in_words(prepared.chosen));
  return prepared;
}

// Throws Error when the float model's own values make the job's goal impossible.
void measure_float(Summary& summary, const Job& job, const PreparedJob& prepared, const eval::Evaluator& evaluator,
                   const Monitor& monitor) {
  tell_head(summary, evaluator, monitor.log);
  warn(summary, monitor.log, evaluator.label_doubt());
  if (evaluator.head()) warn_of_options(summary, job.aim, *evaluator.head(), monitor.log);
  constexpr runtime::Effort first_look{.turns = 20, .seconds = 2};  // the winner runs in turns with it
  if (job.aim.criterion) check_reachable(*job.aim.criterion, measures_of(evaluator.reference()));
  summary.baseline = {.metrics = evaluator.reference(),
                      .holdout = {},
                      .bytes = graph::bytes_on_disk(job.model),  // of a pipeline: weights of several models once, as in best.onnx
                      .latency = runtime::latency(prepared.model, *prepared.samples.evaluation, first_look, job.devices.front())};
  if (monitor.baseline) monitor.baseline(summary.baseline);
  const Measures measures = measures_of(summary.baseline.metrics);
  if (job.aim.criterion) {
    tell(monitor.log, Level::info,
         "goal: " + goal_in_words(*job.aim.criterion, measures) + "; float: " + reached(*job.aim.criterion, measures, measures));
    warn(summary, monitor.log, empty_goal(*job.aim.criterion, measures));
  }
  if (const auto missed = missed_accuracy(job.aim, measures, evaluator.reference()); !missed.empty())
    warn(summary, monitor.log,
         "the float model itself misses " + joined(missed, " and ") +
             "; a quantized model that keeps it is hardly to be expected");
}

// Trials that Optuna has enqueued wait for the first run.
bool none_has_run(const search::Study& study) {
  return std::ranges::all_of(study.trials(), [](const search::Trial& trial) { return trial.state == search::State::waiting; });
}

search::Study begun(Summary& summary, const Job& job, search::Storage& storage, const Source& source, const Monitor& monitor) {
  storage.tell_to(monitor.log);
  search::Study study = lead_study(job, storage, source, monitor.launch);
  for (const int64_t number : study.died_too_often())
    tell(monitor.log, Level::warning,
         "trial " + std::to_string(number) +
             " has failed: " + study.at(number).user_attributes.value(search::attribute::error, ""));
  warn(summary, monitor.log, idle_pruner(job));
  const Goals& goals = job.aim.goals;
  if ((goals.needs("latency") || goals.needs("relative_latency")) && none_has_run(study))
    study.set_attribute(float_ms_attribute, summary.baseline.latency.median_ms);
  return study;
}

// What an earlier run decided holds for the whole study; one that has trials without such a decision goes on without.
void gate_speed(Summary& summary, const Job& job, PreparedJob& prepared, Variants& variants, search::Study& study,
                const Log& log) {
  leave_out_idle_forms(prepared, variants, log);
  summary.speed_gate = decided_speed(study);
  if (!summary.speed_gate && none_has_run(study)) {
    summary.speed_gate = measure_speed(job, prepared, variants, log, summary.baseline.latency.median_ms / 1e3);
    if (!summary.speed_gate) return;
    study.set_attribute(speed_attribute, to_json(*summary.speed_gate));
    tell(log, Level::info, "speed: " + summary.speed_gate->told);
  }
  if (summary.speed_gate) apply(*summary.speed_gate, prepared.spaces);
}

std::optional<Deadline::Clock::time_point> end_of(const Limits& limits, Deadline::Clock::time_point begin, double times = 1) {
  const auto seconds = time_limit_of(conditions_of(limits));
  return seconds ? std::optional(Deadline::after(times * *seconds, begin)) : std::nullopt;
}

// How the strategy ended, and what workers brought in afterwards.
struct Ended {
  Finding finding;
  search::LateTrials late;
};

Ended run(Summary& summary, const TrialContext& context, const PreparedJob& prepared, search::Study& study, StudyGuard& guard,
          Deadline::Clock::time_point begin) {
  Monitor watched = guard.monitor();
  watched.listener = telling_limits(study, end_of(context.job.limits, begin), std::move(watched.listener));
  const Log& log = watched.log;
  Ended out{.finding = run_strategy(context, prepared, study, watched, begin), .late = {}};
  guard.expect_folder();
  summary.reason = guard.has_stopped() ? guard.lost_study() : in_the_users_words(context.job.limits, out.finding.result.reason);
  const bool interrupted = out.finding.result.end == search::RunResult::End::interrupted;
  summary.asked_to_stop = study.leader_message().ended.has_value();
  study.announce("ended", interrupted ? search::was_interrupted : summary.reason);
  out.late = search::late_trials(study, patience_with_workers);
  if (out.late.running > 0) warn(summary, log, still_running(out.late.running));
  for (const auto& told : out.finding.warnings) warn(summary, log, told);
  if (out.finding.story) tell_story(log, *out.finding.story);
  return out;
}

// Measures a trial that takes the winner's place if `is_better`. The files that are there are those of the one that stays.
void measure_rival(Summary& summary, const TrialContext& context, const search::Trial& rival, const Closing& closing,
                   const std::function<bool(const Quality&, const Quality&)>& is_better) {
  if (closing.stop.stop_requested()) return;
  Winner other = measure_winner(context, rival, closing);
  const bool wins = is_better(other.quality, summary.best->quality);
  summary.best = wins ? std::move(other) : measure_winner(context, search::Trial(summary.best->trial), closing);
}

// What was found is built, measured and told.
void conclude(Summary& summary, const TrialContext& context, const PreparedJob& prepared, const search::Study& study,
              const Ended& ended, const Closing& closing, const Log& log) {
  const auto& [finding, late] = ended;
  const search::Trial* best = finding.winner ? &study.at(*finding.winner) : study.best();
  if (best != nullptr) {
    summary.best = measure_winner(context, *best, closing);
    if (finding.nearer && may_give_fewer_answers(summary.best->quality))
      measure_rival(summary, context, study.at(*finding.nearer), closing, gives_more_answers);
    if (finding.in_need && summary.best->quality.poor())
      measure_rival(summary, context, study.at(*finding.in_need), closing,
                    [](const Quality& one, const Quality&) { return !one.poor() && one.word != "unknown"; });
    const auto nearer = finding.in_need ? finding.in_need : finding.nearer;
    if (nearer && summary.best->trial.number == best->number) warn_of_nearer_model(summary, context.job, study.at(*nearer), log);
    summary.baseline.latency = summary.best->speed.in_float;  // of the same minute
    if (!closing.stop.stop_requested()) warn_of_costs(summary, context.job.devices.front(), log);
  }
  if (best != nullptr) closing.warn(summary.best->quality.metric_blind);
  measure_holdout(summary, context, closing);
  tell_news(summary, prepared, log);
  warn_of_noise(summary, context.job.aim, log);
  summary.trials.assign(study.trials().begin(), study.trials().end());
  warn_of_direction(summary, context.job.aim, log);
  warn_of_missing_models(summary, context.job, study, log);
  for (const auto& told : words_on_foreign_trials(study.trials())) warn(summary, log, told);
  summary.front = search::pareto_front(own_trials(study), context.job.aim.goals.directions());
  summary.counts = search::sum(finding.result.counts, late.counts);
  summary.story = finding.story;
  summary.status = closing.stop.stop_requested() ? Status::interrupted : status_of(context.job.aim, summary, finding);
  warn_of_tolerance(summary, context.job.aim, log);
  warn_of_holdout(summary, context.job.aim, log);
}

// A search without a model is of no use to anybody: so much of its time limit may pass until the first one is there.
constexpr double time_for_one_model = 2;

bool has_no_model(const search::Study& study) {
  return std::ranges::none_of(study.trials(), [](const search::Trial& trial) { return trial.state == search::State::complete; });
}

// What can be done, where nothing that was tried worked.
void warn_of_weights_alone(Summary& summary, const PreparedJob& prepared, Variants& variants, const Log& log) {
  std::vector<std::string> schemes;
  try {
    schemes = schemes_of_weights(prepared, variants);
  } catch (const std::exception&) {  // no advice is worth the results
  }
  if (!schemes.empty())
    warn(summary, log,
         "what can be quantized in this model is weights alone, which makes it smaller: `quasar quantize MODEL -o OUT.onnx "
         "--scheme " +
             schemes.front() + "`" + (schemes.size() > 1 ? ", or " + joined({schemes.begin() + 1, schemes.end()}) : ""));
}

// The same search with one trial more, whatever part of it that belongs to.
Job for_one_model(Job job, size_t finished) {
  const auto seconds = time_limit_of(conditions_of(job.limits));
  job.limits.n_trials = static_cast<int64_t>(finished) + 1;
  job.limits.stop = {{"n_trials", job.limits.n_trials}};
  if (seconds) job.limits.stop["time_limit"] = time_for_one_model * *seconds;
  job.limits.exit.max_trials = job.limits.n_trials;
  job.limits.exit.timeout = 0;
  return job;
}

// The models of a pipeline as one, in the output folder. A study that goes on is one of the models that stand there: others would
// be refused later, and its results could not be made again then.
void save_joined(const graph::Model& joined, const Job& asked) {
  if (!asked.study.load_if_exists || !fs::exists(asked.model)) return graph::save(joined, asked.model);
  const fs::path file(asked.model), folder = file.parent_path() / "pipeline.new";
  fs::create_directories(folder);
  graph::save(joined, folder / file.filename());
  const bool same = fingerprint(folder / file.filename()) == fingerprint(file);
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  if (!same)
    throw Error("the models of this job are not those of the study in '" + asked.output.dir.string() +
                "': choose another output_dir, or give the models with which it began");
}

// The whole program but for its limits: fills in the summary phase by phase.
void carry_out(Summary& summary, const Job& asked, const Monitor& monitor, Deadline::Clock::time_point begin) {
  const Deadline limit(current_cancellation(), end_of(asked.limits, begin));
  OutputFolder folder(asked.output.dir);
  if (asked.joined) save_joined(*asked.joined, asked);
  Stopwatch phase;
  PreparedJob prepared = prepare_and_tell(summary, asked, monitor.log);
  Variants variants = variants_of(asked, prepared, monitor.log);
  auto storage = open_early(asked.study);
  summary.prepare_s = phase.seconds();

  phase = {};
  const eval::Evaluator evaluator = evaluator_of(asked, prepared);
  const Job job = with_head(asked, evaluator);
  measure_float(summary, job, prepared, evaluator, monitor);
  summary.float_s = phase.seconds();
  variants.observe();
  require_something_quantized(prepared, variants);
  prepared.strategy->expect_possible({job, prepared.spaces.each.front(), prepared.model, *prepared.target, variants,
                                      static_cast<double>(summary.baseline.bytes), summary.baseline.latency.median_ms});
  tell_news(summary, prepared, monitor.log);

  phase = {};
  const auto warning = [&](const std::string& text) { warn(summary, monitor.log, text); };
  if (!storage) storage = search::open_storage(storage_url(job.study));
  search::Study study = begun(summary, job, *storage, {evaluator, prepared.samples, warning}, monitor);
  gate_speed(summary, job, prepared, variants, study, monitor.log);
  keep_files(study, *storage, job, monitor.log);
  study.announce("running");
  std::optional<TrialRoom> room(std::in_place, job, prepared, variants, evaluator, study);
  StudyGuard guard(*storage, folder, monitor);
  Ended ended = [&] {
    const CancelScope in_time(limit.token());
    return run(summary, room->context, prepared, study, guard, begin);
  }();
  const Job last = for_one_model(job, ended.finding.result.counts.finished());
  if (asked.limits.one_model && limit.passed() && !guard.has_stopped() && has_no_model(study)) {
    const std::string reason = summary.reason;
    warn(summary, monitor.log, reason + " before the first model was made; one is made all the same");
    room.emplace(last, prepared, variants, evaluator, study);
    ended = run(summary, room->context, prepared, study, guard, begin);
    summary.reason = reason;
  }
  summary.calibrate_s = variants.seconds();
  summary.trials_s = phase.seconds();

  phase = {};
  const CancelScope to_the_end{std::stop_token()};  // what was found is written, whatever stopped the search
  conclude(summary, room->context, prepared, study, ended,
           {prepared.samples, folder.unfinished(), limit.token(), monitor.stop, warning}, monitor.log);
  summary.winner_s = phase.seconds();
  if (has_no_model(study)) warn_of_weights_alone(summary, prepared, variants, monitor.log);
  summary.lost = guard.lost();
  if (!summary.lost.empty()) {
    tell(monitor.log, Level::error, summary.lost);
    summary.warnings.push_back(summary.lost);
  }
  summary.seconds = std::chrono::duration<double>(Deadline::Clock::now() - begin).count();
  guard.expect_folder();
  if (monitor.results) monitor.results(summary, folder.unfinished());
  folder.put_in_place(result_files(summary.best ? files_of(summary.best->pieces) : std::vector<std::string>()), "result.json");
}

}  // namespace

Summary search(const Job& job, const Monitor& monitor) {
  const Stopwatch total;
  const auto begin = Deadline::Clock::now();
  Summary summary;
  for (const auto& warning : job.warnings) warn(summary, monitor.log, warning);
  const auto seconds = time_limit_of(conditions_of(job.limits));
  const Deadline limit(monitor.stop, end_of(job.limits, begin, job.limits.one_model ? time_for_one_model : 1));
  try {
    const CancelScope scope(limit.token());
    carry_out(summary, job, monitor, begin);
  } catch (const Cancelled&) {
    if (!limit.passed()) throw;
    summary.status = Status::no_candidate;
    summary.reason =
        in_the_users_words(job.limits, "time_limit of " + Json(*seconds).dump() + " s reached before the first trial");
    summary.seconds = total.seconds();
  }
  return summary;
}

}  // namespace quasar::tune
