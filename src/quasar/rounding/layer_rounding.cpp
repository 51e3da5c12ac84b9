#include "quasar/rounding/layer_rounding.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "quasar/base/error.hpp"
#include "quasar/base/parallel.hpp"
#include "quasar/quant/codes/gram_descent.hpp"
#include "quasar/quant/codes/weights.hpp"
#include "quasar/rounding/layer_bias.hpp"
#include "quasar/rounding/layer_grid.hpp"
#include "quasar/rounding/scale_search.hpp"
#include "quasar/rounding/sensitivity.hpp"

namespace quasar::tune {
namespace {

constexpr size_t enough_outputs = 64;  // of a group, to choose a scale by

double total(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// One layer of the plan being solved.
class LayerRounding {
 public:
  LayerRounding(const LinearLayer& layer, const Moments& moments, const LayerContext& context, quant::NodePlan& plan)
      : layer_(layer),
        moments_(moments),
        context_(context),
        plan_(plan),
        bias_(layer, context, plan),
        weights_(*constant_of(layer, context.model, layer.weight_input)),
        grid_(layer, weights_, *plan.weight) {
    if (!bias_.absorbs()) fixed_bias_ = bias_.staying();
  }

  LayerError solve() {
    problems_.resize(layer_.groups);
    parallel_for(layer_.groups, context_.threads, [&](size_t group) { problems_[group] = pose(group); });
    const Result before = apply_to_all(problems_, [](const quant::GramProblem& problem, size_t threads) {
      return quant::descend(problem, {.sweeps = 0, .threads = threads});
    });
    // Without the solver: nearest codes with the bias as it is, and with the bias that takes up their mean error. Problems whose
    // means are taken away know nothing of what the bias leaves of it.
    const std::vector<float> wanted = wanted_biases(before.codes);
    const double stays = total(before.after) + bias_.error_of_staying(wanted);
    const LayerBias::Absorbed nearest = bias_.absorbing(wanted, plan_.weight->params);
    const double absorbed_by_nearest = total(before.after) + nearest.error;
    const double power = variance_of_outputs(moments_);
    const double alone = rounding_error(layer_, moments_, weights_, plan_.weight->params, bias_.absorbs(), context_.threads);
    if (context_.settings.scale_search) search_scales();
    const Result found = apply_to_all(
        problems_, [this](const quant::GramProblem& problem, size_t threads) { return context_.method.solve(problem, threads); });
    const LayerBias::Absorbed left = bias_.absorbing(wanted_biases(found.codes), grid_.finished_params());
    const double solved = total(found.after) + left.error;
    const double least = std::min(stays, absorbed_by_nearest);
    const bool better = total(found.damped) < total(before.damped) && solved < least && least - solved > resolution();
    if (better) {
      plan_.weight->optimized = grid_.finished(found.codes);
      bias_.take(left, plan_.weight->optimized->params);
    } else if (absorbed_by_nearest < stays) {
      bias_.take(nearest, plan_.weight->params);
    }
    return {layer_.node, stays / power, (better ? solved : least) / power, alone};
  }

 private:
  // Of all groups, one after the other.
  struct Result {
    std::vector<int32_t> codes;
    std::vector<double> after, damped;
  };

  // What differences of sums in single precision can tell: products of outputs that are far from zero hide small errors.
  double resolution() const {
    constexpr double single = 1.2e-7;
    return single * total(moments_.squares) / positive(moments_.weight);
  }

  template <class Solve>
  Result apply_to_all(const std::vector<quant::GramProblem>& problems, const Solve& solve) const {
    std::vector<quant::Solution> solutions(layer_.groups);
    const bool many = layer_.groups > 1;
    parallel_for(layer_.groups, many ? context_.threads : 1,
                 [&](size_t group) { solutions[group] = solve(problems[group], many ? 1 : context_.threads); });
    Result all;
    for (const auto& solution : solutions) {
      all.codes.insert(all.codes.end(), solution.codes.begin(), solution.codes.end());
      all.after.insert(all.after.end(), solution.after.begin(), solution.after.end());
      all.damped.insert(all.damped.end(), solution.damped.begin(), solution.damped.end());
    }
    return all;
  }

  // A few passes of coordinate descent at every scale tell which is best: for each output or block that has its own scale.
  void search_scales() {
    const std::vector<double> factors = shrinking_factors(plan_.weight->params);
    if (factors.size() == 1) return;
    const size_t sweeps = context_.method.probing_sweeps();
    if (grid_.block() > 0) {
      const std::vector<double> best = factors_by_block(problems_.front(), factors, sweeps, context_.threads);
      return set_scales(best);
    }
    std::vector<double> best(layer_.outputs, 1), least(layer_.outputs, INFINITY);
    double least_total = INFINITY;
    // A scale that all outputs share is chosen by some of them.
    const size_t every = grid_.one_scale() ? std::max<size_t>(layer_.group_outputs() / enough_outputs, 1) : 1;
    for (const double factor : factors) {
      if (!bias_.fits(factor) || !within_limits(plan_, factor)) continue;
      set_scales(std::vector<double>(layer_.outputs, factor));
      const Result probe = apply_to_all(problems_, [&](const quant::GramProblem& problem, size_t threads) {
        return quant::descend(problem, {.sweeps = sweeps, .every = every, .threads = threads});
      });
      if (!grid_.one_scale()) {
        for (size_t o = 0; o < layer_.outputs; o++) {
          if (probe.damped[o] < least[o]) least[o] = probe.damped[o], best[o] = factor;
        }
      } else if (total(probe.damped) < least_total) {
        least_total = total(probe.damped);
        best.assign(layer_.outputs, factor);
      }
    }
    set_scales(best);
  }

  // `factors` [outputs, blocks]
  void set_scales(const std::vector<double>& factors) {
    grid_.shrink(factors);
    const size_t count = layer_.group_outputs() * grid_.blocks();
    for (size_t group = 0; group < layer_.groups; group++) {
      for (size_t i = 0; i < count; i++)
        problems_[group].scales[i] = grid_.scale(group * layer_.group_outputs() + i / grid_.blocks(), i % grid_.blocks());
    }
  }

  quant::GramProblem pose(size_t group) const {
    quant::GramProblem problem = problem_of(layer_, moments_, group, fixed_bias_);
    grid_.fill(problem, group * layer_.group_outputs(), layer_.group_outputs(), 0);
    // Of what varies: means are no evidence of more.
    double diagonal = 0;
    for (size_t j = 0; j < layer_.inputs; j++) diagonal += problem.gram[j * problem.inputs + j];
    problem.damping = context_.settings.damping_of(diagonal, moments_.columns);
    return problem;
  }

  // b̂ = mean y − Ŵ mean x̂ for all outputs (y contains the old bias); none where the bias does not absorb.
  std::vector<float> wanted_biases(const std::vector<int32_t>& codes) const {
    if (!bias_.absorbs()) return {};
    std::vector<float> bias(layer_.outputs);
    const double columns = positive(moments_.weight);
    for (size_t o = 0; o < layer_.outputs; o++) {
      double value = moments_.outputs[o] / columns;
      const size_t first = o / layer_.group_outputs() * layer_.inputs;
      for (size_t j = 0; j < layer_.inputs; j++)
        value -= grid_.value(o, j, codes[o * layer_.inputs + j]) * moments_.inputs[first + j] / columns;
      bias[o] = static_cast<float>(value);
    }
    return bias;
  }

  const LinearLayer& layer_;
  const Moments& moments_;
  const LayerContext& context_;
  quant::NodePlan& plan_;
  LayerBias bias_;
  const Tensor& weights_;
  LayerGrid grid_;
  std::vector<double> fixed_bias_;            // that outputs contain and that stays; empty: it absorbs
  std::vector<quant::GramProblem> problems_;  // by group
};

}  // namespace

LayerError round_layer(const LinearLayer& layer, const Moments& moments, const LayerContext& context, quant::NodePlan& plan) {
  return LayerRounding(layer, moments, context, plan).solve();
}

}  // namespace quasar::tune
