#include "quasar/search/optuna/optuna_rows.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include "quasar/base/json.hpp"
#include "quasar/base/printable.hpp"
#include "quasar/search/optuna/optuna_format.hpp"
#include "quasar/search/optuna/optuna_numbers.hpp"
#include "quasar/search/optuna/placeholders.hpp"

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

// nullopt: NaN or Infinity is in it. Quasar stores neither, so that it is some other program's, and left out as well: what was
// read could not be written again as it is.
std::optional<Json> attribute_in(const std::string& key, const std::string& text) {
  const std::string known = json_of_python(text);
  Json value = parse_json(known, "attribute '" + key + "'");
  if (known != text || is_foreign(key, value)) return std::nullopt;
  return value;
}

template <class Into>
void bind_into(soci::statement& statement, const Into& into) {
  statement.exchange(into);
}

// Runs the query with these numbers bound in their order, and calls visit() after each row has gone into the variables.
template <class Visit, class... Into>
void each(soci::session& sql, const std::string& query, const std::vector<int64_t>& bound, const Visit& visit, Into&&... into) {
  soci::statement statement(sql);
  for (const int64_t& number : bound) statement.exchange(soci::use(number));
  (bind_into(statement, into), ...);
  statement.alloc();
  statement.prepare(query, soci::details::st_one_time_query);
  statement.define_and_bind();
  statement.execute();
  while (statement.fetch()) visit();
}

// Which rows of trials `t`, as a condition and what is bound to it.
struct Which {
  std::string condition = "t.study_id = :s";
  std::vector<int64_t> bound;
};

Which all_of(int64_t study) {
  return {.bound = {study}};
}

Which only(int64_t study, const std::vector<int64_t>& ids) {
  Which out = all_of(study);
  out.condition += " AND t.trial_id IN " + placeholders("i", ids.size());
  out.bound.insert(out.bound.end(), ids.begin(), ids.end());
  return out;
}

// What is wrong with these rows is said to be this study's.
template <class Work>
auto of_study(const std::string& name, const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const Error& error) {
    const std::string why = error.what();
    throw Error("study '" + name + "': " + why + (why.ends_with("damaged") ? "" : ": the study is damaged"));
  }
}

void read_details(soci::session& sql, StudyRecord& study) {
  std::string key;
  std::string text;
  const auto visit = [&] {
    if (auto value = attribute_in(key, text)) study.user_attributes[key] = std::move(*value);
  };
  each(
      sql, "SELECT direction FROM study_directions WHERE study_id = :s ORDER BY objective", {study.id},
      [&] { study.directions.push_back(direction_of(text)); }, soci::into(text));
  each(sql, "SELECT \"key\", value_json FROM study_user_attributes WHERE study_id = :s ORDER BY study_user_attribute_id",
       {study.id}, visit, soci::into(key), soci::into(text));
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

// What a trial itself says. `objectives`: how many its study has.
std::vector<Trial> read_heads(soci::session& sql, const Which& which, int64_t& objectives) {
  std::vector<Trial> out;
  Trial trial;
  Cell<int64_t> number;
  std::string state;
  std::string begin;
  std::string end;
  soci::indicator has_begin = soci::i_ok;
  soci::indicator has_end = soci::i_ok;
  const auto visit = [&] {
    trial.number = whole_in(number, "a trial's number");
    of_trial(trial, [&](Trial& one) {
      one.state = state_of(state);
      one.start = has_begin == soci::i_ok ? std::optional(time_of(begin)) : std::nullopt;
      one.complete = has_end == soci::i_ok ? std::optional(time_of(end)) : std::nullopt;
    });
    out.push_back(trial);
  };
  each(sql,
       "SELECT trial_id, " + whole_column("number") +
           ", state, datetime_start, datetime_complete, (SELECT COUNT(*) FROM study_directions d WHERE "
           "d.study_id = t.study_id) FROM trials t WHERE " +
           which.condition + " ORDER BY number",
       which.bound, visit, soci::into(trial.id), number, soci::into(state), soci::into(begin, has_begin),
       soci::into(end, has_end), soci::into(objectives));
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t one = out[i].number;
    const auto wrong = [&](const char* how) { throw Error("trial number " + std::to_string(one) + how); };
    if (one < 0) wrong(" is negative");
    if (one > std::numeric_limits<int32_t>::max()) wrong(" is larger than any that Optuna's schema holds");
    if (i > 0 && one == out[i - 1].number) wrong(" is there twice");
  }
  return out;
}

template <class TrialOf>
void read_parameters(soci::session& sql, const Which& which, const TrialOf& trial_of) {
  int64_t id = 0;
  std::string name;
  std::string text;
  Cell<double> number;
  std::map<std::string, DistributionPtr> known;  // trials share them
  const auto visit = [&] {
    of_trial(trial_of(id), [&](Trial& trial) {
      DistributionPtr& distribution = known[text];
      if (!distribution) distribution = std::make_shared<Distribution>(distribution_of(text));
      const auto whole = name.size() >= longest_name ? long_name_in(text) : std::nullopt;
      const std::string what = "the value of '" + name + "'";
      trial.point.set(whole.value_or(name), value_of(*distribution, real_in(number, what), what));
      trial.distributions.push_back(distribution);
    });
  };
  each(sql,
       "SELECT p.trial_id, param_name, " + real_column("param_value") +
           ", distribution_json FROM trial_params p JOIN trials t "
           "ON t.trial_id = p.trial_id WHERE " +
           which.condition + " ORDER BY param_id",
       which.bound, visit, soci::into(id), soci::into(name), number, soci::into(text));
}

template <class TrialOf>
void read_values(soci::session& sql, const Which& which, const TrialOf& trial_of) {
  int64_t id = 0;
  Cell<int64_t> place;
  Cell<double> value;
  std::string type;
  const auto objective = [&](Trial& trial) {
    const int64_t next = static_cast<int64_t>(trial.values.size());
    const int64_t given = whole_in(place, "the number of an objective");
    if (given != next)
      throw Error("it has a value of objective " + std::to_string(given) + ", but none of " + std::to_string(next));
    trial.values.push_back(typed_in(value, type, "its value"));
  };
  const auto intermediate = [&](Trial& trial) {
    const int64_t step = whole_in(place, "the step of an intermediate value");
    trial.intermediate[step] = typed_in(value, type, "its intermediate value at step " + std::to_string(step));
  };
  const auto read = [&](const std::string& table, const std::string& columns, const std::string& order, const auto& work) {
    each(
        sql,
        "SELECT v.trial_id, " + columns + " FROM " + table + " v JOIN trials t ON t.trial_id = v.trial_id WHERE " +
            which.condition + order,
        which.bound, [&] { of_trial(trial_of(id), work); }, soci::into(id), place, value, soci::into(type));
  };
  read("trial_values", whole_column("objective") + ", " + real_column("value") + ", value_type",
       " ORDER BY v.trial_id, objective", objective);
  read("trial_intermediate_values", whole_column("step") + ", " + real_column("intermediate_value") + ", intermediate_value_type",
       "", intermediate);
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

template <class TrialOf>
void read_attributes(soci::session& sql, const Which& which, const std::string& kind, const TrialOf& trial_of) {
  int64_t id = 0;
  std::string key;
  std::string text;
  const auto visit = [&] {
    of_trial(trial_of(id), [&](Trial& trial) {
      Json& attributes = kind == "user" ? trial.user_attributes : trial.system_attributes;
      if (kind == "system" && key == constraints_attribute) {
        attributes[key] = constraints_in(text);
      } else if (auto value = attribute_in(key, text)) {
        attributes[key] = std::move(*value);
      }
    });
  };
  each(sql,
       "SELECT a.trial_id, \"key\", value_json FROM trial_" + kind +
           "_attributes a JOIN trials t ON t.trial_id = a.trial_id WHERE " + which.condition + " ORDER BY trial_" + kind +
           "_attribute_id",
       which.bound, visit, soci::into(id), soci::into(key), soci::into(text));
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

std::vector<Trial> read(soci::session& sql, const Which& which) {
  int64_t objectives = 0;
  std::vector<Trial> out = read_heads(sql, which, objectives);
  if (out.empty()) return out;
  std::map<int64_t, Trial*> by_id;
  for (Trial& trial : out) by_id[trial.id] = &trial;
  const auto trial_of = [&](int64_t id) -> Trial& {
    const auto found = by_id.find(id);
    if (found == by_id.end()) throw Error("there is something of a trial " + std::to_string(id) + ", which the study has not");
    return *found->second;
  };
  read_parameters(sql, which, trial_of);
  read_values(sql, which, trial_of);
  expect_values(out, objectives);
  read_attributes(sql, which, "user", trial_of);
  read_attributes(sql, which, "system", trial_of);
  return out;
}

// The same; what is wrong is said to be this study's.
std::vector<Trial> read(soci::session& sql, int64_t study, const Which& which) {
  std::string name;
  sql << "SELECT study_name FROM studies WHERE study_id = :s", soci::use(study), soci::into(name);
  return of_study(name, [&] { return read(sql, which); });
}

}  // namespace

std::vector<StudyRecord> read_studies(soci::session& sql) {
  std::vector<StudyRecord> out;
  StudyRecord record;
  each(
      sql, "SELECT study_id, study_name FROM studies ORDER BY study_id", {}, [&] { out.push_back(record); },
      soci::into(record.id), soci::into(record.name));
  for (StudyRecord& study : out) of_study(study.name, [&] { read_details(sql, study); });
  return out;
}

std::vector<Trial> read_trials(soci::session& sql, int64_t study) {
  return read(sql, study, all_of(study));
}

std::vector<Trial> read_trials(soci::session& sql, int64_t study, const std::vector<int64_t>& ids) {
  std::vector<Trial> out;
  for (size_t i = 0; i < ids.size(); i += most_rows) {
    const auto begin = ids.begin() + static_cast<ptrdiff_t>(i);
    auto some = read(sql, study, only(study, {begin, begin + static_cast<ptrdiff_t>(std::min(most_rows, ids.size() - i))}));
    std::ranges::move(some, std::back_inserter(out));
  }
  std::ranges::sort(out, {}, &Trial::number);
  return out;
}

Updates read_updates(soci::session& sql, int64_t study, int64_t after, const std::map<int64_t, State>& known) {
  Updates updates;
  std::vector<int64_t> changed;
  int64_t id = 0;
  std::string state;
  std::string hash;
  soci::indicator claimed = soci::i_ok;
  const auto visit = [&] {
    const auto before = known.find(id);
    if (before == known.end() || before->second != state_of(state)) {
      changed.push_back(id);
    } else if (claimed == soci::i_ok && state_of(state) == State::running) {
      if (const auto own = attribute_in(attribute::plan_hash, hash)) updates.plan_hashes[id] = own->get<std::string>();
    }
  };
  std::string condition = "t.study_id = :s AND (t.trial_id > :a";
  std::vector<int64_t> bound{study, after};
  for (const auto& [one, was] : known) bound.push_back(one);
  if (!known.empty()) condition += " OR t.trial_id IN " + placeholders("i", known.size());
  each(sql,
       "SELECT t.trial_id, state, value_json FROM trials t LEFT JOIN trial_user_attributes a ON a.trial_id = t.trial_id AND "
       "a.\"key\" = 'plan_hash' WHERE " +
           condition + ")",
       bound, visit, soci::into(id), soci::into(state), soci::into(hash, claimed));
  updates.trials = read_trials(sql, study, changed);
  return updates;
}

std::optional<std::string> read_attribute(soci::session& sql, const std::string& table, int64_t owner, const std::string& key) {
  const std::string kind = table.substr(0, table.find('_'));
  std::string text;
  soci::indicator found = soci::i_null;
  sql << "SELECT value_json FROM " << table << "_attributes WHERE " << kind << "_id = :o AND \"key\" = :k", soci::use(owner),
      soci::use(key), soci::into(text, found);
  return sql.got_data() && found == soci::i_ok ? std::optional(text) : std::nullopt;
}

}  // namespace quasar::search::optuna
