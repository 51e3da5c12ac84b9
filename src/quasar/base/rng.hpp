// A seeded random generator whose numbers are the same on every machine (the standard's distributions are not).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "quasar/base/api.hpp"

namespace quasar {

// xoshiro256** (Blackman and Vigna 2018), seeded by splitmix64.
class QUASAR_API Rng {
 public:
  explicit Rng(uint64_t seed);

  uint64_t next();
  double uniform();                         // [0, 1)
  double uniform(double low, double high);  // [low, high)
  uint64_t below(uint64_t n);               // 0 … n-1 without bias; n > 0
  double normal();                          // mean 0, variance 1 (Box and Muller)

  // A permutation of 0 … n-1 (Fisher and Yates).
  std::vector<size_t> permutation(size_t n);

 private:
  uint64_t state_[4];
};

}  // namespace quasar
