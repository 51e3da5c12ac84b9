#include "quasar/tune/rounding.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "quasar/base/parallel.hpp"
#include "quasar/base/stopwatch.hpp"
#include "quasar/quant/gram_descent.hpp"
#include "quasar/quant/rounding_options.hpp"
#include "quasar/quant/weights.hpp"
#include "quasar/tune/frontier.hpp"
#include "quasar/tune/layer_moments.hpp"

namespace quasar::tune {
namespace {

constexpr size_t most_inputs = 8192;  // of one output: the Gram matrix has 512 MiB then

std::vector<LinearLayer> layers_of(const graph::Model& model) {
  std::vector<LinearLayer> out;
  std::string why;
  for (const auto& node : model.nodes) {
    if (auto layer = linear_layer(node, model, why)) out.push_back(std::move(*layer));
  }
  return out;
}

template <class Code>
Tensor tensor_of(const Shape& shape, const std::vector<int32_t>& codes) {
  return Tensor::of(shape, std::vector<Code>(codes.begin(), codes.end()));
}

Tensor codes_tensor(DataType type, const Shape& shape, const std::vector<int32_t>& codes) {
  switch (type) {
    case DataType::int8:
      return tensor_of<int8_t>(shape, codes);
    case DataType::uint8:
      return tensor_of<uint8_t>(shape, codes);
    case DataType::int16:
      return tensor_of<int16_t>(shape, codes);
    case DataType::uint16:
      return tensor_of<uint16_t>(shape, codes);
    default:
      throw Error("weights of type " + std::string(name_of(type)) + " are not yet supported");
  }
}

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
  struct Context {
    const graph::Model& model;
    const quant::LayerSettings& settings;
    const quant::RoundingMethod& method;
    size_t threads;
    float input_scale;
  };

  LayerRounding(const LinearLayer& layer, const Moments& moments, const Context& context, quant::NodePlan& plan)
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
    const Result before = apply_to_all([](const quant::GramProblem& problem, size_t threads) {
      return quant::descend(problem, {.sweeps = 0, .threads = threads});
    });
    if (context_.settings.scale_search) search_scales();
    const Result found = apply_to_all(
        [this](const quant::GramProblem& problem, size_t threads) { return context_.method.solve(problem, threads); });
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
  Result apply_to_all(const Solve& solve) const {
    std::vector<quant::Solution> solutions(layer_.groups);
    const bool many = layer_.groups > 1;
    parallel_for(layer_.groups, many ? context_.threads : 1,
                 [&](size_t group) { solutions[group] = solve(problems_[group], many ? 1 : context_.threads); });
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
      const Result probe = apply_to_all([](const quant::GramProblem& problem, size_t threads) {
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
    const auto& scales = plan_.bias->params.scales;
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
    const Tensor stored = codes_tensor(params.type, weights_->shape(), as_stored<int32_t>(layer_, codes));
    plan_.weight->optimized = quant::Optimized{params, stored};
    if (!plan_.bias || (!absorbs_ && same_scales)) return;
    const Tensor bias = absorbs_ ? Tensor::of(bias_->shape(), absorbing_bias(codes)) : *bias_;
    const auto bias_params =
        same_scales || !sums_with_products() ? plan_.bias->params : quant::bias_params(params, *bias_, context_.input_scale);
    plan_.bias->optimized = quant::Optimized{bias_params, quant::quantize(bias, bias_params)};
  }

  const LinearLayer& layer_;
  const Moments& moments_;
  const Context& context_;
  quant::NodePlan& plan_;
  const Tensor* weights_ = nullptr;
  const Tensor* bias_ = nullptr;
  std::vector<float> rows_;
  std::vector<double> fixed_bias_;  // that outputs contain and that stays; empty: means are absorbed instead
  bool absorbs_ = false;
  std::vector<quant::GramProblem> problems_;  // by group
  std::vector<double> factors_;               // of the scales, by output; empty: 1
};

std::string formatted(const char* format, double value) {
  char text[32];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

std::string percent(double value) {
  return formatted("%.3g %%", 100 * value);
}

std::string summary_of(const std::string& method, const RoundingReport& report) {
  double ratio = 0;
  for (const auto& layer : report.layers) {
    if (layer.before > 0)
      ratio += std::log(std::max(layer.after / layer.before, 1e-9)) / static_cast<double>(report.layers.size());
  }
  return method + ": " + std::to_string(report.layers.size()) + " layers on " + std::to_string(report.samples) +
         " samples, output error of nearest rounding × " + formatted("%.3f", std::exp(ratio)) + " (geometric mean) in " +
         formatted("%.2f s", report.seconds);
}

}  // namespace

// What depends on the float model and the samples only.
struct Rounder::Material {
  std::vector<data::Sample> samples;
  FloatTargets targets;
};

Rounder::Rounder(const graph::Model& model, data::DatasetPtr samples, RounderOptions options)
    : model_(model), samples_(std::move(samples)), options_(std::move(options)) {}

Rounder::~Rounder() = default;

std::shared_ptr<Rounder::Material> Rounder::material(size_t count) {
  const std::lock_guard lock(guard_);
  auto& material = materials_[count];
  if (material == nullptr) {
    std::vector<data::Sample> samples(count);
    parallel_for(count, options_.threads, [&](size_t i) { samples[i] = samples_->at(i); });
    const TargetOptions options{.memory_limit = options_.memory_limit / 4, .threads = options_.threads};
    material = std::shared_ptr<Material>(new Material{samples, {model_, layers_of(model_), samples, options}});
  }
  return material;
}

void Rounder::settle(quant::Plan& plan, std::optional<size_t> calibration) const {
  Json& options = plan.rounding.options;
  if (!options.contains("data_size")) return;
  size_t samples = std::min(samples_->size(), calibration.value_or(samples_->size()));
  if (options["data_size"].is_number()) samples = std::min(samples, options["data_size"].get<size_t>());
  options["data_size"] = samples;
}

RoundingReport Rounder::improve(quant::Plan& plan, const std::function<void()>& check) {
  const Stopwatch watch;
  RoundingReport report;
  const auto& [name, entry] = quant::rounding::table().find(plan.rounding.method);
  const Options options(entry.options, plan.rounding.options, "rounding method " + name);
  const auto method = entry.make(options);
  if (!method->optimizes()) return report;
  const quant::LayerSettings settings = quant::layer_settings(options);
  const size_t wanted = std::min(settings.data_size.value_or(samples_->size()), samples_->size());
  const auto material = this->material(wanted);
  const auto& layers = material->targets.layers();
  std::vector<size_t> chosen;
  std::vector<std::string> stops;
  for (size_t i = 0; i < layers.size(); i++) {
    const auto found = plan.nodes.find(layers[i].node);
    if (found == plan.nodes.end() || !found->second.weight) continue;
    if (layers[i].inputs > most_inputs) {
      report.kept.push_back(layers[i].node + ": more than " + std::to_string(most_inputs) + " inputs");
      continue;
    }
    chosen.push_back(i);
    stops.push_back(layers[i].node);
  }
  Frontier frontier(quant::apply(model_, plan), stops, material->samples,
                    {.memory_limit = options_.memory_limit / 2, .threads = options_.threads});
  for (const size_t i : chosen) {
    if (check) check();
    const LinearLayer& layer = layers[i];
    frontier.advance(layer.node);
    const auto targets = material->targets.at(i);
    std::vector<size_t> samples(frontier.samples());
    std::iota(samples.begin(), samples.end(), size_t{0});
    const auto fill = [&](size_t sample, float* to, size_t stride) {
      const Target& target = (*targets)[sample];
      gather_inputs(layer, frontier.input(sample), frontier.decoding(), target.shape, target.positions, to, stride);
    };
    const Moments moments = moments_of(layer, samples, *targets, fill, options_.threads);
    quant::NodePlan& node = plan.nodes.at(layer.node);
    const LayerError error =
        LayerRounding(layer, moments, {model_, settings, *method, options_.threads, frontier.decoding().scale}, node).solve();
    if (node.weight->optimized) frontier.replace(layer.node, layer.weight_input, *node.weight->optimized);
    if (node.bias && node.bias->optimized) frontier.replace(layer.node, *layer.bias_input, *node.bias->optimized);
    tell(options_.log, Level::debug,
         layer.node + ": relative output error " + percent(error.before) + " -> " + percent(error.after));
    report.layers.push_back(error);
    report.samples = samples.size();
  }
  report.seconds = watch.seconds();
  tell(options_.log, Level::info, summary_of(name, report));
  return report;
}

Json to_json(const RoundingReport& report) {
  Json layers = Json::array();
  for (const auto& layer : report.layers) layers.push_back({layer.node, layer.before, layer.after});
  return {{"samples", report.samples}, {"seconds", report.seconds}, {"layers", std::move(layers)}, {"kept", report.kept}};
}

}  // namespace quasar::tune
