// Calibration methods: statistics -> the range that the grid will cover. One file per method in ranges/.
#pragma once

#include <span>

#include "quasar/base/plugin.hpp"
#include "quasar/quant/codes/scheme.hpp"
#include "quasar/stats/statistics.hpp"

namespace quasar::quant {

class RangeMethod {
 public:
  virtual ~RangeMethod() = default;
  virtual stats::Requests needs() const = 0;
  // For an activation, from what was observed.
  virtual stats::Range pick(const stats::TensorStats& seen, const Scheme& scheme) const = 0;
};

}  // namespace quasar::quant

namespace quasar::quant::ranges {
const Table<RangeMethod>& table();
}
