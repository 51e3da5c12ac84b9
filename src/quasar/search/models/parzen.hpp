// Parzen estimator over a space with conditional parameters: a mixture with one product kernel per observed point.
//
//   p(x) = 1/(n+1) · (u(x) + Σ_m Π_j k_j(x_j; x_mj)),   u uniform, j over the parameters that are active in x
//
// k_j is a truncated normal on the unit interval for numbers (at cell centres for whole and stepped ones), a smoothed indicator
// for choices, and uniform where point m lacks parameter j. Bergstra et al. 2011; multivariate: Falkner et al. 2018. Widths
// by the distance to neighbours, with a lower bound of the form that Optuna uses (its "magic clip").
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "quasar/search/models/coordinates.hpp"

namespace quasar::search {

class Parzen {
 public:
  Parzen(const Space& space, std::span<const Coordinates* const> observed);

  // A point drawn from the mixture.
  Point sample(Rng& rng) const;

  // Natural logarithm of p, up to a constant of the space.
  double log_density(const Coordinates& x) const;

 private:
  // The kernels of one parameter, one element per observed point.
  struct Kernels {
    bool categorical = false;
    double log_hit = 0, log_miss = 0, log_uniform = 0;  // categorical
    std::vector<double> center, precision, log_norm;    // precision = 1/sigma; 0 where the point lacks the parameter
  };
  Kernels kernels(size_t parameter, std::span<const Coordinates* const> observed) const;
  double draw(size_t parameter, size_t component, Rng& rng) const;

  const Space& space_;
  size_t size_;
  std::vector<Kernels> kernels_;  // by parameter
};

}  // namespace quasar::search
