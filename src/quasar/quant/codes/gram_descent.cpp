#include "quasar/quant/codes/gram_descent.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "quasar/base/parallel.hpp"
#include "quasar/quant/codes/code_limits.hpp"
#include "quasar/quant/codes/vectors.hpp"

namespace quasar::quant {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

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

  // The input that shares a sum of 16 bits with this one.
  std::optional<size_t> partner(size_t j) const {
    if (problem_.partners.empty() || problem_.partners[j] >= problem_.inputs) return std::nullopt;
    return problem_.partners[j];
  }
  int32_t pair() const { return problem_.pair; }

  // The codes that input j may have beside this one of its partner (0: whatever the partner has).
  std::pair<int32_t, int32_t> beside(size_t j, int32_t other) const {
    int32_t least = problem_.low, most = problem_.high;
    if (problem_.partners.empty()) return {least, most};
    if (problem_.partners[j] == GramProblem::apart)
      return {std::max(least, -problem_.pair / 2), std::min(most, problem_.pair / 2)};
    if (other > 0) most = std::min(most, problem_.pair - other);
    if (other < 0) least = std::max(least, -problem_.pair - other);
    return {least, most};
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
    const size_t blocks = (problem_.outputs + together - 1) / together;
    std::vector<size_t> sweeps(blocks, 0);
    parallel_for(blocks, options_.threads, [&](size_t block) {
      const size_t first = block * together;
      sweeps[block] = improve(first, std::min(together, problem_.outputs - first), out);
    });
    out.sweeps = sweeps.empty() ? 0 : *std::ranges::max_element(sweeps);
    return out;
  }

 private:
  static constexpr size_t together = 4;  // outputs that read a row of H while it is in the cache

  struct State {
    std::vector<int32_t> codes, least = {}, most = {};
    std::vector<double> values = {}, gradient = {};
    double error = 0;  // E − p, damped
  };

  // One output at work.
  struct Task {
    Row row;
    std::vector<double> target;
    double constant;
  };

  Task task_of(size_t output) const {
    Task task{Row(problem_, output),
              {problem_.cross.begin() + static_cast<std::ptrdiff_t>(output * inputs_),
               problem_.cross.begin() + static_cast<std::ptrdiff_t>((output + 1) * inputs_)},
              problem_.power[output]};
    for (size_t j = 0; j < inputs_; j++) {
      task.target[j] += problem_.damping * task.row.weight(j);
      task.constant += problem_.damping * task.row.weight(j) * task.row.weight(j);
    }
    return task;
  }

  // Puts the best codes found (nearest at the start) of these outputs and their errors in `out`. -> the most sweeps
  size_t improve(size_t first, size_t count, Solution& out) const {
    std::vector<Task> tasks;
    std::vector<std::vector<int32_t>> nearest;
    for (size_t i = 0; i < count; i++) {
      const int32_t* const codes = out.codes.data() + (first + i) * inputs_;
      tasks.push_back(task_of(first + i));
      nearest.emplace_back(codes, codes + inputs_);
    }
    std::vector<State> best = start(tasks, std::move(nearest));
    std::vector<double> before;
    size_t sweeps = 0;
    for (size_t i = 0; i < count; i++) {
      before.push_back(best[i].error);
      out.before[first + i] = std::max(best[i].error + tasks[i].constant - damping_of(tasks[i].row, best[i]), 0.0);
      sweeps = std::max(sweeps, descend(tasks[i], best[i]));
    }
    if (factor_.size() > 0) {
      std::vector<State> others = start(tasks, sequential(tasks));
      for (size_t i = 0; i < count; i++) {
        sweeps = std::max(sweeps, descend(tasks[i], others[i]));
        if (others[i].error < best[i].error) best[i] = std::move(others[i]);
      }
    }
    for (size_t i = 0; i < count; i++) {
      const bool better = best[i].error < before[i];
      if (better) std::ranges::copy(best[i].codes, out.codes.begin() + static_cast<std::ptrdiff_t>((first + i) * inputs_));
      out.after[first + i] =
          better ? std::max(best[i].error + tasks[i].constant - damping_of(tasks[i].row, best[i]), 0.0) : out.before[first + i];
      out.damped[first + i] = (better ? best[i].error : before[i]) + tasks[i].constant;
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

  // States with these codes, by task.
  std::vector<State> start(const std::vector<Task>& tasks, std::vector<std::vector<int32_t>> codes) const {
    std::vector<State> states(tasks.size());
    for (size_t i = 0; i < tasks.size(); i++) {
      State& state = states[i];
      state.codes = std::move(codes[i]);
      state.gradient.assign(inputs_, 0);
      for (size_t j = 0; j < inputs_; j++) {
        state.values.push_back(tasks[i].row.value(j, state.codes[j]));
        // Limits of pairs may have moved the code beyond its neighbours.
        const auto [least, most] = allowed(tasks[i].row, j);
        state.least.push_back(std::min(least, state.codes[j]));
        state.most.push_back(std::max(most, state.codes[j]));
      }
    }
    size_t j = 0;
    for (; j + 4 <= inputs_; j += 4) {
      for (State& state : states)
        add_four_scaled(inputs_, state.values.data() + j, gram_.data() + j * inputs_, inputs_, state.gradient.data());
    }
    for (; j < inputs_; j++) {
      for (State& state : states) add_scaled(inputs_, state.values[j], gram_.data() + j * inputs_, state.gradient.data());
    }
    for (size_t i = 0; i < tasks.size(); i++) {
      for (size_t k = 0; k < inputs_; k++) states[i].gradient[k] -= tasks[i].target[k];
      states[i].error = error(states[i], tasks[i].target);
    }
    return states;
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
    int32_t least = state.least[j], most = state.most[j];
    if (!problem_.partners.empty()) {
      const auto partner = row.partner(j);
      const auto [low, high] = row.beside(j, partner ? state.codes[*partner] : 0);
      least = std::max(least, low);
      most = std::min(most, high);
    }
    return set(row, state, j, row.nearest(j, wanted, least, most));
  }

  // -> whether that is another code
  bool set(const Row& row, State& state, size_t j, int32_t code) const {
    if (code == state.codes[j]) return false;
    const double change = row.value(j, code) - state.values[j];
    add_scaled(inputs_, change, gram_.data() + j * inputs_, state.gradient.data());
    state.codes[j] = code;
    state.values[j] = row.value(j, code);
    return true;
  }

  // Two codes at the limit of their sum: what one gives the other takes, to the least error along that line. -> whether they
  // changed
  bool trade(const Row& row, State& state, size_t j, size_t other) const {
    const int32_t a = state.codes[j], b = state.codes[other];
    if (std::abs(a + b) != row.pair()) return false;
    const double step = row.value(j, a + 1) - row.value(j, a), back = row.value(other, b + 1) - row.value(other, b);
    const double slope = step * state.gradient[j] - back * state.gradient[other];
    const double curvature = step * step * gram_[j * inputs_ + j] + back * back * gram_[other * inputs_ + other] -
                             2 * step * back * gram_[j * inputs_ + other];
    if (curvature <= 0) return false;
    // Both keep their sign, and stay among the codes that they may have.
    const int32_t up = std::min({state.most[j] - a, b - state.least[other], a > 0 ? b : -a});
    const int32_t down = std::min({a - state.least[j], state.most[other] - b, a > 0 ? a : -b});
    const double wanted = std::clamp(std::nearbyint(-slope / curvature), -double(std::max(down, 0)), double(std::max(up, 0)));
    const auto moved = static_cast<int32_t>(wanted);
    if (moved == 0) return false;
    set(row, state, j, a + moved);
    set(row, state, other, b - moved);
    return true;
  }

  size_t descend(const Task& task, State& state) const {
    size_t sweep = 0;
    for (bool changed = true; changed && sweep < options_.sweeps; sweep++) {
      changed = false;
      for (size_t j = 0; j < inputs_; j++) changed = improve_one(task.row, state, j) || changed;
      for (size_t j = 0; j < problem_.partners.size(); j++) {
        if (const auto other = task.row.partner(j); other && j < *other) changed = trade(task.row, state, j, *other) || changed;
      }
    }
    state.error = error(state, task.target);
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

  // Row i of the factor, of which i + 1 elements count.
  const double* factor_row(size_t i) const { return factor_.data() + i * inputs_; }

  // u = H⁻¹ r in the order in which codes are fixed, by task: L v = r, then Lᵀ u = v.
  std::vector<std::vector<double>> real_minima(const std::vector<Task>& tasks) const {
    std::vector<std::vector<double>> out(tasks.size(), std::vector<double>(inputs_));
    for (size_t i = 0; i < inputs_; i++) {
      for (size_t t = 0; t < tasks.size(); t++)
        out[t][i] = (tasks[t].target[order_[i]] - dot(i, factor_row(i), out[t].data())) / factor_row(i)[i];
    }
    for (size_t i = inputs_; i-- > 0;) {
      for (std::vector<double>& one : out) {
        one[i] /= factor_row(i)[i];
        add_scaled(i, -one[i], factor_row(i), one.data());
      }
    }
    return out;
  }

  std::vector<std::vector<int32_t>> sequential(const std::vector<Task>& tasks) const {
    const auto real = real_minima(tasks);
    std::vector<std::vector<double>> feedback(tasks.size(), std::vector<double>(inputs_, 0));
    std::vector<std::vector<int32_t>> codes(tasks.size(), std::vector<int32_t>(inputs_));
    std::vector<size_t> place(inputs_);
    for (size_t i = 0; i < inputs_; i++) place[order_[i]] = i;
    for (size_t i = inputs_; i-- > 0;) {
      const size_t j = order_[i];
      for (size_t t = 0; t < tasks.size(); t++) {
        const auto [least, most] = allowed(tasks[t].row, j);
        codes[t][j] = tasks[t].row.nearest(j, real[t][i] - feedback[t][i] / factor_row(i)[i], least, most);
        if (const auto other = tasks[t].row.partner(j); other) {
          // A partner that comes later is taken at its real value: what is too much for the sum is shared out.
          const bool fixed = place[*other] > i;
          int32_t expected = fixed ? codes[t][*other] : tasks[t].row.nearest(*other, real[t][place[*other]]);
          const auto [low, high] = tasks[t].row.beside(j, expected);
          if (fixed) {
            codes[t][j] = std::clamp(codes[t][j], low, high);
          } else {
            keep_pair(codes[t][j], expected, problem_.pair);
          }
        } else if (!problem_.partners.empty()) {
          const auto [low, high] = tasks[t].row.beside(j, 0);
          codes[t][j] = std::clamp(codes[t][j], low, high);
        }
        add_scaled(i, tasks[t].row.value(j, codes[t][j]) - real[t][i], factor_row(i), feedback[t].data());
      }
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
    int32_t* const out = codes.data() + output * problem.inputs;
    for (size_t j = 0; j < problem.inputs; j++) out[j] = row.nearest(j, row.weight(j));
    for (size_t j = 0; j < problem.partners.size(); j++) {
      if (const auto other = row.partner(j); other && j < *other) keep_pair(out[j], out[*other], problem.pair);
      const auto [least, most] = row.beside(j, 0);
      out[j] = std::clamp(out[j], least, most);
    }
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
