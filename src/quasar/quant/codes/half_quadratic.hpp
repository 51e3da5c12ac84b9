// Zero points of weights that need be no integers, by half-quadratic splitting (Badri and Shaji 2023, "Half-Quadratic
// Quantization of Large Machine Learning Models", https://mobiusml.github.io/hqq_blog/; their parameters p, β, κ).
//
// Of codes q = clamp(round(w/s + z)) and what they stand for, ŵ = s (q − z), the sum of |w − ŵ|^p with p < 1 is made small, which
// a few large errors hardly change. An error e of its own takes them up:
//   e ← shrink(w − ŵ),  shrink(x) = sign(x) · max(|x| − |x|^(p−1) / β, 0)      (the minimum of |e|^p + β/2 · (x − e)²)
//   z ← mean(q − (w − e) / s)
//   β ← κ β
// The scale stays that of the range. Of all rounds the zero point with the least squared error is taken.
#pragma once

#include <span>

#include "quasar/quant/codes/scheme.hpp"

namespace quasar::quant {

struct ScaleAndRealZero {
  float scale = 1;
  float zero_point = 0;
};

// `values`: one block of weights; `range`: what they span, zero included. Never a larger squared error than with the range's own
// zero point, which is no integer either.
ScaleAndRealZero half_quadratic(std::span<const float> values, const stats::Range& range, DataType type);

}  // namespace quasar::quant
