// Covariance matrix adaptation: a normal distribution on the unit cube that moves towards the better ones of what it gave.
//
// Hansen 2016 (The CMA Evolution Strategy: A Tutorial) with active update. Two additions: points that it did not draw itself are
// taken in with their distance limited (Hansen 2011, injection), and a coordinate in cells (whole numbers) keeps a least
// probability of leaving its cell (Hamano et al. 2022, margin).
#pragma once

#include <Eigen/Core>
#include <functional>
#include <utility>
#include <vector>

#include "quasar/base/rng.hpp"

namespace quasar::search {

// The cells of a coordinate: [first, second] around x; an empty function: a continuum.
using Cells = std::function<std::pair<double, double>(double x)>;

class Cma {
 public:
  // `cells`: one per dimension; sigma: the first deviation of every coordinate; population: points per update, at least 4.
  Cma(Eigen::VectorXd mean, double sigma, size_t population, std::vector<Cells> cells);

  // A point within [0, 1] in every coordinate: what is drawn outside is moved to the border.
  Eigen::VectorXd draw(Rng& rng) const;

  // Takes in `population()` points, the best one first.
  void update(const std::vector<Eigen::VectorXd>& sorted);

  size_t population() const { return population_; }

  // It has shrunk to a point, or its axes differ too much to go on.
  bool exhausted() const;

 private:
  void decompose();
  void keep_margin();
  double deviation(Eigen::Index j) const;  // of coordinate j, margin included

  size_t population_, generation_ = 0;
  std::vector<Cells> cells_;
  double mu_eff_ = 0, c_sigma_ = 0, d_sigma_ = 0, c_c_ = 0, c_1_ = 0, c_mu_ = 0, chi_ = 0;
  Eigen::VectorXd weights_, mean_, path_sigma_, path_c_, scale_,
      axes_;  // scale_: of the margin; axes_: square roots of eigenvalues
  Eigen::MatrixXd covariance_, basis_;
  double sigma_;
};

}  // namespace quasar::search
