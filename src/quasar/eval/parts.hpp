// Parts of a model's outputs whose values are of different sizes: boxes in pixels beside scores from 0 to 1.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "quasar/eval/metric.hpp"

namespace quasar::eval {

// One part: an output, or slices of it along an axis.
struct OutputPart {
  size_t output = 0;
  std::optional<size_t> axis = {};    // nullopt: the whole output
  std::vector<int64_t> slices = {};   // along the axis, ascending
  double rms = 0;                     // √ of the mean square of the float model's values
  double norm = 0;                    // the mean over samples of √ of the sum of squares
  std::optional<double> spread = {};  // √ of the variance of a value between samples, mean over values; nullopt: see OutputParts
};

// What a candidate makes of a part, over all samples.
struct PartError {
  double relative = 0;    // √(Σ(f − q)² / Σf²)
  double cosine = 0;      // Σf·q / √(Σf² · Σq²); 0 when either is zero
  bool constant = false;  // one value everywhere, where the float model's vary
};

// Slices belong to one part unless their sizes (√ of the mean square) differ: sorted by size, a new part begins where one is more
// than 8 times the one before. Slices with all values from 0 to 1 are one kind, however rare some of them are: probabilities. Of
// several axes that tell parts apart the one with the widest gap is taken. Slices of nothing but zeros belong to no part.
class OutputParts {
 public:
  // What the float model gives.
  struct Samples {
    size_t count = 0;
    std::function<const Layout&(size_t)> layout;
    std::function<std::span<const float>(size_t)> values;
  };
  // Axes whose length differs between samples tell no parts. Spreads are known of 8 samples and more, where all have the same
  // shapes and at most 4 million values.
  explicit OutputParts(const Samples& samples);

  const std::vector<OutputPart>& all() const { return parts_; }
  double norm() const { return norm_; }  // of all outputs together, as OutputPart::norm

  // Whether some parts' values differ in size by more than 8 times.
  bool differ() const;

  // Whether outputs of these shapes have the same parts.
  bool fits(const std::vector<Shape>& outputs) const;

  // Σ (f − q)² of each part of one sample.
  std::vector<double> squared_distances(const Pair& sample) const;

  // A sum over samples, for errors().
  struct Sums {
    double reference = 0, candidate = 0, product = 0, distance = 0;  // Σf², Σq², Σf·q, Σ(f − q)²
    float low[2] = {}, high[2] = {};                                 // of f and of q
    bool any = false;
  };
  void add(const Pair& sample, std::vector<Sums>& sums) const;
  // `sums`: of every sample.
  static std::vector<PartError> errors(const std::vector<std::vector<Sums>>& sums);

 private:
  // Of one output: its axis, and the part of each slice along it (−1: none).
  struct Split {
    std::optional<size_t> axis;
    std::vector<ptrdiff_t> part;
  };
  void split(size_t output, const std::vector<size_t>& axes, const Samples& samples);
  void measure_spreads(const Samples& samples);
  template <class Visit>
  void visit(const Layout* layout, size_t count, const Visit& visit) const;

  std::vector<OutputPart> parts_;
  std::vector<Split> splits_;
  double norm_ = 0;
};

}  // namespace quasar::eval
