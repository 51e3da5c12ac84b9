// How often a sample stands in the tensors that a data set gives for it.
#pragma once

#include "quasar/data/dataset.hpp"

namespace quasar::data {

// Data sets that feed models whose batch is fixed (data/fixed_batch.hpp) are Repeating besides.
class Repeating {
 public:
  virtual ~Repeating() = default;
  virtual int64_t repeats() const { return 1; }  // how often a sample stands in the tensors that at() gives
};

// Of any data set; 1 when it does not know.
inline int64_t repeats_of(const Dataset& samples) {
  const auto* repeating = dynamic_cast<const Repeating*>(&samples);
  return repeating == nullptr ? 1 : repeating->repeats();
}

}  // namespace quasar::data
