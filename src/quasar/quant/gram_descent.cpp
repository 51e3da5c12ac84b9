#include "quasar/quant/gram_descent.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>

#include "quasar/base/parallel.hpp"

namespace quasar::quant {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// y += a · x
__attribute__((target_clones("avx512f", "avx2", "default"))) void add_scaled(size_t n, double a, const double* x, double* y) {
  for (size_t i = 0; i < n; i++) y[i] += a * x[i];
}

// Σ x · y in 8 interleaved partial sums.
__attribute__((target_clones("avx512f", "avx2", "default"))) double dot(size_t n, const double* x, const double* y) {
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

// One output's part of the problem, damped, with codes as values relative to nothing but their scale.
struct Row {
  const float* weights;
  double scale;
  int32_t zero_point, low, high;

  double value(int32_t code) const { return scale * (code - zero_point); }
  int32_t nearest(double wanted, int32_t least, int32_t most) const {
    return static_cast<int32_t>(std::clamp(std::nearbyint(wanted / scale) + zero_point, double(least), double(most)));
  }
  int32_t nearest(double wanted) const { return nearest(wanted, low, high); }
};

Row row_of(const GramProblem& problem, size_t output) {
  return {problem.weights.data() + output * problem.inputs, problem.scales[output], problem.zero_points[output], problem.low,
          problem.high};
}

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
    const Row row = row_of(problem_, output);
    int32_t* const codes = out.codes.data() + output * inputs_;
    std::vector<double> target(problem_.cross.begin() + static_cast<std::ptrdiff_t>(output * inputs_),
                               problem_.cross.begin() + static_cast<std::ptrdiff_t>((output + 1) * inputs_));
    for (size_t j = 0; j < inputs_; j++) target[j] += problem_.damping * static_cast<double>(row.weights[j]);
    State best = start(row, target, {codes, codes + inputs_});
    const double nearest = best.error, constant = problem_.power[output] + problem_.damping * squares(row.weights);
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

  double squares(const float* weights) const {
    double sum = 0;
    for (size_t j = 0; j < inputs_; j++) sum += static_cast<double>(weights[j]) * static_cast<double>(weights[j]);
    return sum;
  }

  // λ|q − w|²
  double damping_of(const Row& row, const State& state) const {
    double sum = 0;
    for (size_t j = 0; j < inputs_; j++) {
      const double change = state.values[j] - static_cast<double>(row.weights[j]);
      sum += change * change;
    }
    return problem_.damping * sum;
  }

  State start(const Row& row, const std::vector<double>& target, std::vector<int32_t> codes) const {
    State state{.codes = std::move(codes)};
    state.gradient.assign(inputs_, 0);
    for (size_t j = 0; j < inputs_; j++) {
      state.values.push_back(row.value(state.codes[j]));
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
    if (!options_.neighbours_only) return {row.low, row.high};
    const double below = std::floor(static_cast<double>(row.weights[input]) / row.scale) + row.zero_point;
    const auto least = static_cast<int32_t>(std::clamp(below, double(row.low), double(row.high)));
    const auto most = static_cast<int32_t>(std::clamp(below + 1, double(row.low), double(row.high)));
    return {least, most};
  }

  size_t descend(const Row& row, State& state, const std::vector<double>& target) const {
    size_t sweep = 0;
    for (bool changed = true; changed && sweep < options_.sweeps; sweep++) {
      changed = false;
      for (size_t j = 0; j < inputs_; j++) {
        const double curvature = gram_[j * inputs_ + j];
        if (curvature <= 0) continue;  // the input is always zero: any code does
        const double wanted = state.values[j] - state.gradient[j] / curvature;
        const int32_t code = row.nearest(wanted, state.least[j], state.most[j]);
        if (code == state.codes[j]) continue;
        const double change = row.value(code) - state.values[j];
        add_scaled(inputs_, change, gram_.data() + j * inputs_, state.gradient.data());
        state.codes[j] = code;
        state.values[j] = row.value(code);
        changed = true;
      }
    }
    state.error = error(state, target);
    return sweep;
  }

  // H in the order in which codes are fixed (last first), and its Cholesky factor. Without success (H singular): no factor.
  void factorize() {
    order_.resize(inputs_);
    std::iota(order_.begin(), order_.end(), size_t{0});
    if (options_.by_activation) {
      std::ranges::stable_sort(order_, {}, [this](size_t j) { return gram_[j * inputs_ + j]; });
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
      const auto [least, most] = allowed(row, order_[i]);
      const int32_t code = row.nearest(real(at) - feedback(at) / factor_(at, at), least, most);
      codes[order_[i]] = code;
      add_scaled(i, row.value(code) - real(at), factor_.data() + i * inputs_, feedback.data());
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
    const Row row = row_of(problem, output);
    for (size_t j = 0; j < problem.inputs; j++)
      codes[output * problem.inputs + j] = row.nearest(static_cast<double>(row.weights[j]));
  }
  return codes;
}

std::vector<double> errors(const GramProblem& problem, std::span<const int32_t> codes) {
  std::vector<double> out(problem.outputs), values(problem.inputs);
  for (size_t output = 0; output < problem.outputs; output++) {
    const Row row = row_of(problem, output);
    for (size_t j = 0; j < problem.inputs; j++) values[j] = row.value(codes[output * problem.inputs + j]);
    double sum = problem.power[output] - 2 * dot(problem.inputs, values.data(), problem.cross.data() + output * problem.inputs);
    for (size_t j = 0; j < problem.inputs; j++)
      sum += values[j] * dot(problem.inputs, values.data(), problem.gram.data() + j * problem.inputs);
    out[output] = std::max(sum, 0.0);
  }
  return out;
}

std::vector<double> damped_errors(const GramProblem& problem, std::span<const int32_t> codes, std::vector<double> errors) {
  for (size_t output = 0; output < problem.outputs; output++) {
    const Row row = row_of(problem, output);
    double sum = 0;
    for (size_t j = 0; j < problem.inputs; j++) {
      const double change = row.value(codes[output * problem.inputs + j]) - static_cast<double>(row.weights[j]);
      sum += change * change;
    }
    errors[output] += problem.damping * sum;
  }
  return errors;
}

Solution descend(const GramProblem& problem, const DescentOptions& options) {
  return Descent(problem, options).run();
}

}  // namespace quasar::quant
