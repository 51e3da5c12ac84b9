// The classes that an output names at every place: per pixel or per position of a sequence.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quasar/eval/metric.hpp"

namespace quasar::eval {

enum class ClassAxis { channels, last };

// The place of the greatest value along the axis of classes of the first output: axis 1 of [1, classes, …], or the last one of
// [1, …, classes], also of [length, 1, classes]. -> one class per place, the other axes in their order. Throws Error that begins
// with `owner` when there are fewer than three axes.
std::vector<int64_t> answers_of(std::span<const float> values, const Layout* layout, ClassAxis axis, const std::string& owner);

// What is true of the sample: its target, or with `as_float` the float model's answers. Throws Error when the numbers of places
// differ.
std::vector<int64_t> truth_of(const Pair& sample, bool as_float, ClassAxis axis, size_t places, const std::string& owner);

// What connectionist temporal classification reads in the classes of all places (Graves et al. 2006, the greedy decoder):
// repeated classes are merged, then blanks dropped.
std::vector<int64_t> ctc_text(std::vector<int64_t> classes, int64_t blank);
OptionSpec blank_option();

// The labels but those that do not count.
std::vector<int64_t> without_ignored(const Tensor& labels, int64_t ignore);

// An option that is a class; nullopt: left out. Throws Error that begins with `owner` for other values.
std::optional<int64_t> class_option(const Options& options, const std::string& name, const std::string& owner);

// Whether a mask [rows, columns] is of more places than these, and another of the model's inputs, [rows, columns] or [rows,
// columns, size], has as many: what an encoder reads, beside the places that its decoder gives. `inputs` holds the mask too.
bool masks_other_places(const Shape& mask, const std::vector<Shape>& inputs, int64_t places);

// The input that says which places of a sequence are padding.
class PlaceMask {
 public:
  explicit PlaceMask(const Options& options);
  static OptionSpec option();

  // Which of rows × places count: those where the input [rows, places] is above 0. An input with more columns than places also
  // masks what a cache holds; its last columns are taken. All count where the model has no such input, or where the user named
  // none and it masks other places. Throws Error that begins with `owner` for other sizes.
  std::vector<bool> of(const Pair& sample, size_t rows, size_t places, const std::string& owner) const;
  std::vector<WantedInput> looks_at() const;

 private:
  std::string input_;
  bool asked_;
};

// The option `truth`: labels or float.
OptionSpec truth_option();

}  // namespace quasar::eval
