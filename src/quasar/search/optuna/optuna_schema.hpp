// The tables of Optuna's relational storage; the columns and constraints are those that Optuna 5.0 creates.
#pragma once

#include <string>
#include <vector>

namespace quasar::search::optuna {

inline constexpr int schema_version = 12;
inline constexpr const char* alembic_version = "v3.2.0.a";

// The statements that make the tables, per kind of database.
std::vector<std::string> sqlite_schema();
std::vector<std::string> postgresql_schema();

}  // namespace quasar::search::optuna
