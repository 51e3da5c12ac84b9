// Values that a Clip bounds are stretched to the end of a power-of-two grid.
//
// With power-of-two scales Clip(0, 6) gets the grid up to 127/16 = 7.94 and wastes a quarter of its codes. For a factor a > 0
// a·clip(x, l, h) = clip(a·x, a·l, a·h), so that the layer before takes the factor, the bounds move to 127·2ᵏ, and the layers
// behind divide their weights by it: the same function, finer steps.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "quasar/ops/op.hpp"
#include "quasar/quant/channels/channel_layer.hpp"
#include "quasar/quant/config/transform.hpp"

namespace quasar::quant::transforms {
namespace {

constexpr double highest_code = 127;

// What a factor on the output of one Clip touches.
struct Stretch {
  double factor = 1;
  std::string before;               // the layer that feeds the Clip
  std::vector<std::string> behind;  // layers that read it
  std::vector<std::string> values;  // that change
};

bool passes_factors(const graph::Node& node) {
  static const std::set<std::string> types{"MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "Reshape",
                                           "Flatten", "Squeeze",     "Unsqueeze",         "Transpose",     "Identity"};
  return node.domain.empty() && types.contains(node.op_type) && node.outputs.size() == 1;
}

// The layers behind the value, through what a factor passes. false: something else reads it.
bool follow(const graph::Index& index, const std::string& start, Stretch& stretch) {
  std::vector<std::string> pending{start};
  while (!pending.empty()) {
    const std::string value = pending.back();
    pending.pop_back();
    if (index.is_output(value)) return false;
    stretch.values.push_back(value);
    for (const graph::Node* reader : index.consumers(value)) {
      if (std::ranges::count(reader->inputs, value) != 1 || reader->inputs[0] != value) return false;
      if (passes_factors(*reader)) {
        pending.push_back(reader->outputs[0]);
      } else if (channel_layer(*reader, index.model())) {
        stretch.behind.push_back(reader->name);
      } else {
        return false;
      }
    }
  }
  return !stretch.behind.empty();
}

std::optional<Stretch> stretch_of(const graph::Node& clip, const graph::Index& index) {
  std::string why;
  const auto roles = clip.is("Clip") ? ops::roles_of(clip, index.model(), why) : std::nullopt;
  if (!roles || !roles->bounds) return std::nullopt;
  const double low = static_cast<double>(roles->bounds->low), high = static_cast<double>(roles->bounds->high);
  const double reach = std::max(std::abs(low), std::abs(high));
  if (!std::isfinite(reach) || reach <= 0 || low > 0 || high < 0) return std::nullopt;
  const graph::Node* layer = index.producer(clip.inputs[0]);
  if (layer == nullptr || !channel_layer(*layer, index.model()) || index.is_output(clip.inputs[0])) return std::nullopt;
  if (index.consumers(clip.inputs[0]).size() != 1) return std::nullopt;
  Stretch out;
  out.factor = std::exp2(std::ceil(std::log2(reach / highest_code))) * highest_code / reach;
  out.before = layer->name;
  out.values.push_back(clip.inputs[0]);
  if (out.factor < 1 + 1e-6 || !follow(index, clip.outputs[0], out)) return std::nullopt;
  return out;
}

void multiply(std::vector<float>& values, double factor) {
  for (auto& value : values) value = static_cast<float>(static_cast<double>(value) * factor);
}

class FitPowerOfTwo final : public Transform {
 public:
  Transformed rewrite(const graph::Model& model, const stats::ChannelStatistics&) const override {
    Transformed out{.model = model};
    const graph::Index index(model);
    ConstantEdits edits(model);
    std::map<std::string, double> inputs, outputs;  // by layer
    for (const auto& node : model.nodes) {
      const auto stretch = stretch_of(node, index);
      if (!stretch) continue;
      outputs[stretch->before] = stretch->factor;
      for (const auto& layer : stretch->behind) inputs[layer] = stretch->factor;
      for (size_t bound = 1; bound < node.inputs.size(); bound++) {
        if (!node.inputs[bound].empty()) multiply(edits.values(node.name, bound), stretch->factor);
      }
      out.values.insert(stretch->values.begin(), stretch->values.end());
      out.changes++;
    }
    if (out.changes == 0) return out;
    for (const auto& node : model.nodes) {
      const auto layer = channel_layer(node, model);
      if (!layer) continue;
      const double from = inputs.contains(node.name) ? inputs.at(node.name) : 1;
      const double to = outputs.contains(node.name) ? outputs.at(node.name) : 1;
      if (from != to) multiply(edits.values(node.name, 1), to / from);
      if (to != 1 && layer->bias) multiply(edits.values(node.name, *layer->bias), to);
    }
    out.model = std::move(edits).finish();
    out.notes.push_back("fit_power_of_two: " + std::to_string(out.changes) + " Clips stretched to the ends of their grids");
    return out;
  }
};

}  // namespace

Entry<Transform> fit_power_of_two() {
  return {.help = "Clips are stretched to the ends of power-of-two grids, the layers around them take the factor",
          .make = make_as<FitPowerOfTwo, Transform>};
}

}  // namespace quasar::quant::transforms
