// The keys of a configuration that say what is good.
#include <algorithm>
#include <set>

#include "quasar/eval/decoder.hpp"
#include "quasar/eval/metric.hpp"
#include "quasar/job/job_parts.hpp"

namespace quasar::tune {
namespace {

// What the user's evaluator gives; empty without one.
std::vector<eval::OwnMetric> own_metrics(const Aim& aim) {
  return aim.evaluator ? aim.evaluator->metrics() : std::vector<eval::OwnMetric>();
}

// The direction of what the evaluator gives where its own words say none: `direction`, or, of its only metric, the criterion's
// higher_is_better. "": maximize.
std::string direction_from(const Options& keys) {
  if (const Json given = keys.json("direction"); given.is_string()) return given.get<std::string>();
  const Json evaluator = keys.json("search_evaluator"), criterion = keys.json("accuracy_criterion");
  const Json metrics = evaluator.is_object() ? evaluator.value("metrics", Json()) : Json();
  const bool one = metrics.is_null() || (metrics.is_array() && metrics.size() == 1);
  const bool of_it = criterion.is_object() && criterion.value("metrics", Json()).is_null();
  const Json higher = of_it ? criterion.value("higher_is_better", Json()) : Json();
  return one && higher.is_boolean() ? (higher.get<bool>() ? "maximize" : "minimize") : "";
}

// nullptr where search_evaluator is left out or names a metric.
std::shared_ptr<const eval::CustomEvaluator> evaluator_of(const Options& keys) {
  if (!keys.has("search_evaluator") || keys.json("search_evaluator").is_string()) return nullptr;
  return eval::custom_evaluator(keys.json("search_evaluator"), direction_from(keys));
}

// search_evaluator may name a built-in metric; a name of none is told with the forms that one of the user's own has.
std::string metric_in_place_of_evaluator(const Json& word) {
  try {
    return metric_named(word, "search_evaluator", {}, Listed::metrics);
  } catch (const Error& error) {
    throw Error(std::string(error.what()) +
                "; a score of your own is {command: …}, {python: file.py:function} or {library: …}, in Python a function");
  }
}

// search_evaluator decides: by that of its metrics which search_metric names first, else by its first. Other metrics that the
// user names are reported.
std::vector<std::string> metric_names(const Options& keys, const std::vector<eval::OwnMetric>& own) {
  const bool criterion = !keys.given("search_metric") && keys.has("accuracy_criterion");
  const auto judged = criterion ? metrics_of_criterion(keys.json("accuracy_criterion"), own) : std::vector<std::string>();
  const Json given = keys.has("search_metric") ? keys.json("search_metric") : judged.empty() ? Json("parts") : Json(judged);
  Json list = given.is_array() ? given : Json::array({given});
  if (keys.has("search_evaluator")) {
    if (!keys.given("search_metric")) list = Json::array();
    Json first = Json::array();
    const auto is_own = [&](const Json& name) {
      return std::ranges::any_of(own, [&](const auto& metric) { return name == metric.name; });
    };
    std::ranges::copy_if(list, std::back_inserter(first), is_own);
    for (const auto& [name, direction] : own) {
      if (std::ranges::find(first, Json(name)) == first.end()) first.push_back(name);
    }
    if (own.empty()) first.push_back(metric_in_place_of_evaluator(keys.json("search_evaluator")));
    for (const Json& name : list) {
      if (std::ranges::find(first, name) == first.end()) first.push_back(name);
    }
    list = std::move(first);
  }
  std::vector<std::string> names;
  for (const auto& name : list) names.push_back(metric_named(name, "search_metric", own, Listed::metrics));
  if (names.empty()) throw Error("search_metric is an empty list, but must name at least one metric");
  for (const auto& name : names) {
    if (is_cost(name)) throw Error("search_metric: " + name + " is no metric; write it in 'objectives' or 'constraints'");
  }
  if (std::set<std::string>(names.begin(), names.end()).size() != names.size())
    throw Error("search_metric names a metric twice: " + given.dump());
  return names;
}

// An explicit contradiction with a built-in metric is an error: a search in the wrong direction returns the worst model.
void check_direction(const Options& keys, const std::string& metric, const std::vector<eval::OwnMetric>& own) {
  if (!keys.has("direction")) return;
  const Json& word = keys.json("direction");
  if (word != "minimize" && word != "maximize") throw Error("direction is " + word.dump() + ", but must be minimize or maximize");
  const std::string given = word.get<std::string>();
  const bool maximize = direction_of(metric, own) == Direction::maximize;
  if ((given == "maximize") != maximize) {
    throw Error("direction is '" + given + "', but metric " + metric + " is better when " +
                (maximize ? "higher (maximize)" : "lower (minimize)") + "; leave the key out");
  }
}

void add_metric(Aim& aim, const std::string& metric) {
  if (std::ranges::find(aim.metrics, metric) == aim.metrics.end()) aim.metrics.push_back(metric);
}

// Metrics that the criterion names are scored too.
// `metric`: the first of search_metric, which the criterion is about where the objective is a cost; "": none is given.
void read_criterion(Aim& aim, const Options& keys, const std::string& metric) {
  const std::string& objective = aim.goals.objectives.front().metric;
  if (keys.has("accuracy_criterion")) {
    if (aim.goals.objectives.size() > 1)
      throw Error("accuracy_criterion goes with one objective; with several write constraints: [{metric: …, max_drop: …}]");
    const Json& words = keys.json("accuracy_criterion");
    const std::string& judged = !is_cost(objective) ? objective : metric.empty() ? aim.metrics.front() : metric;
    aim.criterion = parse_criterion(words, judged, aim.goals.own);
    for (const auto& part : aim.criterion->parts) add_metric(aim, part.metric);
  }
  aim.tolerance = keys.json("search_metric_tolerance");
  if (aim.tolerance.is_null()) return;
  if (!aim.tolerance.is_number()) throw Error("search_metric_tolerance is " + aim.tolerance.dump() + ", but must be a number");
  if (is_cost(objective))
    throw Error("search_metric_tolerance compares with the float model, but the first objective is " + objective +
                "; put a metric first, or write constraints");
}

}  // namespace

Aim aim_of(const Options& keys, const std::filesystem::path& base, const StrategyFacts& strategy) {
  Aim aim;
  const bool several = !keys.json("objectives").is_null();
  if (several && keys.has("direction")) throw Error("direction is for search_metric; every one of 'objectives' knows its own");
  const bool plain = !several || keys.given("search_metric") || keys.given("search_evaluator");
  aim.evaluator = evaluator_of(keys);
  const auto own = own_metrics(aim);
  const std::vector<std::string> metrics = plain ? metric_names(keys, own) : std::vector<std::string>();
  const Json objectives = several ? keys.json("objectives") : strategy.objectives();
  aim.goals = parse_goals(objectives, keys.json("constraints"), metrics, own);
  if (!several) check_direction(keys, metrics.front(), own);
  aim.metrics = scored(aim.goals, metrics);
  if (aim.metrics.empty()) aim.metrics = {"parts"};
  read_criterion(aim, keys, metrics.empty() ? "" : metrics.front());
  aim.decoder = keys.json("decoder");
  if (!aim.decoder.is_null()) eval::make_decoder(aim.decoder, base);  // checks it
  for (const auto& metric : aim.metrics) {
    if (aim.decoder.is_null() && !is_own(aim.goals, metric) && eval::make_metric(metric)->needs_decoder())
      throw Error("metric '" + metric + "' needs a decoder: " + joined(eval::decoders::table().names()) +
                  "; `quasar inspect MODEL` says which one fits a head that is recognized");
  }
  aim.output_weights = keys.json("output_weights");
  aim.least_agreement = keys.real("least_agreement");
  for (const auto& metric : strategy.metrics()) add_metric(aim, metric);
  // A distance in units of its own says nothing without these. What a user's evaluator alone scores is not compared.
  const auto built_in = [&](const std::string& metric) { return !is_own(aim.goals, metric); };
  if (std::ranges::any_of(aim.metrics, built_in)) {
    for (const char* metric : {"relative", "cos"}) add_metric(aim, metric);
  }
  return aim;
}

}  // namespace quasar::tune
