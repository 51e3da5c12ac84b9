#include "quasar/worker/search_offer.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "quasar/base/names.hpp"
#include "quasar/base/secrets.hpp"
#include "quasar/studies/attributes.hpp"
#include "quasar/studies/comparable.hpp"
#include "quasar/studies/continuation.hpp"
#include "quasar/studies/kept_files.hpp"
#include "quasar/studies/same_version.hpp"
#include "quasar/worker/said.hpp"
#include "quasar/worker/waiting.hpp"

namespace quasar::tune {
namespace fs = std::filesystem;
namespace {

using Studies = std::vector<search::StudyRecord>;

// Of the studies whose search is led now, those that the user may mean.
std::vector<const search::StudyRecord*> led_searches(const Studies& studies, search::Storage& storage, const std::string& name) {
  std::set<std::string> meant;
  if (!name.empty()) {
    for (const auto* study : chain_of(studies, name)) meant.insert(study->name);
  }
  std::vector<const search::StudyRecord*> out;
  for (const auto& study : studies) {
    if (!name.empty() && !meant.contains(study.name)) continue;
    const bool runs = Said(study).state == "running" && study.user_attributes.contains(job_attribute);
    if (runs && storage.sharing()->is_locked(study.id)) out.push_back(&study);
  }
  return out;
}

std::string names_of(const std::vector<const search::StudyRecord*>& studies) {
  std::vector<std::string> names;
  for (const auto* study : studies) names.push_back(study->name);
  return joined(names);
}

// What the machine of a worker decides for itself, whatever the study says. Where samples and the model lie is told first.
bool is_of_leader_alone(const std::string& key) {
  static const std::set<std::string> files{"model_input", "calib_data_reader", "eval_data_reader", "data_reader",
                                           "custom_op_library"};
  static const std::set<std::string> teaching{"warm_start", "warm_start_study"};
  const auto known = std::ranges::find(job_keys(), key, &OptionSpec::name);
  return known != job_keys().end() && known->local && !files.contains(key) && !teaching.contains(key);
}

[[noreturn]] void refuse_offer(const search::StudyRecord& study, const OfferWanted& wanted, const std::string& why,
                               const std::string& option) {
  throw Error("the study '" + study.name + "' in " + without_password(wanted.address) + " " + why + option +
              "or the search's configuration: quasar worker CONFIG --storage ADDRESS");
}

// As python/quasar/_configuration.py names functions.
bool is_of_a_program(const Json& evaluator) {
  if (!evaluator.is_object()) return false;
  for (const auto& [key, value] : evaluator.items()) {
    if (key.starts_with("python_evaluator")) return true;
  }
  return false;
}

SearchOffer offer_in(const search::StudyRecord& study, const Studies& studies, const OfferWanted& wanted) {
  expect_same_version(study);
  const Json words = study.user_attributes.at(job_attribute);
  if (!words.is_object()) throw Error("the study '" + study.name + "' is damaged: its configuration is no mapping");
  if (const Json evaluator = words.value("search_evaluator", Json()); is_of_a_program(evaluator))
    throw Error(
        "the study '" + study.name +
        "' has a search_evaluator that is a function of a Python program, which a study cannot hold: start that program by "
        "mpirun or srun, or let it name a file, {\"python\": \"score.py:score\"}");
  if (const Json evaluator = words.value("search_evaluator", Json());
      !evaluator.is_null() && !evaluator.is_string() && !wanted.allow_code)
    refuse_offer(study, wanted, "has a search_evaluator, which runs what the study names: " + evaluator.dump(),
                 "; whoever can write to the database can have written that. If you trust them, give --allow-code, ");
  if (const Json library = words.value("custom_op_library", Json()); !library.is_null() && !wanted.allow_code)
    refuse_offer(study, wanted, "has a custom_op_library, whose code the study names: " + library.dump(),
                 "; whoever can write to the database can have written that. If you trust them, give --allow-code, ");
  if (const Json teacher = words.value("warm_start", Json()); teacher.is_string() && search::is_shared_storage(teacher))
    refuse_offer(study, wanted, "has a warm_start on a server that only the study names: " + without_password(teacher),
                 "; give ");
  SearchOffer out{.study = study.name,
                  .id = study.id,
                  .words = Json::object(),
                  .folder = {},
                  .known = study.user_attributes,
                  .run = Said(study).run};
  for (const auto& [key, value] : words.items()) {
    if (!is_of_leader_alone(key)) out.words[key] = value;
  }
  const auto chain = chain_of(studies, words.value("study_name", std::string("AutoSearch")));
  const bool follows = std::ranges::find(chain, study.name, &search::StudyRecord::name) != chain.end();
  out.words["study_name"] = follows ? words.value("study_name", std::string("AutoSearch")) : study.name;
  out.words["study_storage_db"] = wanted.address;
  const Json samples = study.user_attributes.value(samples_attribute, Json());
  const Json folder = samples.is_object() ? samples.value("folder", Json()) : Json();
  out.folder = folder.is_string() ? fs::path(folder.get<std::string>()) : fs::current_path();
  return out;
}

// The first of those that run for which this worker can work.
std::optional<SearchOffer> first_possible(const std::vector<const search::StudyRecord*>& led, const Studies& studies,
                                          const OfferWanted& wanted, const Log& log) {
  for (const auto* study : led) {
    const std::string run = Said(*study).run;
    if (wanted.passed_over->contains(run)) continue;
    try {
      SearchOffer out = offer_in(*study, studies, wanted);
      if (led.size() > 1)
        tell(log, Level::info, "several searches run: " + names_of(led) + "; this worker works for " + study->name + " first");
      return out;
    } catch (const Error& error) {
      wanted.passed_over->insert(run);
      tell(log, Level::warning, std::string(error.what()) + "; this worker waits for other searches");
    }
  }
  return std::nullopt;
}

// Those whose leaders died, the last ones of them.
std::vector<const search::StudyRecord*> left_searches(const Studies& studies, search::Storage& storage, const std::string& name) {
  constexpr size_t most = 5;
  std::vector<const search::StudyRecord*> out;
  for (const auto& study : studies) {
    const std::string state = Said(study).state;
    const bool is_meant = name.empty() || std::ranges::count(chain_of(studies, name), study.name, &search::StudyRecord::name) > 0;
    if (is_meant && (state == "running" || state == "preparing") && !storage.sharing()->is_locked(study.id))
      out.push_back(&study);
  }
  if (out.size() > most) out.erase(out.begin(), out.end() - most);
  return out;
}

// Of one search, with the reason where it has ended.
std::string what_is_awaited(const OfferWanted& wanted, const Studies& studies, search::Storage& storage, size_t led) {
  const std::string what = "a search to begin in " + without_password(wanted.address) +
                           (wanted.study.empty() ? "" : " under the name " + wanted.study);
  if (led > 0) return what + ", where none runs that this worker can work for";
  if (studies.empty()) return what + ", which holds no study";
  const std::string none = what + ", where none runs now";
  if (const auto left = left_searches(studies, storage, wanted.study); !left.empty())
    return none + ": the leader has gone of " + names_of(left) + ", which `quasar search --resume` continues";
  const auto chain = wanted.study.empty() ? std::vector<const search::StudyRecord*>{} : chain_of(studies, wanted.study);
  const auto* last = !chain.empty() ? chain.back() : studies.size() == 1 ? &studies.front() : nullptr;
  const bool ended = last != nullptr && Said(*last).state == "ended";
  return none + (ended ? ": that of '" + last->name + "' has ended, " + Said(*last).reason : "");
}

}  // namespace

std::optional<SearchOffer> offer_of_search(search::Storage& storage, const OfferWanted& wanted, const Log& log) {
  Waiting waiting(wanted.patience);
  std::optional<std::string> before;
  std::string awaited;
  const bool stands = wanted.passed_over != nullptr;
  for (;;) {
    if (std::string leaders = storage.sharing()->leaders(search::search_attribute); before != leaders) {
      before = std::move(leaders);
      const Studies studies = storage.studies();
      const auto led = led_searches(studies, storage, wanted.study);
      if (auto offer = stands ? first_possible(led, studies, wanted, log) : std::nullopt) return offer;
      if (led.size() == 1 && !stands) return offer_in(*led.front(), studies, wanted);
      if (led.size() > 1 && !stands)
        throw Error("several searches run in " + without_password(wanted.address) + ": " + names_of(led) +
                    "; say for which to work (--study NAME)");
      awaited = what_is_awaited(wanted, studies, storage, led.size());
    }
    if (waiting.is_over() && stands) return std::nullopt;
    if (waiting.is_over())
      throw Error("there is no search to work for: waited " + Json(wanted.patience).dump() + " s for " + awaited +
                  "; start `quasar search` with this storage, or wait longer (--wait)");
    waiting.say(awaited, log);
    waiting.for_news(storage);
  }
}

SearchOffer with_files(SearchOffer offer, search::Storage& storage, const std::set<std::string>& given, const fs::path& into,
                       const Log& log) {
  search::FileStore* const store = storage.sharing()->files();
  const search::StudyRecord study{offer.id, offer.study, {}, offer.known};
  if (store != nullptr)
    offer.words = with_kept_files(offer.words, study, *store, {.given = given, .base = offer.folder, .folder = into}, log);
  return offer;
}

namespace {

// What a key of the configuration names, for messages.
struct Samples {
  const char *key, *what, *option;
};

void expect_samples(const SearchOffer& offer, const Job& job, const Json& reader, const Samples& named) {
  const Json path = reader.is_object() ? reader.value("path", Json()) : reader;
  if (!path.is_string() || path == "random") return;
  const fs::path place = job.base / path.get<std::string>();
  std::error_code code;
  if (fs::exists(place, code)) return;
  throw Error("the study '" + offer.study + "' names " + named.what + " '" + place.string() + "', which is not on this machine" +
              why_not_kept(offer.known, named.key) + "; give " + named.option);
}

}  // namespace

void expect_offered_files(const SearchOffer& offer, const Job& job) {
  std::error_code code;
  if (!fs::is_regular_file(job.model, code))
    throw Error("the study '" + offer.study + "' names the model '" + job.model.string() + "', which is not on this machine" +
                why_not_kept(offer.known, "model_input") + "; give --model FILE");
  if (const Json there = offer.known.value(model_attribute, Json()); there.is_string() && !is_same(there, fingerprint(job.model)))
    throw Error("the model '" + job.model.string() + "' is another one than that of the study '" + offer.study +
                "', as its hash says; give --model FILE");
  if (!job.samples.split.is_null())
    return expect_samples(offer, job, job.samples.data, {"data_reader", "the samples", "--set data_reader=DATA"});
  expect_samples(offer, job, job.samples.calibration, {"calib_data_reader", "the calibration samples", "--calib DATA"});
  expect_samples(offer, job, job.samples.evaluation, {"eval_data_reader", "the evaluation samples", "--eval DATA"});
}

}  // namespace quasar::tune
