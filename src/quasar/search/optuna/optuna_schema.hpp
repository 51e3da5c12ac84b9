// The tables of Optuna's relational storage; the columns and constraints are those that Optuna 5.0 creates.
#pragma once

#include <string>
#include <vector>

namespace quasar::search::optuna {

inline constexpr int schema_version = 12;
inline constexpr const char* alembic_version = "v3.2.0.a";

// The labels of the changes before it that Optuna has made under the same version of the schema.
inline constexpr const char* older_revisions[] = {"v0.9.0.a", "v1.2.0.a", "v1.3.0.a", "v2.4.0.a", "v2.6.0.a",
                                                  "v3.0.0.a", "v3.0.0.b", "v3.0.0.c", "v3.0.0.d"};

// The statements that make the tables, per kind of database.
std::vector<std::string> sqlite_schema();
std::vector<std::string> postgresql_schema();

}  // namespace quasar::search::optuna
