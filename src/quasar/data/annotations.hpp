// What is true of a sample beyond its class: the objects in it, or a class per pixel or place. Data sets that know such things
// are Truths besides.
#pragma once

#include <optional>
#include <vector>

#include "quasar/data/dataset.hpp"

namespace quasar::data {

// A labelled object, in pixels of the model's input (x to the right, y down).
struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;
  int64_t label = 0;   // the model's class (label_offset added)
  bool crowd = false;  // many objects in one box: finding them counts neither for nor against a model
};
using Boxes = std::vector<Box>;

class Truths {
 public:
  virtual ~Truths() = default;
  virtual std::optional<Boxes> boxes(size_t) const { return std::nullopt; }    // the sample's objects; nullopt: none are labelled
  virtual std::optional<Tensor> target(size_t) const { return std::nullopt; }  // int64, a class per pixel or place; nullopt: none
};

// Of any data set; nullopt when it does not know.
std::optional<Boxes> boxes_of(const Dataset& samples, size_t index);
std::optional<Tensor> target_of(const Dataset& samples, size_t index);

}  // namespace quasar::data
