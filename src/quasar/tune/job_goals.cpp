// The keys of a configuration that say what is good.
#include <algorithm>
#include <set>

#include "quasar/eval/metric.hpp"
#include "quasar/tune/job_parts.hpp"
#include "quasar/tune/strategy.hpp"

namespace quasar::tune {
namespace {

std::vector<std::string> metric_names(const Options& keys) {
  const Json given = keys.has("search_metric") ? keys.json("search_metric") : Json("L2");
  Json list = given.is_array() ? given : Json::array({given});
  if (keys.has("search_evaluator")) {  // decides; the metrics that the user names as well are reported
    const Json evaluator = keys.json("search_evaluator");
    if (!evaluator.is_string())
      throw Error("search_evaluator: only the name of a metric is supported yet, not " + evaluator.dump());
    if (!keys.given("search_metric")) list = Json::array();
    list.erase(std::remove(list.begin(), list.end(), evaluator), list.end());
    list.insert(list.begin(), evaluator);
  }
  std::vector<std::string> names;
  for (const auto& name : list) {
    if (!name.is_string()) throw Error("search_metric: " + name.dump() + " is not the name of a metric");
    names.push_back(eval::metrics::table().resolve(name.get<std::string>()));
  }
  if (names.empty()) throw Error("search_metric is an empty list, but must name at least one metric");
  if (std::set<std::string>(names.begin(), names.end()).size() != names.size())
    throw Error("search_metric names a metric twice: " + given.dump());
  return names;
}

// An explicit contradiction with a built-in metric is an error: a search in the wrong direction returns the worst model.
void check_direction(const Options& keys, const std::string& metric) {
  if (!keys.has("direction")) return;
  const Json& word = keys.json("direction");
  if (word != "minimize" && word != "maximize") throw Error("direction is " + word.dump() + ", but must be minimize or maximize");
  const std::string given = word.get<std::string>();
  const bool maximize = eval::metrics::table().make(metric)->direction() == eval::Direction::maximize;
  if ((given == "maximize") != maximize) {
    throw Error("direction is '" + given + "', but metric " + metric + " is better when " +
                (maximize ? "higher (maximize)" : "lower (minimize)") + "; leave the key out");
  }
}

}  // namespace

namespace {

void read_criterion(Job& job, const Options& keys) {
  const std::string& objective = job.goals.objectives.front().metric;
  if (keys.has("accuracy_criterion")) {
    if (job.goals.objectives.size() > 1 || is_cost(objective) || !job.goals.constraints.empty())
      throw Error("accuracy_criterion is for one metric; with 'objectives' or 'constraints' write {metric: …, max_drop: …}");
    job.criterion = parse_criterion(keys.json("accuracy_criterion"), job.metrics.front());
  }
  job.tolerance = keys.json("search_metric_tolerance");
  if (job.tolerance.is_null()) return;
  if (!job.tolerance.is_number()) throw Error("search_metric_tolerance is " + job.tolerance.dump() + ", but must be a number");
  if (is_cost(objective))
    throw Error("search_metric_tolerance compares with the float model, but the first objective is " + objective +
                "; put a metric first, or write constraints");
}

}  // namespace

void read_goals(Job& job, const Options& keys, const Strategy& strategy) {
  const bool several = !keys.json("objectives").is_null();
  if (several && keys.has("direction")) throw Error("direction is for search_metric; every one of 'objectives' knows its own");
  const bool plain = !several || keys.given("search_metric") || keys.given("search_evaluator");
  const std::vector<std::string> metrics = plain ? metric_names(keys) : std::vector<std::string>();
  job.goals = parse_goals(keys.json("objectives"), keys.json("constraints"), metrics);
  if (!several) check_direction(keys, metrics.front());
  job.metrics = scored(job.goals, metrics);
  if (job.metrics.empty()) job.metrics = {"L2"};
  for (const auto& metric : strategy.metrics()) {
    if (std::ranges::find(job.metrics, metric) == job.metrics.end()) job.metrics.push_back(metric);
  }
  read_criterion(job, keys);
}

}  // namespace quasar::tune
