#include "quasar/quant/codes/gram_descent.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "quasar/base/machine.hpp"
#include "quasar/base/parallel.hpp"
#include "quasar/quant/codes/code_limits.hpp"
#include "quasar/quant/codes/gram_factor.hpp"
#include "quasar/quant/codes/gram_row.hpp"
#include "quasar/quant/codes/vectors.hpp"

namespace quasar::quant {
namespace {

class Descent {
 public:
  Descent(const GramProblem& problem, const DescentOptions& options)
      : problem_(problem), options_(options), inputs_(problem.inputs), gram_(problem.inputs) {
    parallel_for((inputs_ + block - 1) / block, options.threads, [&](size_t task) {
      for (size_t j = task * block; j < std::min((task + 1) * block, inputs_); j++) {
        std::copy_n(problem.gram.data() + j * inputs_, inputs_, gram_.row(j));
        gram_.row(j)[j] += problem.damping;
      }
    });
    if (options.sequential) factor_.emplace(gram_, inputs_, options.by_activation, options.threads);
  }

  Solution run() {
    Solution out{.codes = std::vector<int32_t>(problem_.weights.size())};
    out.before.resize(problem_.outputs);
    out.after.resize(problem_.outputs);
    out.damped.resize(problem_.outputs);
    // Enough groups for all threads; results do not depend on how outputs are grouped.
    const size_t threads = options_.threads == 0 ? cores() : options_.threads;
    const size_t solved = (problem_.outputs + options_.every - 1) / options_.every;
    const size_t size = std::clamp<size_t>(solved / (4 * threads), 4, together);
    const size_t groups = (solved + size - 1) / size;
    std::vector<size_t> sweeps(groups, 0);
    parallel_for(groups, options_.threads, [&](size_t group) {
      const size_t first = group * size;
      sweeps[group] = improve(first, std::min(size, solved - first), out);
    });
    out.sweeps = sweeps.empty() ? 0 : *std::ranges::max_element(sweeps);
    return out;
  }

 private:
  static constexpr size_t together = GramFactor::together, block = GramFactor::block;
  static constexpr size_t few_inputs = 256;  // both starts are tried

  struct State {
    std::vector<int32_t> codes, least = {}, most = {};
    std::vector<double> values = {}, gradient = {};
    double error = 0;  // E − p, damped
  };

  // One output at work.
  struct Task {
    GramRow row;
    std::vector<double> target;
    double constant;
    std::vector<double> still;  // of each input: while |gradient| is below, its best code is the one that it has
  };

  struct TaskState {
    const Task* task;
    State* state;
  };

  static std::vector<TaskState> with_states(const std::vector<Task>& tasks, std::vector<State>& states) {
    std::vector<TaskState> out;
    for (size_t i = 0; i < tasks.size(); i++) out.push_back({&tasks[i], &states[i]});
    return out;
  }

  Task task_of(size_t output) const {
    Task task{GramRow(problem_, output),
              {problem_.cross.begin() + static_cast<std::ptrdiff_t>(output * inputs_),
               problem_.cross.begin() + static_cast<std::ptrdiff_t>((output + 1) * inputs_)},
              problem_.power[output],
              std::vector<double>(inputs_)};
    for (size_t j = 0; j < inputs_; j++) {
      constexpr double half = 0.5 * (1 - 1e-9);  // a little less, for what is lost in rounding
      const double curvature = gram_.row(j)[j];
      task.still[j] = curvature > 0 ? half * curvature * task.row.scale(j) : std::numeric_limits<double>::infinity();
      task.target[j] += problem_.damping * task.row.weight(j);
      task.constant += problem_.damping * task.row.weight(j) * task.row.weight(j);
    }
    return task;
  }

  // Solves `count` of the outputs that are to be solved: the best codes found and their errors go to `out`. -> the most sweeps
  size_t improve(size_t first, size_t count, Solution& out) const {
    std::vector<Task> tasks;
    std::vector<std::vector<int32_t>> nearest;
    for (size_t i = 0; i < count; i++) {
      const size_t output = (first + i) * options_.every;
      tasks.push_back(task_of(output));
      nearest.emplace_back(inputs_);
      tasks.back().row.nearest_codes(nearest.back().data());
      std::ranges::copy(nearest.back(), out.codes.begin() + static_cast<std::ptrdiff_t>(output * inputs_));
    }
    std::vector<State> best = with_codes(tasks, std::move(nearest));
    find_errors(with_states(tasks, best));
    const auto undamped = [&](size_t i) {
      return std::max(best[i].error + tasks[i].constant - damping_of(tasks[i].row, best[i]), 0.0);
    };
    std::vector<double> before;
    for (size_t i = 0; i < count; i++) {
      before.push_back(best[i].error);
      out.before[(first + i) * options_.every] = undamped(i);
    }
    size_t sweeps = 0;
    std::vector<State> others;
    if (factor_ && factor_->positive()) {
      others = with_codes(tasks, sequential(tasks));
      sweeps = descend(with_states(tasks, others));
    }
    // Of many inputs the nearest codes are hardly ever the better start.
    std::vector<TaskState> from_nearest;
    for (size_t i = 0; i < count && options_.sweeps > 0; i++) {
      if (others.empty() || inputs_ <= few_inputs || others[i].error >= before[i]) from_nearest.push_back({&tasks[i], &best[i]});
    }
    sweeps = std::max(sweeps, descend(from_nearest));
    for (size_t i = 0; i < others.size(); i++) {
      if (others[i].error < best[i].error) best[i] = std::move(others[i]);
    }
    for (size_t i = 0; i < count; i++) {
      const size_t output = (first + i) * options_.every;
      const bool better = best[i].error < before[i];
      if (better) std::ranges::copy(best[i].codes, out.codes.begin() + static_cast<std::ptrdiff_t>(output * inputs_));
      out.after[output] = better ? undamped(i) : out.before[output];
      out.damped[output] = (better ? best[i].error : before[i]) + tasks[i].constant;
    }
    return sweeps;
  }

  // λ|q − w|²
  double damping_of(const GramRow& row, const State& state) const {
    double sum = 0;
    for (size_t j = 0; j < inputs_; j++) {
      const double change = state.values[j] - row.weight(j);
      sum += problem_.damping * change * change;
    }
    return sum;
  }

  // States with these codes, by task, without gradients and errors.
  std::vector<State> with_codes(const std::vector<Task>& tasks, std::vector<std::vector<int32_t>> codes) const {
    std::vector<State> states(tasks.size());
    for (size_t i = 0; i < tasks.size(); i++) {
      State& state = states[i];
      state.codes = std::move(codes[i]);
      for (size_t j = 0; j < inputs_; j++) {
        state.values.push_back(tasks[i].row.value(j, state.codes[j]));
        // Limits of pairs may have moved the code beyond its neighbours.
        const auto [least, most] = allowed(tasks[i].row, j);
        state.least.push_back(std::min(least, state.codes[j]));
        state.most.push_back(std::max(most, state.codes[j]));
      }
    }
    return states;
  }

  // Adds the products of the values of the inputs `rows` with these columns of H, by state.
  void add_products(const std::vector<TaskState>& all, std::pair<size_t, size_t> rows, std::pair<size_t, size_t> columns,
                    std::vector<std::vector<double>>& sums) const {
    const double* values[together];
    double* to[together];
    for (size_t i = 0; i < all.size(); i++) {
      values[i] = all[i].state->values.data() + rows.first;
      to[i] = sums[i].data() + columns.first;
    }
    add_rows(columns.second - columns.first, rows.second - rows.first, all.size(), values, gram_.row(rows.first) + columns.first,
             gram_.stride(), to);
  }

  void find_gradients(const std::vector<TaskState>& all) const {
    std::vector<std::vector<double>> sums(all.size(), std::vector<double>(inputs_, 0));
    for (size_t j = 0; j < inputs_; j += block) add_products(all, {j, std::min(j + block, inputs_)}, {0, inputs_}, sums);
    for (size_t i = 0; i < all.size(); i++) {
      for (size_t k = 0; k < inputs_; k++) sums[i][k] -= all[i].task->target[k];
      all[i].state->gradient = std::move(sums[i]);
    }
  }

  // Errors alone take half of H: what is beside the diagonal blocks counts twice.
  void find_errors(const std::vector<TaskState>& all) const {
    std::vector<std::vector<double>> within(all.size(), std::vector<double>(inputs_, 0)), beside = within;
    for (size_t first = 0; first < inputs_; first += block) {
      const std::pair rows{first, std::min(first + block, inputs_)};
      add_products(all, rows, rows, within);
      add_products(all, rows, {0, first}, beside);
    }
    for (size_t i = 0; i < all.size(); i++) {
      const double* const values = all[i].state->values.data();
      all[i].state->error = dot(inputs_, values, within[i].data()) +
                            2 * (dot(inputs_, values, beside[i].data()) - dot(inputs_, values, all[i].task->target.data()));
    }
  }

  double error(const State& state, const std::vector<double>& target) const {
    return dot(inputs_, state.values.data(), state.gradient.data()) - dot(inputs_, state.values.data(), target.data());
  }

  std::pair<int32_t, int32_t> allowed(const GramRow& row, size_t input) const {
    return options_.neighbours_only ? row.neighbours(input) : std::pair{problem_.low, problem_.high};
  }

  // The code that is best for the others.
  int32_t best_code(const GramRow& row, const State& state, size_t j) const {
    const double curvature = gram_.row(j)[j];
    if (curvature <= 0) return state.codes[j];  // the input is always zero: any code does
    const double wanted = state.values[j] - state.gradient[j] / curvature;
    int32_t least = state.least[j], most = state.most[j];
    if (!problem_.partners.empty()) {
      const auto partner = row.partner(j);
      const auto [low, high] = row.beside(j, partner ? state.codes[*partner] : 0);
      least = std::max(least, low);
      most = std::min(most, high);
    }
    return row.nearest(j, wanted, least, most);
  }

  // Sets the code; the gradient of the inputs first … last - 1 follows. -> how much the value changed
  double set(const GramRow& row, State& state, size_t j, int32_t code, size_t first, size_t last) const {
    const double change = row.value(j, code) - state.values[j];
    add_scaled(last - first, change, gram_.row(j) + first, state.gradient.data() + first);
    state.codes[j] = code;
    state.values[j] = row.value(j, code);
    return change;
  }

  // Improves the codes of the inputs first … last - 1 one by one. The gradient of no others follows yet: `changes` [last - first]
  // says what they have missed. -> how many changed
  size_t improve_block(const Task& task, State& state, size_t first, size_t last, double* changes) const {
    size_t changed = 0;
    for (size_t j = first; j < last; j++) {
      changes[j - first] = 0;
      if (std::abs(state.gradient[j]) < task.still[j]) continue;
      const int32_t code = best_code(task.row, state, j);
      if (code == state.codes[j]) continue;
      changes[j - first] = set(task.row, state, j, code, first, last);
      changed++;
    }
    return changed;
  }

  // The changes of a block of inputs, by output, and how many of them are not 0.
  struct Changes {
    std::vector<const double*> of;
    size_t count = 0;
  };

  // What the inputs outside first … last - 1 have missed.
  void catch_up(const std::vector<State*>& states, const Changes& changes, size_t first, size_t last) const {
    if (changes.count == 0) return;
    const double* const rows = gram_.row(first);
    const auto outside = [&](size_t from, size_t to) {
      if (2 * changes.count >= (last - first) * states.size()) {
        double* gradients[together];
        for (size_t t = 0; t < states.size(); t++) gradients[t] = states[t]->gradient.data() + from;
        add_rows(to - from, last - first, states.size(), changes.of.data(), rows + from, gram_.stride(), gradients);
        return;
      }
      for (size_t t = 0; t < states.size(); t++) {
        double factors[block];
        const double* chosen[block];
        size_t count = 0;
        for (size_t j = 0; j < last - first; j++) {
          if (changes.of[t][j] == 0) continue;
          factors[count] = changes.of[t][j];
          chosen[count++] = gram_.row(first + j) + from;
        }
        add_chosen_rows(to - from, count, factors, chosen, states[t]->gradient.data() + from);
      }
    };
    outside(0, first);
    outside(last, inputs_);
  }

  // Two codes at the limit of their sum: what one gives the other takes, to the least error along that line. -> whether they
  // changed
  bool trade(const GramRow& row, State& state, size_t j, size_t other) const {
    const int32_t a = state.codes[j], b = state.codes[other];
    if (std::abs(a + b) != row.pair()) return false;
    const double step = row.value(j, a + 1) - row.value(j, a), back = row.value(other, b + 1) - row.value(other, b);
    const double slope = step * state.gradient[j] - back * state.gradient[other];
    const double curvature =
        step * step * gram_.row(j)[j] + back * back * gram_.row(other)[other] - 2 * step * back * gram_.row(j)[other];
    if (curvature <= 0) return false;
    // Both keep their sign, and stay among the codes that they may have.
    const int32_t up = std::min({state.most[j] - a, b - state.least[other], a > 0 ? b : -a});
    const int32_t down = std::min({a - state.least[j], state.most[other] - b, a > 0 ? a : -b});
    const double wanted = std::clamp(std::nearbyint(-slope / curvature), -double(std::max(down, 0)), double(std::max(up, 0)));
    const auto moved = static_cast<int32_t>(wanted);
    if (moved == 0) return false;
    set(row, state, j, a + moved, 0, inputs_);
    set(row, state, other, b - moved, 0, inputs_);
    return true;
  }

  // Descends in all outputs side by side, until none changes any more, and finds the errors. -> the most sweeps
  size_t descend(const std::vector<TaskState>& all) const {
    if (options_.sweeps == 0) {
      find_errors(all);
      return 0;
    }
    find_gradients(all);
    std::vector<TaskState> active = all;
    double changes[together][block];
    size_t sweep = 0;
    for (; !active.empty() && sweep < options_.sweeps; sweep++) {
      std::vector<State*> moving;
      Changes missed;
      std::vector<bool> changed(active.size(), false);
      for (size_t t = 0; t < active.size(); t++) {
        moving.push_back(active[t].state);
        missed.of.push_back(changes[t]);
      }
      for (size_t first = 0; first < inputs_; first += block) {
        const size_t last = std::min(first + block, inputs_);
        missed.count = 0;
        for (size_t t = 0; t < active.size(); t++) {
          const size_t count = improve_block(*active[t].task, *active[t].state, first, last, changes[t]);
          if (count > 0) changed[t] = true;
          missed.count += count;
        }
        catch_up(moving, missed, first, last);
      }
      size_t left = 0;
      for (size_t t = 0; t < active.size(); t++) {
        const bool traded = trade_all(active[t].task->row, *active[t].state);
        if (changed[t] || traded) active[left++] = active[t];
      }
      active.resize(left);
    }
    for (const TaskState& one : all) one.state->error = error(*one.state, one.task->target);
    return sweep;
  }

  bool trade_all(const GramRow& row, State& state) const {
    bool changed = false;
    for (size_t j = 0; j < problem_.partners.size(); j++) {
      if (const auto other = row.partner(j); other && j < *other) changed = trade(row, state, j, *other) || changed;
    }
    return changed;
  }

  std::vector<std::vector<int32_t>> sequential(const std::vector<Task>& tasks) const {
    std::vector<const double*> targets;
    for (const Task& task : tasks) targets.push_back(task.target.data());
    const auto real = factor_->solve(targets);
    std::vector<std::vector<double>> feedback(tasks.size(), std::vector<double>(inputs_, 0));
    std::vector<std::vector<int32_t>> codes(tasks.size(), std::vector<int32_t>(inputs_));
    std::vector<size_t> place(inputs_);
    for (size_t i = 0; i < inputs_; i++) place[factor_->input(i)] = i;
    GramFactor::Backward backward(*factor_, feedback);
    while (backward.next()) {
      for (size_t i = backward.last(); i-- > backward.first();) {
        for (size_t t = 0; t < tasks.size(); t++) {
          const size_t j = factor_->input(i);
          codes[t][j] = code_after(tasks[t].row, i, place, real[t], feedback[t], codes[t]);
          backward.add(t, i, tasks[t].row.value(j, codes[t][j]) - real[t][i]);
        }
      }
    }
    return codes;
  }

  // The code of the factor's i-th input for what the codes fixed before have left. `place`: of each input in the factor.
  int32_t code_after(const GramRow& row, size_t i, const std::vector<size_t>& place, const std::vector<double>& real,
                     const std::vector<double>& feedback, const std::vector<int32_t>& codes) const {
    const size_t j = factor_->input(i);
    const auto [least, most] = allowed(row, j);
    int32_t code = row.nearest(j, real[i] - feedback[i] / factor_->diagonal(i), least, most);
    if (const auto other = row.partner(j); other) {
      // A partner that comes later is taken at its real value: what is too much for the sum is shared out.
      const bool fixed = place[*other] > i;
      int32_t expected = fixed ? codes[*other] : row.nearest(*other, real[place[*other]]);
      if (fixed) {
        const auto [low, high] = row.beside(j, expected);
        return std::clamp(code, low, high);
      }
      keep_pair(code, expected, problem_.pair);
      return code;
    }
    if (problem_.partners.empty()) return code;
    const auto [low, high] = row.beside(j, 0);
    return std::clamp(code, low, high);
  }

  const GramProblem& problem_;
  const DescentOptions& options_;
  size_t inputs_;
  Square gram_;  // damped
  std::optional<GramFactor> factor_;
};

}  // namespace

Solution descend(const GramProblem& problem, const DescentOptions& options) {
  return Descent(problem, options).run();
}

}  // namespace quasar::quant
