#include "quasar/search/models/integer_program.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "quasar/base/cancellation.hpp"

#ifdef QUASAR_CBC
#include <coin/Cbc_C_Interface.h>
#endif

namespace quasar::search {

NoSolver::NoSolver()
    : Error(
          "this build of Quasar has no solver for integer programs: it needs COIN-OR's CBC while it is built (Debian's package "
          "coinor-libcbc-dev, which scripts/setup.sh installs); without it strategy budget cannot run") {}

size_t IntegerProgram::add_variable(double cost, bool integer) {
  costs_.push_back(cost);
  integer_.push_back(integer);
  return costs_.size() - 1;
}

void IntegerProgram::add_row(const Row& row, double low, double high) {
  std::map<size_t, double> factors;
  for (const auto& [variable, factor] : row) factors[variable] += factor;
  rows_.emplace_back(factors.begin(), factors.end());
  bounds_.push_back({low, high});
}

#ifdef QUASAR_CBC

bool has_integer_solver() {
  return true;
}

namespace {

// The solver's tolerances are absolute, about a millionth: whatever the unit of the costs, the greatest is given to it so.
constexpr double greatest_cost = 1e4;

struct DeleteModel {
  void operator()(Cbc_Model* model) const { Cbc_deleteModel(model); }
};

// CBC takes the matrix column by column.
struct Columns {
  std::vector<CoinBigIndex> starts{0};
  std::vector<int> rows;
  std::vector<double> factors;
};

Columns by_column(const std::vector<IntegerProgram::Row>& rows, size_t variables) {
  std::vector<std::vector<std::pair<int, double>>> sorted(variables);
  for (size_t i = 0; i < rows.size(); i++) {
    for (const auto& [variable, factor] : rows[i]) sorted[variable].emplace_back(static_cast<int>(i), factor);
  }
  Columns out;
  for (const auto& column : sorted) {
    for (const auto& [row, factor] : column) {
      out.rows.push_back(row);
      out.factors.push_back(factor);
    }
    out.starts.push_back(static_cast<CoinBigIndex>(out.rows.size()));
  }
  return out;
}

}  // namespace

std::optional<IntegerProgram::Solution> IntegerProgram::minimum(double seconds) const {
  static std::mutex one_at_a_time;  // the program behind CBC's interface keeps its options in global variables
  const std::lock_guard lock(one_at_a_time);
  throw_if_cancelled();
  const std::unique_ptr<Cbc_Model, DeleteModel> model(Cbc_newModel());
  Cbc_setLogLevel(model.get(), 0);
  const size_t variables = costs_.size();
  const Columns columns = by_column(rows_, variables);
  std::vector<double> low, high;
  for (const Bounds& one : bounds_) {
    low.push_back(one.low);
    high.push_back(one.high);
  }
  const std::vector<double> zeros(variables, 0), ones(variables, 1);
  double greatest = 0;
  for (const double cost : costs_) greatest = std::max(greatest, std::abs(cost));
  const double unit = greatest > 0 ? greatest / greatest_cost : 1;
  std::vector<double> costs;
  for (const double cost : costs_) costs.push_back(cost / unit);
  Cbc_loadProblem(model.get(), static_cast<int>(variables), static_cast<int>(rows_.size()), columns.starts.data(),
                  columns.rows.data(), columns.factors.data(), zeros.data(), ones.data(), costs.data(), low.data(), high.data());
  for (size_t j = 0; j < variables; j++) {
    if (integer_[j]) Cbc_setInteger(model.get(), static_cast<int>(j));
  }
  Cbc_setObjSense(model.get(), 1);
  for (const auto& [name, value] : {std::pair("log", std::string("0")),
                                    {"ratioGap", "0"},
                                    {"allowableGap", "0"},
                                    {"threads", "0"},
                                    {"sec", std::to_string(seconds)}})
    Cbc_setParameter(model.get(), name, value.c_str());
  Cbc_solve(model.get());
  const double* values = Cbc_getColSolution(model.get());
  const bool is_there = Cbc_isProvenOptimal(model.get()) != 0 || Cbc_numberSavedSolutions(model.get()) > 0;
  if (Cbc_isProvenInfeasible(model.get()) != 0 || !is_there || values == nullptr) return std::nullopt;
  Solution out{.values = {values, values + variables},
               .objective = unit * Cbc_getObjValue(model.get()),
               .bound = unit * Cbc_getBestPossibleObjValue(model.get()),
               .is_proven = Cbc_isProvenOptimal(model.get()) != 0};
  if (out.is_proven) out.bound = out.objective;
  for (size_t j = 0; j < variables; j++) {
    if (integer_[j]) out.values[j] = std::round(out.values[j]);
  }
  return out;
}

#else

bool has_integer_solver() {
  return false;
}

std::optional<IntegerProgram::Solution> IntegerProgram::minimum(double /*seconds*/) const {
  throw NoSolver();
}

#endif

}  // namespace quasar::search
