#include "quasar/tune/search_parts.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "quasar/base/machine.hpp"
#include "quasar/base/names.hpp"
#include "quasar/base/secrets.hpp"
#include "quasar/base/version.hpp"
#include "quasar/job/goal_parts.hpp"
#include "quasar/runtime/session.hpp"
#include "quasar/search/optuna/optuna_format.hpp"
#include "quasar/studies/attributes.hpp"
#include "quasar/studies/comparable.hpp"
#include "quasar/studies/continuation.hpp"
#include "quasar/studies/past_study.hpp"
#include "quasar/studies/same_evaluator.hpp"
#include "quasar/studies/same_version.hpp"
#include "quasar/studies/warm_start.hpp"
#include "quasar/trial/racing.hpp"
#include "quasar/trial/recall.hpp"

namespace quasar::tune {
namespace {

bool is_local(const std::string& key) {
  const auto known = std::ranges::find(job_keys(), key, &OptionSpec::name);
  return known != job_keys().end() && known->local;
}

// The places below `key` where two values differ, as "a.b.c", with what stands there; null: nothing does.
struct Difference {
  std::string place;
  Json there, here;
};

void collect(std::vector<Difference>& found, const std::string& place, const Json& there, const Json& here) {
  if (there == here) return;
  if (!there.is_object() || !here.is_object()) return found.push_back({place, there, here});
  std::set<std::string> keys;
  for (const Json* values : {&there, &here}) {
    for (const auto& [key, value] : values->items()) keys.insert(key);
  }
  for (const auto& key : keys) collect(found, place + "." + key, there.value(key, Json()), here.value(key, Json()));
}

Error other_value(const std::string& key, const Json& there, const Json& here) {
  constexpr size_t shown = 3;
  std::vector<Difference> found;
  collect(found, key, there, here);
  const auto name_of = [](const std::string& place, const Json& value) {
    return value.is_null() ? "no " + place : place + ": " + value.dump();
  };
  std::string text;
  for (size_t i = 0; i < std::min(shown, found.size()); ++i) {
    const auto& [place, theirs, ours] = found[i];
    text += (i == 0 ? "this worker's configuration has " : ", and ") + name_of(place, ours) +
            (i == 0 ? ", but the search that it joins has " : " where that has ") +
            (theirs.is_null() ? "no such key" : theirs.dump());
  }
  if (found.size() > shown) text += ", and differs in " + std::to_string(found.size() - shown) + " more keys of " + key;
  return Error(text + "; give it the same configuration and --set as `quasar search`");
}

// Throws Error for a heartbeat that the worker asks for and its leader has not: one of them would take the other for dead. A
// worker that says nothing has its leader's.
void check_same_heartbeat(const search::HeartbeatOptions& theirs, const Job& job) {
  const auto check = [&](const char* key, const Json& there, const Json& here) {
    if (job.words.contains(key) && there != here) throw other_value(key, there, here);
  };
  check("heartbeat_interval", theirs.interval, job.study.heartbeat.interval);
  check("grace_period", theirs.grace, job.study.heartbeat.grace);
  check("max_retry", theirs.max_retry, job.study.heartbeat.max_retry);
}

// Throws Error for a key that decides what the search tries, and is another one here.
void check_same_job(const Json& theirs, const Json& ours) {
  std::set<std::string> keys;
  for (const Json* words : {&theirs, &ours}) {
    for (const auto& [key, value] : words->items()) keys.insert(key);
  }
  for (const auto& key : keys) {
    const Json there = theirs.value(key, Json()), here = ours.value(key, Json());
    if (is_local(key) || there == here) continue;
    throw other_value(key, there, here);
  }
}

void bind(search::Study& study, const Job& job, const Json& goal) {
  for (const auto& [key, value] : goal.items()) study.set_attribute(key, value);
  if (!job.study.predecessor.empty()) study.set_attribute(predecessor_attribute, job.study.predecessor);
  study.set_attribute(choices_attribute, choices_of(job));
  study.set_attribute(version_attribute, version());
  study.set_attribute(onnxruntime_attribute, runtime::version());
  study.set_attribute(job_attribute, without_secrets(job.words));
  study.set_attribute(samples_attribute,
                      {{"reader", without_secrets(job.samples.split.is_null() ? job.samples.calibration : job.samples.data)},
                       {"split", job.samples.split},
                       {"folder", (std::filesystem::current_path() / job.base).string()}});
  Json names = Json::array();
  for (const auto& objective : job.aim.goals.objectives) names.push_back(objective.metric);
  study.set_attribute(search::optuna::metric_names, names);
}

void warn_of_other_evaluator(const Json& known, const Json& now, const Source& source) {
  const std::string what = other_evaluator(known, now).what;
  if (what.empty() || !source.warn) return;
  source.warn("search_evaluator may be another one than in the run before: " + what +
              ". Values of both stand in one study; another study_name and output_dir begin a new one");
}

// What may be noise, or nothing but a path in a script, is a warning.
void check_same_evaluator(const Json& there, const Json& here, const Source& source) {
  const auto [what, certain] = other_evaluator(there, here);
  if (certain)
    throw Error("this worker's search_evaluator is another one than the search's: " + what + "; give it the same files");
  if (!what.empty() && source.warn) source.warn("this worker's search_evaluator may be another one than the search's: " + what);
}

// A resumed study may have another tolerance: what was given up early for a stricter one is not known to miss it.
void reconsider_trials(search::Study& study, const Job& job, const eval::Evaluator& evaluator) {
  study.outdate([&](const search::Trial& trial) { return may_meet_now(trial, job.aim); });
  study.reconsider([&](const search::Trial& trial) {
    return trial.violation() <= 0 && is_good_enough(job.aim, measures_of(job.aim.goals, trial), evaluator.reference());
  });
}

// The first trial whose value ties with the best one's: the racer's incumbent had the study not been interrupted.
const search::Trial* first_of_the_best(const search::Study& study) {
  const search::Trial* const best = study.best();
  if (best == nullptr || best->values.size() != 1) return best;
  for (const search::Trial& trial : study.trials()) {
    const bool complete =
        trial.state == search::State::complete && !trial.is_duplicate() && trial.violation() <= best->violation();
    const double difference = complete ? std::abs(trial.values.front() - best->values.front()) : INFINITY;
    if (difference <= search::tie * std::abs(best->values.front())) return &trial;
  }
  return best;
}

// What is told of every trial belongs to the log; on the screen stands what became of them.
Log of_trials(const Log& log) {
  return [log](Level level, const std::string& text) { tell(log, level == Level::info ? Level::debug : level, text); };
}

}  // namespace

Variants variants_of(const Job& job, const PreparedJob& prepared, const Log& log) {
  const RounderOptions rounding{.memory_limit = job.limits.memory,
                                .threads = std::max<size_t>(1, cores() / static_cast<size_t>(job.n_jobs)),
                                .log = of_trials(log)};
  return {prepared.original,
          prepared.model,
          prepared.samples.calibration,
          prepared.spaces.needs,
          {.rounding = rounding, .log = log, .statistics_dir = job.output.statistics_dir}};
}

namespace {

// Of a model that finds more boxes or fewer once it is quantized there is no distance: where the user's decoder counts them, what
// is reported beside (relative, cos) is left out.
bool has_no_distances(const Job& job, const PreparedJob& prepared, const std::vector<std::string>& metrics) {
  if (job.aim.decoder.is_null() || ops::chosen_outputs(prepared.model).outputs.empty()) return false;
  const Json given = job.words.value("search_metric", Json());
  std::vector<std::string> asked;  // whatever the user names, and goals are about
  for (const Json& one : given.is_array() ? given : Json::array({given})) {
    if (!one.is_null() && !is_own(job.aim.goals, one.is_string() ? one.get<std::string>() : ""))
      asked.push_back(eval::metric_text(one));
  }
  for (const auto& objective : job.aim.goals.objectives) asked.push_back(objective.metric);
  for (const auto& constraint : job.aim.goals.constraints) asked.push_back(constraint.metric);
  if (job.aim.criterion) {
    for (const auto& part : job.aim.criterion->parts) asked.push_back(part.metric);
  }
  return std::ranges::all_of(metrics, [&](const std::string& metric) {
    const bool beside = (metric == "relative" || metric == "cos") && std::ranges::find(asked, metric) == asked.end();
    return beside || is_own(job.aim.goals, metric) || eval::make_metric(metric)->needs_decoder();
  });
}

}  // namespace

eval::Evaluator evaluator_of(const Job& job, const PreparedJob& prepared) {
  eval::EvaluatorOptions options = evaluator_options(job, prepared.chosen.judged, false);
  options.judge_head = true;
  if (has_no_distances(job, prepared, options.metrics))
    std::erase_if(options.metrics, [](const std::string& metric) { return metric == "relative" || metric == "cos"; });
  return {prepared.model, prepared.samples.evaluation, options};
}

Job with_head(Job job, const eval::Evaluator& evaluator) {
  const auto is_scored = [&](const std::string& metric) {
    return is_own(job.aim.goals, metric) || evaluator.reference().contains(eval::metric_text(metric));
  };
  std::erase_if(job.aim.metrics, [&](const std::string& metric) { return !is_scored(metric); });
  const auto& head = evaluator.head();
  if (!head || head->metric.empty() || std::ranges::find(job.aim.metrics, head->metric) != job.aim.metrics.end()) return job;
  job.aim.metrics.push_back(head->metric);
  job.aim.head_decoder = head->decoder;
  return job;
}

std::vector<search::Trial> finished_before(const Job& job, const data::Splits& samples) {
  const auto storage = search::open_to_read(storage_url(job.study));
  if (storage == nullptr) return {};
  if (!job.study.load_if_exists) {
    search::refuse_existing(storage->studies(), job.study.name);
    return {};
  }
  std::vector<search::Trial> out;
  for (const auto& study : storage->studies()) {
    if (study.name != job.study.name && study.name != job.study.predecessor) continue;
    check_comparable(job.study, study.name, study.user_attributes, goal_of(job, samples));
    if (study.name != job.study.name) continue;
    out = storage->trials(study.id);
    std::erase_if(out, [](const auto& trial) { return !trial.finished(); });
  }
  return out;
}

std::unique_ptr<search::Storage> open_early(const StudyKeys& keys) {
  const std::string url = storage_url(keys);
  search::expect_place(url);
  if (!search::storage_exists(url)) return nullptr;
  auto storage = search::open_storage(url);
  if (!keys.load_if_exists) search::refuse_existing(storage->studies(), keys.name);
  return storage;
}

search::Study lead_study(const Job& job, search::Storage& storage, const Source& source, const std::string& launch) {
  const Json goal = goal_of(job, source.samples);
  for (const auto& before : storage.studies()) {
    if (before.name == job.study.predecessor || before.name == job.study.name)
      check_comparable(job.study, before.name, before.user_attributes, goal);
  }
  search::Study study(storage, {.name = job.study.name,
                                .directions = job.aim.goals.directions(),
                                .resume = job.study.load_if_exists,
                                .only_claimed = true,
                                .launch = launch,
                                .heartbeat = job.study.heartbeat});
  const Json facts = evaluator_facts(job, source.evaluator.reference());
  const auto other = other_version({study.id(), job.study.name, {}, study.user_attributes()}, runtime::version());
  if (!other.empty() && source.warn) source.warn(other);
  warn_of_other_evaluator(study.user_attributes().value(evaluator_attribute, Json()), facts, source);
  bind(study, job, goal);
  if (!facts.is_null()) study.set_attribute(evaluator_attribute, facts);
  reconsider_trials(study, job, source.evaluator);
  return study;
}

search::Study join_study(const Job& job, search::Storage& storage, const Source& source) {
  search::Study study(storage, {.name = job.study.name,
                                .directions = job.aim.goals.directions(),
                                .worker = true,
                                .only_claimed = true,
                                .heartbeat = job.study.heartbeat});
  expect_same_version({study.id(), job.study.name, {}, study.user_attributes()});
  check_same_job(study.user_attributes().at(job_attribute), without_secrets(job.words));  // first: by the keys that users write
  const Json goal = goal_of(job, source.samples);
  for (const auto& [key, here] : goal.items()) {
    const Json there = study.user_attributes().value(key, Json());
    if (is_same(there, here)) continue;
    const std::string cure =
        "; `quasar worker ADDRESS` takes the search's own from the study, --model, --calib and --eval name them";
    throw Error("the study '" + job.study.name + "' searches with another " + key + " than this worker" +
                (is_fingerprint(key) ? cure : " (" + there.dump() + ", here " + here.dump() + ")"));
  }
  check_same_evaluator(study.user_attributes().value(evaluator_attribute, Json()),
                       evaluator_facts(job, source.evaluator.reference()), source);
  check_same_heartbeat(study.heartbeat(), job);
  reconsider_trials(study, job, source.evaluator);
  return study;
}

TrialRoom::TrialRoom(const Job& job, const PreparedJob& prepared, Variants& variants, const eval::Evaluator& evaluator,
                     const search::Study& study)
    : devices(job.devices),
      racer(prepared.strategy->races() ? racer_of(job.aim, job.pruner, prepared.spaces, study, evaluator) : nullptr),
      rejection(EarlyRejection::of(job.aim, evaluator, job.seed)),
      context{.job = job,
              .model = prepared.model,
              .target = *prepared.target,
              .space = prepared.spaces.all,
              .variants = variants,
              .evaluator = evaluator,
              .book = book,
              .samples = *prepared.samples.evaluation,
              .undisturbed = undisturbed,
              .devices = devices,
              .racer = racer.get(),
              .rejection = rejection.get(),
              .float_ms = study.user_attributes().value(float_ms_attribute, 0.0)} {}

Finding run_strategy(const TrialContext& context, const PreparedJob& prepared, search::Study& study, const Monitor& monitor,
                     Deadline::Clock::time_point begin) {
  recall_models(context, study.trials());
  try {
    if (const search::Trial* incumbent = first_of_the_best(study)) recall_best(context, *incumbent);
  } catch (const Cancelled&) {  // the trials end likewise, and the winner is built in the end
  }
  const search::Objective objective = [&](search::RunningTrial& trial) { return try_point(context, trial); };
  // What others find out is compared with here, too.
  const search::Listener listener = [&](const search::Event& event) {
    if (event.elsewhere && context.racer != nullptr) context.racer->learn(event.trial);
    if (monitor.listener) monitor.listener(event);
  };
  return prepared.strategy->run({.trial_context = &context,
                                 .job = context.job,
                                 .spaces = prepared.spaces,
                                 .space = prepared.spaces.each.front(),
                                 .study = study,
                                 .objective = objective,
                                 .listener = listener,
                                 .stop = monitor.stop,
                                 .samples = prepared.samples.calibration,
                                 .earlier = judged_anew(prepared.earlier, context.job.aim, context.evaluator.reference()),
                                 .begin = begin,
                                 .log = monitor.log});
}

}  // namespace quasar::tune
