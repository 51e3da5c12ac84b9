#include "quasar/report/study_view.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "quasar/base/error.hpp"
#include "quasar/base/file_lock.hpp"
#include "quasar/base/names.hpp"
#include "quasar/base/secrets.hpp"
#include "quasar/report/contents.hpp"
#include "quasar/report/result.hpp"
#include "quasar/report/timeline.hpp"
#include "quasar/search/study.hpp"
#include "quasar/studies/attributes.hpp"
#include "quasar/studies/past_study.hpp"
#include "quasar/studies/written_result.hpp"
#include "quasar/tune/told_limits.hpp"

namespace quasar::report {
namespace {

using search::State;
using search::Trial;

std::string said_of(const search::StudyRecord& study, const char* key) {
  const Json said = study.user_attributes.value(search::search_attribute, Json());
  const Json value = said.is_object() ? said.value(key, Json()) : Json();
  return value.is_string() ? value.get<std::string>() : "";
}

bool is_led(search::Storage& storage, const search::StudyRecord& study) {
  if (storage.sharing() != nullptr) return storage.sharing()->is_locked(study.id);
  return storage.is_held(study).value_or(false);
}

// Nobody says anything in a file, where whoever searches holds the study.
std::string state_of(search::Storage& storage, const search::StudyRecord& study) {
  const bool led = is_led(storage, study);
  if (storage.sharing() == nullptr) return led ? "running" : "";
  const std::string said = said_of(study, "state");
  return said == "ended" || said.empty() || led ? said : "left";
}

// What the study says of its search, as the status of a result.
std::string status_of(const std::string& state, const std::string& reason, const std::string& if_unsaid) {
  if (state == "running" || state == "preparing") return "running";
  if (state == "left" || (state == "ended" && reason == search::was_interrupted)) return "interrupted";
  return state == "ended" ? "ended" : if_unsaid;
}

// Of one objective the least or greatest value; of several the first decides. Among those that keep the constraints best.
const Trial* best_of(const search::StudyRecord& study, const std::vector<Trial>& trials) {
  const Trial* best = nullptr;
  for (const Trial& trial : trials) {
    if (trial.state != State::complete || trial.values.empty() || !trial.user_attributes.contains(search::attribute::plan_hash))
      continue;
    const bool keeps = best == nullptr || trial.violation() < best->violation();
    const bool ties = best != nullptr && trial.violation() == best->violation();
    if (keeps || (ties && search::better(trial.values.front(), best->values.front(), study.directions.front()))) best = &trial;
  }
  return best;
}

double seconds_between(search::Time begin, search::Time end) {
  return std::chrono::duration<double>(end - begin).count();
}

int64_t deaths_of(const Trial& trial) {
  const Json count = trial.system_attributes.value(search::retries_attribute, Json());
  return count.is_number_integer() ? count.get<int64_t>() : 0;
}

// The end of the last trial: clocks of machines differ, and these are of those that ran trials.
std::optional<search::Time> last_end(const std::vector<Trial>& trials) {
  std::optional<search::Time> out;
  for (const Trial& trial : trials) {
    if (trial.complete && (!out || *trial.complete > *out)) out = trial.complete;
  }
  return out;
}

// Trials per second of the last minute, or of twice the last trials' time where those take longer: else one of many that run
// beside each other would count alone. Of all time where that is shorter.
std::optional<double> rate_of(const std::vector<Trial>& trials) {
  constexpr double minute = 60;
  const auto end = last_end(trials);
  if (!end) return std::nullopt;
  const auto ended_within = [&](const Trial& trial, double seconds) {
    return trial.complete && trial.start && seconds_between(*trial.complete, *end) < seconds;
  };
  double window = minute;
  for (const Trial& trial : trials) {
    if (ended_within(trial, minute) && !trial.is_duplicate()) window = std::max(window, 2 * trial.seconds().value_or(0));
  }
  double longest = 0;
  size_t ended = 0;
  for (const Trial& trial : trials) {
    if (!ended_within(trial, window)) continue;
    ++ended;
    longest = std::max(longest, seconds_between(*trial.start, *end));
  }
  return longest > 0 ? std::optional(static_cast<double>(ended) / std::min(longest, window)) : std::nullopt;
}

Json workers_json(const std::vector<Trial>& trials, const search::Liveness& life) {
  auto workers = work_of(trials);
  workers.erase("");  // trials of other programs
  for (const auto& name : life.processes) workers.try_emplace(name);
  Json out = Json::array();
  for (const auto& [name, worker] : workers) {
    const bool connected = std::ranges::find(life.processes, name) != life.processes.end();
    const auto share = worker.share();
    out.push_back({{"name", name},
                   {"alive", connected},
                   {"running", worker.running},
                   {"finished", worker.finished},
                   {"busy_s", worker.busy},
                   {"share", share ? Json(*share) : Json()},
                   {"lost", worker.lost}});
  }
  return out;
}

Json running_json(const std::vector<Trial>& trials, const search::Liveness& life) {
  Json out = Json::array();
  for (const Trial& trial : trials) {
    if (trial.state != State::running) continue;
    const auto beat = life.silent_s.find(trial.id);
    out.push_back({{"trial", trial.number},
                   {"worker", worker_of(trial)},
                   {"silent_s", beat == life.silent_s.end() ? Json() : Json(beat->second)}});
  }
  return out;
}

// A search of Quasar's says of each of its trials in which stage it is, and counts no others.
bool is_of_another_program(const Trial& trial) {
  return trial.finished() && !trial.user_attributes.contains(search::attribute::stage) &&
         !trial.user_attributes.contains(search::attribute::plan_hash);
}

// What the leader tells of its limits; null: nothing.
Json limit_of(const search::StudyRecord& study, const char* part) {
  const Json limits = study.user_attributes.value(tune::limits_attribute, Json());
  return limits.is_object() ? limits.value(part, Json()) : Json();
}

// Finished trials at the end: those that its stage may have, and those of stages before. Before the first trial: what the
// configuration says.
Json total_of(const search::StudyRecord& study, const std::vector<Trial>& trials) {
  const Json stage = limit_of(study, "stage"), most = limit_of(study, "total");
  if (stage.is_string()) {
    if (!most.is_number_integer() || most < 0) return nullptr;
    return most.get<uint64_t>() + static_cast<uint64_t>(std::ranges::count_if(trials, [&](const Trial& trial) {
             return trial.finished() && !is_of_another_program(trial) &&
                    trial.user_attributes.value(search::attribute::stage, Json("")) != stage;
           }));
  }
  const Json words = study.user_attributes.value(tune::job_attribute, Json());
  for (const char* place : {"/n_trials", "/search_stop_condition/n_trials"}) {
    const Json total = words.is_object() ? words.value(Json::json_pointer(place), Json()) : Json();
    if (total.is_number_integer() && total.get<int64_t>() > 0) return total;
  }
  return nullptr;
}

// Seconds until the first of the limits is reached; null: there is none, or nobody knows.
Json left_of(const search::StudyRecord& study, const Json& total, size_t finished, std::optional<double> rate) {
  std::optional<double> left;
  if (rate && *rate > 0 && !total.is_null()) left = std::max(0.0, total.get<double>() - static_cast<double>(finished)) / *rate;
  if (const Json until = limit_of(study, "until_us"); until.is_number_integer()) {
    const search::Time end{std::chrono::microseconds(until.get<int64_t>())};
    const double by_time = std::max(0.0, seconds_between(search::now(), end));
    left = std::min(left.value_or(by_time), by_time);
  }
  return left ? Json(*left) : Json();
}

Json best_json(const search::StudyRecord& study, const std::vector<Trial>& trials) {
  const Trial* best = best_of(study, trials);
  if (best == nullptr) return nullptr;
  Json values = Json::array();
  for (const double value : best->values) values.push_back(std::isfinite(value) ? Json(value) : Json());
  return {{"trial", best->number}, {"values", values}, {"metrics", best->user_attributes.value("metrics", Json::object())}};
}

// A study names its one metric, or all of its goals where there are more.
std::string name_of_objective(const search::StudyRecord& study, size_t i) {
  const Json goals = study.user_attributes.value("metric", Json());
  if (goals.is_string() && i == 0) return goals;
  const Json name =
      goals.is_object() ? goals.value(Json::json_pointer("/objectives/" + std::to_string(i) + "/metric"), Json()) : Json();
  return name.is_string() ? name.get<std::string>() : "objective " + std::to_string(i);
}

Json objectives_of_study(const search::StudyRecord& study) {
  Json out = Json::array();
  for (size_t i = 0; i < study.directions.size(); ++i) {
    out.push_back({{"name", name_of_objective(study, i)},
                   {"direction", study.directions[i] == Direction::maximize ? "maximize" : "minimize"}});
  }
  return out;
}

std::vector<std::string> names_of_studies(const std::vector<search::StudyRecord>& studies) {
  std::vector<std::string> out;
  for (const auto& study : studies) out.push_back(study.name);
  return out;
}

}  // namespace

search::StudyRecord study_in(search::Storage& storage, const std::string& name) {
  const auto studies = storage.studies();
  if (studies.empty()) throw Error(storage.where() + " holds no study");
  if (!name.empty()) {
    const auto found = std::ranges::find(studies, name, &search::StudyRecord::name);
    if (found == studies.end())
      throw Error("there is no study '" + name + "' in " + storage.where() + known_names(name, names_of_studies(studies)));
    return *found;
  }
  std::vector<search::StudyRecord> led;
  for (const auto& study : studies) {
    if (is_led(storage, study)) led.push_back(study);
  }
  if (led.size() > 1)
    throw Error("several searches run in " + storage.where() + ": " + joined(names_of_studies(led)) +
                "; name one (--study NAME)");
  return led.empty() ? studies.back() : led.front();
}

Json study_status(search::Storage& storage, const search::StudyRecord& study) {
  const auto trials = storage.trials(study.id);
  const search::Liveness life = storage.sharing() == nullptr ? search::Liveness() : storage.sharing()->liveness(study.id);
  search::Counts counts;
  size_t waiting = 0, others = 0;
  int64_t deaths = 0;
  for (const Trial& trial : trials) {
    if (is_of_another_program(trial)) {
      ++others;
      continue;
    }
    count(counts, trial);
    waiting += trial.state == State::waiting ? 1 : 0;
    deaths += trial.is_duplicate() ? 0 : deaths_of(trial);
  }
  const std::string state = state_of(storage, study);
  const Json total = total_of(study, trials);
  const auto rate = rate_of(trials);
  Json out{{"study", study.name},
           {"where", storage.where()},
           {"state", state},
           {"reason", said_of(study, "reason")},
           {"trials",
            {{"complete", counts.complete},
             {"pruned", counts.pruned},
             {"failed", counts.failed},
             {"duplicates", counts.duplicates},
             {"running", counts.running},
             {"waiting", waiting},
             {"of_other_programs", others}}},
           {"total", total},
           {"rate", rate ? Json(*rate) : Json()},
           {"left_s", nullptr},
           {"deaths", deaths},
           {"objectives", objectives_of_study(study)},
           {"best", best_json(study, trials)},
           {"workers", workers_json(trials, life)},
           {"running", running_json(trials, life)}};
  if (state == "running") out["left_s"] = left_of(study, total, counts.finished(), rate);
  return out;
}

Json study_contents(search::Storage& storage, const search::StudyRecord& study, const std::string& if_unsaid) {
  const auto trials = storage.trials(study.id);
  const Json words = study.user_attributes.value(tune::job_attribute, Json::object());
  search::Counts counts;
  for (const Trial& trial : trials) count(counts, trial);
  const std::string state = state_of(storage, study);
  const Json model = words.is_object() ? words.value("model_input", Json()) : Json();
  Json result{{"status", status_of(state, said_of(study, "reason"), if_unsaid)},
              {"reason", said_of(study, "reason")},
              {"study", storage.where()},
              {"study_name", study.name},
              {"objectives", objectives_of_study(study)},
              {"trials", counts_json(counts)},
              {"baseline", {{"model", model.is_string() ? model : Json("")}, {"metrics", Json::object()}}}};
  if (const Trial* best = best_of(study, trials)) result["best"] = best_so_far_json(*best);
  return contents_of(result, trials, words);
}

bool is_searched_now(const std::filesystem::path& output_dir) {
  return FileLock::is_held(output_dir / ".quasar-lock").value_or(false);
}

namespace {

// The study alone: of a search that runs, of another one than result.json is of, or where there is no result.json.
Json contents_in(const std::string& database, const std::string& study, const std::string& if_unsaid, const Log& log) {
  const auto opened = search::open_to_read(database);
  if (opened == nullptr) throw Error("there is no study in " + without_password(database));
  opened->tell_to(log);
  return study_contents(*opened, study_in(*opened, study), if_unsaid);
}

// Whether the study of a folder tells more than its result.json, which an earlier run may have left.
bool tells_more(const std::filesystem::path& folder, const Json& result, const std::string& study) {
  return result.is_null() || is_searched_now(folder) || (!study.empty() && study != result.value("study_name", "AutoSearch"));
}

// Where the study of an output folder is; "": in no file that there is.
std::string database_of(const std::filesystem::path& folder, const Json& result, const std::string& storage) {
  if (!storage.empty()) return storage;
  const std::string place = result.is_null() ? "auto_search.db" : result.value("study", "auto_search.db");
  if (search::is_shared_storage(place)) tune::expect_consent(folder.string(), place, "--storage ADDRESS");
  if (place.find("://") != std::string::npos) return place;
  return std::filesystem::is_regular_file(folder / place) ? (folder / place).string() : "";
}

}  // namespace

Json contents_at(const std::string& place, const std::string& storage, const std::string& study, const Log& log) {
  const std::filesystem::path folder = place;
  if (folder.extension() == ".json" && std::filesystem::is_regular_file(folder))
    throw Error("'" + place + "' is a file of results: give the folder of the search, '" +
                std::filesystem::absolute(folder).parent_path().string() + "', or the database that holds its study");
  if (is_study_address(place)) {
    Json out = contents_in(place, study, "unknown", log);
    out["study_alone"] = true;
    return out;
  }
  if (!std::filesystem::is_directory(folder)) return open_contents(folder, storage);
  const Json result = tune::read_result(folder);
  if (!tells_more(folder, result, study)) return open_contents(folder, storage);
  const std::string database = database_of(folder, result, storage);
  if (database.empty() && result.is_null() && is_searched_now(folder))
    throw Error("the search in '" + place +
                "' runs, and its study is in memory or in a database: say where (--storage ADDRESS), or open its report.html");
  if (database.empty() && study.empty()) return open_contents(folder, storage);
  if (database.empty()) throw Error("there is no study '" + study + "' in '" + place + "': it holds no study's file");
  const char* if_unsaid = is_searched_now(folder) ? "running" : result.is_null() ? "interrupted" : "unknown";
  Json out = contents_in(database, study.empty() && !result.is_null() ? result.value("study_name", "") : study, if_unsaid, log);
  out["study_alone"] = true;
  return out;
}

std::string study_address(const std::string& place) {
  if (place.find("://") != std::string::npos || !std::filesystem::is_directory(place)) return place;
  const auto file = std::filesystem::path(place) / "auto_search.db";
  if (std::filesystem::exists(file)) return file.string();
  throw Error("'" + place +
              "' is a folder without auto_search.db: give the database that holds the study, as study_storage_db names it");
}

bool is_study_address(const std::string& place) {
  return place.find("://") != std::string::npos || std::filesystem::is_regular_file(place);
}

}  // namespace quasar::report
