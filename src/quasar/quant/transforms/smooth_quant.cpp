// SmoothQuant (Xiao et al. 2023, "SmoothQuant: Accurate and Efficient Post-Training Quantization for Large Language Models"):
// outliers in single channels of an activation move into the weights that read it, where there is room.
//   s_j = max|X_j|^α / max|W_j|^(1−α),   X ← X/s,   W_j ← W_j · s_j
// over all matrix products that read X. The division is folded into what wrote X (LayerNormalization, a product or sum with a
// vector, a layer) where nobody else reads it; otherwise a Mul stands before the layers, in float, so that X itself need not be
// quantized. It does not where an operator writes X that is quantized itself: the outliers would be rounded before they are
// smoothed. With scales found at run time that is no reason, but it costs more than it gains all the same: the paper smooths
// behind LayerNormalization too, where the outliers are (docs/quantization.md).
#include <algorithm>
#include <cmath>
#include <set>

#include "quasar/ops/op.hpp"
#include "quasar/ops/parts_of_functions.hpp"
#include "quasar/quant/channels/channel_scaling.hpp"

namespace quasar::quant::transforms {
namespace {

class SmoothQuant final : public Transform {
 public:
  explicit SmoothQuant(const Options& options)
      : alpha_(options.real("alpha")),
        behind_functions_(options.flag("behind_functions")),
        layers_(options.flag("behind_layers")) {}

  std::map<std::string, int> needs(const graph::Model& model) const override {
    std::map<std::string, int> out;
    for (const auto& group : reader_groups(model, graph::Index(model))) out[group.value] = -1;
    return out;
  }

  Transformed rewrite(const graph::Model& model, const stats::ChannelStatistics& seen) const override {
    Transformed out{.model = model};
    const graph::Index index(model);
    ConstantEdits edits(model);
    ScaleFolding folding(model, index, edits, false, layers_);
    std::map<std::string, ChannelScales> inserted;
    const std::set<std::string> parts = behind_functions_ ? ops::parts_of_functions(index) : std::set<std::string>();
    size_t folded = 0, skipped = 0, shared = 0;
    for (const auto& group : reader_groups(model, index)) {
      const auto found = seen.find(group.value);
      if (found == seen.end() || found->second.mean.size() != group.layers.front().inputs) continue;
      if (group.shares) {
        shared++;
        continue;
      }
      const ChannelScales scales = scales_of(group, found->second, edits);
      if (group.alone && folding.fold(group.value, scales, out.values)) {
        folded++;
      } else if (comes_quantized(index.producer(group.value), model, parts)) {
        skipped++;
        continue;
      } else {
        inserted[group.value] = scales;
      }
      multiply_weights(group, scales, edits);
    }
    out.changes = folded + inserted.size();
    if (out.changes == 0) {
      out.notes.push_back("smooth_quant: no matrix product's input can be smoothed" + left_shared(shared));
      return out;
    }
    out.model = std::move(edits).finish();
    insert_scaling(inserted, out);
    out.notes.push_back(
        "smooth_quant: " + std::to_string(folded) + " inputs smoothed by what writes them, " + std::to_string(inserted.size()) +
        " by a Mul" +
        (skipped > 0 ? ", " + std::to_string(skipped) + " left as operators other than LayerNormalization write them" : "") +
        left_shared(shared));
    return out;
  }

 private:
  ChannelScales scales_of(const ReaderGroup& group, const stats::ChannelStats& seen, ConstantEdits& edits) const {
    const size_t channels = group.layers.front().inputs;
    ChannelScales weights(channels), scales(channels);
    for (const auto& layer : group.layers) {
      const auto& values = edits.values(layer.node, 1);
      layer.for_weights(
          [&](size_t i, size_t, size_t input) { weights[input] = std::max<double>(weights[input], std::abs(values[i])); });
    }
    for (size_t c = 0; c < channels; c++) {
      const double input = std::max(std::abs(seen.low[c]), std::abs(seen.high[c]));
      if (input < 1e-5 || weights[c] < 1e-5) continue;  // always zero, or nobody weighs it: nothing to share
      scales[c] = std::clamp(std::pow(input, alpha_) / std::pow(weights[c], 1 - alpha_), 1e-5, 1e5);
    }
    fill_neutral(scales);
    return scales;
  }

  // Written by an operator that is quantized itself wherever that is possible; a LayerNormalization is float on most targets, and
  // a Gelu, or the last of its parts, on those for which it is asked for.
  bool comes_quantized(const graph::Node* producer, const graph::Model& model, const std::set<std::string>& parts) const {
    std::string why;
    if (producer == nullptr || producer->is("LayerNormalization")) return false;
    if (behind_functions_ && (producer->is("Gelu") || parts.contains(producer->name))) return false;
    return ops::roles_of(*producer, model, why).has_value();
  }

  double alpha_;
  bool behind_functions_, layers_;
};

}  // namespace

Entry<Transform> smooth_quant() {
  return {.help = "SmoothQuant: outliers in channels of matrix products' inputs move into the weights",
          .make = make_as<SmoothQuant, Transform>,
          .options = {{.name = "alpha",
                       .fallback = 0.5,
                       .help = "how much of an outlier moves: 0 none, 1 all",
                       .low = 0,
                       .high = 1,
                       .aliases = {"SmoothAlpha"}},
                      {.name = "behind_functions",
                       .fallback = false,
                       .help = "behind Gelu too, for targets that compute it in float (OpenVINO, ONNX Runtime's CPU): a Mul more",
                       .aliases = {"SmoothFunctions"}},
                      {.name = "behind_layers",
                       .fallback = true,
                       .help = "layers before may take scales into their weights; set where these have a scale per channel"}}};
}

}  // namespace quasar::quant::transforms
