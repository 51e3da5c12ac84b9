// How items of arrays, as programs hold or give them, feed a model.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "quasar/base/plugin.hpp"
#include "quasar/data/annotations.hpp"
#include "quasar/data/conversion.hpp"
#include "quasar/data/dataset.hpp"

namespace quasar::data {

class ItemForm {
 public:
  // By the first item: which array feeds which input, and which holds labels. Throws Error that begins with `owner`.
  ItemForm(const Item& first, const std::vector<graph::Value>& inputs, const Options& options, std::string owner);

  // How many samples the item holds, as a batch; −1: it is one sample. Throws Error that names the item when it does not fit.
  int64_t rows(const Item& item, size_t index) const;
  // One sample of it; row −1: the item itself. Throws Error as Conversion::apply().
  Sample sample(const Item& item, int64_t row, const std::string& where) const;
  // Whether items are single samples whose labels are those of their boxes.
  bool has_boxes() const { return boxes_; }
  // Those of the item, label_offset added to their labels. Throws Error that begins with `where`.
  Boxes boxes(const Item& item, int64_t label_offset, const std::string& where) const;
  const std::vector<std::string>& passed_over() const { return passed_over_; }
  bool has_labels() const { return !labels_.empty() && !boxes_; }
  const Shape& label_shape(const Item& item) const { return item.at(labels_).shape(); }
  // Whether the item has more labels than samples: one per pixel or place.
  bool has_targets(const Item& item, size_t samples) const;
  // Those of one of the item's `samples`, int64; row as above. Throws Error that begins with `where`.
  Tensor target(const Item& item, int64_t row, size_t samples, const std::string& where) const;
  // One per sample. Throws Error when there are not `samples` of them.
  std::vector<int64_t> labels(const Item& item, size_t index, size_t samples) const;

 private:
  std::string where(size_t index) const { return owner_ + ", item " + std::to_string(index); }

  std::string owner_;
  std::vector<std::pair<std::string, Conversion>> columns_;  // array, and how it becomes the input
  std::string labels_;                                       // array; "": none
  std::vector<std::string> passed_over_;                     // other arrays
  bool boxes_ = false;
};

}  // namespace quasar::data
