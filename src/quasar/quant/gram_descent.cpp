#include "quasar/quant/gram_descent.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>

#include "quasar/base/clones.hpp"
#include "quasar/base/parallel.hpp"

namespace quasar::quant {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// y += a · x
QUASAR_CLONES("avx512f", "avx2", "default") void add_scaled(size_t n, double a, const double* x, double* y) {
  for (size_t i = 0; i < n; i++) y[i] += a * x[i];
}

// Σ x · y in 8 interleaved partial sums.
QUASAR_CLONES("avx512f", "avx2", "default") double dot(size_t n, const double* x, const double* y) {
  double partial[8] = {};
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (size_t l = 0; l < 8; l++) partial[l] += x[i + l] * y[i + l];
  }
  double sum = 0;
  for (const double value : partial) sum += value;
  for (; i < n; i++) sum += x[i] * y[i];
  return sum;
}

// One output's part of the problem: the grid of each of its inputs.
class Row {
 public:
  Row(const GramProblem& problem, size_t output) : problem_(problem), weights_(problem.weights.data() + output * problem.inputs) {
    const size_t blocks = problem.blocks(), block = problem.block == 0 ? std::max<size_t>(problem.inputs, 1) : problem.block;
    scales_.reserve(problem.inputs);
    for (size_t j = 0; j < problem.inputs; j++) {
      scales_.push_back(problem.scales[output * blocks + j / block]);
      zero_points_.push_back(problem.zero_points[output * blocks + j / block]);
    }
  }

  double weight(size_t j) const { return static_cast<double>(weights_[j]); }
  double value(size_t j, int32_t code) const { return scales_[j] * (code - zero_points_[j]); }
  int32_t nearest(size_t j, double wanted, int32_t least, int32_t most) const {
    const double code = std::nearbyint(wanted / scales_[j]) + zero_points_[j];
    return static_cast<int32_t>(std::clamp(code, double(least), double(most)));
  }
  int32_t nearest(size_t j, double wanted) const { return nearest(j, wanted, problem_.low, problem_.high); }

  // The codes below and above the weight.
  std::pair<int32_t, int32_t> neighbours(size_t j) const {
    const double below = std::floor(weight(j) / scales_[j]) + zero_points_[j];
    const auto within = [&](double code) {
      return static_cast<int32_t>(std::clamp(code, double(problem_.low), double(problem_.high)));
    };
    return {within(below), within(below + 1)};
  }

 private:
  const GramProblem& problem_;
  const float* weights_;
  std::vector<double> scales_;
  std::vector<int32_t> zero_points_;
};

class Descent {
 public:
  Descent(const GramProblem& problem, const DescentOptions& options)
      : problem_(problem), options_(options), inputs_(problem.inputs), gram_(problem.gram) {
    for (size_t j = 0; j < inputs_; j++) gram_[j * inputs_ + j] += problem.damping;
    if (options.sequential) factorize();
  }

  Solution run() {
    Solution out{.codes = nearest_codes(problem_)};
    out.before.resize(problem_.outputs);
    out.after.resize(problem_.outputs);
    out.damped.resize(problem_.outputs);
    std::vector<size_t> sweeps(problem_.outputs, 0);
    parallel_for(problem_.outputs, options_.threads, [&](size_t output) { sweeps[output] = improve(output, out); });
    out.sweeps = sweeps.empty() ? 0 : *std::ranges::max_element(sweeps);
    return out;
  }

 private:
  struct State {
    std::vector<int32_t> codes, least = {}, most = {};
    std::vector<double> values = {}, gradient = {};
    double error = 0;  // E − p, damped
  };

  // Puts the best codes found (nearest at the start) and their errors in `out`. -> sweeps
  size_t improve(size_t output, Solution& out) const {
    const Row row(problem_, output);
    int32_t* const codes = out.codes.data() + output * inputs_;
    std::vector<double> target(problem_.cross.begin() + static_cast<std::ptrdiff_t>(output * inputs_),
                               problem_.cross.begin() + static_cast<std::ptrdiff_t>((output + 1) * inputs_));
    double constant = problem_.power[output];
    for (size_t j = 0; j < inputs_; j++) {
      target[j] += problem_.damping * row.weight(j);
      constant += problem_.damping * row.weight(j) * row.weight(j);
    }
    State best = start(row, target, {codes, codes + inputs_});
    const double nearest = best.error;
    out.before[output] = std::max(best.error + constant - damping_of(row, best), 0.0);
    out.after[output] = out.before[output];
    out.damped[output] = nearest + constant;
    size_t sweeps = descend(row, best, target);
    if (factor_.size() > 0) {
      State other = start(row, target, sequential(row, target));
      sweeps = std::max(sweeps, descend(row, other, target));
      if (other.error < best.error) best = std::move(other);
    }
    if (best.error < nearest) {
      std::ranges::copy(best.codes, codes);
      out.after[output] = std::max(best.error + constant - damping_of(row, best), 0.0);
      out.damped[output] = best.error + constant;
    }
    return sweeps;
  }

  // λ|q − w|²
  double damping_of(const Row& row, const State& state) const {
    double sum = 0;
    for (size_t j = 0; j < inputs_; j++) {
      const double change = state.values[j] - row.weight(j);
      sum += problem_.damping * change * change;
    }
    return sum;
  }

  State start(const Row& row, const std::vector<double>& target, std::vector<int32_t> codes) const {
    State state{.codes = std::move(codes)};
    state.gradient.assign(inputs_, 0);
    for (size_t j = 0; j < inputs_; j++) {
      state.values.push_back(row.value(j, state.codes[j]));
      add_scaled(inputs_, state.values[j], gram_.data() + j * inputs_, state.gradient.data());
      const auto [least, most] = allowed(row, j);
      state.least.push_back(least);
      state.most.push_back(most);
    }
    for (size_t j = 0; j < inputs_; j++) state.gradient[j] -= target[j];
    state.error = error(state, target);
    return state;
  }

  double error(const State& state, const std::vector<double>& target) const {
    return dot(inputs_, state.values.data(), state.gradient.data()) - dot(inputs_, state.values.data(), target.data());
  }

  std::pair<int32_t, int32_t> allowed(const Row& row, size_t input) const {
    return options_.neighbours_only ? row.neighbours(input) : std::pair{problem_.low, problem_.high};
  }

  // Sets one code to the best for the others. -> whether it changed
  bool improve_one(const Row& row, State& state, size_t j) const {
    const double curvature = gram_[j * inputs_ + j];
    if (curvature <= 0) return false;  // the input is always zero: any code does
    const double wanted = state.values[j] - state.gradient[j] / curvature;
    const int32_t code = row.nearest(j, wanted, state.least[j], state.most[j]);
    if (code == state.codes[j]) return false;
    const double change = row.value(j, code) - state.values[j];
    add_scaled(inputs_, change, gram_.data() + j * inputs_, state.gradient.data());
    state.codes[j] = code;
    state.values[j] = row.value(j, code);
    return true;
  }

  size_t descend(const Row& row, State& state, const std::vector<double>& target) const {
    size_t sweep = 0;
    for (bool changed = true; changed && sweep < options_.sweeps; sweep++) {
      changed = false;
      for (size_t j = 0; j < inputs_; j++) changed = improve_one(row, state, j) || changed;
    }
    state.error = error(state, target);
    return sweep;
  }

  // H in the order in which codes are fixed (last first), and its Cholesky factor. Without
  // success (H singular): no factor.
  void factorize() {
    order_.resize(inputs_);
    std::iota(order_.begin(), order_.end(), size_t{0});
    if (options_.by_activation) {
      std::ranges::stable_sort(order_, [this](size_t i, size_t j) { return gram_[i * inputs_ + i] < gram_[j * inputs_ + j]; });
    }
    const auto n = static_cast<Eigen::Index>(inputs_);
    Matrix ordered(n, n);
    for (size_t i = 0; i < inputs_; i++) {
      for (size_t j = 0; j < inputs_; j++)
        ordered(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) = gram_[order_[i] * inputs_ + order_[j]];
    }
    const Eigen::LLT<Matrix> factorization(ordered);
    if (factorization.info() == Eigen::Success) factor_ = factorization.matrixL();
  }

  std::vector<int32_t> sequential(const Row& row, const std::vector<double>& target) const {
    const auto n = static_cast<Eigen::Index>(inputs_);
    Eigen::VectorXd real(n), feedback = Eigen::VectorXd::Zero(n);
    for (size_t i = 0; i < inputs_; i++) real(static_cast<Eigen::Index>(i)) = target[order_[i]];
    factor_.triangularView<Eigen::Lower>().solveInPlace(real);
    factor_.transpose().triangularView<Eigen::Upper>().solveInPlace(real);
    std::vector<int32_t> codes(inputs_);
    for (size_t i = inputs_; i-- > 0;) {
      const auto at = static_cast<Eigen::Index>(i);
      const size_t j = order_[i];
      const auto [least, most] = allowed(row, j);
      codes[j] = row.nearest(j, real(at) - feedback(at) / factor_(at, at), least, most);
      add_scaled(i, row.value(j, codes[j]) - real(at), factor_.data() + i * inputs_, feedback.data());
    }
    return codes;
  }

  const GramProblem& problem_;
  const DescentOptions& options_;
  size_t inputs_;
  std::vector<double> gram_;  // damped
  std::vector<size_t> order_;
  Matrix factor_;
};

}  // namespace

std::vector<int32_t> nearest_codes(const GramProblem& problem) {
  std::vector<int32_t> codes(problem.weights.size());
  for (size_t output = 0; output < problem.outputs; output++) {
    const Row row(problem, output);
    for (size_t j = 0; j < problem.inputs; j++) codes[output * problem.inputs + j] = row.nearest(j, row.weight(j));
  }
  return codes;
}

std::vector<double> errors(const GramProblem& problem, std::span<const int32_t> codes) {
  std::vector<double> out(problem.outputs), values(problem.inputs);
  for (size_t output = 0; output < problem.outputs; output++) {
    const Row row(problem, output);
    for (size_t j = 0; j < problem.inputs; j++) values[j] = row.value(j, codes[output * problem.inputs + j]);
    double sum = problem.power[output] - 2 * dot(problem.inputs, values.data(), problem.cross.data() + output * problem.inputs);
    for (size_t j = 0; j < problem.inputs; j++)
      sum += values[j] * dot(problem.inputs, values.data(), problem.gram.data() + j * problem.inputs);
    out[output] = std::max(sum, 0.0);
  }
  return out;
}

std::vector<double> damped_errors(const GramProblem& problem, std::span<const int32_t> codes, std::vector<double> errors) {
  for (size_t output = 0; output < problem.outputs; output++) {
    const Row row(problem, output);
    for (size_t j = 0; j < problem.inputs; j++) {
      const double change = row.value(j, codes[output * problem.inputs + j]) - row.weight(j);
      errors[output] += problem.damping * change * change;
    }
  }
  return errors;
}

Solution descend(const GramProblem& problem, const DescentOptions& options) {
  return Descent(problem, options).run();
}

}  // namespace quasar::quant
