#include "quasar/tune/rescue.hpp"

#include <algorithm>
#include <cmath>
#include <regex>

#include "quasar/base/digits.hpp"
#include "quasar/base/names.hpp"
#include "quasar/job/precision.hpp"
#include "quasar/job/preset.hpp"
#include "quasar/quant/config/quantizable.hpp"
#include "quasar/strategy/exit_policy.hpp"
#include "quasar/strategy/parse_job.hpp"
#include "quasar/strategy/repair_space.hpp"
#include "quasar/strategy/strategy.hpp"

namespace quasar::tune {
namespace {

constexpr double share_of_repair = 1.0 / 3;
constexpr double enough_work = 0.75;  // in integers, of a model that meets the goal by what its strategy gave up

// Keys of the first search that say how it searches, and not what for.
constexpr const char* ways_to_search[] = {"preset",        "search_space",
                                          "search_spaces", "two_stage_search",
                                          "search_algo",   "strategy",
                                          "quant_level",   "enqueue",
                                          "warm_start",    "warm_start_study",
                                          "n_trials",      "tuning_criterion",
                                          "pruner",        "search_metric_tolerance",
                                          "op_type_dict",  "op_name_dict"};

int64_t first_share(int64_t most) {
  return std::max<int64_t>(1, most - static_cast<int64_t>(std::ceil(static_cast<double>(most) * share_of_repair)));
}

bool is_about_labels(const AccuracyCriterion& criterion, const Goals& goals) {
  return std::ranges::all_of(criterion.parts, [&](const auto& part) {
    return !is_own(goals, part.metric) && eval::make_metric(part.metric)->needs() != eval::Truth::none;
  });
}

// What makes the model poor. Where the user has a goal that is missed, only answers stand above it, and not above right ones.
Json goal_for(const Job& job, const Summary& summary) {
  const Quality& quality = summary.best->quality;
  const Json own = job.words.value("accuracy_criterion", Json());
  if (!quality.poor()) return own;
  if (summary.status != Status::goal_missed) return quality.goal;
  if (job.aim.criterion && !own.is_null() && is_about_labels(*job.aim.criterion, job.aim.goals)) return own;
  const bool answers = quality.answers && quality.goal["metrics"].contains(quality.answers->metric);
  return answers || !job.aim.criterion || own.is_null() ? quality.goal : own;
}

// What the user's own goal counts is measured beside another goal's metrics, so that it is known whether it was met.
void add_metrics_of_goals(Json& words, const Job& whole) {
  const Json goal = words.value("accuracy_criterion", Json()), own = whole.words.value("accuracy_criterion", Json());
  if (goal == own || !whole.aim.criterion || words.contains("search_metric") || !goal.contains("metrics")) return;
  Json metrics = Json::array();
  for (const auto& [metric, weight] : goal["metrics"].items()) metrics.push_back(metric);
  for (const auto& part : whole.aim.criterion->parts) {
    const bool is_known = std::ranges::find(metrics, Json(part.metric)) != metrics.end();
    if (!is_known && !is_own(whole.aim.goals, part.metric)) metrics.push_back(part.metric);
  }
  words["search_metric"] = std::move(metrics);
}

// Seconds in hundredths, as they are told.
double in_hundredths(double seconds) {
  return std::round(seconds * 100) / 100;
}

// Of the limits what the first search has not used; nullopt: nothing.
std::optional<Json> limits_left(const Job& whole, const Summary& first) {
  Json stop = whole.limits.stop;
  for (const char* key : {"find_n_candidates", "find_best_candidate", "patience", "n_trials"}) stop.erase(key);
  if (const auto seconds = time_limit_of(conditions_of(whole.limits))) {
    const double left = *seconds - first.seconds;
    if (left < 1) return std::nullopt;
    stop["time_limit"] = in_hundredths(left);
  }
  if (const auto most = trials_wanted(whole.limits); most && (n_trials_of(whole.limits) || max_trials_of(whole.limits))) {
    const int64_t left = *most - first_share(*most);  // what with_two_thirds() has kept
    if (left < 1) return std::nullopt;
    stop["n_trials"] = left;
  }
  return stop;
}

// What the user's dictionaries keep in float32, as elements of `exclude`; nullopt: they say more than that. Keys are regular
// expressions, which `exclude` knows of names alone.
std::optional<Json> kept_in_float(const TuningKeys& keys) {
  const auto keeps = [](const Json& wish) {
    return std::ranges::all_of(wish, [](const Json& items) {
      const Json dtype = items.value("dtype", Json());
      return items.size() == 1 && (dtype == "fp32" || dtype == Json{"fp32"});
    });
  };
  Json out = Json::array();
  const auto says_more = [&](const Json& wishes) { return !std::ranges::all_of(wishes, keeps); };
  if (says_more(keys.op_types) || says_more(keys.op_names)) return std::nullopt;
  for (const auto& [pattern, wish] : keys.op_types.items()) {
    try {
      const std::regex expression(pattern);
      for (const auto& type : quant::quantizable_types())
        if (std::regex_match(type, expression)) out.push_back({{"op_type", type}});
    } catch (const std::regex_error&) {  // the search says what is wrong with it
      return std::nullopt;
    }
  }
  for (const auto& [pattern, wish] : keys.op_names.items()) out.push_back({{"regex", pattern}});
  return out;
}

// As a parameter of a space has it, where a list has its choices.
Json one_choice(const Json& value) {
  return Json::array({value});
}

// Where the first search chose from one space: that space with what its winner has, so that nothing is chosen twice. nullopt: its
// strategy has given operators up, which repair does its own way.
std::optional<Json> space_of_winner(const Job& job, const Winner& winner) {
  if (job.spaces.size() != 1 || job.spaces.front().empty() || given_up(winner.trial.point) > 0) return std::nullopt;
  const Json& whole = job.spaces.front();
  const search::Space space = search::Space::parse(whole);
  Json flat = Json::object(), out = Json::object();
  for (const auto& [name, value] : winner.trial.point.values()) flat[name] = value;
  const Json held = space.decode(space.nearest_to(flat));
  for (const auto& [name, value] : held.items()) {
    if (!whole.at(name).is_object()) {
      out[name] = one_choice(value);
      continue;
    }
    out[name]["only_if"] = whole.at(name).at("only_if");
    for (const auto& [member, choice] : value.items()) out[name][member] = one_choice(choice);
  }
  if (!winner.config.exclude.empty()) out["exclude"] = one_choice(winner.config.exclude);  // regions too, which are faster so
  return out;
}

double worst_part(const Quality& quality) {
  double worst = 0;
  for (const auto& part : quality.parts) worst = std::max(worst, part.relative);
  return worst;
}

// Of two poor ones.
bool is_better(const Quality& a, const Quality& b) {
  if (a.answers && b.answers && a.answers->same != b.answers->same) return a.answers->same > b.answers->same;
  return worst_part(a) < worst_part(b);
}

}  // namespace

bool is_rescued(const Job& job) {
  const Json preset = job.words.value("preset", Json());
  return (preset.is_string() && presets::table().make(preset.get<std::string>())->is_rescued()) ||
         strategies::table().make(job.strategy)->is_rescued();
}

Job with_two_thirds(Job job) {
  if (!kept_in_float(job.tuning)) return job;  // there will be no repair
  if (job.limits.n_trials > 0) job.limits.n_trials = first_share(job.limits.n_trials);
  if (job.limits.exit.max_trials) job.limits.exit.max_trials = first_share(*job.limits.exit.max_trials);
  for (const char* key : {"n_trials", "time_limit"}) {
    const Json given = job.limits.stop.value(key, Json());
    if (!given.is_number() || given.get<double>() <= 0) continue;
    if (std::string(key) == "n_trials") {
      job.limits.stop[key] = first_share(given.get<int64_t>());
    } else {
      job.limits.whole_time = given.get<double>();
      job.limits.stop[key] = in_hundredths(job.limits.whole_time * (1 - share_of_repair));
    }
  }
  return job;
}

std::string why_rescued(const Job& job, const Summary& summary) {
  if (!summary.best || summary.status == Status::interrupted || summary.asked_to_stop || !summary.lost.empty()) return "";
  if (summary.best->quality.poor()) return "the best model is poor: " + joined(summary.best->quality.reasons, "; ");
  if (summary.status == Status::goal_missed && job.words.contains("accuracy_criterion"))
    return "the goal is missed: " + summary.reason;
  const double work = summary.best->quantized_work;
  if (summary.status == Status::ok && work < enough_work && strategies::table().make(job.strategy)->is_rescued())
    return "the best model meets the goal with " + in_digits(100 * (1 - work), 3) + " % of its " + summary.best->unit_of_work +
           " in float";
  return "";
}

std::optional<Job> rescue_of(const Job& whole, const Summary& poor, const std::filesystem::path& folder, const Log& log) {
  if (why_rescued(whole, poor).empty()) return std::nullopt;
  const auto limits = limits_left(whole, poor);
  if (!limits) return std::nullopt;
  const auto excluded = kept_in_float(whole.tuning);
  if (!excluded) {
    tell(log, Level::warning,
         "strategy repair is not tried: op_type_dict and op_name_dict say more than which operators stay in fp32, and it has no "
         "words for that");
    return std::nullopt;
  }
  Json words = whole.words;
  for (const char* key : ways_to_search) words.erase(key);
  words["strategy"] = "repair";
  if (!excluded->empty()) {
    words["search_space"] = repairs_for(whole.target, whole.tuning.approach);
    words["search_space"]["exclude"] = one_choice(*excluded);
  } else if (auto space = space_of_winner(whole, *poor.best)) {
    words["search_space"] = std::move(*space);
  }
  if (Json goal = goal_for(whole, poor); !goal.is_null()) words["accuracy_criterion"] = std::move(goal);
  add_metrics_of_goals(words, whole);
  words["search_stop_condition"] = *limits;
  if (!words.contains("decoder") && poor.head.is_object() && poor.head.contains("decoder"))
    words["decoder"] = poor.head["decoder"];
  words["load_study_if_exists"] = true;
  words["output_dir"] = folder.string();
  Job job = parse_job(words, whole.base);
  job.limits.one_model = false;  // there is one
  job.study.storage = storage_url(whole.study);
  job.study.name = whole.study.name + "-repair";
  job.aim.evaluator = whole.aim.evaluator;
  return job;
}

void judge_by(const Aim& aim, Summary& repaired) {
  const auto& own = aim.criterion;
  if (!own || repaired.status != Status::ok || !repaired.best) return;
  const Measures measures = measures_of(repaired.best->metrics), baseline = measures_of(repaired.baseline.metrics);
  const auto was_measured = [&](const auto& part) { return measures.contains(part.metric) && baseline.contains(part.metric); };
  if (!std::ranges::all_of(own->parts, was_measured) || excess_of(*own, measures, baseline) <= 0) return;
  repaired.status = Status::goal_missed;
  repaired.reason += "; it was repaired for its answers, and the goal " + goal_in_words(*own, baseline) +
                     " is missed: " + reached(*own, measures, baseline);
}

bool takes_the_place_of(const Summary& poor, const Summary& repaired) {
  if (!repaired.best || repaired.status == Status::interrupted || repaired.best->quality.word == "unknown") return false;
  if (!poor.best->quality.poor()) {
    return repaired.status == Status::ok && !repaired.best->quality.poor() &&
           (poor.status != Status::ok || repaired.best->quantized_work > poor.best->quantized_work);
  }
  return !repaired.best->quality.poor() || is_better(repaired.best->quality, poor.best->quality);
}

}  // namespace quasar::tune
