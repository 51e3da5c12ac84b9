// Single-shot detectors (Liu et al. 2016): corners of every box, and either class scores [1, boxes, classes] with a background
// class, or labels [1, boxes] and scores [1, boxes]. Labels are counted without background. With `priors` the boxes are offsets
// (t_x, t_y, t_w, t_h) from these, v the variances:
//   x = p_x + v_1·t_x·p_w, y = p_y + v_2·t_y·p_h, w = p_w·exp(v_3·t_w), h = p_h·exp(v_4·t_h).
#include <algorithm>
#include <cmath>

#include "quasar/base/error.hpp"
#include "quasar/eval/boxes.hpp"
#include "quasar/eval/priors.hpp"

namespace quasar::eval::decoders {
namespace {

class Ssd : public Decoder {
 public:
  explicit Ssd(const Options& options)
      : selection_(selection_of(options)),
        y_first_(options.text("corners") == "yxyx"),
        shares_(options.flag("normalized")),
        background_(options.integer("background")),
        activation_(options.text("activation")) {
    if (!options.has("priors")) return;
    priors_ = read_priors(options.json("priors"), y_first_);
    const Json& variances = options.json("variances");
    const bool four = variances.is_array() && variances.size() == 4;
    if (!four || !std::ranges::all_of(variances, [](const Json& one) { return one.is_number() && one > 0; }))
      throw Error("decoder ssd: option 'variances' is " + variances.dump() +
                  ", but must be four numbers above 0, for x, y, w, h");
    variances_ = variances.get<std::vector<double>>();
  }

  std::vector<Detection> decode(std::span<const float> values, const Layout& layout) const override {
    const auto is_boxes = [](const Shape& shape) { return shape.size() >= 2 && shape.back() == 4 && count_of(shape) % 4 == 0; };
    const auto corners = std::ranges::find_if(layout.outputs, is_boxes);
    if (corners == layout.outputs.end()) refuse(layout);
    const auto at = static_cast<size_t>(corners - layout.outputs.begin());
    const size_t boxes = static_cast<size_t>(count_of(*corners)) / 4;
    if (boxes == 0) return {};         // of a picture in which the model found nothing
    std::vector<size_t> flat, others;  // outputs of one value per box, and of several
    for (size_t i = 0; i < layout.outputs.size(); ++i) {
      const auto count = static_cast<size_t>(count_of(layout.outputs[i]));
      if (i == at) continue;
      if (count == boxes) flat.push_back(i);
      if (count > boxes && count % boxes == 0) others.push_back(i);
    }
    if (!priors_.empty() && priors_.size() != boxes)
      throw Error("decoder ssd: there are " + std::to_string(priors_.size()) + " priors, but the output " + to_string(*corners) +
                  " holds " + std::to_string(boxes) + " boxes");
    std::vector<Detection> found;
    for (size_t i = 0; i < boxes; ++i) {
      const auto box = values_of(values, layout, at).subspan(4 * i, 4);
      found.push_back(priors_.empty() ? box_of(box, layout) : box_from(priors_[i], box, layout));
    }
    if (others.size() == 1) {
      classify(found, values_of(values, layout, others[0]));
    } else if (flat.size() == 2) {
      label(found, values_of(values, layout, flat[0]), values_of(values, layout, flat[1]));
    } else {
      refuse(layout);
    }
    std::erase_if(found, [](const Detection& one) { return one.label < 0; });
    return selected(std::move(found), selection_);
  }

 private:
  [[noreturn]] static void refuse(const Layout& layout) {
    refuse_shapes("ssd", "boxes [1,N,4] and either class probabilities [1,N,classes], or labels [1,N] and scores [1,N]", layout);
  }

  Detection box_of(std::span<const float> corners, const Layout& layout) const {
    const auto [high, wide] = shares_ ? picture_size(layout) : std::array<double, 2>{1, 1};
    const size_t x = y_first_ ? 1 : 0, y = 1 - x;
    return {corners[x] * wide, corners[y] * high, corners[x + 2] * wide, corners[y + 2] * high, 0, -1};
  }

  Detection box_from(const Prior& prior, std::span<const float> offsets, const Layout& layout) const {
    const auto [high, wide] = picture_size(layout);
    const size_t x = y_first_ ? 1 : 0, y = 1 - x;
    return centred((prior.x + variances_[0] * offsets[x] * prior.width) * wide,
                   (prior.y + variances_[1] * offsets[y] * prior.height) * high,
                   prior.width * std::exp(variances_[2] * offsets[x + 2]) * wide,
                   prior.height * std::exp(variances_[3] * offsets[y + 2]) * high, 0, -1);
  }

  int64_t without_background(int64_t place) const {
    if (background_ < 0 || place < background_) return place;
    return place == background_ ? -1 : place - 1;
  }

  // The greatest probability of a class that is not the background.
  void classify(std::vector<Detection>& found, std::span<const float> probabilities) const {
    const auto classes = static_cast<int64_t>(probabilities.size() / found.size());
    for (size_t i = 0; i < found.size(); ++i) {
      const auto scores = probabilities.subspan(i * static_cast<size_t>(classes), static_cast<size_t>(classes));
      const double most = std::ranges::max(scores);
      double total = 1;
      if (activation_ == "softmax") {
        total = 0;
        for (const float score : scores) total += std::exp(score - most);
      }
      for (int64_t c = 0; c < classes; ++c) {
        const double raw = scores[static_cast<size_t>(c)];
        const double p = activation_ == "softmax" ? std::exp(raw - most) / total : activation_ == "sigmoid" ? sigmoid(raw) : raw;
        const int64_t place = without_background(c);
        if (place < 0 || (found[i].label >= 0 && p <= found[i].score)) continue;
        found[i].score = p;
        found[i].label = place;
      }
    }
  }

  // Labels are whole numbers; scores lie between 0 and 1 and are hardly ever all whole.
  void label(std::vector<Detection>& found, std::span<const float> a, std::span<const float> b) const {
    const auto whole = [](std::span<const float> values) {
      return std::ranges::all_of(values, [](float value) { return value == std::floor(value) && std::abs(value) < 1e6F; });
    };
    const bool a_is_labels = whole(a) && !(whole(b) && std::ranges::max(b) > std::ranges::max(a));
    const auto labels = a_is_labels ? a : b, scores = a_is_labels ? b : a;
    for (size_t i = 0; i < found.size(); ++i) {
      found[i].label = without_background(static_cast<int64_t>(std::clamp(labels[i], -1.0F, 1e6F)));
      found[i].score = scores[i];
    }
  }

  Selection selection_;
  bool y_first_, shares_;
  int64_t background_;
  std::string activation_;
  std::vector<Prior> priors_;  // empty: boxes are decoded in the model
  std::vector<double> variances_;
};

}  // namespace

Entry<Decoder> ssd() {
  return {.help = "SSD: boxes [1,N,4], decoded or offsets from priors, and [1,N,classes], or labels [1,N] and scores [1,N]",
          .make = make_as<Ssd, Decoder>,
          .options = with_selection(
              {{.name = "corners", .fallback = "xyxy", .help = "order of a box's numbers", .choices = {"xyxy", "yxyx"}},
               {"normalized", true, "boxes are shares of the picture; false: pixels"},
               {"background", 0, "the class that means nothing, which is not counted; -1: none", -1},
               {.name = "activation",
                .fallback = "none",
                .help = "what makes probabilities of class scores: none, softmax or sigmoid",
                .choices = {"none", "softmax", "sigmoid"}},
               {"priors", nullptr,
                "boxes are offsets from these: a .npy or .npz file [N,4] of centres and sizes (shares, in the order of corners), "
                "or {grids: [19, 10, ...], boxes: [[[w, h], ...], ...]}, or {grids: ..., min_scale: 0.2, max_scale: 0.95}"},
               {"variances", {0.1, 0.1, 0.2, 0.2}, "that offsets of x, y, width and height are multiplied by"}})};
}

}  // namespace quasar::eval::decoders
