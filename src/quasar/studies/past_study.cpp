#include "quasar/studies/past_study.hpp"

#include <algorithm>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/base/secrets.hpp"
#include "quasar/search/misspelt.hpp"
#include "quasar/studies/attributes.hpp"
#include "quasar/studies/comparable.hpp"
#include "quasar/studies/continuation.hpp"
#include "quasar/studies/written_result.hpp"

namespace quasar::tune {
namespace fs = std::filesystem;
namespace {

// What an output folder's result.json says of the search; null: there is none.
Json results_in(const std::string& place) {
  return place.find("://") != std::string::npos || !fs::is_directory(place) ? Json() : read_result(place);
}

std::string text_in(const Json& result, const char* key) {
  const Json value = result.is_object() ? result.value(key, Json()) : Json();
  return value.is_string() ? value.get<std::string>() : "";
}

std::string address_in(const Json& result) {
  const std::string study = text_in(result, "study");
  return study.find("://") != std::string::npos ? study : "";
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& file : fs::directory_iterator(folder)) {
    if (file.path().extension() == ".db") files.push_back(file.path().string());
  }
  std::ranges::sort(files);
  return files;
}

std::vector<std::string> databases(const Place& place) {
  search::refuse_misspelt("the study's place", place.path);
  if (place.path.find("://") != std::string::npos) return {place.path};
  if (!fs::exists(place.path)) throw Error("there is no '" + place.path + "'");
  if (!fs::is_directory(place.path)) return {place.path};
  if (!place.storage.empty()) return {place.storage};
  auto files = files_in(place.path);
  if (!files.empty()) return files;
  const std::string elsewhere = address_in(results_in(place.path));
  if (search::is_shared_storage(elsewhere)) expect_consent(place.path, elsewhere, "--storage ADDRESS");
  if (!elsewhere.empty()) return {elsewhere};
  throw Error(place.path +
              " holds no study (no .db file, and no result.json that names a server); a study on a server is named by " +
              "its address, postgresql://user@host:port/database");
}

std::unique_ptr<search::Storage> opened(const std::string& database) {
  auto storage = search::open_to_read(database);
  if (storage == nullptr)
    throw Error(search::storage_exists(database) ? without_password(database) + " holds no study"
                                                 : "there is no study database '" + without_password(database) + "'");
  return storage;
}

struct Found {
  std::string database;
  search::StudyRecord record;
};

std::vector<std::string> names_of(const std::vector<Found>& all) {
  std::vector<std::string> out;
  for (const auto& found : all) out.push_back(found.record.name);
  return out;
}

// The names, shortened; of a folder with several databases also where each is.
std::string listed(const std::vector<Found>& all, const std::string& near) {
  if (all.front().database == all.back().database) return some_names(near, names_of(all));
  std::vector<std::string> described;
  for (const auto& found : all) described.push_back("'" + found.record.name + "' in " + without_password(found.database));
  return joined(described);
}

Found chosen(const Place& asked, const std::string& name, const std::string& preferred, const std::vector<Found>& all) {
  const std::string place = without_password(asked.storage.empty() ? asked.path : asked.storage);
  if (all.empty()) throw Error(place + " holds no study");
  std::vector<Found> matching;
  for (const auto& found : all) {
    if (name.empty() || found.record.name == name) matching.push_back(found);
  }
  if (matching.size() == 1) return matching.front();
  if (matching.empty())
    throw Error("there is no study '" + name + "' in " + place + "; there are " + listed(all, name) +
                did_you_mean(name, names_of(all)));
  const bool several_files = matching.front().database != matching.back().database;
  throw Error(place + " holds several studies" + (preferred.empty() ? "" : ", none of them '" + preferred + "'") + ": " +
              listed(matching, preferred) + "; name " +
              (several_files ? "the database file" + (name.empty() ? " or the study (" + asked.named_by + ")" : "")
                             : "one of them (" + asked.named_by + ")"));
}

// The trial that best.onnx is of.
int64_t best_in(const Place& place, const std::string& study) {
  const Json results = results_in(place.path);
  const Json best = results.is_object() ? results.value("best", Json()) : Json();
  const Json number = best.is_object() ? best.value("trial", Json()) : Json();
  if (!number.is_number_integer() || text_in(results, "study_name") != study)
    throw Error(without_password(place.path) + " does not tell which trial of the study '" + study +
                "' is the best one: name one by --trial N");
  return number.get<int64_t>();
}

// The same configuration makes another model for another target.
Json with_target(Json words, const search::StudyRecord& study) {
  if (study.user_attributes.contains("target")) words["target"] = study.user_attributes.at("target");
  return words;
}

}  // namespace

std::string server_named_in(const std::string& folder) {
  const Json results = results_in(folder);
  if (results.is_null() || !files_in(folder).empty()) return "";
  const std::string address = address_in(results);
  return search::is_shared_storage(address) ? address : "";
}

void expect_consent(const std::string& folder, const std::string& address, const std::string& how) {
  throw Error(
      "the study of " + folder + " is in " + without_password(address) +
      ", says its result.json; the folder may come from others, so that Quasar calls no server that only a file names. If it "
      "is the right one, say so: " +
      how);
}

PastStudy past_study(const Place& place, const std::string& name, const std::string& preferred) {
  std::vector<Found> all, newest;
  for (const auto& database : databases(place)) {
    const auto studies = opened(database)->studies();
    for (const auto& record : studies) {
      all.push_back({database, record});
      if (chain_of(studies, record.name).back()->name == record.name) newest.push_back(all.back());
    }
  }
  const auto has = [&](const std::string& wanted) {
    return std::ranges::any_of(all, [&](const Found& found) { return found.record.name == wanted; });
  };
  std::string wanted = name;
  for (const std::string& candidate : {preferred, text_in(results_in(place.path), "study_name")}) {
    if (wanted.empty() && !candidate.empty() && has(candidate)) wanted = candidate;
  }
  const Found found = chosen(place, wanted, preferred, wanted.empty() ? newest : all);
  PastStudy out{found.record, opened(found.database)->trials(found.record.id), without_password(found.database)};
  return out;
}

fs::path PastTrial::model() const {
  const std::string named = text_in(study.value(job_attribute, Json()), "model_input");
  const std::string folder = text_in(study.value(samples_attribute, Json()), "folder");
  if (named.empty() || folder.empty()) throw Error(where + " does not tell where its float model is: name it");
  return fs::path(folder) / named;
}

void PastTrial::check_model(const fs::path& model) const {
  const Json known = study.value(model_attribute, Json());
  if (known.is_null() || is_same(known, fingerprint(model))) return;
  const Json named = study.value(job_attribute, Json::object()).value("model_input", Json());
  throw Error(where + " is of another model than " + model.string() +
              (named.is_string() ? "; the search's was " + named.get<std::string>() : "") +
              ": to quantize a model as another one was, give its configuration by --config");
}

data::DatasetPtr PastTrial::samples(const std::vector<graph::Value>& inputs) const {
  const Json source = study.value(samples_attribute, Json());
  if (!source.is_object()) return nullptr;
  try {
    auto all = data::open(source.at("reader"), inputs, source.at("folder").get<std::string>());
    return source.at("split").is_null() ? all : data::split(std::move(all), source.at("split")).calibration;
  } catch (const std::exception& e) {
    throw Error("the calibration samples of " + where + " cannot be read again; give them by --calib: " + e.what());
  }
}

std::string PastTrial::note_on(const data::Dataset& samples) const {
  const Json known = study.value(calibration_attribute, Json());
  if (known.is_null() || is_same(known, fingerprint(samples))) return "";
  return "the calibration samples are others than the search's, so that this is another model than that of " + where;
}

PastTrial past_trial(const Place& place, const std::string& study, std::optional<int64_t> wanted) {
  const PastStudy past = past_study(place, study);
  const int64_t number = wanted ? *wanted : best_in(place, past.record.name);
  for (const auto& trial : past.trials) {
    if (trial.number != number) continue;
    if (trial.user_attributes.contains("config"))
      return {.words = with_target(trial.user_attributes.at("config"), past.record),
              .where = "trial " + std::to_string(number) + " of the study '" + past.record.name + "' in " + past.where,
              .study = past.record.user_attributes};
    throw Error("trial " + std::to_string(number) + " of the study in " + past.where + " did not finish");
  }
  throw Error("the study in " + past.where + " has no trial " + std::to_string(number));
}

}  // namespace quasar::tune
