#include "quasar/search/optuna/row_reader.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "quasar/base/json.hpp"
#include "quasar/base/printable.hpp"
#include "quasar/search/enqueued.hpp"
#include "quasar/search/optuna/optuna_format.hpp"
#include "quasar/search/optuna/row_query.hpp"

namespace quasar::search::optuna {
namespace {

// What Quasar notes of studies and trials is always of one kind; an attribute of another kind is some other program's, and left
// out.
bool is_foreign(const std::string& key, const Json& value) {
  if (key == attribute::candidate) return !value.is_boolean();
  if (key == attribute::duplicate_of) return !value.is_number_integer();
  if (key == attribute::plan_hash || key == attribute::stage || key == attribute::step || key == "predecessor")
    return !value.is_string();
  const auto is_number = [](const Json& one) { return one.is_number(); };
  return key == "metrics" && !(value.is_object() && std::ranges::all_of(value, is_number));
}

// Work on a trial; what is wrong with its rows is said to be this trial's.
template <class Work>
void of_trial(Trial& trial, const Work& work) {
  try {
    work(trial);
  } catch (const Error& error) {
    throw Error("trial " + std::to_string(trial.number) + ": " + error.what());
  }
}

// Whoever reads a study takes it that what is complete has its values.
void expect_values(const std::vector<Trial>& trials, int64_t objectives) {
  const size_t wanted = static_cast<size_t>(std::max<int64_t>(objectives, 1));
  for (const Trial& trial : trials) {
    if (trial.state != State::complete || trial.values.size() == wanted) continue;
    throw Error("trial " + std::to_string(trial.number) + " is complete, but has " + std::to_string(trial.values.size()) +
                " of " + std::to_string(wanted) + (wanted == 1 ? " value" : " values") + ": the study is damaged");
  }
}

// Optuna's users may store one. Nothing can be compared with it, so that the trial counts as one that failed; in the study it
// stays.
void fail_infinite(std::vector<Trial>& trials) {
  for (Trial& trial : trials) {
    if (trial.state != State::complete) continue;
    const auto odd = std::ranges::find_if(trial.values, [](double value) { return !std::isfinite(value); });
    if (odd == trial.values.end()) continue;
    trial.user_attributes[attribute::error] = infinite_value(*odd);
    trial.state = State::failed;
    trial.values.clear();
  }
}

// One number per constraint, or null where it was infinite; null in their place where Optuna's function failed. Optuna stores no
// NaN.
Json constraints_in(const std::string& text) {
  Json value = parse_json(json_of_python(text), std::string("attribute '") + constraints_attribute + "'");
  const auto is_number = [](const Json& one) { return one.is_number() || one.is_null(); };
  const bool good = value.is_null() || (value.is_array() && std::ranges::all_of(value, is_number));
  if (good && text.find("NaN") == std::string::npos) return value;
  throw Error("its constraints are " + printable_name(text) + ", but must be a list of numbers: the study is damaged");
}

void take_value(Trial& trial, const Row& row) {
  const int64_t next = static_cast<int64_t>(trial.values.size());
  const int64_t given = whole_in(row.place, "the number of an objective");
  if (given != next)
    throw Error("it has a value of objective " + std::to_string(given) + ", but none of " + std::to_string(next));
  trial.values.push_back(typed_in(row.number, row.name, "its value"));
}

void take_intermediate(Trial& trial, const Row& row) {
  const int64_t step = whole_in(row.place, "the step of an intermediate value");
  trial.intermediate[step] = typed_in(row.number, row.name, "its intermediate value at step " + std::to_string(step));
}

void take_user_attribute(Trial& trial, const Row& row) {
  if (auto value = attribute_in(row.name, row.text)) trial.user_attributes[row.name] = std::move(*value);
}

void take_system_attribute(Trial& trial, const Row& row) {
  if (row.name == constraints_attribute) {
    trial.system_attributes[row.name] = constraints_in(row.text);
  } else if (auto value = attribute_in(row.name, row.text)) {
    if (row.name == enqueued_attribute && value->is_object()) {
      for (Json& choice : *value) choice = restored(choice);
    }
    trial.system_attributes[row.name] = std::move(*value);
  }
}

}  // namespace

std::optional<Json> attribute_in(const std::string& key, const std::string& text) {
  const std::string known = json_of_python(text);
  Json value = parse_json(known, "attribute '" + key + "'");
  if (known != text || is_foreign(key, value)) return std::nullopt;
  return value;
}

void RowReader::take(const Row& row) {
  if (row.kind == static_cast<int>(RowKind::study)) {
    name_ = row.name;
    objectives_ = std::stoll(row.text);
    return;
  }
  of_study(name_, [&] { take_of_study(row); });
}

Updates RowReader::updates() {
  of_study(name_, [&] { expect_values(updates_.trials, objectives_); });
  fail_infinite(updates_.trials);
  return std::move(updates_);
}

void RowReader::take_of_study(const Row& row) {
  switch (static_cast<RowKind>(row.kind)) {
    case RowKind::study:
      return;
    case RowKind::head:
      return head(row);
    case RowKind::parameter:
      return of_trial(trial_of(row.trial), [&](Trial& trial) { parameter(trial, row); });
    case RowKind::value:
      return of_trial(trial_of(row.trial), [&](Trial& trial) { take_value(trial, row); });
    case RowKind::intermediate:
      return of_trial(trial_of(row.trial), [&](Trial& trial) { take_intermediate(trial, row); });
    case RowKind::user:
      return of_trial(trial_of(row.trial), [&](Trial& trial) { take_user_attribute(trial, row); });
    case RowKind::system:
      return of_trial(trial_of(row.trial), [&](Trial& trial) { take_system_attribute(trial, row); });
    case RowKind::claim:
      if (const auto own = attribute_in(attribute::plan_hash, row.text))
        updates_.plan_hashes[row.trial] = own->get<std::string>();
      return;
    case RowKind::word:
      if (auto said = attribute_in(row.name, row.text)) updates_.words[row.name] = std::move(*said);
      return;
  }
}

// What a trial itself says.
void RowReader::head(const Row& row) {
  Trial trial;
  trial.id = row.trial;
  trial.number = whole_in(row.place, "a trial's number");
  const auto wrong = [&](const char* how) { throw Error("trial number " + std::to_string(trial.number) + how); };
  if (trial.number < 0) wrong(" is negative");
  if (trial.number > std::numeric_limits<int32_t>::max()) wrong(" is larger than any that Optuna's schema holds");
  if (!updates_.trials.empty() && trial.number == updates_.trials.back().number) wrong(" is there twice");
  of_trial(trial, [&](Trial& one) {
    one.state = state_of(row.name);
    if (row.has_text == soci::i_ok) one.start = time_of(row.text);
    if (row.has_more == soci::i_ok) one.complete = time_of(row.more);
  });
  places_[trial.id] = updates_.trials.size();
  updates_.trials.push_back(std::move(trial));
}

Trial& RowReader::trial_of(int64_t id) {
  const auto found = places_.find(id);
  if (found == places_.end()) throw Error("there is something of a trial " + std::to_string(id) + ", which the study has not");
  return updates_.trials[found->second];
}

void RowReader::parameter(Trial& trial, const Row& row) {
  DistributionPtr& distribution = known_[row.text];
  if (!distribution) distribution = std::make_shared<Distribution>(distribution_of(row.text));
  const auto whole = row.name.size() >= longest_name ? long_name_in(row.text) : std::nullopt;
  const std::string what = "the value of '" + row.name + "'";
  trial.point.set(whole.value_or(row.name), value_of(*distribution, real_in(row.number, what), what));
  trial.distributions.push_back(distribution);
}

}  // namespace quasar::search::optuna
