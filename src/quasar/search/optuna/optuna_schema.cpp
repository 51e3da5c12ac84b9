#include "quasar/search/optuna/optuna_schema.hpp"

#include <map>

namespace quasar::search::optuna {
namespace {

// What databases call differently stands in braces.
// clang-format off
constexpr const char* tables[] = {
  "CREATE TABLE studies (study_id {id}, study_name VARCHAR(512) NOT NULL)",
  "CREATE UNIQUE INDEX ix_studies_study_name ON studies (study_name)",
  "CREATE TABLE version_info (version_info_id INTEGER NOT NULL PRIMARY KEY CHECK (version_info_id = 1), schema_version INTEGER, "
    "library_version VARCHAR(256))",
  "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))",
  "CREATE TABLE study_directions (study_direction_id {id}, direction {direction} NOT NULL, "
    "study_id INTEGER NOT NULL REFERENCES studies (study_id), objective INTEGER NOT NULL, UNIQUE (study_id, objective))",
  "CREATE TABLE study_user_attributes (study_user_attribute_id {id}, study_id INTEGER REFERENCES studies (study_id), "
    "\"key\" VARCHAR(512), value_json TEXT, UNIQUE (study_id, \"key\"))",
  "CREATE TABLE study_system_attributes (study_system_attribute_id {id}, study_id INTEGER REFERENCES studies (study_id), "
    "\"key\" VARCHAR(512), value_json TEXT, UNIQUE (study_id, \"key\"))",
  "CREATE TABLE trials (trial_id {id}, number INTEGER, study_id INTEGER REFERENCES studies (study_id), "
    "state {state} NOT NULL, datetime_start {time}, datetime_complete {time})",
  "CREATE INDEX ix_trials_study_id ON trials (study_id)",
  "CREATE TABLE trial_user_attributes (trial_user_attribute_id {id}, trial_id INTEGER REFERENCES trials (trial_id), "
    "\"key\" VARCHAR(512), value_json TEXT, UNIQUE (trial_id, \"key\"))",
  "CREATE TABLE trial_system_attributes (trial_system_attribute_id {id}, trial_id INTEGER REFERENCES trials (trial_id), "
    "\"key\" VARCHAR(512), value_json TEXT, UNIQUE (trial_id, \"key\"))",
  "CREATE TABLE trial_params (param_id {id}, trial_id INTEGER REFERENCES trials (trial_id), param_name VARCHAR(512), "
    "param_value {number}, distribution_json TEXT, UNIQUE (trial_id, param_name))",
  "CREATE TABLE trial_values (trial_value_id {id}, trial_id INTEGER NOT NULL REFERENCES trials (trial_id), "
    "objective INTEGER NOT NULL, value {number}, value_type {value_type} NOT NULL, UNIQUE (trial_id, objective))",
  "CREATE TABLE trial_intermediate_values (trial_intermediate_value_id {id}, "
    "trial_id INTEGER NOT NULL REFERENCES trials (trial_id), step INTEGER NOT NULL, intermediate_value {number}, "
    "intermediate_value_type {intermediate_type} NOT NULL, UNIQUE (trial_id, step))",
  "CREATE TABLE trial_heartbeats (trial_heartbeat_id {id}, trial_id INTEGER NOT NULL REFERENCES trials (trial_id), "
    "heartbeat {time} NOT NULL, UNIQUE (trial_id))",
};
// clang-format on

std::vector<std::string> schema(const std::map<std::string, std::string>& words) {
  std::vector<std::string> out;
  for (std::string table : tables) {
    for (const auto& [word, type] : words) {
      const std::string mark = "{" + word + "}";
      for (size_t at = table.find(mark); at != std::string::npos; at = table.find(mark)) table.replace(at, mark.size(), type);
    }
    out.push_back(table);
  }
  return out;
}

}  // namespace

std::vector<std::string> sqlite_schema() {
  return schema({{"id", "INTEGER NOT NULL PRIMARY KEY"},
                 {"direction", "VARCHAR(8)"},
                 {"state", "VARCHAR(8)"},
                 {"value_type", "VARCHAR(7)"},
                 {"intermediate_type", "VARCHAR(7)"},
                 {"time", "DATETIME"},
                 {"number", "FLOAT"}});
}

// The enumerations have the names that SQLAlchemy gives them.
std::vector<std::string> postgresql_schema() {
  std::vector<std::string> out{
      "CREATE TYPE studydirection AS ENUM ('NOT_SET', 'MINIMIZE', 'MAXIMIZE')",
      "CREATE TYPE trialstate AS ENUM ('RUNNING', 'COMPLETE', 'PRUNED', 'FAIL', 'WAITING')",
      "CREATE TYPE trialvaluetype AS ENUM ('FINITE', 'INF_POS', 'INF_NEG')",
      "CREATE TYPE trialintermediatevaluetype AS ENUM ('FINITE', 'INF_POS', 'INF_NEG', 'NAN')",
  };
  for (auto& table : schema({{"id", "SERIAL NOT NULL PRIMARY KEY"},
                             {"direction", "studydirection"},
                             {"state", "trialstate"},
                             {"value_type", "trialvaluetype"},
                             {"intermediate_type", "trialintermediatevaluetype"},
                             {"time", "TIMESTAMP WITHOUT TIME ZONE"},
                             {"number", "FLOAT(53)"}})) {
    out.push_back(std::move(table));
  }
  return out;
}

}  // namespace quasar::search::optuna
