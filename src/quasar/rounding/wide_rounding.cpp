#include "quasar/rounding/wide_rounding.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "quasar/base/parallel.hpp"
#include "quasar/quant/codes/gram_descent.hpp"
#include "quasar/quant/codes/gram_errors.hpp"
#include "quasar/quant/codes/weights.hpp"
#include "quasar/rounding/layer_bias.hpp"
#include "quasar/rounding/layer_grid.hpp"
#include "quasar/rounding/scale_search.hpp"

namespace quasar::tune {
namespace {

constexpr size_t most_values = size_t{8} << 20;      // of one sample's inputs
constexpr size_t most_residuals = size_t{64} << 20;  // ρ, over all samples

// So many of the positions, evenly spread.
std::vector<uint32_t> thinned(const std::vector<uint32_t>& positions, size_t most) {
  if (positions.size() <= most) return positions;
  std::vector<uint32_t> out(most);
  for (size_t i = 0; i < most; i++) out[i] = positions[i * positions.size() / most];
  return out;
}

class WideRounding {
 public:
  WideRounding(const LinearLayer& layer, const WideInput& input, const LayerContext& context, quant::NodePlan& plan)
      : layer_(layer),
        input_(input),
        context_(context),
        plan_(plan),
        bias_(layer, context, plan),
        grid_(layer, *constant_of(layer, context.model, layer.weight_input), *plan.weight),
        block_(grid_.whole_pairs(input.block)),
        samples_(input.samples) {
    std::iota(samples_.begin(), samples_.end(), size_t{0});
    choose_positions();
  }

  LayerError solve() {
    const std::vector<Target> wanted = residuals_of_nothing();
    const double variance = varying(wanted, true) > 0 ? varying(wanted, true) : std::numeric_limits<double>::quiet_NaN();
    std::vector<int32_t> codes = nearest();
    std::vector<Target> residuals = wanted;
    subtract(codes, residuals);
    const double centred = varying(residuals, bias_.absorbs()), diagonal = diagonal_;
    const std::vector<float> left = wanted_biases(residuals);
    const double before = centred + bias_.error_of_staying(left);
    const LayerBias::Absorbed nearest_bias = bias_.absorbing(left, plan_.weight->params);
    std::vector<Target> changes = std::move(residuals);
    residuals = wanted;
    subtract({}, residuals);
    for (const size_t sample : samples_) {
      for (size_t i = 0; i < changes[sample].values.size(); i++) changes[sample].values[i] -= residuals[sample].values[i];
    }
    const double alone = varying(changes, bias_.absorbs()) / variance;
    if (grid_.block() == 0 && context_.settings.scale_search) search_scales(diagonal, residuals);
    for_blocks([&](size_t group, size_t first) { solve_block(group, first, diagonal, codes, residuals); });
    quant::Optimized found = grid_.finished(codes);
    const LayerBias::Absorbed found_bias = bias_.absorbing(wanted_biases(residuals), found.params);
    const double after = varying(residuals, bias_.absorbs()) + found_bias.error;
    const double least = std::min(before, centred + nearest_bias.error);
    if (after < least) {
      plan_.weight->optimized = std::move(found);
      bias_.take(found_bias, plan_.weight->optimized->params);
    } else if (least < before) {
      bias_.take(nearest_bias, plan_.weight->params);
    }
    return {layer_.node, before / variance, std::min(least, after) / variance, alone};
  }

 private:
  void choose_positions() {
    const size_t rows = layer_.groups * layer_.inputs;
    const size_t each = std::min(most_values / rows, most_residuals / layer_.outputs / std::max<size_t>(samples_.size(), 1));
    for (const size_t sample : samples_) {
      positions_.push_back(thinned(input_.targets[sample].positions, std::max<size_t>(each, 1)));
      columns_ += positions_.back().size();
    }
  }

  // y, without the bias that stays.
  std::vector<Target> residuals_of_nothing() const {
    const std::vector<double> bias = bias_.absorbs() ? std::vector<double>(layer_.outputs, 0.0) : bias_.staying();
    std::vector<Target> out(samples_.size());
    for (const size_t sample : samples_) {
      const Target& whole = input_.targets[sample];
      Target& part = out[sample];
      part.shape = whole.shape;
      part.positions = positions_[sample];
      for (size_t o = 0; o < layer_.outputs; o++) {
        size_t at = 0;
        for (const uint32_t position : part.positions) {
          while (whole.positions[at] != position) at++;
          part.values.push_back(static_cast<float>(static_cast<double>(whole.values[o * whole.positions.size() + at]) - bias[o]));
          if (o == 0 && !whole.weights.empty()) part.weights.push_back(whole.weights[at]);
        }
      }
    }
    return out;
  }

  // Mean square over columns by their weights, summed over outputs; without the means where the bias will take them up.
  double varying(const std::vector<Target>& values, bool centred) const {
    double total = 0;
    const double n = weight_of(values);
    for (size_t o = 0; o < layer_.outputs; o++) {
      double sum = 0, squares = 0;
      for (const Target& target : values) {
        const size_t count = target.positions.size();
        for (size_t p = 0; p < count; p++) {
          const auto value = static_cast<double>(target.values[o * count + p]);
          sum += target.weight(p) * value;
          squares += target.weight(p) * value * value;
        }
      }
      total += squares / n - (centred ? sum / n * sum / n : 0);
    }
    return total;
  }

  static double weight_of(const std::vector<Target>& targets) {
    double sum = 0;
    for (const Target& target : targets) {
      for (size_t p = 0; p < target.positions.size(); p++) sum += target.weight(p);
    }
    return positive(sum);
  }

  // Calls use(sample, inputs [rows, positions]) for all samples, several at a time.
  template <class Use>
  void for_columns(const Use& use) const {
    parallel_for(samples_.size(), context_.threads, [&](size_t i) {
      const size_t sample = samples_[i], count = positions_[sample].size();
      std::vector<float> inputs(layer_.groups * layer_.inputs * count);
      input_.fill(sample, positions_[sample], inputs.data(), count);
      use(sample, inputs);
    });
  }

  // Takes what weights give off the residuals: those of the codes, or the float ones where there are no codes.
  void subtract(const std::vector<int32_t>& codes, std::vector<Target>& residuals) {
    std::vector<double> squares(samples_.size());
    for_columns([&](size_t sample, const std::vector<float>& inputs) {
      const size_t count = positions_[sample].size();
      for (size_t i = 0; i < inputs.size(); i++)
        squares[sample] += residuals[sample].weight(i % count) * static_cast<double>(inputs[i]) * static_cast<double>(inputs[i]);
      for (size_t o = 0; o < layer_.outputs; o++) {
        const auto weight = [&](size_t i) {
          return codes.empty() ? grid_.weight(o, i) : static_cast<float>(grid_.value(o, i, codes[o * layer_.inputs + i]));
        };
        take(o, 0, layer_.inputs, weight, inputs, count, residuals[sample]);
      }
    });
    diagonal_ =
        std::accumulate(squares.begin(), squares.end(), 0.0) / (weight_of(residuals) * static_cast<double>(layer_.groups));
  }

  // residual −= Σ_i weight(i) · x̂_i over inputs from `first` on
  template <class Weight>
  void take(size_t o, size_t first, size_t inputs, const Weight& weight, const std::vector<float>& columns, size_t count,
            Target& residual) const {
    std::vector<double> sums(count);
    const float* const rows = columns.data() + o / layer_.group_outputs() * layer_.inputs * count;
    for (size_t i = first; i < first + inputs; i++) {
      const auto w = static_cast<double>(weight(i));
      if (w == 0) continue;
      for (size_t p = 0; p < count; p++) sums[p] += w * static_cast<double>(rows[i * count + p]);
    }
    for (size_t p = 0; p < count; p++) residual.values[o * count + p] -= static_cast<float>(sums[p]);
  }

  std::vector<int32_t> nearest() const {
    std::vector<int32_t> out;
    for (size_t o = 0; o < layer_.outputs; o++) {
      quant::GramProblem row{.outputs = 1, .inputs = layer_.inputs};
      grid_.fill(row, o, 1, 0);
      const auto codes = quant::nearest_codes(row);
      out.insert(out.end(), codes.begin(), codes.end());
    }
    return out;
  }

  template <class Use>
  void for_blocks(const Use& use) const {
    for (size_t group = 0; group < layer_.groups; group++) {
      for (size_t first = 0; first < layer_.inputs; first += block_) use(group, first);
    }
  }

  // Of each output, or of all together where they share a scale: the factor with the least damped errors, summed over blocks that
  // know nothing of each other's codes.
  void search_scales(double diagonal, const std::vector<Target>& residuals) {
    std::vector<double> factors = shrinking_factors(grid_.params());
    std::erase_if(factors, [&](double factor) { return !bias_.fits(factor) || !within_limits(plan_, factor); });
    if (factors.size() < 2) return;
    std::vector<std::vector<double>> errors(factors.size(), std::vector<double>(layer_.outputs, 0.0));
    for_blocks([&](size_t group, size_t first) {
      const size_t output = group * layer_.group_outputs();
      quant::GramProblem problem = posed_block(group, first, diagonal, residuals);
      for (size_t f = 0; f < factors.size(); f++) {
        grid_.shrink(std::vector<double>(layer_.outputs, factors[f]));
        for (size_t o = 0; o < problem.outputs; o++) problem.scales[o] = grid_.scale(output + o, 0);
        const quant::Solution probe =
            quant::descend(problem, {.sweeps = context_.method.probing_sweeps(), .threads = context_.threads});
        for (size_t o = 0; o < problem.outputs; o++) errors[f][output + o] += probe.damped[o];
      }
      grid_.shrink(std::vector<double>(layer_.outputs, 1));
    });
    grid_.shrink(least(factors, errors));
  }

  // `errors` by factor and output -> the best factor of each output.
  std::vector<double> least(const std::vector<double>& factors, std::vector<std::vector<double>> errors) const {
    if (grid_.one_scale()) {
      for (auto& row : errors) row.assign(row.size(), std::accumulate(row.begin(), row.end(), 0.0));
    }
    std::vector<double> out(layer_.outputs);
    for (size_t o = 0; o < layer_.outputs; o++) {
      size_t best = 0;
      for (size_t f = 1; f < factors.size(); f++) {
        if (errors[f][o] < errors[best][o]) best = f;
      }
      out[o] = factors[best];
    }
    return out;
  }

  quant::GramProblem posed_block(size_t group, size_t first, double diagonal, const std::vector<Target>& residuals) const {
    const size_t k = std::min(block_, layer_.inputs - first);
    quant::GramProblem problem = block_problem(group, first, k, residuals);
    grid_.fill(problem, group * layer_.group_outputs(), layer_.group_outputs(), first);
    aim(problem);
    problem.damping = context_.settings.damping_of(diagonal, columns_);
    return problem;
  }

  void solve_block(size_t group, size_t first, double diagonal, std::vector<int32_t>& codes, std::vector<Target>& residuals) {
    const size_t k = std::min(block_, layer_.inputs - first), outputs = layer_.group_outputs();
    const size_t output = group * outputs;
    quant::GramProblem problem = posed_block(group, first, diagonal, residuals);
    if (grid_.block() > 0 && context_.settings.scale_search) shrink(problem, output, first);
    const quant::Solution found = context_.method.solve(problem, context_.threads);
    for (size_t o = 0; o < outputs; o++)
      std::copy_n(found.codes.data() + o * k, k, codes.data() + (output + o) * layer_.inputs + first);
    for_columns([&](size_t sample, const std::vector<float>& inputs) {
      for (size_t o = output; o < output + outputs; o++) {
        const auto change = [&](size_t i) {
          return static_cast<float>(grid_.value(o, i, codes[o * layer_.inputs + i]) - static_cast<double>(grid_.weight(o, i)));
        };
        take(o, first, k, change, inputs, positions_[sample].size(), residuals[sample]);
      }
    });
  }

  // H of the block; cross and power of the residuals.
  quant::GramProblem block_problem(size_t group, size_t first, size_t k, const std::vector<Target>& residuals) const {
    const size_t outputs = layer_.group_outputs();
    const LinearLayer part{.node = layer_.node, .input = {}, .output = {}, .outputs = outputs, .inputs = k};
    std::vector<Target> wanted(residuals.size());
    for (const size_t sample : samples_) {
      const size_t count = positions_[sample].size();
      const auto values = residuals[sample].values.begin() + static_cast<std::ptrdiff_t>(group * outputs * count);
      wanted[sample] = {.shape = {},
                        .positions = positions_[sample],
                        .values = {values, values + static_cast<std::ptrdiff_t>(outputs * count)},
                        .weights = residuals[sample].weights};
    }
    const auto fill = [&](size_t sample, float* to, size_t stride) {
      const size_t count = positions_[sample].size();
      std::vector<float> inputs(layer_.groups * layer_.inputs * count);
      input_.fill(sample, positions_[sample], inputs.data(), count);
      for (size_t i = 0; i < k; i++)
        std::copy_n(inputs.data() + (group * layer_.inputs + first + i) * count, count, to + i * stride);
    };
    const Moments moments = moments_of(part, samples_, wanted, fill, context_.threads);
    return problem_of(part, moments, 0, bias_.absorbs() ? std::vector<double>() : std::vector<double>(outputs, 0.0));
  }

  // From the residual ρ to what the block is to give: t = ρ + W x̂.
  static void aim(quant::GramProblem& problem) {
    const size_t k = problem.inputs;
    for (size_t o = 0; o < problem.outputs; o++) {
      double* const cross = problem.cross.data() + o * k;
      const float* const weights = problem.weights.data() + o * k;
      double mixed = 0, square = 0;
      for (size_t i = 0; i < k; i++) {
        double sum = 0;
        for (size_t j = 0; j < k; j++) sum += problem.gram[i * k + j] * static_cast<double>(weights[j]);
        mixed += static_cast<double>(weights[i]) * cross[i];
        square += static_cast<double>(weights[i]) * sum;
        cross[i] += sum;
      }
      problem.power[o] = std::max(problem.power[o] + 2 * mixed + square, 0.0);
    }
  }

  void shrink(quant::GramProblem& problem, size_t output, size_t first) {
    const auto best =
        factors_by_block(problem, shrinking_factors(grid_.params()), context_.method.probing_sweeps(), context_.threads);
    const size_t blocks = problem.blocks(), from = first / grid_.block();
    if (factors_.empty()) factors_.assign(layer_.outputs * grid_.blocks(), 1);
    for (size_t o = 0; o < problem.outputs; o++) {
      for (size_t b = 0; b < blocks; b++) factors_[(output + o) * grid_.blocks() + from + b] = best[o * blocks + b];
    }
    grid_.shrink(factors_);
    for (size_t o = 0; o < problem.outputs; o++) {
      for (size_t b = 0; b < blocks; b++) problem.scales[o * blocks + b] = grid_.scale(output + o, from + b);
    }
  }

  // The means that a bias takes up, of each output; none where it does not.
  std::vector<float> wanted_biases(const std::vector<Target>& residuals) const {
    if (!bias_.absorbs()) return {};
    std::vector<float> out;
    for (size_t o = 0; o < layer_.outputs; o++) {
      double sum = 0;
      for (const Target& target : residuals) {
        const size_t count = target.positions.size();
        for (size_t p = 0; p < count; p++) sum += target.weight(p) * static_cast<double>(target.values[o * count + p]);
      }
      out.push_back(static_cast<float>(sum / weight_of(residuals)));
    }
    return out;
  }

  const LinearLayer& layer_;
  const WideInput& input_;
  const LayerContext& context_;
  quant::NodePlan& plan_;
  LayerBias bias_;
  LayerGrid grid_;
  size_t block_;  // inputs that are rounded at a time
  std::vector<size_t> samples_;
  std::vector<std::vector<uint32_t>> positions_;  // by sample
  size_t columns_ = 0;
  double diagonal_ = 0;          // Σ_j H_jj of a group, on average
  std::vector<double> factors_;  // of block scales
};

}  // namespace

LayerError round_wide_layer(const LinearLayer& layer, const WideInput& input, const LayerContext& context,
                            quant::NodePlan& plan) {
  return WideRounding(layer, input, context, plan).solve();
}

}  // namespace quasar::tune
