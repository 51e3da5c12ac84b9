#include "quasar/tune/layer_rounding.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "quasar/base/error.hpp"
#include "quasar/base/parallel.hpp"
#include "quasar/quant/gram_descent.hpp"
#include "quasar/quant/weights.hpp"

namespace quasar::tune {
namespace {

double total(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// The factors by which a weight scale may shrink. Powers of two stay such. With one scale per output, 8 bits are so fine that
// clipping never pays.
std::vector<double> shrinking_factors(const quant::QuantParams& params) {
  if (params.scales.size() > 1 && bits_of(params.type) >= 8) return {1};
  const bool powers = std::ranges::all_of(params.scales, [](float scale) {
    int exponent = 0;
    return std::frexp(scale, &exponent) == 0.5F;
  });
  return powers ? std::vector<double>{1, 0.5} : std::vector<double>{1, 0.94, 0.88, 0.82, 0.76, 0.7};
}

// One layer of the plan being solved.
class LayerRounding {
 public:
  LayerRounding(const LinearLayer& layer, const Moments& moments, const LayerContext& context, quant::NodePlan& plan)
      : layer_(layer), moments_(moments), context_(context), plan_(plan) {
    const graph::Node& node = *std::ranges::find(context.model.nodes, layer.node, &graph::Node::name);
    weights_ = context.model.initializer(node.inputs[layer.weight_input]);
    if (layer.bias_input) bias_ = context.model.initializer(node.inputs[*layer.bias_input]);
    rows_ = as_rows<float>(layer, weights_->as<float>());
    absorbs_ = context.settings.update_bias && bias_ != nullptr && plan.bias.has_value();
    if (!absorbs_) fixed_bias_ = bias_ != nullptr ? to_doubles(*bias_) : std::vector<double>(layer.outputs, 0.0);
  }

  LayerError solve() {
    problems_.resize(layer_.groups);
    parallel_for(layer_.groups, context_.threads, [&](size_t group) { problems_[group] = pose(group); });
    const Result before = apply_to_all(problems_, [](const quant::GramProblem& problem, size_t threads) {
      return quant::descend(problem, {.sweeps = 0, .threads = threads});
    });
    if (context_.settings.scale_search) search_scales();
    const Result found = apply_to_all(
        problems_, [this](const quant::GramProblem& problem, size_t threads) { return context_.method.solve(problem, threads); });
    double power = std::numeric_limits<double>::min();
    for (const auto& problem : problems_) power += total(problem.power);
    const bool better = total(found.damped) < total(before.damped) && total(found.after) < total(before.after);
    if (better) keep(found.codes);
    return {layer_.node, total(before.after) / power, total(better ? found.after : before.after) / power};
  }

 private:
  // Of all groups, one after the other.
  struct Result {
    std::vector<int32_t> codes;
    std::vector<double> after, damped;
  };

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

  // Two passes of coordinate descent at every scale tell which is best: for each output where it has its own scale.
  void search_scales() {
    const std::vector<double> factors = shrinking_factors(plan_.weight->params);
    if (factors.size() == 1) return;
    std::vector<double> best(layer_.outputs, 1), least(layer_.outputs, INFINITY);
    double least_total = INFINITY;
    for (const double factor : factors) {
      if (!bias_fits(factor) || !within_limits(factor)) continue;
      set_scales(std::vector<double>(layer_.outputs, factor));
      const Result probe = apply_to_all(problems_, [](const quant::GramProblem& problem, size_t threads) {
        return quant::descend(problem, {.sweeps = 2, .threads = threads});
      });
      if (plan_.weight->params.scales.size() > 1) {
        for (size_t o = 0; o < layer_.outputs; o++) {
          if (probe.damped[o] < least[o]) least[o] = probe.damped[o], best[o] = factor;
        }
      } else if (total(probe.damped) < least_total) {
        least_total = total(probe.damped);
        best.assign(layer_.outputs, factor);
      }
    }
    set_scales(best);
    factors_ = best;
  }

  // Codes of the bias grow as the scale shrinks; half of int32 is left to the sum.
  bool bias_fits(double factor) const {
    if (!plan_.bias || bias_ == nullptr || !sums_with_products()) return true;
    const auto scales = quant::bias_params(plan_.weight->params, *bias_, context_.input_scale).scales;
    const auto values = bias_->as<float>();
    for (size_t i = 0; i < values.size(); i++) {
      const auto scale = static_cast<double>(scales[scales.size() == 1 ? 0 : i]);
      if (std::abs(static_cast<double>(values[i])) > factor * scale * (1 << 30)) return factor == 1;
    }
    return true;
  }

  // A bias of 32 bits has the scale of the products; narrower ones have their own.
  bool sums_with_products() const { return plan_.bias->params.type == DataType::int32; }

  bool within_limits(double factor) const {
    return static_cast<float>(static_cast<double>(plan_.weight->params.scales[0]) * factor) >= plan_.least_weight_scale;
  }

  void set_scales(const std::vector<double>& factors) {
    for (size_t o = 0; o < layer_.outputs; o++)
      problems_[o / layer_.group_outputs()].scales[o % layer_.group_outputs()] = shrunk(o, factors[o]);
  }

  // As the model will hold it: in single precision.
  double shrunk(size_t output, double factor) const { return static_cast<double>(static_cast<float>(scale(output) * factor)); }
  double scale(size_t output) const {
    const auto& scales = plan_.weight->params.scales;
    return static_cast<double>(scales.size() == 1 ? scales[0] : scales[output]);
  }
  int32_t zero_point(size_t output) const {
    const auto& points = plan_.weight->params.zero_points;
    return points.size() == 1 ? points[0] : points[output];
  }

  quant::GramProblem pose(size_t group) const {
    quant::GramProblem problem = problem_of(layer_, moments_, group, fixed_bias_);
    const size_t first = group * problem.outputs, k = problem.inputs;
    problem.weights.assign(rows_.begin() + static_cast<std::ptrdiff_t>(first * k),
                           rows_.begin() + static_cast<std::ptrdiff_t>((first + problem.outputs) * k));
    const quant::Grid whole = quant::grid_of(plan_.weight->params.type, false);
    const quant::Grid symmetric = quant::grid_of(plan_.weight->params.type, true);
    bool neutral = true;
    for (size_t o = first; o < first + problem.outputs; o++) {
      problem.scales.push_back(scale(o));
      problem.zero_points.push_back(zero_point(o));
      neutral = neutral && zero_point(o) == (symmetric.low + symmetric.high) / 2;
    }
    problem.low = static_cast<int32_t>(neutral ? symmetric.low : whole.low);
    problem.high = static_cast<int32_t>(neutral ? symmetric.high : whole.high);
    double diagonal = 0;
    for (size_t j = 0; j < k; j++) diagonal += problem.gram[j * k + j];
    const auto columns = static_cast<double>(std::max<size_t>(moments_.columns, 1));
    problem.damping = context_.settings.damping * diagonal / std::sqrt(columns);
    return problem;
  }

  // b̂ = mean y − Ŵ mean x̂ for all outputs (y contains the old bias).
  std::vector<float> absorbing_bias(const std::vector<int32_t>& codes) const {
    std::vector<float> bias(layer_.outputs);
    const auto columns = static_cast<double>(moments_.columns);
    for (size_t o = 0; o < layer_.outputs; o++) {
      double value = moments_.outputs[o] / columns;
      const size_t first = o / layer_.group_outputs() * layer_.inputs;
      const double step = problems_[o / layer_.group_outputs()].scales[o % layer_.group_outputs()];
      for (size_t j = 0; j < layer_.inputs; j++)
        value -= step * (codes[o * layer_.inputs + j] - zero_point(o)) * moments_.inputs[first + j] / columns;
      bias[o] = static_cast<float>(value);
    }
    return bias;
  }

  void keep(const std::vector<int32_t>& codes) {
    quant::QuantParams params = plan_.weight->params;
    for (size_t i = 0; i < params.scales.size() && !factors_.empty(); i++)
      params.scales[i] = static_cast<float>(shrunk(i, factors_[i]));
    const bool same_scales = params == plan_.weight->params;
    const Tensor stored = quant::codes_tensor(params.type, weights_->shape(), as_stored<int32_t>(layer_, codes));
    plan_.weight->optimized = quant::Optimized{params, stored};
    if (!plan_.bias || (!absorbs_ && (same_scales || !sums_with_products()))) return;
    const Tensor bias = absorbs_ ? Tensor::of(bias_->shape(), absorbing_bias(codes)) : *bias_;
    const auto bias_params = sums_with_products() ? quant::bias_params(params, *bias_, context_.input_scale) : plan_.bias->params;
    plan_.bias->optimized = quant::Optimized{bias_params, quant::quantize(bias, bias_params)};
  }

  const LinearLayer& layer_;
  const Moments& moments_;
  const LayerContext& context_;
  quant::NodePlan& plan_;
  const Tensor* weights_ = nullptr;
  const Tensor* bias_ = nullptr;
  std::vector<float> rows_;
  std::vector<double> fixed_bias_;  // that outputs contain and that stays; empty: means are absorbed instead
  bool absorbs_ = false;
  std::vector<quant::GramProblem> problems_;  // by group
  std::vector<double> factors_;               // of the scales, by output; empty: 1
};

}  // namespace

LayerError round_layer(const LinearLayer& layer, const Moments& moments, const LayerContext& context, quant::NodePlan& plan) {
  return LayerRounding(layer, moments, context, plan).solve();
}

}  // namespace quasar::tune
