// Maxima and means of windows.
#include <algorithm>
#include <functional>
#include <numeric>

#include "quasar/rounding/gradient.hpp"

namespace quasar::tune::gradients {
namespace {

class PoolingGradient final : public Gradient {
 public:
  std::vector<std::string_view> types() const override { return {"AveragePool", "GlobalAveragePool", "MaxPool"}; }
  std::optional<std::string> of_input(const Backward& at, size_t) const override {
    NodeWriter& w = at.writer;
    if (at.node.is("GlobalAveragePool")) {
      const std::string count = w.as_float(w.divide(w.node("Size", {at.x()}), w.node("Size", {at.y()})));
      return w.node("Expand", {w.divide(at.g(), count), w.shape(at.x())});
    }
    if (at.node.is("AveragePool")) return of_mean(at);
    if (!at.only_first() || at.node.integer("storage_order", 0) != 0) return std::nullopt;
    const std::vector<std::string> pooled = w.nodes("MaxPool", {at.x()}, at.node.attributes, 2);
    return w.scattered(at.g(), pooled[1], at.x());  // the second output: where the maxima stand
  }

 private:
  // As the gradient of a convolution with equal weights, of one channel at a time. Padding counts as the node says.
  static std::optional<std::string> of_mean(const Backward& at) {
    NodeWriter& w = at.writer;
    const std::vector<int64_t> kernel = at.node.integers("kernel_shape");
    const size_t axes = kernel.size();
    const std::vector<int64_t> dilations = at.node.integers("dilations", std::vector<int64_t>(axes, 1));
    const bool plain = !at.node.text("auto_pad", "NOTSET").starts_with("SAME") && at.node.integer("ceil_mode", 0) == 0 &&
                       std::ranges::all_of(dilations, [](int64_t dilation) { return dilation == 1; });
    if (!plain) return std::nullopt;
    const std::vector<int64_t> strides = at.node.integers("strides", std::vector<int64_t>(axes, 1));
    const std::vector<int64_t> pads = at.node.integers("pads", std::vector<int64_t>(2 * axes, 0));
    std::string gradient = at.g();
    if (std::ranges::any_of(pads, [](int64_t pad) { return pad != 0; }) && at.node.integer("count_include_pad", 0) == 0) {
      const std::string ones =
          w.node("ConstantOfShape", {w.shape(at.x())}, {{"value", Tensor::of(Shape{1}, std::vector<float>{1})}});
      const std::string inside =
          w.node("AveragePool", {ones},
                 {{"kernel_shape", kernel}, {"strides", strides}, {"pads", pads}, {"count_include_pad", int64_t{1}}});
      gradient = w.divide(gradient, inside);
    }
    return spread(at, gradient, kernel, strides, pads);
  }

  static std::string spread(const Backward& at, const std::string& gradient, const std::vector<int64_t>& kernel,
                            const std::vector<int64_t>& strides, const std::vector<int64_t>& pads) {
    NodeWriter& w = at.writer;
    const size_t axes = kernel.size();
    std::vector<int64_t> places(axes);
    std::iota(places.begin(), places.end(), int64_t{2});
    const auto plane = [&](const std::string& value) { return w.node("Gather", {w.shape(value), w.integers(places)}); };
    const std::string single = w.node("Concat", {w.integers({-1, 1}), plane(gradient)}, {{"axis", int64_t{0}}});
    const std::string one = w.node("Reshape", {gradient, single});
    const float share = 1 / static_cast<float>(std::accumulate(kernel.begin(), kernel.end(), int64_t{1}, std::multiplies<>()));
    std::vector<int64_t> weights{1, 1};
    weights.insert(weights.end(), kernel.begin(), kernel.end());
    const std::string window =
        w.node("ConstantOfShape", {w.integers(weights)}, {{"value", Tensor::of(Shape{1}, std::vector<float>{share})}});
    std::string all = w.node("ConvTranspose", {one, window}, {{"strides", strides}, {"kernel_shape", kernel}});
    std::vector<int64_t> behind(2 * (axes + 2), 0);
    for (size_t i = 0; i < axes; i++) behind[axes + 4 + i] = strides[i] - 1;
    all = w.node("Pad", {all, w.integers(behind)});
    const std::string from = w.integers({pads.begin(), pads.begin() + static_cast<ptrdiff_t>(axes)});
    return w.like(w.node("Slice", {all, from, w.add(from, plane(at.x())), w.integers(places)}), at.x());
  }
};

}  // namespace

Entry<Gradient> pooling() {
  return {.help = "MaxPool, AveragePool, GlobalAveragePool", .make = make_as<PoolingGradient, Gradient>};
}

}  // namespace quasar::tune::gradients
