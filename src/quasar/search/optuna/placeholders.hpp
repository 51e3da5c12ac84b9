// Lists of placeholders for values that are bound to a statement: what stands in the text of SQL is never data.
#pragma once

#include <string>

namespace quasar::search::optuna {

// SQLite binds at most 32766 values, PostgreSQL 65535.
inline constexpr size_t most_rows = 5000;

// "(:prefix0, :prefix1)"
inline std::string placeholders(const std::string& prefix, size_t count) {
  std::string out = "(";
  for (size_t i = 0; i < count; ++i) out += (i == 0 ? ":" : ", :") + prefix + std::to_string(i);
  return out + ")";
}

}  // namespace quasar::search::optuna
