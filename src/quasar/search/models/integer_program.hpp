// Integer programs, solved exactly by COIN-OR's CBC (branch and cut):
//
//   minimize Σ_j c_j x_j   so that   low_i ≤ Σ_j a_ij x_j ≤ high_i,   0 ≤ x_j ≤ 1,   some x_j integer
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "quasar/base/error.hpp"

namespace quasar::search {

// This build has no solver.
struct NoSolver : Error {
  NoSolver();
};

class IntegerProgram {
 public:
  static constexpr double unbounded = std::numeric_limits<double>::infinity();
  using Row = std::vector<std::pair<size_t, double>>;  // variable and its factor

  struct Solution {
    std::vector<double> values;  // by variable; those of integer ones are whole
    double objective = 0;
    double bound = 0;       // no solution can be below it
    bool is_proven = true;  // the solver has proved that none is better; false: its time was up
  };

  // A variable between 0 and 1. -> its number
  size_t add_variable(double cost, bool integer);
  // low ≤ Σ factor · variable ≤ high; a variable may be named several times.
  void add_row(const Row& row, double low, double high);

  // nullopt: there is none, or none was found in `seconds`. The same program has the same solution. Throws NoSolver where Quasar
  // was built without CBC, and Cancelled where this thread's work is to end before it begins. Any thread may call it; one program
  // is solved at a time.
  std::optional<Solution> minimum(double seconds = 20) const;

 private:
  struct Bounds {
    double low, high;
  };
  std::vector<double> costs_;
  std::vector<bool> integer_;
  std::vector<Row> rows_;
  std::vector<Bounds> bounds_;  // of each row
};

// Whether this build has the solver.
bool has_integer_solver();

}  // namespace quasar::search
