// Which detections of one sample find an object, at several thresholds of overlap, and average precision of many samples.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "quasar/eval/decoder.hpp"

namespace quasar::eval {

enum class Precision { coco, voc, voc07 };

// Part: {objects, label, label …, detections: (label, score, found bits, ignored bits) …}; bit t is for threshold t. Crowds are
// no objects; detections that match them are ignored.
//   coco: from the best detection down, each takes the free object of greatest overlap at or above the threshold (pycocotools);
//   at
//         most 100 detections per class
//   voc, voc07: each has the object of greatest overlap, and finds it if it is free and the overlap is above the threshold
Part match(std::span<const Detection> found, const data::Boxes& objects, std::span<const double> thresholds, Precision how);

// Mean over thresholds and over the classes that have objects of the average precision, from parts that match() made; 0 without
// any object. The curve is made monotone; coco: its mean at recalls 0, 0.01 … 1; voc: the area below it; voc07: its mean at
// recalls 0, 0.1 … 1.
std::unique_ptr<Pool> average_precision(std::span<const Part> parts, size_t thresholds, Precision how);

}  // namespace quasar::eval
