// Which precision each group of operators gets: the assignment of least loss whose costs stay within their bounds, or that of a
// least cost whose loss does, as an integer program (search/models/integer_program.hpp).
//
//   f(p) = f₀ + Σ_g f_g(p_g) + Σ_(g,h) f_gh(p_g, p_h)   for the loss and for each cost
//
// A binary variable x_gp says whether group g has precision p, Σ_p x_gp = 1. The product of two of them is a variable of its own,
// y_gp,hq: Σ_q y_gp,hq = x_gp and Σ_p y_gp,hq = x_hq make it one.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace quasar::tune {

// The precision of each group, by its number among that group's own.
using Assignment = std::vector<size_t>;

// A function of an assignment, in parts.
struct InParts {
  double constant = 0;
  std::vector<std::vector<double>> single;                                           // [group][precision]
  std::map<std::pair<size_t, size_t>, std::vector<std::vector<double>>> pairs = {};  // (g < h) -> [precision of g][of h]

  double of(const Assignment& assignment) const;
};

// A value that changes its form between groups, which costs once however many read it.
struct Crossing {
  std::optional<size_t> writer;                // nullopt: none of the groups, always in float
  std::vector<std::optional<size_t>> readers;  // nullopt: always in float
  double entering = 0;                         // where it is written in float, and a reader takes codes
  double leaving = 0;                          // the other way round
};

// A cost that is bounded.
struct BoundedCost {
  std::string name;
  InParts parts = {};
  std::vector<Crossing> crossings = {};
  std::vector<std::vector<bool>> in_codes = {};  // [group][precision], where there are crossings
  double most = 0;                               // infinite: not bounded

  double of(const Assignment& assignment) const;
};

struct AssignmentProblem {
  InParts loss;
  std::vector<BoundedCost> costs;
  std::optional<size_t> least = {};  // the cost that is minimized, and then the loss is bounded
  double most_loss = 0;              // by this; infinite: it is not

  size_t groups() const { return loss.single.size(); }
};

struct BestAssignment {
  Assignment assignment;
  double loss = 0;
  double gap = 0;         // no other is better by more than this share of what is minimized
  bool is_proven = true;  // the solver came to its end
};

// The best one besides those that are `excluded`; nullopt: no other keeps the bounds, or none was found in `seconds`. Throws
// search::NoSolver.
std::optional<BestAssignment> best_assignment(const AssignmentProblem& problem, std::span<const Assignment> excluded,
                                              double seconds = 20);

// The one with the least of a cost, whatever is lost and whatever others take; nullopt: the solver found none.
std::optional<Assignment> cheapest_assignment(const AssignmentProblem& problem, size_t cost);

}  // namespace quasar::tune
