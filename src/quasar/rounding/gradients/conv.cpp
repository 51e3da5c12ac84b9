// Convolutions: the gradient of one is the other with the same weights.
#include <algorithm>
#include <numeric>

#include "quasar/rounding/gradient.hpp"

namespace quasar::tune::gradients {
namespace {

class ConvGradient final : public Gradient {
 public:
  std::vector<std::string_view> types() const override { return {"Conv", "ConvTranspose"}; }
  std::optional<std::string> of_input(const Backward& at, size_t input) const override {
    const auto weights = at.writer.known_shape(at.x(1));
    if (input != 0 || !weights || weights->size() < 3) return std::nullopt;
    const Shape kernel(weights->begin() + 2, weights->end());
    if (std::ranges::any_of(kernel, [](int64_t size) { return size < 1; })) return std::nullopt;
    const auto window = window_of(at, kernel);
    if (!window) return std::nullopt;
    return at.node.is("Conv") ? of_conv(at, *window) : of_transposed(at, *window);
  }

 private:
  struct Window {
    std::vector<int64_t> strides, dilations, pads;
    bool padded = false, strided = false;
  };

  // Padding by auto_pad depends on the input's size, which must be known.
  static std::optional<Window> window_of(const Backward& at, const Shape& kernel) {
    const size_t axes = kernel.size();
    Window window{.strides = at.node.integers("strides", std::vector<int64_t>(axes, 1)),
                  .dilations = at.node.integers("dilations", std::vector<int64_t>(axes, 1)),
                  .pads = at.node.integers("pads", std::vector<int64_t>(2 * axes, 0))};
    const std::string how = at.node.text("auto_pad", "NOTSET");
    if (how.starts_with("SAME")) {
      const auto input = at.writer.known_shape(at.x());
      if (!input || input->size() != axes + 2 || at.node.is("ConvTranspose")) return std::nullopt;
      for (size_t i = 0; i < axes; i++) {
        const int64_t size = (*input)[i + 2], stride = window.strides[i];
        if (size < 1) return std::nullopt;
        const int64_t last = ((size + stride - 1) / stride - 1) * stride + (kernel[i] - 1) * window.dilations[i] + 1;
        const int64_t all = std::max<int64_t>(last - size, 0), less = all / 2;
        window.pads[i] = how == "SAME_UPPER" ? less : all - less;
        window.pads[i + axes] = all - window.pads[i];
      }
    }
    window.padded = std::ranges::any_of(window.pads, [](int64_t pad) { return pad != 0; });
    window.strided = std::ranges::any_of(window.strides, [](int64_t stride) { return stride != 1; });
    if (std::ranges::any_of(window.pads, [](int64_t pad) { return pad < 0; })) return std::nullopt;
    return window;
  }

  // What the windows reach, with padding; places that strides leave out at the end are zero. Of these, those of the input.
  static std::string of_conv(const Backward& at, const Window& window) {
    NodeWriter& w = at.writer;
    const size_t axes = window.strides.size();
    std::string all =
        w.node("ConvTranspose", {at.g(), at.x(1)},
               {{"strides", window.strides}, {"dilations", window.dilations}, {"group", at.node.integer("group", 1)}});
    if (!window.padded && !window.strided) return all;
    if (window.strided) {
      std::vector<int64_t> behind(2 * (axes + 2), 0);
      for (size_t i = 0; i < axes; i++) behind[axes + 4 + i] = window.strides[i] - 1;
      all = w.node("Pad", {all, w.integers(behind)});
    }
    std::vector<int64_t> places(axes);
    std::iota(places.begin(), places.end(), int64_t{2});
    const std::string from = w.integers({window.pads.begin(), window.pads.begin() + static_cast<ptrdiff_t>(axes)});
    const std::string size = w.node("Gather", {w.shape(at.x()), w.integers(places)});
    return w.node("Slice", {all, from, w.add(from, size), w.integers(places)});
  }

  static std::optional<std::string> of_transposed(const Backward& at, const Window& window) {
    if (!at.node.integers("output_shape").empty()) return std::nullopt;
    return at.writer.node("Conv", {at.g(), at.x(1)},
                          {{"strides", window.strides},
                           {"dilations", window.dilations},
                           {"pads", window.pads},
                           {"group", at.node.integer("group", 1)}});
  }
};

}  // namespace

Entry<Gradient> conv() {
  return {.help = "Conv, ConvTranspose", .make = make_as<ConvGradient, Gradient>};
}

}  // namespace quasar::tune::gradients
