// A Gaussian process over mixed coordinates: what is known of a function from some of its values, with the uncertainty.
//
//   k(x, y) = s · m(√Σ_j w_j d_j²),  m(r) = (1 + √5 r + 5/3 r²)·exp(-√5 r),  Matérn 5/2
//
// d_j is the difference of two numbers in [0, 1], one that is not there counting as 0.5 (its parent's choice tells the two
// apart); of two choices 0 when they are equal and 1 otherwise (Hamming). The weights w_j (inverse squared lengths), the scale s
// and the noise are those of the greatest posterior density under the priors that Optuna's GPSampler has (weights: exp(-0.1/w -
// 0.1 w); scale: gamma(2, 1); noise: gamma(1.1, 30)).
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <vector>

#include "quasar/search/models/coordinates.hpp"

namespace quasar::search {

struct GpParameters {
  Eigen::VectorXd weights;  // one per coordinate
  double scale = 1, noise = 1e-3;
};

class GaussianProcess {
 public:
  // `is_choice`: per coordinate; NaN coordinates are "not there". Values are standardized inside.
  GaussianProcess(std::vector<bool> is_choice, std::vector<Coordinates> points, const std::vector<double>& values,
                  GpParameters parameters);

  struct Belief {
    double mean = 0, deviation = 0;                              // in standardized units
    Eigen::VectorXd mean_gradient = {}, variance_gradient = {};  // with respect to the numbers; 0 elsewhere
  };
  Belief at(const Coordinates& x, bool with_gradient = false) const;

  // A value in standardized units.
  double standardized(double value) const { return (value - center_) / spread_; }

  // Adds a point as if its value were the mean expected there: keeps parallel trials apart.
  void believe(const Coordinates& x);

  const std::vector<Coordinates>& points() const { return points_; }

 private:
  void factorize();

  std::vector<bool> is_choice_;
  std::vector<Coordinates> points_;
  Eigen::VectorXd values_, solved_;  // standardized; K⁻¹ values
  GpParameters parameters_;
  double center_ = 0, spread_ = 1;
  Eigen::LLT<Eigen::MatrixXd> factor_;
};

// The parameters of greatest posterior density, from a fixed start: the same data gives the same answer. O(n³) a step.
GpParameters fitted(const std::vector<bool>& is_choice, const std::vector<Coordinates>& points,
                    const std::vector<double>& values);

}  // namespace quasar::search
