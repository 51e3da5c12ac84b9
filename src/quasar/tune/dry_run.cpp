// What `quasar search --dry-run` says.
#include <algorithm>
#include <mutex>
#include <optional>
#include <set>
#include <span>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/deadline.hpp"
#include "quasar/base/error.hpp"
#include "quasar/base/parallel.hpp"
#include "quasar/base/stopwatch.hpp"
#include "quasar/job/cost.hpp"
#include "quasar/rounding/activation_scales.hpp"
#include "quasar/runtime/latency.hpp"
#include "quasar/runtime/session.hpp"
#include "quasar/search/trial.hpp"
#include "quasar/strategy/exit_policy.hpp"
#include "quasar/studies/continuation.hpp"
#include "quasar/trial/nothing_quantized.hpp"
#include "quasar/trial/racing.hpp"
#include "quasar/trial/trial.hpp"
#include "quasar/trial/variants.hpp"
#include "quasar/tune/prepared_job.hpp"
#include "quasar/tune/search_parts.hpp"

namespace quasar::tune {
namespace {

constexpr int points_per_space = 50;

// Means over configurations drawn from the spaces.
struct Drawn {
  double scoring = 0, rounding = 0;       // in units of scoring the float model
  double rounding_share = 0;              // of the configurations that round
  std::optional<quant::Config> one;       // of all
  std::optional<quant::Config> to_round;  // one of these
  double cost_of_it = 0;                  // of its rounding, in the same units
};

double without_rounding(quant::Config config) {
  config.rounding = {};
  return expected_cost(config);
}

Drawn draw(const Job& job, const Spaces& spaces) {
  Drawn out;
  double count = 0, rounded = 0;
  for (const search::Space& space : spaces.each) {
    Rng rng(job.seed);
    for (int i = 0; i < points_per_space && !space.empty(); ++i) {
      try {
        const quant::Config config = quant::parse_config(words_of(space, space.sample(rng)));
        const double scoring = without_rounding(config), rounding = expected_cost(config) - scoring;
        count += 1, out.scoring += scoring, out.rounding += rounding;
        if (!out.one) out.one = config;
        if (rounding <= 0) continue;
        rounded += 1;
        if (!out.to_round) out.to_round = config, out.cost_of_it = rounding;
      } catch (const Error&) {  // no configuration: it costs nothing
      }
    }
  }
  if (count > 0) out.scoring /= count, out.rounding /= count, out.rounding_share = rounded / count;
  return out;
}

// The second of two stages rounds in every trial, the first in none.
double share_that_rounds(const PreparedJob& prepared, double share, uint64_t trials) {
  if (!prepared.strategy->in_stages() || share == 0 || trials == 0) return share;
  double calibrations = 0;
  for (const auto& space : prepared.spaces.calibration) calibrations += static_cast<double>(space.valid().value_or(0));
  return std::max(0.0, 1 - calibrations / static_cast<double>(trials));
}

// How far the last piece of work is, and when it was so far.
class Stages {
 public:
  struct Mark {
    double seconds = 0, share = 0;
  };
  struct Stage {
    std::string work;
    Mark first, last;  // after its beginning, which has costs of its own

    // Of all that there is until the end of this stage; nullopt: too little is done.
    std::optional<double> whole() const {
      if (last.share <= first.share) return std::nullopt;
      return first.seconds + (1 - first.share) * (last.seconds - first.seconds) / (last.share - first.share);
    }
  };

  void begin() {
    const std::lock_guard lock(guard_);
    now_ = {};
    watch_ = Stopwatch();
  }

  void hear(const std::string& work, double share) {
    const std::lock_guard lock(guard_);
    if (now_.work != work) now_ = {.work = work, .first = {}, .last = {}};
    if (share <= now_.last.share) return;
    now_.last = {watch_.seconds(), share};
    if (now_.first.share == 0) now_.first = now_.last;
  }

  double seconds() const { return watch_.seconds(); }

  Stage now() const {
    const std::lock_guard lock(guard_);
    return now_;
  }

 private:
  mutable std::mutex guard_;
  Stopwatch watch_;
  Stage now_;
};

// The job's models, all made from one calibration.
struct Bench {
  Bench(const PreparedJob& job, const Progress& progress)
      : prepared(job),
        variants(job.original, job.model, job.samples.calibration, job.spaces.needs,
                 {.progress = [this, progress](const std::string& work, double share) {
                   stages.hear(work, share);
                   if (progress) progress(work, share);
                 }}) {}

  const PreparedJob& prepared;
  Stages stages;
  Variants variants;
};

constexpr double most_rounding_s = 4;  // that a dry run spends on each part

// Of rounding this configuration, from how far it comes in a few seconds where it takes longer; nullopt: it fails, or comes
// nowhere.
std::optional<double> rounding_seconds(Bench& bench, quant::Config config) {
  quant::Plan plan = bench.variants.plan(config, *bench.prepared.target);
  const Deadline deadline(current_cancellation(), Deadline::after(most_rounding_s));
  bench.stages.begin();
  try {
    const CancelScope scope(deadline.token());
    bench.variants.build(config, plan);
    return bench.stages.seconds();
  } catch (const Cancelled&) {
    throw_if_cancelled();  // by somebody else
  }
  const Stages::Stage reached = bench.stages.now();
  const std::optional<double> whole = reached.whole();
  Json& options = config.rounding.options;
  if (!whole || reached.work != work_of_refining || !options.value("refine_activations", false)) return whole;
  options["refine_activations"] = false;  // what it would have gone on with
  const auto rest = rounding_seconds(bench, config);
  return rest ? std::optional(*whole + *rest) : std::nullopt;
}

// The same; nullopt also where it cannot be rounded.
std::optional<double> rounding_of(Bench& bench, const quant::Config& config) {
  try {
    return rounding_seconds(bench, config);
  } catch (const Error&) {  // the trial will fail, and say why
    return std::nullopt;
  }
}

// Of making this configuration's model without rounding, and its session; 0: it cannot be.
double building_seconds(Bench& bench, quant::Config config) {
  config.rounding = {};
  try {
    bench.variants.plan(config, *bench.prepared.target);  // observes, which is no trial's work
    const Stopwatch watch;
    quant::Plan plan = bench.variants.plan(config, *bench.prepared.target);
    const runtime::Session session(bench.variants.build(config, plan).model);
    return watch.seconds();
  } catch (const Error&) {
    return 0;
  }
}

std::optional<double> mean_seconds(std::span<const search::Trial> trials) {
  double sum = 0, count = 0;
  for (const auto& trial : trials) {
    const auto seconds = trial.is_duplicate() ? std::nullopt : trial.seconds();
    if (seconds) sum += *seconds, count += 1;
  }
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

// Seconds of one trial, on average: as the user expects it, else as those of `finished`, trials of the same study, took, else as
// those of earlier studies did, else from a run of the float model and, where the space rounds, from rounding one configuration
// for some seconds (a guess where that comes nowhere). `trials`: how many there will be; of two stages the second rounds.
double seconds_per_trial(const Job& job, Bench& bench, std::span<const search::Trial> finished, uint64_t trials) {
  const PreparedJob& prepared = bench.prepared;
  if (job.limits.expected_seconds > 0) return job.limits.expected_seconds;
  if (const auto own = mean_seconds(finished)) return *own;
  if (const auto earlier = mean_seconds(prepared.earlier)) return *earlier;
  const double run = runtime::latency(prepared.model, *prepared.samples.evaluation, {.turns = 20, .seconds = 2}).median_ms / 1000;
  const double scoring = run * static_cast<double>(prepared.samples.evaluation->size());
  const Drawn drawn = draw(job, prepared.spaces);
  const bool long_to_observe = run * static_cast<double>(prepared.samples.calibration->size()) > 5;
  const double building = drawn.one && !long_to_observe ? building_seconds(bench, *drawn.one) : 0;
  const double usual = std::max(drawn.scoring, 1.0) * scoring + building;
  if (!drawn.to_round || drawn.rounding_share == 0) return usual;
  const double guess = drawn.cost_of_it * run * static_cast<double>(prepared.samples.calibration->size());
  const double measured = long_to_observe ? guess : rounding_of(bench, *drawn.to_round).value_or(guess);
  const double mean = measured * drawn.rounding / drawn.rounding_share / drawn.cost_of_it;
  return usual + mean * share_that_rounds(prepared, drawn.rounding_share, trials);
}

// Trials that the job may run: {trials, of which in the first stage}; every point of a grid, else n_trials.
uint64_t trials_of(const Job& job, const Strategy& strategy, const Spaces& spaces) {
  uint64_t points = 0, calibrations = 0, combinations = 0, of_calibration = 0;
  bool finite = true;
  for (size_t i = 0; i < spaces.each.size(); ++i) {
    finite = finite && spaces.each[i].valid();
    points += spaces.each[i].valid().value_or(0);
    combinations += spaces.each[i].size().value_or(0);
    calibrations += spaces.calibration[i].valid().value_or(0);
    of_calibration += spaces.calibration[i].size().value_or(0);
    constexpr uint64_t in_each_form = 2;  // the default and the best of the first form
    for (const auto& space : spaces.other_forms[i]) {
      calibrations += std::min(in_each_form, space.valid().value_or(0));
      of_calibration += space.size().value_or(0);
    }
  }
  const auto wanted = strategy.most_trials(job.limits);
  if (strategy.in_stages()) {
    const uint64_t around_winner = combinations / std::max<uint64_t>(of_calibration, 1);  // the fine-tuning of one calibration
    const uint64_t second = wanted ? static_cast<uint64_t>(*wanted) : around_winner;
    return calibrations + (finite ? std::min(second, around_winner) : second);
  }
  if (!wanted) return points;
  return finite ? std::min(points, static_cast<uint64_t>(*wanted)) : static_cast<uint64_t>(*wanted);
}

}  // namespace

namespace {

// What may end a search for an accuracy goal; `trials` is the most that it may take.
Json end_of(const Job& job, const Strategy& strategy, uint64_t trials) {
  Json out = Json::array();
  if (job.limits.exit.timeout == 0) out.push_back("goal");
  const auto most = strategy.most_trials(job.limits);
  const MostTrials bound = most_trials_of(job.limits);
  const bool by_number = most && static_cast<uint64_t>(*most) <= trials;
  out.push_back(!by_number ? "space" : *most == bound.count ? bound.key : "n_trials");
  if (time_limit_of(conditions_of(job.limits))) out.push_back(job.limits.exit.timeout > 0 ? "timeout" : "time_limit");
  return out;
}

constexpr double most_calibration_s = 20;   // that a dry run spends
constexpr size_t most_plans = 2000;         // that it makes
constexpr uint64_t most_points = 100000;    // whose configurations it compares
constexpr double runs_per_observation = 3;  // of a sample: taps and histograms cost about two more

// The model's hash; "": it is none, and the trial will fail and say why.
std::string plan_hash(Bench& bench, const search::Space& space, const search::Point& point) {
  if (!space.refused(point).empty()) return "";
  try {
    const quant::Config config = quant::parse_config(words_of(space, point));
    const quant::Plan plan = bench.variants.plan(config, *bench.prepared.target);
    require_quantized(plan, {bench.prepared.model, config});
    const bool little = !hardly_quantized(plan, bench.variants.graph_of(config)->model, bench.variants.seen(config)).empty();
    return little ? "" : quant::hash_of(plan);
  } catch (const Error&) {
    return "";
  }
}

// How many different models the calibrations of each space make, by making their plans; null where that would take long.
std::vector<Json> distinct_plans(Bench& bench, const Progress& progress) {
  const PreparedJob& prepared = bench.prepared;
  std::vector<Json> out(prepared.spaces.calibration.size());
  uint64_t points = 0;
  for (const auto& space : prepared.spaces.calibration) points += space.size().value_or(most_plans + 1);
  const double run_s =
      runtime::latency(prepared.model, *prepared.samples.calibration, {.turns = 3, .seconds = 1}).median_ms / 1000;
  const double calibration_s = runs_per_observation * run_s * static_cast<double>(prepared.samples.calibration->size());
  if (points > most_plans || calibration_s > most_calibration_s) return out;
  bench.variants.observe();
  Parts parts(progress, "plans", points);
  for (size_t i = 0; i < out.size(); ++i) {
    const search::Space& space = prepared.spaces.calibration[i];
    if (space.empty()) continue;
    std::vector<std::string> hashes(*space.size());
    parallel_for(hashes.size(), 0, [&](size_t k) {
      hashes[k] = plan_hash(bench, space, space.at(k));
      parts.done();
    });
    std::set<std::string> different(hashes.begin(), hashes.end());
    different.erase("");
    out[i] = different.size();
  }
  return out;
}

// Trials whose model is another one's cost nothing.
double executed_of(const Spaces& spaces, const std::vector<Json>& plans, uint64_t trials) {
  double points = 0, models = 0;
  for (size_t i = 0; i < plans.size(); ++i) {
    const auto size = spaces.calibration[i].valid();
    // What rounding makes of a plan is not known: configurations that differ are taken for models that do.
    // Facts are of the space that was written, without the operators that a strategy adds, which make models of their own.
    const Json written = spaces.facts[i].value("points", Json());
    if (written.is_number() && written != spaces.each[i].size().value_or(0)) return static_cast<double>(trials);
    const Json different = spaces.fine_tuning[i] && !spaces.facts[i].empty() ? spaces.facts[i]["distinct"] : plans[i];
    const auto all = spaces.fine_tuning[i] ? spaces.each[i].valid() : size;
    if (!different.is_number() || !all) return static_cast<double>(trials);
    points += static_cast<double>(*all);
    models += different.get<double>();
  }
  return points > 0 ? static_cast<double>(trials) * models / points : static_cast<double>(trials);
}

// So many of these trials, as if duplicates were spread evenly.
double within(double most, double trials, double executed) {
  return executed <= most ? trials : trials * most / executed;
}

// iteration_limit counts trials that run. Of two stages the first is a grid whose models are known; in the second all differ.
uint64_t within_limit(uint64_t trials, const Job& job, const PreparedJob& prepared, const std::vector<Json>& plans) {
  const Spaces& spaces = prepared.spaces;
  const Json limit = job.limits.stop.value("iteration_limit", Json());
  if (!limit.is_number() || limit.get<double>() < 0) return trials;
  const double most = limit.get<double>(), all = static_cast<double>(trials);
  if (!prepared.strategy->in_stages()) return static_cast<uint64_t>(within(most, all, executed_of(spaces, plans, trials)));
  double first = 0, executed = 0;
  for (size_t i = 0; i < plans.size(); ++i) {
    const auto points = static_cast<double>(spaces.calibration[i].valid().value_or(0));
    first += points;
    executed += plans[i].is_number() ? plans[i].get<double>() : points;
  }
  if (executed >= most) return static_cast<uint64_t>(within(most, first, executed));
  return static_cast<uint64_t>(first + std::min(all - first, most - executed));
}

}  // namespace

Json dry_run(const Job& asked, const Progress& progress) {
  const Job job = continued(asked);
  PreparedJob prepared = prepare(job);
  const data::Splits& samples = prepared.samples;
  const Calibration checked(prepared.model, samples.calibration, prepared.spaces.needs, {});
  const std::vector<search::Trial> before = finished_before(job, samples);
  Bench bench(prepared, progress);
  const std::vector<Json> plans = distinct_plans(bench, progress);
  const uint64_t trials = within_limit(trials_of(job, *prepared.strategy, prepared.spaces), job, prepared, plans);
  const uint64_t finished = std::min<uint64_t>(before.size(), trials);
  for (size_t i = 0; i < plans.size(); ++i) {
    // What rounding makes of a plan is not known before; the first of two stages does without.
    const bool known = !prepared.spaces.fine_tuning[i] || prepared.strategy->in_stages();
    if (!prepared.spaces.facts[i].empty()) prepared.spaces.facts[i]["plans"] = known ? plans[i] : Json();
  }
  for (size_t i = 0; i < plans.size(); ++i) {
    Json& known = prepared.spaces.facts[i];
    if (!known.empty() && known["distinct"].is_null())
      known["distinct"] = distinct_configurations(prepared.spaces.each[i], most_points);
    if (known.empty() || !known["invalid"].is_null()) continue;
    const Json invalid = invalid_combinations(prepared.spaces.calibration[i], most_points);
    if (!invalid.is_null()) known.update(invalid);
  }
  Json facts{{"space", prepared.spaces.facts[0]},
             {"strategy", job.strategy},
             {"trials", trials},
             {"nodes", prepared.model.nodes.size()}};
  if (const Json more = prepared.strategy->outlook(job, prepared.spaces.each.front(), prepared.model, *prepared.target);
      more.is_object())
    facts.update(more);
  if (job.aim.criterion) facts["ended_by"] = end_of(job, *prepared.strategy, trials);
  if (job.spaces.size() > 1) facts["spaces"] = prepared.spaces.facts;
  if (job.translated) facts["search_space"] = job.spaces.size() == 1 ? job.spaces[0] : Json(job.spaces);
  facts["samples"] = {{"calibration", samples.calibration->size()}, {"evaluation", samples.evaluation->size()}};
  if (samples.holdout) facts["samples"]["holdout"] = samples.holdout->size();
  const uint64_t left = trials - finished;
  const double runs = prepared.strategy->in_stages() ? static_cast<double>(left) : executed_of(prepared.spaces, plans, left);
  facts["expected_s"] = seconds_per_trial(job, bench, before, trials) * runs / static_cast<double>(job.n_jobs);
  if (const auto limit = time_limit_of(conditions_of(job.limits)))
    facts["expected_s"] = std::min(facts["expected_s"].get<double>(), *limit);
  if ((!job.warm_start.place.empty() || !job.study.predecessor.empty()) && prepared.strategy->learns_from_earlier())
    facts["warm_start"] = warm_start_facts(prepared);
  if (finished > 0) facts["finished"] = finished;
  facts["warnings"] = job.warnings;
  for (const auto& note : prepared.spaces.notes) facts["warnings"].push_back(note);
  if (const std::string note = idle_pruner(job); !note.empty()) facts["warnings"].push_back(note);
  return facts;
}

}  // namespace quasar::tune
