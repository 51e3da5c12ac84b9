#include "quasar/studies/continuation.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "quasar/base/names.hpp"
#include "quasar/base/secrets.hpp"
#include "quasar/search/optuna/optuna_format.hpp"
#include "quasar/search/space.hpp"
#include "quasar/strategy/strategy.hpp"
#include "quasar/studies/attributes.hpp"
#include "quasar/studies/comparable.hpp"

namespace quasar::tune {
namespace {

constexpr const char* criterion_choice = "accuracy_criterion among the constraints";

Json described(const search::Parameter& parameter) {
  std::set<std::string> conditions;
  for (const auto& condition : parameter.conditions) {
    std::set<std::string> values;
    for (const Json& value : condition.values) values.insert(canonical(value));
    const std::vector<std::string> in_order(values.begin(), values.end());
    conditions.insert(condition.parent + (values.empty() ? "" : " is " + joined(in_order, " or ")));
  }
  return {{"distribution", search::optuna::text_of(*parameter.distribution)}, {"conditions", conditions}};
}

std::map<std::string, Json> parameters_of(const Json& choices) {
  std::map<std::string, Json> out;
  for (const Json& space : choices.value("spaces", Json::array())) {
    for (const auto& [name, words] : space.items()) out[name].push_back(words);
  }
  return out;
}

// "new: a, b; gone: c; other choices: d", "other recipes".
std::string changes(const Json& before, const Json& after) {
  const auto old = parameters_of(before), now = parameters_of(after);
  std::vector<std::string> fresh, gone, other, parts;
  for (const auto& [name, words] : now) {
    const auto same = old.find(name);
    if (same == old.end()) {
      fresh.push_back(name);
    } else if (same->second != words) {
      other.push_back(name);
    }
  }
  for (const auto& [name, words] : old) {
    if (!now.contains(name)) gone.push_back(name);
  }
  for (const auto& [what, names] :
       {std::pair("new: ", &fresh), std::pair("gone: ", &gone), std::pair("other choices: ", &other)}) {
    if (!names->empty()) parts.push_back(what + joined(*names));
  }
  std::set<std::string> keys;
  for (const Json* all : {&before, &after}) {
    for (const auto& [key, words] : all->items()) keys.insert(key);
  }
  for (const auto& key : keys) {
    if (key != "spaces" && before.value(key, Json()) != after.value(key, Json())) parts.push_back("other " + key);
  }
  std::string out;
  for (const auto& part : parts) out += (out.empty() ? "" : "; ") + part;
  return out.empty() ? "other spaces" : out;
}

const search::StudyRecord* named(std::span<const search::StudyRecord> studies, const std::string& name) {
  const auto found = std::ranges::find(studies, name, &search::StudyRecord::name);
  return found == studies.end() ? nullptr : &*found;
}

// Studies of earlier versions have the criterion beside their choices.
Json noted_choices(const search::StudyRecord& study, const Json& otherwise) {
  const auto& attributes = study.user_attributes;
  if (!attributes.contains(choices_attribute)) return otherwise;
  Json out = attributes.at(choices_attribute);
  if (out.is_object() && !out.contains(criterion_choice) && attributes.contains(criterion_attribute))
    out[criterion_choice] = attributes.at(criterion_attribute);
  return out;
}

// NAME-2 behind NAME, NAME-3 behind NAME-2; a name that is free, or was taken for this very purpose when the process was killed.
std::string successor_name(std::span<const search::StudyRecord> studies, const std::string& name) {
  const size_t dash = name.rfind('-');
  const bool numbered = dash != std::string::npos && dash + 1 < name.size() && name.size() - dash < 10 &&
                        name.find_first_not_of("0123456789", dash + 1) == std::string::npos;
  const std::string stem = numbered ? name.substr(0, dash) : name;
  for (int64_t i = numbered ? std::stoll(name.substr(dash + 1)) + 1 : 2;; ++i) {
    std::string next = stem + "-" + std::to_string(i);
    const auto* taken = named(studies, next);
    if (taken == nullptr || !taken->user_attributes.contains(choices_attribute)) return next;
  }
}

}  // namespace

std::vector<const search::StudyRecord*> chain_of(std::span<const search::StudyRecord> studies, const std::string& name) {
  const auto before = [](const search::StudyRecord& study) {
    return study.user_attributes.value(predecessor_attribute, std::string());
  };
  const search::StudyRecord* first = named(studies, name);
  if (first == nullptr) return {};
  // As many steps as there are studies: no circle is endless.
  for (size_t i = 0; i < studies.size() && !before(*first).empty() && named(studies, before(*first)) != nullptr; ++i)
    first = named(studies, before(*first));
  std::vector<const search::StudyRecord*> out{first};
  while (out.size() < studies.size()) {
    const auto next = std::ranges::find_if(studies, [&](const auto& study) { return before(study) == out.back()->name; });
    if (next == studies.end()) break;
    out.push_back(&*next);
  }
  return out;
}

const search::StudyRecord* with_choices(std::span<const search::StudyRecord> studies, const std::string& name,
                                        const Json& choices) {
  const auto fits = [&](const search::StudyRecord* study) { return noted_choices(*study, choices) == choices; };
  const auto chain = chain_of(studies, name);
  if (const auto* own = named(studies, name); own != nullptr && fits(own)) return own;
  const auto found = std::ranges::find_if(chain.rbegin(), chain.rend(), fits);
  return found == chain.rend() ? nullptr : *found;
}

Json choices_of(const Job& job) {
  Json spaces = Json::array();
  for (const Json& words : job.spaces) {
    const search::Space space = search::Space::parse(words);
    std::map<std::string, Json> parameters;
    for (const auto& parameter : space.parameters()) parameters[parameter.name] = described(parameter);
    spaces.push_back(parameters);
  }
  const auto strategy = strategies::table().make(job.strategy);
  // The first of two stages is judged by itself: its trials cannot stand beside those of a search in one.
  Json out{{"spaces", spaces},
           {"stages", strategy->in_stages() ? 2 : 1},
           {"op_type_dict", job.tuning.op_types},
           {"op_name_dict", job.tuning.op_names},
           {"recipes", job.tuning.recipes},
           {"approach", static_cast<int>(job.tuning.approach)}};
  if (const auto varied = strategy->operator_parameters(); !varied.empty()) out["parameters of operators"] = varied;
  if (job.spaces.front().empty() && !job.tuning.sampling_sizes.empty())
    out["calibration_sampling_size"] = job.tuning.sampling_sizes;
  if (job.spaces.front().empty() && !job.tuning.saturation.empty()) out["saturation"] = job.tuning.saturation;
  if (!job.tuning.smooth_alphas.empty()) out["alphas of smooth_quant"] = job.tuning.smooth_alphas;
  // Each trial has recorded by how much it exceeds it, and the sampler has gone by that.
  if (criterion_is_constraint(job.aim)) out[criterion_choice] = to_json(*job.aim.criterion);
  return out;
}

void expect_study(Job& job) {
  const auto storage = search::open_to_read(storage_url(job.study));
  if (storage == nullptr) {
    job.warnings.push_back("there is no study in " + job.output.dir.string() + " to resume: a new one begins");
    return;
  }
  std::vector<std::string> names;
  for (const auto& study : storage->studies()) names.push_back(study.name);
  if (names.empty() || std::ranges::find(names, job.study.name) != names.end()) return;
  throw Error("there is no study '" + job.study.name + "' to resume in " + without_password(storage_url(job.study)) +
              "; there are " + some_names(job.study.name, std::move(names)) +
              ". To begin one there that is continued when it exists, write load_study_if_exists: true in place of --resume");
}

Job continued(Job job) {
  if (!job.study.load_if_exists) return job;
  const auto storage = search::open_to_read(storage_url(job.study));
  if (storage == nullptr) return job;
  const auto studies = storage->studies();
  const auto chain = chain_of(studies, job.study.name);
  if (chain.empty()) {
    std::vector<std::string> names;
    for (const auto& study : studies) names.push_back(study.name);
    if (!names.empty())
      job.warnings.push_back("there is no study '" + job.study.name + "' to resume (there are " +
                             some_names(job.study.name, std::move(names)) + "): a new one begins");
    return job;
  }
  const Json now = choices_of(job);
  if (const auto* same = with_choices(studies, job.study.name, now)) {
    job.study.name = same->name;
    job.study.predecessor = same->user_attributes.value(predecessor_attribute, "");
    return job;
  }
  const search::StudyRecord* const last = chain.back();
  const Json noted = noted_choices(*last, now), before = noted.is_object() ? noted : Json::object();
  job.study.predecessor = last->name;
  job.study.name = successor_name(studies, last->name);
  job.warnings.push_back("the choices are others than in the study '" + last->name + "' (" + changes(before, now) +
                         "): a new study, '" + job.study.name + "', begins" +
                         (strategies::table().make(job.strategy)->learns_from_earlier() ? ", and earlier trials teach it" : ""));
  return job;
}

}  // namespace quasar::tune
