// What every rounding method must keep.
#include <gtest/gtest.h>

#include "quasar/base/rng.hpp"
#include "quasar/quant/codes/gram_errors.hpp"
#include "quasar/quant/codes/rounding.hpp"

namespace quasar::quant {
namespace {

// Weights of 4 outputs on an asymmetric grid, moments of 12 correlated columns of 9 inputs.
GramProblem small_problem() {
  Rng rng(11);
  const size_t outputs = 4, inputs = 9, columns = 12;
  GramProblem problem{.outputs = outputs, .inputs = inputs};
  for (size_t i = 0; i < outputs * inputs; i++) problem.weights.push_back(static_cast<float>(rng.normal()));
  problem.gram.assign(inputs * inputs, 0);
  problem.cross.assign(outputs * inputs, 0);
  problem.power.assign(outputs, 0);
  for (size_t n = 0; n < columns; n++) {
    std::vector<double> x(inputs);
    const double common = rng.normal();
    for (auto& value : x) value = common + rng.normal();
    for (size_t i = 0; i < inputs; i++) {
      for (size_t j = 0; j < inputs; j++) problem.gram[i * inputs + j] += x[i] * x[j] / columns;
    }
    for (size_t o = 0; o < outputs; o++) {
      double y = 0;
      for (size_t j = 0; j < inputs; j++) y += static_cast<double>(problem.weights[o * inputs + j]) * x[j];
      for (size_t j = 0; j < inputs; j++) problem.cross[o * inputs + j] += y * x[j] / columns;
      problem.power[o] += y * y / columns;
    }
  }
  problem.scales = {0.3, 0.4, 0.5, 0.6};
  problem.zero_points = {0, 1, -1, 0};
  problem.low = -8;
  problem.high = 7;
  problem.damping = 0.2;
  return problem;
}

double damped(const GramProblem& problem, size_t output, const std::vector<int32_t>& codes, double error) {
  for (size_t j = 0; j < problem.inputs; j++) {
    const size_t at = output * problem.inputs + j;
    const double value = problem.scales[output] * (codes[at] - problem.zero_points[output]);
    error +=
        problem.damping * (value - static_cast<double>(problem.weights[at])) * (value - static_cast<double>(problem.weights[at]));
  }
  return error;
}

TEST(RoundingContract, HelpAndName) {
  for (const auto& [name, entry] : rounding::table().items()) {
    EXPECT_FALSE(entry.help.empty()) << name;
    for (const auto& option : entry.options) EXPECT_FALSE(option.help.empty()) << name << "." << option.name;
  }
}

TEST(RoundingContract, CodesAreOnTheGridAndNoWorseThanNearest) {
  const GramProblem problem = small_problem();
  const auto nearest = nearest_codes(problem);
  for (const auto& [name, entry] : rounding::table().items()) {
    const Solution solution = rounding::table().make(name)->solve(problem, 1);
    ASSERT_EQ(solution.codes.size(), problem.weights.size()) << name;
    for (const int32_t code : solution.codes) EXPECT_TRUE(code >= problem.low && code <= problem.high) << name;
    for (size_t o = 0; o < problem.outputs; o++) {
      EXPECT_LE(damped(problem, o, solution.codes, solution.after.at(o)),
                damped(problem, o, nearest, solution.before.at(o)) + 1e-9)
          << name << " output " << o;
    }
  }
}

TEST(RoundingContract, ThreadsDoNotMatter) {
  const GramProblem problem = small_problem();
  for (const auto& [name, entry] : rounding::table().items()) {
    const auto method = rounding::table().make(name);
    EXPECT_EQ(method->solve(problem, 1).codes, method->solve(problem, 4).codes) << name;
  }
}

TEST(RoundingContract, OptimizingGainsOverNearest) {
  const GramProblem problem = small_problem();
  for (const auto& [name, entry] : rounding::table().items()) {
    const auto method = rounding::table().make(name);
    const Solution solution = method->solve(problem, 1);
    double before = 0, after = 0;
    for (size_t o = 0; o < problem.outputs; o++) before += solution.before[o], after += solution.after[o];
    if (method->optimizes() && method->probing_sweeps() > 0) {
      EXPECT_LT(after, before) << name;
    } else {
      EXPECT_EQ(after, before) << name;
    }
  }
}

}  // namespace
}  // namespace quasar::quant
