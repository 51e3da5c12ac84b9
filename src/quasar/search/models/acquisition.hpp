// Expected improvement under constraints: what trying a point may gain.
//
//   gain(x) = log E[max(0, best - f(x))] + Σ log P(constraint k holds at x)
//
// Logarithm: Ament et al. 2023; constraints: Gardner et al. 2014.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "quasar/search/models/gaussian_process.hpp"

namespace quasar::search {

// The objective and every constraint, as far as they are known.
struct Beliefs {
  GaussianProcess objective;
  std::vector<GaussianProcess> constraints;
  std::optional<double> best;  // standardized, of a feasible trial; nullopt: none, then only the constraints count
};

double gain(const Beliefs& beliefs, const Coordinates& x);

// -gain, for descent; `gradient` has one component per coordinate named in `numbers`.
double negative_gain(const Beliefs& beliefs, const Coordinates& x, std::span<const size_t> numbers, Eigen::VectorXd& gradient);

}  // namespace quasar::search
