// Calibration methods: statistics -> the range that the grid will cover. One file per method in ranges/.
#pragma once

#include <span>

#include "quasar/base/plugin.hpp"
#include "quasar/quant/codes/scheme.hpp"
#include "quasar/stats/statistics.hpp"

namespace quasar::quant {

// How a method's range is found for blocks of weights, of which there are so many that a histogram of each would take long.
// half_quadratic: zero points are no integers there, which MatMulNBits of 2 and 4 bits takes.
enum class BlockRange { by_histogram, extremes, least_error, half_quadratic };

class RangeMethod {
 public:
  virtual ~RangeMethod() = default;
  virtual stats::Requests needs() const = 0;
  // For an activation, from what was observed.
  virtual stats::Range pick(const stats::TensorStats& seen, const Scheme& scheme) const = 0;
  virtual BlockRange of_blocks() const { return BlockRange::by_histogram; }
  // Of picking all ranges of a model, in units of scoring the float model: more where all bins are looked at again and again.
  virtual double cost() const { return 0.05; }
};

}  // namespace quasar::quant

namespace quasar::quant::ranges {
const Table<RangeMethod>& table();
}
