#include "quasar/tune/warm_start.hpp"

#include <algorithm>
#include <set>

#include "quasar/base/error.hpp"
#include "quasar/base/secrets.hpp"
#include "quasar/search/pareto.hpp"
#include "quasar/tune/continuation.hpp"
#include "quasar/tune/goal_parts.hpp"
#include "quasar/tune/job_parts.hpp"
#include "quasar/tune/past_study.hpp"

namespace quasar::tune {
namespace {

constexpr size_t tried_again = 3;

// The objectives' metrics of what a study recorded: a name, or goals as to_json() writes them.
Json comparable_metrics(const Json& recorded) {
  if (!recorded.is_object()) return Json::array({recorded});
  Json out = Json::array();
  for (const Json& objective : recorded.value("objectives", Json::array()))
    out.push_back(objective.is_object() ? objective.value("metric", Json()) : objective);
  return out;
}

// Whether a parameter says nothing of which trial is better: it has one choice.
bool is_fixed(const search::Distribution& distribution) {
  return search::cardinality(distribution) == 1U;
}

// What a parameter means to a trial that does not have it: its only choice, or null where that is one (no algorithm, nothing
// excluded); nullopt: nobody knows.
std::optional<Json> unsaid(const search::Distribution& distribution) {
  if (is_fixed(distribution)) return search::value_at(distribution, 0);
  return search::contains(distribution, nullptr) ? std::optional<Json>(nullptr) : std::nullopt;
}

// The trial's point in the order and with the values of the space; nullopt: it is not one of its points.
std::optional<search::Point> inside(const search::Trial& trial, const search::Space& space) {
  search::Point point;
  size_t known = 0;
  for (const auto& parameter : space.parameters()) {
    if (!space.is_active(parameter, point)) continue;
    const Json* value = trial.point.find(parameter.name);
    const std::optional<Json> meant = value == nullptr ? unsaid(*parameter.distribution) : *value;
    if (!meant) return std::nullopt;
    point.set(parameter.name, *meant);
    if (value != nullptr) ++known;
  }
  for (size_t i = 0; i < trial.point.values().size(); ++i) {
    const auto& name = trial.point.values()[i].first;
    if (point.find(name) == nullptr && i < trial.distributions.size() && is_fixed(*trial.distributions[i])) ++known;
  }
  if (known != trial.point.values().size()) return std::nullopt;
  return space.has(point) ? std::optional(point) : std::nullopt;
}

PastStudy named_by_warm_start(const Job& job) {
  const bool url = job.warm_start.find("://") != std::string::npos;
  const std::string place = url ? sqlite_from(job.base, job.warm_start) : (job.base / job.warm_start).string();
  const std::string server = url ? "" : server_named_in(place);
  const bool own = !server.empty() && without_login(server) == without_login(job.storage);
  try {
    if (!server.empty() && !own) expect_consent(place, server, "warm_start: ADDRESS, or the same study_storage_db");
    return past_study({place, own ? job.storage : "", "warm_start_study"}, job.warm_start_study,
                      job.words.contains("study_name") ? job.study_name : "");
  } catch (const Error& e) {
    throw Error(std::string("warm_start: ") + e.what());
  }
}

// The trials that teach. `what`: for messages.
std::vector<search::Trial> lessons(const Job& job, PastStudy past, const std::string& what) {
  const Json metric = past.record.user_attributes.value("metric", Json()), mine = comparable_metrics(to_json(job.goals));
  if (!metric.is_null() && comparable_metrics(metric) != mine)
    throw Error(what + " was about " + comparable_metrics(metric).dump() + ", but this search is about " + mine.dump());
  std::vector<search::Trial> trials = std::move(past.trials);
  const auto directions = job.goals.directions();
  std::erase_if(trials, [&](const auto& trial) { return trial.is_duplicate() || !search::known_losses(trial, directions); });
  return trials;
}

}  // namespace

std::vector<search::Trial> earlier_trials(const Job& job) {
  std::vector<search::Trial> out;
  if (!job.warm_start.empty())
    out = lessons(job, named_by_warm_start(job), "warm_start: the study in " + without_password(job.warm_start));
  std::string before = job.predecessor;
  for (std::set<std::string> seen; !before.empty() && seen.insert(before).second;) {
    PastStudy past = past_study(storage_url(job), before);
    const std::string next = past.record.user_attributes.value(predecessor_attribute, std::string());
    auto own = lessons(job, std::move(past), "the study '" + before + "'");
    out.insert(out.end(), std::make_move_iterator(own.begin()), std::make_move_iterator(own.end()));
    before = next;
  }
  return out;
}

std::vector<search::Trial> judged_anew(std::vector<search::Trial> trials, const Job& job, const eval::Scores& reference) {
  std::erase_if(trials, [&](search::Trial& trial) {
    trial.system_attributes.erase(search::constraints_attribute);
    if (trial.state != search::State::complete) return false;
    const Measures measures = measures_of(job.goals, trial);
    if (!can_be_judged(job, measures)) return true;
    auto constraints = constraints_of(job, measures, reference);
    if (!constraints.empty()) trial.set_constraints(std::move(constraints));
    return false;
  });
  return trials;
}

std::vector<search::Trial> fitting(std::span<const search::Trial> trials, const search::Space& space) {
  std::vector<search::Trial> out;
  for (const auto& trial : trials) {
    auto point = inside(trial, space);
    if (!point) continue;
    search::Trial& prior = out.emplace_back(trial);
    prior.id = -1;
    prior.number = -1;
    prior.point = std::move(*point);
    prior.distributions.clear();
    for (const auto& [name, value] : prior.point.values()) prior.distributions.push_back(space.find(name)->distribution);
  }
  return out;
}

std::vector<search::Point> best_points(std::span<const search::Trial> trials, search::Direction direction) {
  std::vector<const search::Trial*> order;
  for (const auto& trial : trials) {
    if (trial.state == search::State::complete) order.push_back(&trial);
  }
  std::ranges::stable_sort(order, [&](const auto* a, const auto* b) {
    const double excess = a->violation(), other = b->violation();
    return excess != other ? excess < other : search::better(a->values.front(), b->values.front(), direction);
  });
  std::vector<search::Point> out;
  for (size_t i = 0; i < std::min(tried_again, order.size()); ++i) out.push_back(order[i]->point);
  return out;
}

}  // namespace quasar::tune
