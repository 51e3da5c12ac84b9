// A random forest over mixed features, and how much of its variance each feature alone explains.
//   Breiman: Random Forests, 2001; Hutter et al. 2014 for the variances (importance.hpp)
#pragma once

#include <cstddef>
#include <vector>

namespace quasar::report {

// A column: numbers in [0, 1], where −1 means "not there"; or choices 0 … choices−1, where `choices` means "not there".
// Its measure gives "not there" the mass `missing`, and spreads the rest evenly.
struct Feature {
  size_t choices = 0;  // 0: numbers
  double missing = 0;
  // Other columns tell where it is there: trees split by it only where all rows have it, so that what its being there brings
  // counts for those others. `missing` is 0.
  bool dependent = false;
  double absent() const { return choices > 0 ? static_cast<double>(choices) : -1; }
};

constexpr size_t max_choices = 64;  // features have fewer

struct Samples {
  const std::vector<Feature>& features;
  const std::vector<std::vector<double>>& rows;
  const std::vector<double>& values;  // one per row
};

// For every feature the variance of a tree's prediction averaged over the other features, over the prediction's whole variance;
// mean over the trees that have one. Trees are grown on bootstrap samples until their leaves are pure.
std::vector<double> variance_shares(const Samples& samples, size_t trees);

}  // namespace quasar::report
