#include "quasar/eval/boxes.hpp"

#include <algorithm>
#include <cmath>

#include "quasar/base/error.hpp"

namespace quasar::eval {

std::vector<OptionSpec> with_selection(std::vector<OptionSpec> own) {
  own.push_back({"score_threshold", 0.05, "detections below it are dropped", 0, 1});
  own.push_back({"iou_threshold", 0.45, "non-maximum suppression drops what overlaps a better one of its class by more", 0, 1});
  own.push_back({"most", 100, "detections per sample at most", 1});
  return own;
}

Selection selection_of(const Options& options) {
  return {options.real("score_threshold"), options.real("iou_threshold"), static_cast<size_t>(options.integer("most"))};
}

double iou(const Detection& a, const Detection& b) {
  const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const double both = std::max(0.0, width) * std::max(0.0, height);
  const double all = (a.right - a.left) * (a.bottom - a.top) + (b.right - b.left) * (b.bottom - b.top) - both;
  return all > 0 ? both / all : 0;
}

std::vector<Detection> selected(std::vector<Detection> found, const Selection& selection) {
  std::erase_if(found, [&](const Detection& one) { return !(one.score >= selection.score_threshold); });
  std::ranges::stable_sort(found, std::ranges::greater(), &Detection::score);
  std::vector<Detection> taken;
  for (const Detection& one : found) {
    if (taken.size() == selection.most) break;
    const auto covers = [&](const Detection& better) {
      return better.label == one.label && iou(better, one) > selection.iou_threshold;
    };
    if (std::ranges::none_of(taken, covers)) taken.push_back(one);
  }
  return taken;
}

std::array<double, 2> picture_size(const Layout& layout) {
  const Shape& shape = layout.inputs.empty() ? Shape() : layout.inputs.front();
  if (shape.size() != 4)
    throw Error("a decoder needs a model whose first input is a picture [1,3,height,width], found " + to_string(shape));
  const bool channels_last = (shape[3] == 3 || shape[3] == 1) && shape[1] != 3 && shape[1] != 1;
  const size_t row = channels_last ? 1 : 2;
  return {static_cast<double>(shape[row]), static_cast<double>(shape[row + 1])};
}

std::pair<int64_t, double> best_class(const float* scores, size_t count, size_t step) {
  size_t best = 0;
  for (size_t c = 1; c < count; ++c) best = scores[c * step] > scores[best * step] ? c : best;
  return {static_cast<int64_t>(best), scores[best * step]};
}

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

double mean_bin(const float* values, size_t bins, size_t step) {
  double most = values[0], total = 0, sum = 0;
  for (size_t k = 1; k < bins; ++k) most = std::max<double>(most, values[k * step]);
  for (size_t k = 0; k < bins; ++k) {
    const double weight = std::exp(values[k * step] - most);
    total += weight;
    sum += weight * static_cast<double>(k);
  }
  return sum / total;
}

OptionSpec classes_option() {
  return {"classes", 0, "of boxes that are decoded in the model: how many fields are classes; others follow; 0: all", 0};
}

size_t fields_of(size_t fields, size_t first, size_t classes, const std::string& name) {
  if (first + classes > fields)
    throw Error("decoder " + name + ": option 'classes' is " + std::to_string(classes) + ", but a box has only " +
                std::to_string(fields) + " fields");
  return classes == 0 ? fields : first + classes;
}

Detection centred(double x, double y, double width, double height, double score, int64_t label) {
  return {x - width / 2, y - height / 2, x + width / 2, y + height / 2, score, label};
}

std::span<const float> values_of(std::span<const float> values, const Layout& layout, size_t output) {
  size_t offset = 0;
  for (size_t i = 0; i < output; ++i) offset += static_cast<size_t>(count_of(layout.outputs[i]));
  return values.subspan(offset, static_cast<size_t>(count_of(layout.outputs[output])));
}

void refuse_shapes(const std::string& decoder, const std::string& expected, const Layout& layout) {
  std::string shapes;
  for (const Shape& shape : layout.outputs) shapes += (shapes.empty() ? "" : ", ") + to_string(shape);
  throw Error("decoder " + decoder + " expects " + expected + ", but the model's outputs have the shapes " + shapes);
}

}  // namespace quasar::eval
