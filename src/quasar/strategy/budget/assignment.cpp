#include "quasar/strategy/budget/assignment.hpp"

#include <algorithm>
#include <cmath>

#include "quasar/search/models/integer_program.hpp"

namespace quasar::tune {

double InParts::of(const Assignment& assignment) const {
  double sum = constant;
  for (size_t g = 0; g < assignment.size(); g++) sum += single[g][assignment[g]];
  for (const auto& [pair, values] : pairs) sum += values[assignment[pair.first]][assignment[pair.second]];
  return sum;
}

double BoundedCost::of(const Assignment& assignment) const {
  double sum = parts.of(assignment);
  const auto has_codes = [&](const std::optional<size_t>& group) { return group && in_codes[*group][assignment[*group]]; };
  for (const Crossing& crossing : crossings) {
    const bool written = has_codes(crossing.writer);
    const auto differs = [&](const std::optional<size_t>& reader) { return has_codes(reader) != written; };
    if (std::ranges::any_of(crossing.readers, differs)) sum += written ? crossing.leaving : crossing.entering;
  }
  return sum;
}

namespace {

using search::IntegerProgram;
using Pair = std::pair<size_t, size_t>;

class Writing {
 public:
  explicit Writing(const AssignmentProblem& problem) : problem_(problem) {
    for (size_t g = 0; g < problem.groups(); g++) {
      IntegerProgram::Row one;
      choices_.emplace_back();
      for (const double value : minimized().single[g]) {
        choices_.back().push_back(program_.add_variable(value, true));
        one.emplace_back(choices_.back().back(), 1);
      }
      program_.add_row(one, 1, 1);
    }
    for (const auto& [pair, values] : problem.loss.pairs) add_products(pair);
    for (const BoundedCost& cost : problem.costs) {
      for (const auto& [pair, values] : cost.parts.pairs) add_products(pair);
    }
    for (size_t i = 0; i < problem.costs.size(); i++) {
      const BoundedCost& cost = problem.costs[i];
      if (problem.least == i) minimize_crossings(cost);
      if (std::isfinite(cost.most)) bound(cost);
    }
    if (problem.least && std::isfinite(problem.most_loss))
      bound({.name = "loss", .parts = problem.loss, .most = problem.most_loss});
  }

  // At least one group has another precision.
  void exclude(const Assignment& assignment) {
    IntegerProgram::Row row;
    for (size_t g = 0; g < assignment.size(); g++) row.emplace_back(choices_[g][assignment[g]], 1);
    program_.add_row(row, 0, static_cast<double>(assignment.size()) - 1);
  }

  std::optional<BestAssignment> solve(double seconds) const {
    const auto solution = program_.minimum(seconds);
    if (!solution) return std::nullopt;
    BestAssignment out{.assignment = {}, .is_proven = solution->is_proven};
    for (const auto& choices : choices_) {
      const auto chosen = std::ranges::find_if(choices, [&](size_t variable) { return solution->values[variable] > 0.5; });
      out.assignment.push_back(static_cast<size_t>(chosen - choices.begin()));
    }
    out.loss = problem_.loss.of(out.assignment);
    const double below = solution->objective - solution->bound;
    const double is = problem_.least ? problem_.costs[*problem_.least].of(out.assignment) : out.loss;
    out.gap = below <= 0 ? 0 : below / std::max(std::abs(is), 1e-300);
    return out;
  }

 private:
  const InParts& minimized() const { return problem_.least ? problem_.costs[*problem_.least].parts : problem_.loss; }

  // Of this pair, once; what is minimized has its part of it as their cost.
  void add_products(const Pair& pair) {
    if (products_.contains(pair)) return;
    const auto &first = choices_[pair.first], &second = choices_[pair.second];
    const auto part = minimized().pairs.find(pair);
    auto& products = products_[pair];
    for (size_t p = 0; p < first.size(); p++) {
      products.emplace_back();
      for (size_t q = 0; q < second.size(); q++)
        products[p].push_back(program_.add_variable(part == minimized().pairs.end() ? 0 : part->second[p][q], false));
    }
    for (size_t p = 0; p < first.size(); p++) {
      IntegerProgram::Row row{{first[p], -1}};
      for (const size_t product : products[p]) row.emplace_back(product, 1);
      program_.add_row(row, 0, 0);
    }
    for (size_t q = 0; q < second.size(); q++) {
      IntegerProgram::Row row{{second[q], -1}};
      for (size_t p = 0; p < first.size(); p++) row.emplace_back(products[p][q], 1);
      program_.add_row(row, 0, 0);
    }
  }

  void bound(const BoundedCost& cost) {
    IntegerProgram::Row row;
    double most = cost.most - cost.parts.constant, unit = std::abs(most);
    for (size_t g = 0; g < choices_.size(); g++) {
      for (size_t p = 0; p < choices_[g].size(); p++) row.emplace_back(choices_[g][p], cost.parts.single[g][p]);
    }
    for (const auto& [pair, values] : cost.parts.pairs) {
      for (size_t p = 0; p < values.size(); p++) {
        for (size_t q = 0; q < values[p].size(); q++) row.emplace_back(products_.at(pair)[p][q], values[p][q]);
      }
    }
    for (const Crossing& crossing : cost.crossings) {
      const auto [leaving, entering] = cross(cost, crossing, 0, 0);
      row.emplace_back(leaving, crossing.leaving);
      row.emplace_back(entering, crossing.entering);
    }
    for (const auto& [variable, factor] : row) unit = std::max(unit, std::abs(factor));
    if (unit <= 0) unit = 1;
    for (auto& [variable, factor] : row) factor /= unit;  // factors of one size, which the solver's tolerances are made for
    program_.add_row(row, -IntegerProgram::unbounded, most / unit);
  }

  void minimize_crossings(const BoundedCost& cost) {
    for (const Crossing& crossing : cost.crossings) cross(cost, crossing, crossing.leaving, crossing.entering);
  }

  // Variables leaving ≥ codes(writer) − codes(reader) of every reader, entering the other way round, with these costs. -> both
  std::pair<size_t, size_t> cross(const BoundedCost& cost, const Crossing& crossing, double cost_of_leaving,
                                  double cost_of_entering) {
    const size_t leaving = program_.add_variable(cost_of_leaving, false),
                 entering = program_.add_variable(cost_of_entering, false);
    for (const auto& reader : crossing.readers) {
      if (reader == crossing.writer) continue;
      IntegerProgram::Row difference;  // codes(writer) − codes(reader)
      add_codes(cost, crossing.writer, 1, difference);
      add_codes(cost, reader, -1, difference);
      IntegerProgram::Row left{{leaving, 1}}, entered{{entering, 1}};
      for (const auto& [variable, factor] : difference) {
        left.emplace_back(variable, -factor);
        entered.emplace_back(variable, factor);
      }
      program_.add_row(left, 0, IntegerProgram::unbounded);
      program_.add_row(entered, 0, IntegerProgram::unbounded);
    }
    return {leaving, entering};
  }

  void add_codes(const BoundedCost& cost, const std::optional<size_t>& group, double factor, IntegerProgram::Row& to) const {
    for (size_t p = 0; group && p < choices_[*group].size(); p++) {
      if (cost.in_codes[*group][p]) to.emplace_back(choices_[*group][p], factor);
    }
  }

  const AssignmentProblem& problem_;
  IntegerProgram program_;
  std::vector<std::vector<size_t>> choices_;  // variables
  std::map<Pair, std::vector<std::vector<size_t>>> products_;
};

}  // namespace

std::optional<BestAssignment> best_assignment(const AssignmentProblem& problem, std::span<const Assignment> excluded,
                                              double seconds) {
  Writing writing(problem);
  for (const Assignment& one : excluded) writing.exclude(one);
  return writing.solve(seconds);
}

std::optional<Assignment> cheapest_assignment(const AssignmentProblem& problem, size_t cost) {
  constexpr double most_seconds = 5;
  AssignmentProblem least = problem;
  least.least = cost;
  least.most_loss = HUGE_VAL;
  for (BoundedCost& other : least.costs) other.most = HUGE_VAL;
  const auto found = best_assignment(least, {}, most_seconds);
  return found ? std::optional(found->assignment) : std::nullopt;
}

}  // namespace quasar::tune
