// AWQ (Lin et al. 2024, "AWQ: Activation-aware Weight Quantization"): channels whose inputs are large get finer weights.
//   s_j = r_j^α, or r_j^α / m_j^(1−α)      r_j = root mean square of X_j, m_j = max|W_j|, geometric mean 1
//   X ← X/s,   W_j ← W_j · s_j
// for all matrix products that read X, so that the function stays. α and the form are those whose rounded weights give the least
// error of the outputs, summed over the products in proportion to their power:
//   Σ |(Ŵ − W) X|² / |W X|²,    |E X|² = tr(E H Eᵀ),  H = mean x xᵀ within blocks of 512 channels
// The division is folded into what writes X where nobody else reads it (but not into weights that share one scale: their range
// would grow), or else done by a Mul.
#include <algorithm>
#include <cmath>

#include "quasar/base/parallel.hpp"
#include "quasar/quant/channels/channel_scaling.hpp"
#include "quasar/quant/codes/scheme_words.hpp"
#include "quasar/quant/codes/weights.hpp"
#include "quasar/stats/gram.hpp"

namespace quasar::quant::transforms {
namespace {

constexpr size_t gram_block = 512;
constexpr double worthwhile = 0.98;  // of the error: less is not worth a change of the graph

// A layer of the group that is scaled, as the search sees it.
struct Candidate {
  const ChannelLayer* layer;
  Shape shape;
  std::vector<float> weights;  // stored order
  double power = 0;
};

class Awq final : public Transform {
 public:
  explicit Awq(const Options& options) : scheme_(scheme_of(options.json("weight"))) {
    if (options.has("alpha")) alpha_ = options.real("alpha");
  }

  std::map<std::string, int> needs(const graph::Model& model) const override {
    std::map<std::string, int> out;
    for (const auto& group : reader_groups(model, graph::Index(model))) out[group.value] = -1;
    return out;
  }
  size_t product_block() const override { return gram_block; }

  Transformed rewrite(const graph::Model& model, const stats::ChannelStatistics& seen) const override {
    Transformed out{.model = model};
    const graph::Index index(model);
    ConstantEdits edits(model);
    ScaleFolding folding(model, index, edits, true, scheme_.granularity != Granularity::tensor);
    std::map<std::string, ChannelScales> inserted;
    size_t folded = 0, shared = 0;
    for (const auto& group : reader_groups(model, index)) {
      const auto found = seen.find(group.value);
      if (found == seen.end() || found->second.products.empty() || found->second.mean.size() != group.layers.front().inputs)
        continue;
      if (group.shares) {
        shared++;
        continue;
      }
      const auto scales = scales_of(group, found->second, index, edits);
      if (!scales) continue;
      if (group.alone && folding.fold(group.value, *scales, out.values)) {
        folded++;
      } else {
        inserted[group.value] = *scales;
      }
      multiply_weights(group, *scales, edits);
    }
    out.changes = folded + inserted.size();
    out.notes.push_back("awq: " + std::to_string(folded) + " inputs of matrix products scaled by what writes them, " +
                        std::to_string(inserted.size()) + " by a Mul" + left_shared(shared));
    if (out.changes == 0) return out;
    out.model = std::move(edits).finish();
    insert_scaling(inserted, out);
    return out;
  }

 private:
  static Scheme scheme_of(const Json& words) {
    Json params = words;
    if (params.is_null()) params = {{"data_type", "UInt4"}, {"symmetric", false}, {"quant_granularity", "Group"}};
    Scheme scheme = parse_scheme({{"weight_params", params}}, "weight");
    check_method_options(scheme, "awq");
    return scheme;
  }

  // nullopt: no scaling is worth it.
  std::optional<ChannelScales> scales_of(const ReaderGroup& group, const stats::ChannelStats& seen, const graph::Index& index,
                                         ConstantEdits& edits) const {
    std::vector<Candidate> layers;
    for (const auto& layer : group.layers) {
      const graph::Node& node = *index.node(layer.node);
      Candidate& one =
          layers.emplace_back(Candidate{&layer, index.model().initializer(node.inputs[1])->shape(), edits.values(layer.node, 1)});
      one.power = square(rows_of(one, one.weights), layer.outputs, seen);
      if (one.power <= 0) layers.pop_back();
    }
    if (layers.empty()) return std::nullopt;
    const size_t channels = seen.mean.size();
    const ChannelScales inputs = magnitudes(seen), weights = largest(layers, channels);
    const double plain = error(layers, ChannelScales(channels, 1), seen);
    double least = worthwhile * plain;
    std::optional<ChannelScales> best;
    for (const double alpha : alphas()) {
      for (const bool both : {false, true}) {
        if (!both && alpha == 0) continue;
        const ChannelScales scales = formed(inputs, weights, alpha, both);
        const double found = error(layers, scales, seen);
        if (found < least) least = found, best = scales;
      }
    }
    return best;
  }

  std::vector<double> alphas() const {
    if (alpha_) return {*alpha_};
    std::vector<double> out;
    for (int i = 0; i <= 10; i++) out.push_back(i / 10.0);
    return out;
  }

  // With a floor: a channel that is nearly always zero must not become huge.
  static ChannelScales magnitudes(const stats::ChannelStats& seen) {
    ChannelScales out;
    for (size_t first = 0, at = 0; first < seen.mean.size(); first += seen.block) {
      const size_t size = std::min(seen.block, seen.mean.size() - first);
      for (size_t i = 0; i < size; i++) out.push_back(std::sqrt(std::max(seen.products[at + i * size + i], 0.0)));
      at += size * size;
    }
    const double floor = std::max(1e-4 * *std::ranges::max_element(out), 1e-30);
    for (auto& value : out) value = std::max(value, floor);
    return out;
  }

  static ChannelScales largest(const std::vector<Candidate>& layers, size_t channels) {
    ChannelScales out(channels);
    for (const auto& [layer, shape, weights, power] : layers) {
      layer->for_weights([&, &values = weights](size_t i, size_t, size_t input) {
        out[input] = std::max<double>(out[input], std::abs(values[i]));
      });
    }
    const double floor = std::max(1e-4 * *std::ranges::max_element(out), 1e-30);
    for (auto& value : out) value = std::max(value, floor);
    return out;
  }

  static ChannelScales formed(const ChannelScales& inputs, const ChannelScales& weights, double alpha, bool both) {
    ChannelScales out(inputs.size());
    double mean = 0;
    for (size_t c = 0; c < out.size(); c++) {
      out[c] = alpha * std::log(inputs[c]) - (both ? (1 - alpha) * std::log(weights[c]) : 0);
      mean += out[c] / static_cast<double>(out.size());
    }
    for (auto& value : out) value = std::clamp(std::exp(value - mean), 1e-4, 1e4);
    return out;
  }

  double error(const std::vector<Candidate>& layers, const ChannelScales& scales, const stats::ChannelStats& seen) const {
    double sum = 0;
    for (const auto& one : layers) {
      std::vector<float> scaled = one.weights;
      one.layer->for_weights([&](size_t i, size_t, size_t input) { scaled[i] = static_cast<float>(scaled[i] * scales[input]); });
      const Tensor exact = Tensor::of(one.shape, scaled);
      const QuantParams params = weight_params(exact, one.layer->transposed ? 1 : 0, scheme_);
      const Tensor rounded = dequantize(quantize(exact, params), params);
      const auto codes = rounded.as<float>();
      one.layer->for_weights([&](size_t i, size_t, size_t input) {
        scaled[i] = static_cast<float>((static_cast<double>(codes[i]) - static_cast<double>(scaled[i])) / scales[input]);
      });
      sum += square(rows_of(one, scaled), one.layer->outputs, seen) / one.power;
    }
    return sum;
  }

  // [outputs, inputs]
  static std::vector<float> rows_of(const Candidate& one, const std::vector<float>& stored) {
    if (!one.layer->transposed) return stored;
    std::vector<float> rows(stored.size());
    const size_t inputs = one.layer->inputs, outputs = one.layer->outputs;
    for (size_t i = 0; i < inputs; i++) {
      for (size_t o = 0; o < outputs; o++) rows[o * inputs + i] = stored[i * outputs + o];
    }
    return rows;
  }

  // tr(E H Eᵀ) for E [outputs, inputs]
  static double square(const std::vector<float>& rows, size_t outputs, const stats::ChannelStats& seen) {
    constexpr size_t task_rows = 48;
    const size_t inputs = seen.mean.size();
    std::vector<double> parts((outputs + task_rows - 1) / task_rows);
    const std::vector<float> products(seen.products.begin(), seen.products.end());
    parallel_for(parts.size(), 0, [&](size_t task) {
      const size_t first = task * task_rows, count = std::min(task_rows, outputs - first);
      std::vector<double> sums;
      for (size_t from = 0, at = 0; from < inputs; from += seen.block) {
        const size_t size = std::min(seen.block, inputs - from);
        sums.assign(count * size, 0);
        stats::add_products({rows.data() + first * inputs + from, inputs, count}, {products.data() + at, size, size}, size,
                            sums.data(), size);
        for (size_t o = 0; o < count; o++) {
          const float* const row = rows.data() + (first + o) * inputs + from;
          for (size_t i = 0; i < size; i++) parts[task] += sums[o * size + i] * static_cast<double>(row[i]);
        }
        at += size * size;
      }
    });
    double total = 0;
    for (const double part : parts) total += part;
    return total;
  }

  Scheme scheme_;
  std::optional<double> alpha_;
};

}  // namespace

Entry<Transform> awq() {
  return {
      .help = "AWQ: channels whose inputs are large get finer weights, scaled for least error of matrix products",
      .make = make_as<Awq, Transform>,
      .options = {{.name = "weight",
                   .fallback = nullptr,
                   .help = "how weights will be quantized, as weight_params; 4 bits in groups of 32 when left out"},
                  {.name = "alpha", .fallback = nullptr, .help = "the exponent; searched when left out", .low = 0, .high = 1},
                  {.name = "data_size", .fallback = nullptr, .help = "calibration samples used; all when left out", .low = 1}}};
}

}  // namespace quasar::quant::transforms
