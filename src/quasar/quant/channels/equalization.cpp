#include "quasar/quant/channels/equalization.hpp"

#include <algorithm>

#include "quasar/graph/lookup.hpp"
#include "quasar/ops/constants.hpp"
#include "quasar/quant/placement.hpp"

namespace quasar::quant {
namespace {

class Walk {
 public:
  explicit Walk(const graph::Model& model) : model_(model), index_(model) {}

  std::vector<Chain> run() {
    std::vector<Chain> chains;
    for (const auto& node : model_.nodes) {
      const auto first = channel_layer(node, model_);
      if (!first || continued_.contains(node.name) || shares_weights(node)) continue;
      Chain chain{.layers = {*first}, .links = {}};
      while (chain.layers.size() == 1 || chain.layers.back().depthwise) {
        if (!follow(chain)) break;
        if (chain.layers.back().depthwise) continued_.insert(chain.layers.back().node);
      }
      if (chain.layers.size() > 1) chains.push_back(std::move(chain));
    }
    return chains;
  }

 private:
  // A copy for each of the layers that read them would take their place.
  bool shares_weights(const graph::Node& layer) const { return graph::readers(layer.inputs[1], index_) > 1; }

  // Appends the layer behind the last one, if there is one.
  bool follow(Chain& chain) {
    const ChannelLayer& last = chain.layers.back();
    Link link;
    const int axis = last.axis;
    std::string value = index_.node(last.node)->outputs[0];
    flat_ = repeats_ = false;
    while (true) {
      link.values.push_back(value);
      const graph::Node* reader = graph::sole_reader(value, index_);
      if (reader == nullptr) return false;
      if (const auto next = channel_layer(*reader, model_); next && reader->inputs[0] == value) {
        if (shares_weights(*reader)) return false;
        if (next->axis != axis && !(axis == 1 && flat_)) return false;
        if (next->inputs % last.outputs != 0 || (next->inputs != last.outputs && !repeats_)) return false;
        link.repeat = next->inputs / last.outputs;
        link.shiftable = link.shiftable && !pads(*reader) && !has_factors(*index_.node(last.node)) && !has_factors(*reader);
        chain.links.push_back(std::move(link));
        chain.layers.push_back(*next);
        return true;
      }
      if (!passes(*reader, value, last.outputs, axis, link)) return false;
      value = reader->outputs[0];
    }
  }

  // Whether a factor per channel goes through the node.
  bool passes(const graph::Node& node, const std::string& value, size_t channels, int axis, Link& link) {
    if (node.outputs.size() > 1 && std::any_of(node.outputs.begin() + 1, node.outputs.end(), [](auto& o) { return !o.empty(); }))
      return false;
    if (node.is("Relu")) return link.cuts = true;
    if (node.is("Add")) return adds_vector(node, value, channels, axis, link);
    link.shiftable = false;
    if (node.is("LeakyRelu")) return true;
    if (node.is("PRelu")) return node.inputs[0] == value;
    if (axis != 1) return false;
    if (flat_) return false;
    if (node.is("Pad")) return pads_zeros_around(node);
    if (node.is("Flatten") && node.integer("axis", 1) == 1) return flat_ = repeats_ = true;
    if (node.is("Reshape") || node.is("Squeeze")) return flattens_pooled(node);
    if (node.is("ReduceMean")) return averages_plane(node);
    return node.is("MaxPool") || node.is("AveragePool") || node.is("GlobalAveragePool") || node.is("GlobalMaxPool");
  }

  // [n, channels, 1, 1] -> [n, channels].
  bool flattens_pooled(const graph::Node& node) {
    const graph::Node* pool = index_.producer(node.inputs[0]);
    if (pool == nullptr || !(pool->is("GlobalAveragePool") || pool->is("GlobalMaxPool") || pool->is("ReduceMean"))) return false;
    const Tensor* shape = ops::constant_input(node, 1, model_);
    if (node.is("Reshape") && (shape == nullptr || shape->count() != 2)) return false;
    if (node.is("Squeeze") && (shape == nullptr || to_doubles(*shape) != std::vector<double>{2, 3})) return false;
    return flat_ = true;
  }

  // The mean over both axes of an image.
  bool averages_plane(const graph::Node& node) {
    std::vector<int64_t> axes = node.integers("axes");
    if (const Tensor* constant = ops::constant_input(node, 1, model_)) {
      for (const double axis : to_doubles(*constant)) axes.push_back(static_cast<int64_t>(axis));
    }
    std::ranges::sort(axes);
    if (axes != std::vector<int64_t>{2, 3} && axes != std::vector<int64_t>{-2, -1}) return false;
    if (node.integer("keepdims", 1) == 0) flat_ = true;
    return true;
  }

  // A sum with one constant per channel, which is divided by the factor as well.
  bool adds_vector(const graph::Node& node, const std::string& value, size_t channels, int axis, Link& link) const {
    const size_t other = node.inputs[0] == value ? 1 : 0;
    const Tensor* constant = ops::constant_input(node, other, model_);
    std::string why;
    if (axis != -1 || !ops::is_quantizable_constant(constant, "a constant input", why) || constant->count() != channels)
      return false;
    if (constant->shape().empty() || static_cast<size_t>(constant->shape().back()) != channels) return false;
    link.constants.emplace_back(node.name, other);
    link.shiftable = false;
    return true;
  }

  // Zeros, and none before or behind the channels.
  bool pads_zeros_around(const graph::Node& node) const {
    if (node.text("mode", "constant") == "constant" && ops::has_input(node, 2)) {
      const Tensor* fill = ops::constant_input(node, 2, model_);
      if (fill == nullptr || to_doubles(*fill) != std::vector<double>{0}) return false;
    }
    const Tensor* pads = ops::constant_input(node, 1, model_);
    if (pads == nullptr || ops::has_input(node, 3)) return false;
    const std::vector<double> widths = to_doubles(*pads);
    const size_t rank = widths.size() / 2;
    return rank > 2 && widths[0] == 0 && widths[1] == 0 && widths[rank] == 0 && widths[rank + 1] == 0;
  }

  // A Gemm whose product or bias counts by more than once.
  static bool has_factors(const graph::Node& node) {
    return node.is("Gemm") && (node.real("alpha", 1) != 1 || node.real("beta", 1) != 1);
  }

  static bool pads(const graph::Node& node) {
    if (!node.is("Conv")) return node.is("ConvTranspose");
    const auto widths = node.integers("pads");
    const std::string automatic = node.text("auto_pad", "NOTSET");
    return (automatic != "NOTSET" && automatic != "VALID") ||
           std::ranges::any_of(widths, [](int64_t width) { return width != 0; });
  }

  const graph::Model& model_;
  const graph::Index index_;
  std::set<std::string> continued_;
  bool flat_ = false;     // a Flatten lies between the layers, or what does as much
  bool repeats_ = false;  // it is one that has several values of each channel in a row
};

}  // namespace

std::vector<Chain> find_chains(const graph::Model& model) {
  return Walk(model).run();
}

}  // namespace quasar::quant
