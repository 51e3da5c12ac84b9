// Raw heads of detectors with anchors: one output per scale, a grid of cells that have `fields` values for each anchor.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "quasar/eval/decoder.hpp"

namespace quasar::eval {

struct GridHead {
  size_t rows = 0, columns = 0, fields = 0;
  std::span<const double> anchors = {};  // width, height, width, height … in pixels
  size_t cell_step = 0, anchor_step = 0, field_step = 0;
  std::span<const float> values = {};

  size_t anchor_count() const { return anchors.size() / 2; }
  // The first field; the others follow by field_step.
  const float* at(size_t cell, size_t anchor) const { return values.data() + cell * cell_step + anchor * anchor_step; }
};

// The outputs as heads, the finest first, with their share of the anchors. They are [1, anchors·fields, rows, columns],
// [1, rows, columns, anchors·fields], [1, anchors, rows, columns, fields] or [1, rows, columns, anchors, fields], with at least 6
// fields. Throws Error that begins with "decoder `name`" for others.
std::vector<GridHead> grid_heads(std::span<const float> values, const Layout& layout, std::span<const double> anchors,
                                 const std::string& name);

// The option `anchors`: widths and heights of the finest scale first. Throws Error.
std::vector<double> anchors_of(const Options& options, const std::string& name);
OptionSpec anchors_option();

}  // namespace quasar::eval
