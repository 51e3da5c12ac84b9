#include "quasar/search/optuna/trial_statements.hpp"

#include <cmath>
#include <cstdlib>

#include "quasar/search/optuna/optuna_format.hpp"

namespace quasar::search::optuna {
namespace {

// Lists go as one value each, as JSON: the statement is then always the same text, whatever it writes. `changed` is what the
// statement has called the trial's row.
std::string attributes_of(const std::string& changed, const std::string& kind) {
  return kind + "_attributes AS (INSERT INTO trial_" + kind +
         "_attributes (trial_id, \"key\", value_json) SELECT c.trial_id, a.e->>0, a.e->>1 FROM " + changed +
         " c, json_array_elements(CAST(:" + kind +
         " AS json)) WITH ORDINALITY AS a(e, place) ORDER BY a.place ON CONFLICT (trial_id, \"key\") DO UPDATE SET value_json = "
         "excluded.value_json)";
}

std::string numbers_of(const std::string& changed, const std::string& table, const std::string& columns,
                       const std::string& type) {
  return "of_" + table + " AS (INSERT INTO trial_" + table + " (trial_id, " + columns +
         ") SELECT c.trial_id, CAST(v.e->>0 AS integer), CAST(v.e->>1 AS double precision), CAST(v.e->>2 AS " + type + ") FROM " +
         changed + " c, json_array_elements(CAST(:" + table + " AS json)) AS v(e))";
}

constexpr const char* channel_prefix = "quasar_";

constexpr const char* points_of_begun =
    "parameters AS (INSERT INTO trial_params (trial_id, param_name, param_value, distribution_json) SELECT c.trial_id, p.e->>0, "
    "CAST(p.e->>1 AS double precision), p.e->>2 FROM begun c, json_array_elements(CAST(:p AS json)) WITH ORDINALITY AS p(e, "
    "place) ORDER BY p.place ON CONFLICT (trial_id, param_name) DO NOTHING)";

constexpr const char* beats =
    "beats AS (INSERT INTO trial_heartbeats (trial_id, heartbeat) SELECT trial_id, CURRENT_TIMESTAMP FROM begun ON CONFLICT "
    "(trial_id) DO UPDATE SET heartbeat = CURRENT_TIMESTAMP)";

std::string listed(const Json& attributes) {
  Json out = Json::array();
  for (const auto& [key, value] : attributes.items()) out.push_back({key, text_of(value)});
  return text_of(out);
}

std::string listed(const std::vector<TrialWriter::Parameter>& parameters) {
  Json out = Json::array();
  for (const auto& one : parameters) out.push_back({one.name, one.number, one.text});
  return text_of(out);
}

// Places, numbers, and types of numbers that SQL need not hold.
std::string listed(const std::map<int64_t, double>& numbers) {
  Json out = Json::array();
  for (const auto& [place, number] : numbers) {
    const char* odd = std::isnan(number) ? "NAN" : number > 0 ? "INF_POS" : "INF_NEG";
    const bool is_finite = std::isfinite(number);
    out.push_back({place, is_finite ? Json(number) : Json(), is_finite ? "FINITE" : odd});
  }
  return text_of(out);
}

}  // namespace

std::string trials_channel(int64_t study) {
  return channel_prefix + std::to_string(study);
}

int64_t study_of_channel(const std::string& channel) {
  const size_t length = std::string(channel_prefix).size();
  return channel.starts_with(channel_prefix) ? std::strtoll(channel.c_str() + length, nullptr, 10) : 0;
}

void insert_begun(const Prepared& sql, int64_t study, Trial& trial, const std::vector<TrialWriter::Parameter>& parameters) {
  static const std::string statement =
      std::string(
          "WITH begun AS (INSERT INTO trials (number, study_id, state, datetime_start) SELECT COALESCE((SELECT number FROM "
          "trials "
          "WHERE study_id = :s ORDER BY trial_id DESC LIMIT 1), -1) + 1, CAST(:i AS integer), CAST(:t AS trialstate), CAST(:b AS "
          "timestamp) RETURNING trial_id, number), ") +
      points_of_begun + ", " + attributes_of("begun", "user") + ", " + attributes_of("begun", "system") + ", " + beats +
      " SELECT trial_id, number FROM begun";
  const std::string which = std::to_string(study);
  const Answer begun = sql.run(statement, {which, which, text_of(trial.state), text_of(trial.start.value_or(now())),
                                           listed(parameters), listed(trial.user_attributes), listed(trial.system_attributes)});
  trial.id = std::stoll(std::string(begun.at(0, 0)));
  trial.number = std::stoll(std::string(begun.at(0, 1)));
}

bool update_resumed(soci::session& sql, const Trial& trial, const std::vector<TrialWriter::Parameter>& parameters) {
  const std::string begin = text_of(trial.start.value_or(now())), points = listed(parameters);
  const std::string user = listed(trial.user_attributes), system = listed(trial.system_attributes);
  int changed = 0;
  sql << "WITH begun AS (UPDATE trials SET state = 'RUNNING', datetime_start = CAST(:b AS timestamp) WHERE trial_id = :i AND "
         "state = 'WAITING' RETURNING trial_id), "
      << points_of_begun << ", " << attributes_of("begun", "user") << ", " << attributes_of("begun", "system") << ", " << beats
      << " SELECT COUNT(*) FROM begun",
      soci::use(begin), soci::use(trial.id), soci::use(points), soci::use(user), soci::use(system), soci::into(changed);
  return changed == 1;
}

bool update_ended(const Prepared& sql, int64_t study, const Trial& trial) {
  static const std::string statement =
      "WITH ended AS (UPDATE trials SET state = CAST(:t AS trialstate), datetime_start = CAST(:b AS timestamp), "
      "datetime_complete = CAST(:e AS timestamp) WHERE trial_id = :i AND state IN ('RUNNING', 'WAITING') RETURNING trial_id), " +
      numbers_of("ended", "values", "objective, value, value_type", "trialvaluetype") + ", " +
      numbers_of("ended", "intermediate_values", "step, intermediate_value, intermediate_value_type",
                 "trialintermediatevaluetype") +
      ", " + attributes_of("ended", "user") + ", " + attributes_of("ended", "system") +
      " SELECT COUNT(pg_notify(:c, '')) FROM ended";
  std::map<int64_t, double> values;
  for (size_t i = 0; i < trial.values.size(); ++i) values[static_cast<int64_t>(i)] = trial.values[i];
  const Answer ended =
      sql.run(statement, {text_of(trial.state), text_of(trial.start.value_or(now())), text_of(trial.complete.value_or(now())),
                          std::to_string(trial.id), listed(values), listed(trial.intermediate), listed(trial.user_attributes),
                          listed(trial.system_attributes), trials_channel(study)});
  return ended.at(0, 0) == "1";
}

bool update_released(soci::session& sql, int64_t study, const Trial& trial) {
  const std::string channel = trials_channel(study);
  int changed = 0;
  sql << "WITH released AS (UPDATE trials SET state = 'WAITING', datetime_start = NULL WHERE trial_id = :i AND state = 'RUNNING' "
         "RETURNING trial_id) SELECT COUNT(pg_notify(:c, '')) FROM released",
      soci::use(trial.id), soci::use(channel), soci::into(changed);
  return changed == 1;
}

void write_word(soci::session& sql, int64_t study, const std::string& key, const std::string& text) {
  const std::string channel = words_channel, who = std::to_string(study);
  int told = 0;
  sql << "WITH written AS (INSERT INTO study_user_attributes (study_id, \"key\", value_json) VALUES (:o, :k, :v) ON CONFLICT "
         "(study_id, \"key\") DO UPDATE SET value_json = excluded.value_json RETURNING study_id) SELECT COUNT(pg_notify(:c, :w)) "
         "FROM written",
      soci::use(study), soci::use(key), soci::use(text), soci::use(channel), soci::use(who), soci::into(told);
}

}  // namespace quasar::search::optuna
