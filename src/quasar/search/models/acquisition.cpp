#include "quasar/search/models/acquisition.hpp"

#include <cmath>

#include "quasar/search/models/normal.hpp"

namespace quasar::search {

double gain(const Beliefs& beliefs, const Coordinates& x) {
  double out = 0;
  if (beliefs.best) {
    const auto belief = beliefs.objective.at(x);
    out = log_improvement((*beliefs.best - belief.mean) / belief.deviation) + std::log(belief.deviation);
  }
  for (const GaussianProcess& constraint : beliefs.constraints) {
    const auto belief = constraint.at(x);
    out += log_normal_below((constraint.standardized(0) - belief.mean) / belief.deviation);
  }
  return out;
}

double negative_gain(const Beliefs& beliefs, const Coordinates& x, std::span<const size_t> numbers, Eigen::VectorXd& gradient) {
  double out = 0;
  gradient.setZero();
  const auto add = [&](const GaussianProcess::Belief& b, double by_mean, double by_deviation) {
    for (size_t k = 0; k < numbers.size(); ++k) {
      const auto j = static_cast<Eigen::Index>(numbers[k]);
      gradient[static_cast<Eigen::Index>(k)] -=
          by_mean * b.mean_gradient[j] + by_deviation * b.variance_gradient[j] / (2 * b.deviation);
    }
  };
  if (beliefs.best) {
    const auto b = beliefs.objective.at(x, true);
    const double z = (*beliefs.best - b.mean) / b.deviation;
    const double log_h = log_improvement(z);
    out -= log_h + std::log(b.deviation);
    const double slope = std::exp(log_normal_below(z) - log_h);  // d log h/dz = Φ/h
    add(b, -slope / b.deviation, (1 - slope * z) / b.deviation);
  }
  for (const GaussianProcess& constraint : beliefs.constraints) {
    const auto b = constraint.at(x, true);
    const double z = (constraint.standardized(0) - b.mean) / b.deviation;
    const double log_p = log_normal_below(z);
    out -= log_p;
    const double slope = std::exp(-0.5 * z * z - 0.9189385332046727 - log_p);  // φ/Φ
    add(b, -slope / b.deviation, -slope * z / b.deviation);
  }
  return out;
}

}  // namespace quasar::search
