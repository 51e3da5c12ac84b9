#include "quasar/report/contents.hpp"

#include <cmath>
#include <set>

#include "quasar/base/error.hpp"
#include "quasar/base/secrets.hpp"
#include "quasar/eval/metric.hpp"
#include "quasar/report/advice.hpp"
#include "quasar/report/importance.hpp"
#include "quasar/report/pictures.hpp"
#include "quasar/report/sureness.hpp"
#include "quasar/report/timeline.hpp"
#include "quasar/runtime/oldest_release.hpp"
#include "quasar/search/state_name.hpp"
#include "quasar/search/storage.hpp"
#include "quasar/studies/past_study.hpp"
#include "quasar/studies/written_result.hpp"

namespace quasar::report {
namespace fs = std::filesystem;
namespace {

// JSON has no infinities; a report shows them as unknown.
Json finite(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json trial_json(const search::Trial& trial, search::Time origin) {
  Json out{{"number", trial.number}, {"state", trial.is_duplicate() ? "duplicate" : search::name_of(trial.state)}};
  out["values"] = Json::array();
  for (const double value : trial.values) out["values"].push_back(finite(value));
  if (trial.values.empty() && !trial.intermediate.empty()) out["last"] = finite(trial.intermediate.rbegin()->second);
  out["params"] = Json::object();
  for (const auto& [name, value] : trial.point.values()) out["params"][name] = value;
  if (trial.start) out["start_s"] = std::chrono::duration<double>(*trial.start - origin).count();
  if (const auto seconds = trial.seconds()) out["seconds"] = *seconds;
  if (const std::string worker = worker_of(trial); !worker.empty()) out["worker"] = worker;
  for (const char* key : {"metrics", "duplicate_of", "stage", "candidate", "error", "build_s", "score_s", "quantized_nodes",
                          "bytes", "latency_ms", "samples", "pruned"}) {
    if (trial.user_attributes.contains(key)) out[key] = trial.user_attributes[key];
  }
  if (trial.violation() > 0) out["violation"] = finite(trial.violation());
  return out;
}

// The start of the first trial, lost runs of trials too.
search::Time origin_of(std::span<const search::Trial> trials) {
  search::Time origin = search::Time::max();
  for (const auto& trial : trials) {
    if (trial.start) origin = std::min(origin, *trial.start);
    for (const auto& run : search::lost_runs_of(trial)) origin = std::min(origin, run.start.value_or(origin));
  }
  return origin;
}

Json trials_json(std::span<const search::Trial> trials, search::Time origin) {
  Json out = Json::array();
  for (const auto& trial : trials) {
    if (trial.finished()) out.push_back(trial_json(trial, origin));
  }
  return out;
}

struct Described {
  Json operator()(const search::Categorical& some) const { return {{"kind", "choice"}, {"choices", some.choices}}; }
  Json operator()(const search::Integer& some) const {
    return {{"kind", "integer"}, {"low", some.low}, {"high", some.high}, {"log", some.log}};
  }
  Json operator()(const search::Real& some) const {
    return {{"kind", "real"}, {"low", some.low}, {"high", some.high}, {"log", some.log}};
  }
};

// Every parameter that some trial has, in the order in which they first appear.
Json parameters_json(std::span<const search::Trial> trials) {
  Json out = Json::array();
  std::set<std::string> known;
  for (const auto& trial : trials) {
    const auto& values = trial.point.values();
    for (size_t i = 0; i < values.size() && i < trial.distributions.size(); ++i) {
      if (!known.insert(values[i].first).second) continue;
      Json parameter{{"name", values[i].first}};
      parameter.update(std::visit(Described(), *trial.distributions[i]));
      out.push_back(std::move(parameter));
    }
  }
  return out;
}

// The metric's name and direction; others than the built-in ones are the user's, whose direction the result tells where they
// are objectives.
Json metric_json(const std::string& name, const Json& result) {
  if (eval::is_metric_in_results(name)) {
    const auto metric = eval::make_metric(name);
    return {{"direction", metric->direction() == Direction::maximize ? "maximize" : "minimize"},
            {"proportion", metric->is_proportion()}};
  }
  for (const Json& objective : result.value("objectives", Json::array())) {
    if (objective.value("name", "") == name) return {{"direction", objective["direction"]}, {"proportion", false}};
  }
  return {{"direction", "minimize"}, {"proportion", false}};
}

// Of a search that runs the float model's may not be known, and of one without a best trial no others are.
Json metrics_json(const Json& result) {
  Json out = Json::object();
  for (const char* whose : {"baseline", "best"}) {
    const Json metrics = result.value(Json::json_pointer("/" + std::string(whose) + "/metrics"), Json::object());
    for (const auto& [name, score] : metrics.items()) out[name] = metric_json(name, result);
  }
  return out;
}

// As the search recorded them; the first metric for results that do not say.
Json objectives_of(const Json& result) {
  if (result.contains("objectives")) return result["objectives"];
  const Json metrics = result.value("/baseline/metrics"_json_pointer, Json::object());
  if (metrics.empty()) return Json::array();
  const std::string name = metrics.begin().key();
  return Json::array({{{"name", name}, {"direction", metric_json(name, result)["direction"]}}});
}

std::string title_of(const Json& result) {
  const std::string model = result.value("/baseline/model"_json_pointer, std::string());
  return fs::path(model).filename().string();
}

}  // namespace

Json contents_of(const Json& result, std::span<const search::Trial> trials, const Json& words) {
  Json contents{{"title", title_of(result)},
                {"running", result.value("status", "") == "running"},
                {"result", result},
                {"words", without_secrets(words)}};
  contents["objectives"] = objectives_of(result);
  contents["metrics"] = metrics_json(result);
  contents["parameters"] = parameters_json(trials);
  contents["importance"] = importance_json(trials);
  const search::Time origin = origin_of(trials);
  contents["trials"] = trials_json(trials, origin);
  if (Json timeline = timeline_json(trials, origin); !timeline.is_null()) contents["timeline"] = std::move(timeline);
  contents["sureness"] = sureness(result.value("/best/evidence"_json_pointer, Json()));
  if (const Json needs = result.value("/best/needs"_json_pointer, Json()); !needs.is_null())
    contents["needs"] = runtime::needs_in_words(needs);
  contents["advice"] = advice_on(contents);
  return contents;
}

namespace {

// The trials of a study that result.json is of, and why there are none.
struct Recorded {
  std::vector<search::Trial> trials = {};
  Json words = Json::object();
  std::string missing = {};
};

// `only`: no other study will do. A file of its own that holds a single one needs no name.
Recorded recorded_in(const std::string& database, const std::string& study_name, bool only) {
  const auto storage = search::open_to_read(database);
  if (storage == nullptr) return {.missing = "there is no study in " + without_password(database)};
  const auto studies = storage->studies();
  for (const auto& study : studies) {
    if ((only || studies.size() > 1) && study.name != study_name) continue;
    return {storage->trials(study.id), study.user_attributes.value("job", Json::object())};
  }
  return {.missing = "there is no study '" + study_name + "' in " + without_password(database)};
}

// `storage`: where the user says that the study is; "": not said.
Recorded recorded_of(const Json& result, const fs::path& output_dir, const std::string& storage) {
  const std::string place = result.value("study", std::string("auto_search.db")), name = result.value("study_name", "AutoSearch");
  const bool elsewhere = place.find("://") != std::string::npos;
  if (storage.empty() && search::is_shared_storage(place)) tune::expect_consent(output_dir.string(), place, "--storage ADDRESS");
  if (!storage.empty() || elsewhere) {
    Recorded out = recorded_in(storage.empty() ? place : storage, name, true);
    if (!out.missing.empty()) throw Error(out.missing);
    return out;
  }
  if (place == "memory") return {.missing = "its study was in memory"};
  const std::string database = (output_dir / place).string();
  return fs::is_regular_file(database) ? recorded_in(database, name, false) : Recorded{.missing = "there is no " + database};
}

}  // namespace

Json open_contents(const fs::path& output_dir, const std::string& storage) {
  if (!fs::is_directory(output_dir)) throw Error("'" + output_dir.string() + "' is no folder; name a search's output_dir");
  const Json result = tune::read_result(output_dir);
  if (result.is_null())
    throw Error("'" + output_dir.string() +
                "' holds no result.json: it is not the output_dir of a search, or of one that was ended before it wrote any "
                "(`quasar search` with --resume goes on)");
  const Recorded recorded = recorded_of(result, output_dir, storage);
  return tune::with_result_of(output_dir, [&] {
    Json contents = contents_of(result, recorded.trials, recorded.words);
    contents["pictures"] = pictures_of(result, output_dir);
    if (recorded.missing.empty() || result.value("/trials/executed"_json_pointer, 0) == 0) return contents;
    contents["missing"] = recorded.missing;
    contents["advice"].push_back("The trials are not shown: " + recorded.missing + ".");
    return contents;
  });
}

}  // namespace quasar::report
