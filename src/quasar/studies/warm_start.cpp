#include "quasar/studies/warm_start.hpp"

#include <algorithm>
#include <set>

#include "quasar/base/error.hpp"
#include "quasar/base/secrets.hpp"
#include "quasar/job/goal_parts.hpp"
#include "quasar/job/job_parts.hpp"
#include "quasar/search/pareto.hpp"
#include "quasar/studies/attributes.hpp"
#include "quasar/studies/continuation.hpp"
#include "quasar/studies/past_study.hpp"

namespace quasar::tune {
namespace {

// The objectives' metrics of what a study recorded: a name, or goals as to_json() writes them.
Json comparable_metrics(const Json& recorded) {
  if (!recorded.is_object()) return Json::array({recorded});
  Json out = Json::array();
  for (const Json& objective : recorded.value("objectives", Json::array()))
    out.push_back(objective.is_object() ? objective.value("metric", Json()) : objective);
  return out;
}

PastStudy named_by_warm_start(const Job& job) {
  const bool url = job.warm_start.place.find("://") != std::string::npos;
  const std::string place = url ? sqlite_from(job.base, job.warm_start.place) : (job.base / job.warm_start.place).string();
  const std::string server = url ? "" : server_named_in(place);
  const bool own = !server.empty() && without_login(server) == without_login(job.study.storage);
  try {
    if (!server.empty() && !own) expect_consent(place, server, "warm_start: ADDRESS, or the same study_storage_db");
    return past_study({place, own ? job.study.storage : "", "warm_start_study"}, job.warm_start.study,
                      job.words.contains("study_name") ? job.study.name : "");
  } catch (const Error& e) {
    throw Error(std::string("warm_start: ") + e.what());
  }
}

// The trials that teach. `what`: for messages.
std::vector<search::Trial> lessons(const Job& job, PastStudy past, const std::string& what) {
  const Json metric = past.record.user_attributes.value("metric", Json()), mine = comparable_metrics(to_json(job.aim.goals));
  if (!metric.is_null() && comparable_metrics(metric) != mine)
    throw Error(what + " was about " + comparable_metrics(metric).dump() + ", but this search is about " + mine.dump());
  std::vector<search::Trial> trials = std::move(past.trials);
  const auto directions = job.aim.goals.directions();
  std::erase_if(trials, [&](const auto& trial) { return trial.is_duplicate() || !search::known_losses(trial, directions); });
  return trials;
}

}  // namespace

std::vector<search::Trial> earlier_trials(const Job& job) {
  std::vector<search::Trial> out;
  if (!job.warm_start.place.empty())
    out = lessons(job, named_by_warm_start(job), "warm_start: the study in " + without_password(job.warm_start.place));
  std::string before = job.study.predecessor;
  for (std::set<std::string> seen; !before.empty() && seen.insert(before).second;) {
    PastStudy past = past_study(storage_url(job.study), before);
    const std::string next = past.record.user_attributes.value(predecessor_attribute, std::string());
    auto own = lessons(job, std::move(past), "the study '" + before + "'");
    out.insert(out.end(), std::make_move_iterator(own.begin()), std::make_move_iterator(own.end()));
    before = next;
  }
  return out;
}

std::vector<search::Trial> judged_anew(std::vector<search::Trial> trials, const Aim& aim, const eval::Scores& reference) {
  std::erase_if(trials, [&](search::Trial& trial) {
    trial.system_attributes.erase(search::constraints_attribute);
    if (trial.state != search::State::complete) return false;
    const Measures measures = measures_of(aim.goals, trial);
    if (!can_be_judged(aim, measures)) return true;
    auto constraints = constraints_of(aim, measures, reference);
    if (!constraints.empty()) trial.set_constraints(std::move(constraints));
    return false;
  });
  return trials;
}

}  // namespace quasar::tune
