#include "quasar/quant/codes/gram_descent.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "quasar/base/rng.hpp"
#include "quasar/quant/codes/gram_errors.hpp"
#include "quasar/quant/codes/gram_factor.hpp"

namespace quasar::quant {
namespace {

// A random layer: inputs x̂ = x + noise, outputs y = Wx, all moments over `samples` columns.
GramProblem random_problem(uint64_t seed, size_t outputs, size_t inputs, size_t samples, int32_t limit, double damping) {
  Rng rng(seed);
  GramProblem problem{.outputs = outputs, .inputs = inputs};
  for (size_t i = 0; i < outputs * inputs; i++) problem.weights.push_back(static_cast<float>(rng.normal()));
  problem.gram.assign(inputs * inputs, 0);
  problem.cross.assign(outputs * inputs, 0);
  problem.power.assign(outputs, 0);
  for (size_t n = 0; n < samples; n++) {
    std::vector<double> x(inputs), noisy(inputs);
    const double common = rng.normal();
    for (size_t j = 0; j < inputs; j++) {
      x[j] = common + rng.normal();
      noisy[j] = x[j] + 0.05 * rng.normal();
    }
    for (size_t i = 0; i < inputs; i++) {
      for (size_t j = 0; j < inputs; j++) problem.gram[i * inputs + j] += noisy[i] * noisy[j] / double(samples);
    }
    for (size_t o = 0; o < outputs; o++) {
      double y = 0;
      for (size_t j = 0; j < inputs; j++) y += double(problem.weights[o * inputs + j]) * x[j];
      for (size_t j = 0; j < inputs; j++) problem.cross[o * inputs + j] += y * noisy[j] / double(samples);
      problem.power[o] += y * y / double(samples);
    }
  }
  for (size_t o = 0; o < outputs; o++) {
    double largest = 0;
    for (size_t j = 0; j < inputs; j++) largest = std::max(largest, std::abs(double(problem.weights[o * inputs + j])));
    problem.scales.push_back(largest / limit);
    problem.zero_points.push_back(static_cast<int32_t>(o % 2));
  }
  problem.low = -limit;
  problem.high = limit;
  problem.damping = damping;
  return problem;
}

// The damped error of one output, by its definition.
double damped(const GramProblem& problem, size_t output, std::span<const int32_t> codes) {
  const size_t k = problem.inputs;
  double sum = problem.power[output];
  std::vector<double> q(k);
  for (size_t j = 0; j < k; j++) q[j] = problem.scales[output] * (codes[output * k + j] - problem.zero_points[output]);
  for (size_t i = 0; i < k; i++) {
    const double w = double(problem.weights[output * k + i]);
    sum += problem.damping * (q[i] - w) * (q[i] - w) - 2 * problem.cross[output * k + i] * q[i];
    for (size_t j = 0; j < k; j++) sum += q[i] * problem.gram[i * k + j] * q[j];
  }
  return sum;
}

// The least damped error of output 0 over all codes.
double brute_force(const GramProblem& problem, bool neighbours_only) {
  const size_t k = problem.inputs;
  const int32_t width = problem.high - problem.low + 1;
  double best = INFINITY;
  const auto total = static_cast<size_t>(std::pow(width, k));
  for (size_t number = 0; number < total; number++) {
    std::vector<int32_t> codes(k);
    bool allowed = true;
    size_t rest = number;
    for (size_t j = 0; j < k; j++, rest /= static_cast<size_t>(width)) {
      codes[j] = problem.low + static_cast<int32_t>(rest % static_cast<size_t>(width));
      const double position = double(problem.weights[j]) / problem.scales[0] + problem.zero_points[0];
      allowed = allowed && std::abs(std::clamp(position, double(problem.low), double(problem.high)) - codes[j]) <= 1;
    }
    if (allowed || !neighbours_only) best = std::min(best, damped(problem, 0, codes));
  }
  return best;
}

TEST(GramDescent, FindsTheBestCodesOfTinyProblemsMostly) {
  for (const bool neighbours_only : {false, true}) {
    int exact = 0;
    for (uint64_t seed = 0; seed < 30; seed++) {
      const GramProblem problem = random_problem(seed, 1, 4, 20, 3, 0.1);
      const Solution solution = descend(problem, {.neighbours_only = neighbours_only, .sequential = true});
      const double found = damped(problem, 0, solution.codes), best = brute_force(problem, neighbours_only);
      EXPECT_GE(found, best - 1e-9);
      if (found <= best + 1e-9) exact++;
    }
    EXPECT_GE(exact, 20);
  }
}

// The error of codes with scales by block, by its definition.
double by_definition(const GramProblem& problem, size_t output, std::span<const int32_t> codes) {
  const size_t k = problem.inputs, blocks = problem.blocks(), length = problem.block == 0 ? k : problem.block;
  std::vector<double> q(k);
  double sum = problem.power[output];
  for (size_t j = 0; j < k; j++) {
    const size_t at = output * blocks + j / length;
    q[j] = problem.scales[at] * (codes[output * k + j] - problem.zero_points[at]);
    const double change = q[j] - double(problem.weights[output * k + j]);
    sum += problem.damping * change * change;
  }
  for (size_t i = 0; i < k; i++) {
    sum -= 2 * problem.cross[output * k + i] * q[i];
    for (size_t j = 0; j < k; j++) sum += q[i] * problem.gram[i * k + j] * q[j];
  }
  return sum;
}

// Scales of its own for every second input.
GramProblem in_blocks(GramProblem problem) {
  problem.block = 2;
  const auto scales = problem.scales;
  problem.scales.clear();
  problem.zero_points.clear();
  for (size_t o = 0; o < problem.outputs; o++) {
    for (size_t b = 0; b < problem.blocks(); b++) {
      problem.scales.push_back(scales[o] * (b % 2 == 0 ? 1 : 0.6));
      problem.zero_points.push_back(static_cast<int32_t>(b % 2));
    }
  }
  return problem;
}

// Every combination of codes of output 0.
double exhaustive(const GramProblem& problem) {
  const size_t k = problem.inputs;
  std::vector<int32_t> codes(k);
  double best = INFINITY;
  const std::function<void(size_t)> choose = [&](size_t j) {
    if (j == k) {
      best = std::min(best, by_definition(problem, 0, codes));
      return;
    }
    for (int32_t code = problem.low; code <= problem.high; code++) {
      codes[j] = code;
      choose(j + 1);
    }
  };
  choose(0);
  return best;
}

// Inputs 0 and 1, 2 and 3 … share sums; zero points as weights of sums of 16 bits have them.
GramProblem in_pairs(GramProblem problem, int32_t pair) {
  problem.pair = pair;
  for (size_t j = 0; j < problem.inputs; j++)
    problem.partners.push_back((j ^ 1U) < problem.inputs ? static_cast<uint32_t>(j ^ 1U) : GramProblem::alone);
  std::ranges::fill(problem.zero_points, 0);
  return problem;
}

bool keeps_pairs(const GramProblem& problem, std::span<const int32_t> codes) {
  for (size_t o = 0; o < problem.outputs; o++) {
    for (size_t j = 0; j + 1 < problem.inputs; j += 2) {
      const int32_t a = codes[o * problem.inputs + j], b = codes[o * problem.inputs + j + 1];
      if (a * b > 0 && std::abs(a + b) > problem.pair) return false;
    }
  }
  return true;
}

TEST(GramDescent, PairsKeepTheirLimitUnderEveryMethodAndAreNoWorseThanNearest) {
  for (uint64_t seed = 0; seed < 40; seed++) {
    const GramProblem problem = in_pairs(random_problem(seed, 4, 9, 30, 7, seed % 2 == 0 ? 0 : 0.2), 8);
    const auto nearest = nearest_codes(problem);
    EXPECT_TRUE(keeps_pairs(problem, nearest));
    for (const auto& [name, entry] : rounding::table().items()) {
      const Solution solution = rounding::table().make(name)->solve(problem, 1);
      EXPECT_TRUE(keeps_pairs(problem, solution.codes)) << name << " " << seed;
      for (size_t o = 0; o < problem.outputs; o++) {
        EXPECT_LE(damped(problem, o, solution.codes), damped(problem, o, nearest) + 1e-9) << name << " " << seed;
        EXPECT_NEAR(solution.damped[o], damped(problem, o, solution.codes), 1e-9) << name << " " << seed;
      }
    }
  }
}

// Without trading between the two codes of a pair at its limit, far fewer come out best.
TEST(GramDescent, PairsComeToTheBestCodesOfTinyProblemsMostly) {
  int exact = 0;
  for (uint64_t seed = 0; seed < 60; seed++) {
    const GramProblem problem = in_pairs(random_problem(seed, 1, 4, 20, 3, 0.1), 3);
    const Solution solution = descend(problem, {.sequential = true});
    double best = INFINITY;
    std::vector<int32_t> codes(4);
    for (size_t number = 0; number < 7 * 7 * 7 * 7; number++) {
      size_t rest = number;
      for (auto& code : codes) code = static_cast<int32_t>(rest % 7) - 3, rest /= 7;
      if (keeps_pairs(problem, codes)) best = std::min(best, damped(problem, 0, codes));
    }
    const double found = damped(problem, 0, solution.codes);
    EXPECT_GE(found, best - 1e-9);
    if (found <= best + 1e-9) exact++;
  }
  EXPECT_GE(exact, 40);
}

// A limit that no pair reaches changes nothing.
TEST(GramDescent, WidePairsAreNoPairs) {
  for (uint64_t seed = 0; seed < 5; seed++) {
    GramProblem free = random_problem(seed, 4, 9, 30, 7, 0.2);
    std::ranges::fill(free.zero_points, 0);
    const GramProblem problem = in_pairs(free, 14);
    for (const auto& [name, entry] : rounding::table().items())
      EXPECT_EQ(rounding::table().make(name)->solve(problem, 1).codes, rounding::table().make(name)->solve(free, 1).codes)
          << name;
  }
}

// Half of the limit for each, whatever a partner beyond the problem has.
TEST(GramDescent, CodesWhosePartnerIsElsewhereTakeHalf) {
  GramProblem problem = in_pairs(random_problem(3, 4, 6, 30, 7, 0.1), 8);
  problem.partners[0] = problem.partners[5] = GramProblem::apart;
  for (const auto& [name, entry] : rounding::table().items()) {
    const Solution solution = rounding::table().make(name)->solve(problem, 1);
    for (size_t o = 0; o < problem.outputs; o++) {
      EXPECT_LE(std::abs(solution.codes[o * 6]), 4) << name;
      EXPECT_LE(std::abs(solution.codes[o * 6 + 5]), 4) << name;
    }
  }
}

TEST(GramDescent, BlocksComeToTheBestCodesOfTinyProblemsMostly) {
  int exact = 0;
  for (uint64_t seed = 0; seed < 60; seed++) {
    const GramProblem problem = in_blocks(random_problem(seed, 1, 5, 20, 3, 0.1));
    const Solution solution = descend(problem, {.sequential = true});
    const double found = by_definition(problem, 0, solution.codes), best = exhaustive(problem);
    EXPECT_GE(found, best - 1e-9);
    EXPECT_NEAR(solution.damped[0], found, 1e-9);
    if (found <= best + 1e-9) exact++;
  }
  EXPECT_GE(exact, 30);
}

TEST(GramDescent, BlocksAreNeverWorseThanNearest) {
  for (uint64_t seed = 0; seed < 20; seed++) {
    const GramProblem problem = in_blocks(random_problem(seed, 4, 9, 30, 7, 0.2));
    const auto nearest = nearest_codes(problem);
    for (const auto& [name, entry] : rounding::table().items()) {
      const Solution solution = rounding::table().make(name)->solve(problem, 1);
      for (size_t o = 0; o < problem.outputs; o++)
        EXPECT_LE(by_definition(problem, o, solution.codes), by_definition(problem, o, nearest) + 1e-9) << name << " " << seed;
    }
  }
}

// One scale, written once per block, is one scale.
TEST(GramDescent, EqualBlocksAreNoBlocks) {
  const GramProblem whole = random_problem(4, 3, 8, 40, 7, 0.1);
  GramProblem parts = whole;
  parts.block = 3;
  parts.scales.clear();
  parts.zero_points.clear();
  for (size_t o = 0; o < 3; o++) {
    parts.scales.insert(parts.scales.end(), 3, whole.scales[o]);
    parts.zero_points.insert(parts.zero_points.end(), 3, whole.zero_points[o]);
  }
  EXPECT_EQ(descend(whole, {.sequential = true}).codes, descend(parts, {.sequential = true}).codes);
}

TEST(GramDescent, NeverWorseThanNearest) {
  for (uint64_t seed = 0; seed < 20; seed++) {
    const GramProblem problem = random_problem(seed, 5, 13, 10, 7, seed % 2 == 0 ? 0 : 0.3);
    const auto nearest = nearest_codes(problem);
    for (const auto& [name, entry] : rounding::table().items()) {
      const Solution solution = rounding::table().make(name)->solve(problem, 1);
      for (size_t o = 0; o < problem.outputs; o++)
        EXPECT_LE(damped(problem, o, solution.codes), damped(problem, o, nearest) + 1e-9) << name << " " << seed;
    }
  }
}

// Without damping: an input that is always zero is no reason to give the others up.
TEST(GramDescent, AnInputThatIsAlwaysZeroLeavesTheFactor) {
  Square gram(3);
  for (size_t i = 0; i < 3; i++)
    for (size_t j = 0; j < 3; j++) gram.row(i)[j] = i == 1 || j == 1 ? 0 : i == j ? 2 : 1;
  EXPECT_TRUE(GramFactor(gram, 3, false, 1).positive());
}

TEST(GramDescent, GainsMuchOnCorrelatedInputs) {
  const GramProblem problem = random_problem(1, 16, 32, 500, 7, 0);
  const auto total = [](const std::vector<double>& errors) { return std::accumulate(errors.begin(), errors.end(), 0.0); };
  const Solution solution = descend(problem, {.sequential = true});
  EXPECT_LT(total(solution.after), 0.5 * total(solution.before));
}

TEST(GramDescent, SomeOutputsAloneComeToTheSameCodes) {
  const GramProblem problem = random_problem(5, 11, 12, 40, 7, 0.1);
  const Solution all = descend(problem, {.sequential = true}), some = descend(problem, {.sequential = true, .every = 4});
  for (size_t o = 0; o < problem.outputs; o++) {
    const bool solved = o % 4 == 0;
    EXPECT_EQ(some.damped[o], solved ? all.damped[o] : 0) << o;
    for (size_t j = 0; j < problem.inputs; j++)
      EXPECT_EQ(some.codes[o * problem.inputs + j], solved ? all.codes[o * problem.inputs + j] : 0) << o;
  }
}

// Of so many inputs only one start is tried.
TEST(GramDescent, GainsOnManyInputs) {
  const GramProblem problem = random_problem(2, 3, 300, 900, 7, 0.1);
  const Solution found = descend(problem, {.sequential = true});
  for (size_t o = 0; o < problem.outputs; o++) {
    EXPECT_LT(found.after[o], 0.9 * found.before[o]);
    EXPECT_NEAR(found.after[o], errors(problem, found.codes)[o], 1e-9 * found.before[o]);
    EXPECT_NEAR(found.before[o], errors(problem, nearest_codes(problem))[o], 1e-9 * found.before[o]);
  }
}

TEST(GramDescent, ErrorIsTheMeanSquaredErrorOfTheOutput) {
  const GramProblem problem = random_problem(3, 2, 5, 9, 3, 0);
  const auto codes = nearest_codes(problem);
  const auto found = errors(problem, codes);
  for (size_t o = 0; o < 2; o++) EXPECT_NEAR(found[o], damped(problem, o, codes), 1e-9);
}

TEST(GramDescent, ReportsTheErrorsOfItsCodes) {
  for (const size_t sweeps : {size_t{0}, size_t{5}}) {
    const GramProblem problem = random_problem(3, 2, 5, 9, 3, 0.4);
    const Solution solution = descend(problem, {.sequential = sweeps > 0, .sweeps = sweeps});
    const auto before = errors(problem, nearest_codes(problem)), after = errors(problem, solution.codes);
    const auto with_damping = damped_errors(problem, solution.codes, after);
    for (size_t o = 0; o < 2; o++) {
      EXPECT_NEAR(solution.before[o], before[o], 1e-9);
      EXPECT_NEAR(solution.after[o], after[o], 1e-9);
      EXPECT_NEAR(solution.damped[o], with_damping[o], 1e-9);
      EXPECT_NEAR(solution.damped[o], damped(problem, o, solution.codes), 1e-9);
    }
  }
}

TEST(GramDescent, OutputsAreIndependentAndThreadsDoNotMatter) {
  const GramProblem problem = random_problem(5, 6, 10, 30, 7, 0.1);
  const Solution all = descend(problem, {.sequential = true, .threads = 1});
  EXPECT_EQ(all.codes, descend(problem, {.sequential = true, .threads = 3}).codes);
  GramProblem reversed = problem;
  for (size_t o = 0; o < 6; o++) {
    const auto from = static_cast<std::ptrdiff_t>(o * 10), to = static_cast<std::ptrdiff_t>((5 - o) * 10);
    std::copy_n(problem.weights.begin() + from, 10, reversed.weights.begin() + to);
    std::copy_n(problem.cross.begin() + from, 10, reversed.cross.begin() + to);
    reversed.power[5 - o] = problem.power[o];
    reversed.scales[5 - o] = problem.scales[o];
    reversed.zero_points[5 - o] = problem.zero_points[o];
  }
  const Solution back = descend(reversed, {.sequential = true});
  for (size_t o = 0; o < 6; o++) {
    for (size_t j = 0; j < 10; j++) EXPECT_EQ(back.codes[(5 - o) * 10 + j], all.codes[o * 10 + j]);
  }
}

TEST(GramDescent, DeadInputsKeepTheNearestCode) {
  GramProblem problem = random_problem(7, 3, 6, 30, 7, 0.1);
  for (size_t i = 0; i < 6; i++) problem.gram[2 * 6 + i] = problem.gram[i * 6 + 2] = 0;
  for (size_t o = 0; o < 3; o++) problem.cross[o * 6 + 2] = 0;
  const auto nearest = nearest_codes(problem);
  for (const double damping : {0.0, 0.1}) {
    problem.damping = damping;
    const Solution solution = descend(problem, {.sequential = damping > 0});
    for (size_t o = 0; o < 3; o++) EXPECT_EQ(solution.codes[o * 6 + 2], nearest[o * 6 + 2]);
  }
}

// Several outputs are at work at a time: each gets what it would get alone.
TEST(GramDescent, OutputsDoNotDependOnEachOther) {
  for (const bool sequential : {false, true}) {
    for (const size_t inputs : {1U, 6U, 13U}) {
      const GramProblem all = random_problem(7, 7, inputs, 40, 7, 0.1);
      const DescentOptions options{.sequential = sequential};
      const Solution together = descend(all, options);
      for (size_t o = 0; o < all.outputs; o++) {
        GramProblem one = all;
        one.outputs = 1;
        const auto part = [&](auto& values, size_t count) {
          std::ranges::rotate(values, values.begin() + static_cast<std::ptrdiff_t>(o * count));
          values.resize(count);
        };
        part(one.weights, inputs);
        part(one.cross, inputs);
        part(one.power, 1);
        part(one.scales, 1);
        part(one.zero_points, 1);
        const Solution alone = descend(one, options);
        EXPECT_TRUE(std::ranges::equal(alone.codes, std::span(together.codes).subspan(o * inputs, inputs))) << o;
        EXPECT_EQ(alone.before[0], together.before[o]);
        EXPECT_EQ(alone.after[0], together.after[o]);
        EXPECT_EQ(alone.damped[0], together.damped[o]);
      }
    }
  }
}

}  // namespace
}  // namespace quasar::quant
