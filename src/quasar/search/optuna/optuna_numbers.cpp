#include "quasar/search/optuna/optuna_numbers.hpp"

#include <cmath>
#include <limits>

#include "quasar/base/error.hpp"
#include "quasar/base/printable.hpp"
#include "quasar/search/optuna/optuna_format.hpp"

namespace quasar::search::optuna {
namespace {

std::string with_odd(const std::string& name, const std::string& is_number) {
  return name + ", CASE WHEN " + is_number + " THEN NULL ELSE CAST(" + name + " AS TEXT) END AS odd_" + name;
}

// Throws Error for what is there and no number.
template <class T>
void refuse_odd(const Cell<T>& cell, const std::string& what, const char* kind) {
  constexpr size_t most = 40;
  if (cell.is_odd != soci::i_ok) return;
  const std::string some = cell.odd.size() > most ? cell.odd.substr(0, most) + "…" : cell.odd;
  throw Error(what + " is '" + printable_name(some) + "', which is no " + kind + ": the study is damaged");
}

}  // namespace

std::string real_column(const std::string& name) {
  return with_odd(name, name + " + 0 = " + name);
}

std::string whole_column(const std::string& name) {
  return with_odd(name, "CAST(" + name + " AS INTEGER) = " + name);
}

double real_in(const Cell<double>& cell, const std::string& what) {
  refuse_odd(cell, what, "number");
  if (cell.there != soci::i_ok) throw Error(what + " is missing: the study is damaged");
  if (!std::isfinite(cell.value)) throw Error(what + " is " + shown(cell.value) + ", but must be finite: the study is damaged");
  return cell.value;
}

int64_t whole_in(const Cell<int64_t>& cell, const std::string& what) {
  refuse_odd(cell, what, "whole number");
  if (cell.there != soci::i_ok) throw Error(what + " is missing: the study is damaged");
  return cell.value;
}

double typed_in(const Cell<double>& cell, const std::string& type, const std::string& what) {
  if (type == "NAN") return std::numeric_limits<double>::quiet_NaN();
  if (type == "INF_POS") return std::numeric_limits<double>::infinity();
  if (type == "INF_NEG") return -std::numeric_limits<double>::infinity();
  if (type != "FINITE") throw Error(what + " is of the unknown type '" + printable_name(type) + "': the study is damaged");
  return real_in(cell, what);
}

}  // namespace quasar::search::optuna
