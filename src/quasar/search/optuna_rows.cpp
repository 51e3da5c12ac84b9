#include "quasar/search/optuna_rows.hpp"

#include <cmath>
#include <limits>

#include "quasar/search/optuna_format.hpp"

namespace quasar::search::optuna {
namespace {

// Numbers that SQL cannot hold have a type beside them.
const char* type_of(double value) {
  if (std::isnan(value)) return "NAN";
  if (std::isinf(value)) return value > 0 ? "INF_POS" : "INF_NEG";
  return "FINITE";
}

double number_of(double value, const std::string& type) {
  if (type == "NAN") return std::numeric_limits<double>::quiet_NaN();
  if (type == "FINITE") return value;
  return type == "INF_POS" ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
}

// Runs the query and calls visit() after each row has gone into the variables bound to it.
template <class Visit>
void each(soci::statement statement, const Visit& visit) {
  statement.execute();
  while (statement.fetch()) visit();
}

void read_details(soci::session& sql, StudyRecord& study) {
  std::string key;
  std::string value;
  each((sql.prepare << "SELECT direction FROM study_directions WHERE study_id = :s ORDER BY objective", soci::use(study.id),
        soci::into(value)),
       [&] { study.directions.push_back(direction_of(value)); });
  each((sql.prepare
            << "SELECT \"key\", value_json FROM study_user_attributes WHERE study_id = :s ORDER BY study_user_attribute_id",
        soci::use(study.id), soci::into(key), soci::into(value)),
       [&] { study.user_attributes[key] = parse_json(value, "study database"); });
}

std::vector<Trial> read_heads(soci::session& sql, int64_t study) {
  std::vector<Trial> out;
  Trial trial;
  std::string state;
  std::string begin;
  std::string end;
  soci::indicator has_begin = soci::i_ok;
  soci::indicator has_end = soci::i_ok;
  each((sql.prepare << "SELECT trial_id, number, state, datetime_start, datetime_complete FROM trials WHERE study_id = :s "
                       "ORDER BY number",
        soci::use(study), soci::into(trial.id), soci::into(trial.number), soci::into(state), soci::into(begin, has_begin),
        soci::into(end, has_end)),
       [&] {
         trial.state = state_of(state);
         trial.start = has_begin == soci::i_ok ? std::optional(time_of(begin)) : std::nullopt;
         trial.complete = has_end == soci::i_ok ? std::optional(time_of(end)) : std::nullopt;
         out.push_back(trial);
       });
  return out;
}

template <class TrialOf>
void read_parameters(soci::session& sql, int64_t study, const TrialOf& trial_of) {
  int64_t id = 0;
  std::string name;
  std::string text;
  double number = 0;
  std::map<std::string, DistributionPtr> known;  // trials share them
  each((sql.prepare << "SELECT p.trial_id, param_name, param_value, distribution_json FROM trial_params p JOIN trials t "
                       "ON t.trial_id = p.trial_id WHERE t.study_id = :s ORDER BY param_id",
        soci::use(study), soci::into(id), soci::into(name), soci::into(number), soci::into(text)),
       [&] {
         DistributionPtr& distribution = known[text];
         if (!distribution) distribution = std::make_shared<Distribution>(distribution_of(text));
         trial_of(id).point.set(name, value_of(*distribution, number));
         trial_of(id).distributions.push_back(distribution);
       });
}

template <class TrialOf>
void read_values(soci::session& sql, int64_t study, const TrialOf& trial_of) {
  int64_t id = 0;
  int64_t step = 0;
  double value = 0;
  soci::indicator finite = soci::i_ok;
  std::string type;
  each((sql.prepare << "SELECT v.trial_id, value, value_type FROM trial_values v JOIN trials t ON t.trial_id = v.trial_id "
                       "WHERE t.study_id = :s ORDER BY v.trial_id, objective",
        soci::use(study), soci::into(id), soci::into(value, finite), soci::into(type)),
       [&] { trial_of(id).values.push_back(number_of(value, type)); });
  each((sql.prepare << "SELECT v.trial_id, step, intermediate_value, intermediate_value_type FROM trial_intermediate_values v "
                       "JOIN trials t ON t.trial_id = v.trial_id WHERE t.study_id = :s",
        soci::use(study), soci::into(id), soci::into(step), soci::into(value, finite), soci::into(type)),
       [&] { trial_of(id).intermediate[step] = number_of(value, type); });
}

template <class AttributesOf>
void read_attributes(soci::session& sql, int64_t study, const std::string& kind, const AttributesOf& attributes_of) {
  int64_t id = 0;
  std::string key;
  std::string value;
  each((sql.prepare << "SELECT a.trial_id, \"key\", value_json FROM trial_" << kind
                    << "_attributes a JOIN trials t ON t.trial_id = "
                    << "a.trial_id WHERE t.study_id = :s ORDER BY trial_" << kind << "_attribute_id",
        soci::use(study), soci::into(id), soci::into(key), soci::into(value)),
       [&] { attributes_of(id)[key] = parse_json(value, "study database"); });
}

}  // namespace

std::vector<StudyRecord> read_studies(soci::session& sql) {
  std::vector<StudyRecord> out;
  StudyRecord record;
  each((sql.prepare << "SELECT study_id, study_name FROM studies ORDER BY study_id", soci::into(record.id),
        soci::into(record.name)),
       [&] { out.push_back(record); });
  for (StudyRecord& study : out) read_details(sql, study);
  return out;
}

std::vector<Trial> read_trials(soci::session& sql, int64_t study) {
  std::vector<Trial> out = read_heads(sql, study);
  std::map<int64_t, Trial*> by_id;
  for (Trial& trial : out) by_id[trial.id] = &trial;
  const auto trial_of = [&](int64_t id) -> Trial& { return *by_id.at(id); };
  read_parameters(sql, study, trial_of);
  read_values(sql, study, trial_of);
  read_attributes(sql, study, "user", [&](int64_t id) -> Json& { return trial_of(id).user_attributes; });
  read_attributes(sql, study, "system", [&](int64_t id) -> Json& { return trial_of(id).system_attributes; });
  return out;
}

void TrialWriter::parameters(int64_t id, const Trial& trial) {
  std::string name;
  std::string text;
  double number = 0;
  soci::statement insert =
      (sql_.prepare << "INSERT INTO trial_params (trial_id, param_name, param_value, distribution_json) VALUES (:i, :n, :v, :d)",
       soci::use(id), soci::use(name), soci::use(number), soci::use(text));
  for (size_t i = 0; i < trial.distributions.size(); ++i) {
    const DistributionPtr& distribution = trial.distributions[i];
    name = trial.point.values()[i].first;
    number = number_of(*distribution, trial.point.values()[i].second);
    std::string& known = texts_[distribution];
    if (known.empty()) known = text_of(*distribution);
    text = known;
    insert.execute(true);
  }
}

void TrialWriter::values(const Trial& trial) {
  int64_t at = 0;
  double value = 0;
  soci::indicator finite = soci::i_ok;
  std::string type;
  const auto write = [&](soci::statement& insert, int64_t place, double number) {
    at = place;
    value = number;
    type = type_of(number);
    finite = std::isfinite(number) ? soci::i_ok : soci::i_null;
    insert.execute(true);
  };
  soci::statement results =
      (sql_.prepare << "INSERT INTO trial_values (trial_id, objective, value, value_type) VALUES (:i, :o, :v, :t)",
       soci::use(trial.id), soci::use(at), soci::use(value, finite), soci::use(type));
  for (size_t i = 0; i < trial.values.size(); ++i) write(results, static_cast<int64_t>(i), trial.values[i]);
  if (trial.intermediate.empty()) return;
  soci::statement steps = (sql_.prepare << "INSERT INTO trial_intermediate_values (trial_id, step, intermediate_value, "
                                           "intermediate_value_type) VALUES (:i, :o, :v, :t)",
                           soci::use(trial.id), soci::use(at), soci::use(value, finite), soci::use(type));
  for (const auto& [step, number] : trial.intermediate) write(steps, step, number);
}

void TrialWriter::attributes(int64_t id, const Trial& trial) {
  attributes(id, "user", trial.user_attributes);
  attributes(id, "system", trial.system_attributes);
}

void TrialWriter::attributes(int64_t id, const std::string& kind, const Json& attributes) {
  if (attributes.empty()) return;
  std::string key;
  std::string text;
  soci::statement insert =
      (sql_.prepare << "INSERT INTO trial_" << kind << "_attributes (trial_id, \"key\", value_json) VALUES "
                    << "(:i, :k, :v) ON CONFLICT (trial_id, \"key\") DO UPDATE SET value_json = excluded.value_json",
       soci::use(id), soci::use(key), soci::use(text));
  for (const auto& [name, value] : attributes.items()) {
    key = name;
    text = text_of(value);
    insert.execute(true);
  }
}

}  // namespace quasar::search::optuna
