// Operators that must not round to float16 for the sake of what comes behind them.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "quasar/graph/model.hpp"

namespace quasar::quant {

enum class Fine {
  small,     // a logarithm, a root or a division behind it makes much of what float16 calls 0
  position,  // an index, a position or an angle is computed there, for which 11 bits are too few
};

// What is known of values and constants of the model, by name.
struct KnownSizes {
  std::function<double(const std::string&)> most;    // largest magnitude; infinite: not known
  std::function<double(const std::string&)> least;   // smallest magnitude; 0: not known, or 0 itself
  std::function<bool(const std::string&)> in_codes;  // between pairs, which round more than float16
};

// Least magnitude that float16 has with all of its 11 bits.
constexpr double least_in_half = 0x1p-14;

// Log, Sqrt, Reciprocal, Div and powers below 1 whose argument or divisor is not known to stay above least_in_half; Sin and Cos
// of angles beyond 8, where steps of float16 are 1/128; and for both, as for Floor, Ceil, Round, casts to integers, and positions
// of GridSample and RoiAlign, the operators that lead there, up to the first sum of products or function. Besides, what computes
// with whole numbers beyond 2048, as those behind a Cast from integers. `floats`: ops::float_values() of the model.
std::map<std::string, Fine> fine_operators(const graph::Model& model, const std::set<std::string>& floats,
                                           const KnownSizes& known);

}  // namespace quasar::quant
