// Cross-layer equalization, and absorption of biases that the next layer can carry.
//
// Absorption (section 4.1.3 of the paper): where a layer's output in channel k was never below c > 0, the Relu behind it does
// nothing, and c moves into the next layer's bias: b_1 ← b_1 − c, b_2 ← b_2 + W_2 c. Exact on what was observed.
#include <algorithm>
#include <cmath>

#include "quasar/quant/channels/channel_scaling.hpp"
#include "quasar/quant/channels/equalization.hpp"
#include "quasar/quant/config/transform.hpp"

namespace quasar::quant::transforms {
namespace {

constexpr size_t most_steps = 1000, most_stalls = 20;

class Cle final : public Transform {
 public:
  explicit Cle(const Options& options)
      : steps_(options.integer("cle_steps")),
        threshold_(options.real("cle_total_layer_diff_threshold")),
        least_(options.real("cle_weight_threshold")),
        with_bias_(options.flag("cle_scale_append_bias")),
        absorb_(options.flag("bias_absorption")) {
    if (steps_ == 0) throw Error("transform cle: cle_steps is 0, but must be -1 (until converged) or at least 1");
  }

  bool equivalent() const override { return !absorb_; }

  std::map<std::string, int> needs(const graph::Model& model) const override {
    std::map<std::string, int> out;
    if (!absorb_) return out;
    for (const auto& chain : find_chains(model)) {
      for (size_t i = 0; i < chain.links.size(); i++) {
        if (absorbs(chain, i)) out[chain.links[i].values.front()] = chain.layers[i].axis;
      }
    }
    return out;
  }

  Transformed rewrite(const graph::Model& model, const stats::ChannelStatistics& seen) const override {
    const std::vector<Chain> chains = find_chains(model);
    Transformed out{.model = model};
    if (chains.empty()) {
      out.notes.push_back("cle: no two layers follow each other channel by channel, so nothing is equalized");
      return out;
    }
    ConstantEdits edits(model);
    Factors factors;
    for (const auto& chain : chains) {
      for (const auto& layer : chain.layers) factors.emplace(layer.node, std::vector<double>(layer.outputs, 1));
    }
    const size_t steps = equalize(chains, edits, factors);
    size_t absorbed = 0;
    for (const auto& chain : chains) {
      for (size_t i = 0; absorb_ && i < chain.links.size(); i++) absorbed += absorb(chain, i, seen, factors, edits);
      for (const auto& link : chain.links) out.values.insert(link.values.begin(), link.values.end());
      out.changes += chain.links.size();
    }
    out.model = std::move(edits).finish();
    out.notes.push_back("cle: " + std::to_string(out.changes) + " pairs of layers equalized in " + std::to_string(steps) +
                        " steps" + (absorb_ ? ", " + std::to_string(absorbed) + " channels' biases absorbed" : ""));
    return out;
  }

 private:
  using Factors = std::map<std::string, std::vector<double>>;  // layer -> what its output channels were divided by

  // -> steps taken.
  size_t equalize(const std::vector<Chain>& chains, ConstantEdits& edits, Factors& factors) const {
    const size_t wanted = steps_ < 0 ? most_steps : static_cast<size_t>(steps_);
    double best = std::numeric_limits<double>::infinity();
    size_t stalls = 0;
    for (size_t step = 1; step <= wanted; step++) {
      double change = 0;
      size_t layers = 0;
      for (const auto& chain : chains) {
        change += equalize(chain, edits, factors);
        layers += chain.layers.size();
      }
      change /= static_cast<double>(layers);
      stalls = change < best ? 0 : stalls + 1;
      best = std::min(best, change);
      // Beyond the fixed point further steps would only add up rounding.
      if (stalls >= most_stalls || change == 0 || (steps_ < 0 && change < threshold_)) return step;
    }
    return wanted;
  }

  // -> mean change of a weight, summed over layers.
  double equalize(const Chain& chain, ConstantEdits& edits, Factors& all) const {
    const size_t channels = chain.layers[0].outputs, n = chain.layers.size();
    std::vector<std::vector<double>> ranges;
    for (size_t i = 0; i < n; i++) ranges.push_back(ranges_of(chain, i, channels, edits));
    std::vector<std::vector<double>> factors(n, std::vector<double>(channels, 1));  // of layer i's outputs; the last: 1
    for (size_t i = 0; i + 1 < n; i++) {
      for (size_t c = 0; c < channels; c++) {
        double sum = 0;
        for (const auto& range : ranges) sum += range[c];
        if (sum < least_) continue;
        const double own = ranges[i][c] * (i > 0 ? factors[i - 1][c] : 1);
        double mean = std::pow(own, 1.0 / static_cast<double>(n - i));  // of what is left of the chain
        for (size_t j = i + 1; j < n; j++) mean *= std::pow(ranges[j][c], 1.0 / static_cast<double>(n - i));
        factors[i][c] = mean > 0 ? std::clamp(own / mean, 0x1p-20, 0x1p20) : 0;  // 0: some layer has nothing there
      }
      fill_neutral(factors[i]);
      bound(factors[i], ranges[i], biases_of(chain, i, edits), chain.layers[i]);
    }
    double change = 0;
    for (size_t i = 0; i < n; i++) {
      const ChannelLayer& layer = chain.layers[i];
      auto& weights = edits.values(layer.node, 1);
      const size_t repeat = i > 0 ? chain.links[i - 1].repeat : 1;
      double sum = 0;
      layer.for_weights([&](size_t k, size_t output, size_t input) {
        double factor = i > 0 ? factors[i - 1][input / repeat] : 1;
        if (i + 1 < n) factor /= factors[i][output];
        const auto scaled = static_cast<float>(weights[k] * factor);
        sum += std::abs(scaled - weights[k]);
        weights[k] = scaled;
      });
      change += sum / static_cast<double>(weights.size());
      if (i + 1 == n) continue;
      if (layer.bias) divide(edits.values(layer.node, *layer.bias), factors[i]);
      for (const auto& [node, input] : chain.links[i].constants) divide(edits.values(node, input), factors[i]);
      for (size_t c = 0; c < channels; c++) all.at(layer.node)[c] *= factors[i][c];
    }
    return change;
  }

  // What a layer's biases add to its outputs in each channel.
  static std::vector<double> biases_of(const Chain& chain, size_t i, ConstantEdits& edits) {
    const ChannelLayer& layer = chain.layers[i];
    const Link& link = chain.links[i];
    std::vector<double> out(layer.outputs);
    const auto add = [&](const std::vector<float>& values) {
      for (size_t c = 0; c < out.size(); c++) out[c] += static_cast<double>(values[values.size() == 1 ? 0 : c]);
    };
    if (layer.bias) add(edits.values(layer.node, *layer.bias));
    for (const auto& [node, input] : link.constants) add(edits.values(node, input));
    for (double& value : out) value = link.cuts ? std::max(value, 0.0) : std::abs(value);
    return out;
  }

  // A channel of small weights grows, and its bias with it, which the paper's factors do not see: it must not become larger than
  // what the equalized weights make of inputs of size 1, or what it was.
  static void bound(std::vector<double>& factors, const std::vector<double>& ranges, const std::vector<double>& biases,
                    const ChannelLayer& layer) {
    const double inputs = static_cast<double>(layer.weights()) / static_cast<double>(layer.outputs);
    double usual = 0;
    for (size_t c = 0; c < factors.size(); c++) usual = std::max(usual, std::sqrt(inputs) * ranges[c] / factors[c]);
    for (size_t c = 0; usual > 0 && c < factors.size(); c++) factors[c] = std::max(factors[c], std::min(1.0, biases[c] / usual));
  }

  std::vector<double> ranges_of(const Chain& chain, size_t i, size_t channels, ConstantEdits& edits) const {
    const ChannelLayer& layer = chain.layers[i];
    const bool last = i + 1 == chain.layers.size();
    const size_t repeat = i > 0 ? chain.links[i - 1].repeat : 1;
    const auto& weights = edits.values(layer.node, 1);
    std::vector<double> out(channels);
    layer.for_weights([&](size_t k, size_t output, size_t input) {
      double& range = out[last ? input / repeat : output];
      range = std::max<double>(range, std::abs(weights[k]));
    });
    if (!last && with_bias_ && layer.bias) {
      const auto biases = biases_of(chain, i, edits);
      for (size_t c = 0; c < channels; c++) out[c] = std::max(out[c], biases[c]);
    }
    return out;
  }

  static void divide(std::vector<float>& values, const std::vector<double>& factors) {
    for (size_t c = 0; c < values.size(); c++) values[c] = static_cast<float>(values[c] / factors[c]);
  }

  static bool absorbs(const Chain& chain, size_t link) {
    return chain.links[link].shiftable && chain.layers[link].bias && chain.layers[link + 1].bias;
  }

  // -> channels.
  static size_t absorb(const Chain& chain, size_t i, const stats::ChannelStatistics& seen, const Factors& factors,
                       ConstantEdits& edits) {
    const auto found = seen.find(chain.links[i].values.front());
    if (!absorbs(chain, i) || found == seen.end()) return 0;
    const ChannelLayer &from = chain.layers[i], &to = chain.layers[i + 1];
    std::vector<float> shift(from.outputs);
    size_t count = 0;
    for (size_t c = 0; c < shift.size(); c++) {
      shift[c] = std::max(0.0F, static_cast<float>(found->second.low[c] / factors.at(from.node)[c]));
      count += shift[c] > 0;
    }
    if (count == 0) return 0;
    auto& before = edits.values(from.node, *from.bias);
    for (size_t c = 0; c < shift.size(); c++) before[c] -= shift[c];
    auto& after = edits.values(to.node, *to.bias);
    std::vector<double> sums(after.begin(), after.end());
    const auto& weights = edits.values(to.node, 1);
    to.for_weights([&](size_t k, size_t output, size_t input) {
      sums[output] += double{weights[k]} * shift[input / chain.links[i].repeat];
    });
    for (size_t o = 0; o < after.size(); o++) after[o] = static_cast<float>(sums[o]);
    return count;
  }

  int64_t steps_;
  double threshold_, least_;
  bool with_bias_, absorb_;
};

}  // namespace

Entry<Transform> cle() {
  return {
      .help = "Cross-layer equalization: layers that follow each other share out their channels' ranges",
      .make = make_as<Cle, Transform>,
      .options = {{.name = "cle_steps",
                   .fallback = 1,
                   .help = "passes over all pairs, fewer where they change nothing more; -1: until converged",
                   .low = -1},
                  {.name = "cle_total_layer_diff_threshold",
                   .fallback = 1.9e-7,
                   .help = "with -1: mean change of a weight below which it has converged",
                   .low = 0},
                  {.name = "cle_weight_threshold",
                   .fallback = 0.0,
                   .help = "channels whose ranges sum up to less stay as they are (Quark: 0.5)",
                   .low = 0},
                  {.name = "cle_scale_append_bias", .fallback = false, .help = "the bias counts for a channel's range too"},
                  {.name = "bias_absorption",
                   .fallback = false,
                   .help = "also move biases that no Relu ever cut into the next layer; exact on the calibration samples only"}}};
}

}  // namespace quasar::quant::transforms
