// Lists of placeholders for values that are bound to a statement: what stands in the text of SQL is never data.
#pragma once

#include <string>
#include <type_traits>

namespace quasar::search::optuna {

// SQLite binds at most 32766 values, PostgreSQL 65535.
inline constexpr size_t most_rows = 5000;

// "(:prefix0, :prefix1)"
inline std::string placeholders(const std::string& prefix, size_t count) {
  std::string out = "(";
  for (size_t i = 0; i < count; ++i) out += (i == 0 ? ":" : ", :") + prefix + std::to_string(i);
  return out + ")";
}

// "{1,2}": an array of PostgreSQL's, of numbers or of words without quotes, commas and braces.
template <class All>
std::string array_of(const All& all) {
  std::string out;
  for (const auto& one : all) {
    out += out.empty() ? "{" : ",";
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(one)>>) {
      out += std::to_string(one);
    } else {
      out += one;
    }
  }
  return out.empty() ? "{}" : out + "}";
}

}  // namespace quasar::search::optuna
