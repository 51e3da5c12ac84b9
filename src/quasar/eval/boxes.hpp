// What decoders and detection metrics share: overlap, suppression of repeated boxes, views of heads.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quasar/eval/decoder.hpp"

namespace quasar::eval {

struct Selection {
  double score_threshold, iou_threshold;
  size_t most;
};

// score_threshold, iou_threshold and most, as every decoder has them; `own` come first.
std::vector<OptionSpec> with_selection(std::vector<OptionSpec> own);
Selection selection_of(const Options& options);

// Intersection over union of two rectangles; 0 when the union is empty.
double iou(const Detection& a, const Detection& b);

// Non-maximum suppression by class: from the best down, a detection whose IoU with one of its class that was taken is above
// iou_threshold is dropped. Those below score_threshold and beyond the `most` best are dropped too. -> the best first; of equal
// scores the first one first.
std::vector<Detection> selected(std::vector<Detection> found, const Selection& selection);

// Height and width of what the model was fed: of its first input, NCHW or NHWC (3 or 1 channels tell which). Throws Error.
std::array<double, 2> picture_size(const Layout& layout);

// The greatest of `count` class scores, stepping by `step`. -> class and score
std::pair<int64_t, double> best_class(const float* scores, size_t count, size_t step);

double sigmoid(double x);

// The mean of a distribution over 0 … bins − 1 that a softmax makes of `bins` values, stepping by `step` (Li et al. 2020).
double mean_bin(const float* values, size_t bins, size_t step);

// The option `classes`, and how many of a box's fields it leaves: all (0), or `first` and as many as there are classes. Throws
// Error that begins with "decoder `name`" when there are fewer.
OptionSpec classes_option();
size_t fields_of(size_t fields, size_t first, size_t classes, const std::string& name);

// A detection from its centre and size.
Detection centred(double x, double y, double width, double height, double score, int64_t label);

// The n-th output's values.
std::span<const float> values_of(std::span<const float> values, const Layout& layout, size_t output);

// Throws Error: "decoder yolov8 expects …, but the model's outputs have the shapes […]".
[[noreturn]] void refuse_shapes(const std::string& decoder, const std::string& expected, const Layout& layout);

}  // namespace quasar::eval
