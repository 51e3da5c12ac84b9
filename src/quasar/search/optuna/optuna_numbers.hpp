// Numbers in rows of Optuna's tables. SQLite keeps whatever a program puts into a column, text and bytes too, and reads it as 0;
// PostgreSQL's numbers may be infinite or none at all. Such a row is an error, never a result.
#pragma once

#include <soci/soci.h>

#include <string>

namespace quasar::search::optuna {

// One column of a query: a number, and what stands there in its place.
template <class T>
struct Cell {
  T value = 0;
  soci::indicator there = soci::i_ok;
  std::string odd = {};
  soci::indicator is_odd = soci::i_null;
};

// What a query selects for a Cell of this column.
std::string real_column(const std::string& name);
std::string whole_column(const std::string& name);

template <class T>
void bind_into(soci::statement& statement, Cell<T>& cell) {
  statement.exchange(soci::into(cell.value, cell.there));
  statement.exchange(soci::into(cell.odd, cell.is_odd));
}

// The number. Throws Error for everything else; `what` begins the message: "its value".
double real_in(const Cell<double>& cell, const std::string& what);
int64_t whole_in(const Cell<int64_t>& cell, const std::string& what);

// The same of a column beside which `type` stands: "FINITE", or the name of what SQL need not hold, "INF_POS", "INF_NEG", "NAN".
double typed_in(const Cell<double>& cell, const std::string& type, const std::string& what);

}  // namespace quasar::search::optuna
