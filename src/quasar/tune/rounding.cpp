#include "quasar/tune/rounding.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "quasar/base/parallel.hpp"
#include "quasar/base/stopwatch.hpp"
#include "quasar/quant/rounding_options.hpp"
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

// One layer of the plan being solved.
class LayerRounding {
 public:
  LayerRounding(const LinearLayer& layer, const graph::Model& model, quant::NodePlan& plan, const quant::LayerSettings& settings,
                const quant::RoundingMethod& method, size_t threads)
      : layer_(layer), plan_(plan), settings_(settings), method_(method), threads_(threads) {
    const graph::Node& node = *std::ranges::find(model.nodes, layer.node, &graph::Node::name);
    weights_ = model.initializer(node.inputs[layer.weight_input]);
    if (layer.bias_input) bias_ = model.initializer(node.inputs[*layer.bias_input]);
    rows_ = as_rows<float>(layer, weights_->as<float>());
    absorbs_ = settings.update_bias && bias_ != nullptr && plan.bias.has_value();
  }

  LayerError solve(const Moments& moments) {
    const std::vector<double> fixed = fixed_bias();
    std::vector<int32_t> codes(rows_.size());
    std::vector<double> before(layer_.groups), after(layer_.groups), power(layer_.groups);
    const bool many = layer_.groups > 1;
    parallel_for(layer_.groups, many ? threads_ : 1, [&](size_t group) {
      const quant::GramProblem problem = pose(moments, group, fixed);
      const quant::Solution solution = method_.solve(problem, many ? 1 : threads_);
      std::ranges::copy(solution.codes, codes.begin() + static_cast<std::ptrdiff_t>(group * problem.weights.size()));
      before[group] = total(solution.before);
      after[group] = total(solution.after);
      power[group] = total(problem.power);
    });
    const double scale = std::max(total(power), std::numeric_limits<double>::min());
    if (total(after) < total(before)) {
      keep(codes, moments);
      return {layer_.node, total(before) / scale, total(after) / scale};
    }
    return {layer_.node, total(before) / scale, total(before) / scale};
  }

 private:
  // The bias that outputs contain and that stays; empty: means are absorbed instead.
  std::vector<double> fixed_bias() const {
    if (absorbs_) return {};
    return bias_ != nullptr ? to_doubles(*bias_) : std::vector<double>(layer_.outputs, 0.0);
  }

  double scale(size_t output) const {
    const auto& scales = plan_.weight->params.scales;
    return static_cast<double>(scales.size() == 1 ? scales[0] : scales[output]);
  }
  int32_t zero_point(size_t output) const {
    const auto& points = plan_.weight->params.zero_points;
    return points.size() == 1 ? points[0] : points[output];
  }

  quant::GramProblem pose(const Moments& moments, size_t group, std::span<const double> fixed) const {
    quant::GramProblem problem = problem_of(layer_, moments, group, fixed);
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
    problem.damping = settings_.damping * diagonal / std::sqrt(static_cast<double>(std::max<size_t>(moments.columns, 1)));
    return problem;
  }

  // b̂ = mean y − Ŵ mean x̂ for all outputs (y contains the old bias).
  std::vector<float> absorbing_bias(const std::vector<int32_t>& codes, const Moments& moments) const {
    std::vector<float> bias(layer_.outputs);
    const auto columns = static_cast<double>(moments.columns);
    for (size_t o = 0; o < layer_.outputs; o++) {
      double value = moments.outputs[o] / columns;
      const size_t first = o / layer_.group_outputs() * layer_.inputs;
      for (size_t j = 0; j < layer_.inputs; j++)
        value -= scale(o) * (codes[o * layer_.inputs + j] - zero_point(o)) * moments.inputs[first + j] / columns;
      bias[o] = static_cast<float>(value);
    }
    return bias;
  }

  void keep(const std::vector<int32_t>& codes, const Moments& moments) {
    plan_.weight->codes = codes_tensor(plan_.weight->params.type, weights_->shape(), as_stored<int32_t>(layer_, codes));
    if (absorbs_)
      plan_.bias->codes = quant::quantize(Tensor::of(bias_->shape(), absorbing_bias(codes, moments)), plan_.bias->params);
  }

  const LinearLayer& layer_;
  quant::NodePlan& plan_;
  const quant::LayerSettings& settings_;
  const quant::RoundingMethod& method_;
  size_t threads_;
  const Tensor* weights_ = nullptr;
  const Tensor* bias_ = nullptr;
  std::vector<float> rows_;
  bool absorbs_ = false;
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
    const LayerError error = LayerRounding(layer, model_, node, settings, *method, options_.threads).solve(moments);
    if (node.weight->codes) frontier.replace(layer.node, layer.weight_input, *node.weight->codes);
    if (node.bias && node.bias->codes) frontier.replace(layer.node, *layer.bias_input, *node.bias->codes);
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
