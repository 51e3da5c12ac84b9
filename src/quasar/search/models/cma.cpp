#include "quasar/search/models/cma.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "quasar/search/models/normal.hpp"

namespace quasar::search {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

Cma::Cma(VectorXd mean, double sigma, size_t population, std::vector<Cells> cells)
    : population_(population), cells_(std::move(cells)), mean_(std::move(mean)), sigma_(sigma) {
  const Index n = mean_.size();
  const double d = static_cast<double>(n);
  const auto lambda = static_cast<Index>(population_);
  const Index mu = lambda / 2;
  VectorXd raw(lambda);
  for (Index i = 0; i < lambda; ++i)
    raw[i] = std::log((static_cast<double>(lambda) + 1) / 2) - std::log(static_cast<double>(i) + 1);
  const auto effective = [](const auto& w) { return w.sum() * w.sum() / w.squaredNorm(); };
  mu_eff_ = effective(raw.head(mu));
  const double mu_eff_bad = effective(raw.tail(lambda - mu));
  c_1_ = 2 / ((d + 1.3) * (d + 1.3) + mu_eff_);
  c_mu_ = std::min(1 - c_1_ - 1e-8, 2 * (mu_eff_ - 2 + 1 / mu_eff_) / ((d + 2) * (d + 2) + mu_eff_));
  c_c_ = (4 + mu_eff_ / d) / (d + 4 + 2 * mu_eff_ / d);
  c_sigma_ = (mu_eff_ + 2) / (d + mu_eff_ + 5);
  d_sigma_ = 1 + 2 * std::max(0.0, std::sqrt((mu_eff_ - 1) / (d + 1)) - 1) + c_sigma_;
  chi_ = std::sqrt(d) * (1 - 1 / (4 * d) + 1 / (21 * d * d));
  const double bad = std::min({1 + c_1_ / c_mu_, 1 + 2 * mu_eff_bad / (mu_eff_ + 2), (1 - c_1_ - c_mu_) / (d * c_mu_)});
  const double positive = raw.cwiseMax(0.0).sum();
  const double negative = -raw.cwiseMin(0.0).sum();
  weights_ = raw.unaryExpr([&](double w) { return w >= 0 ? w / positive : w * bad / negative; });
  path_sigma_ = path_c_ = VectorXd::Zero(n);
  scale_ = VectorXd::Ones(n);
  covariance_ = MatrixXd::Identity(n, n);
  decompose();
  keep_margin();
}

VectorXd Cma::draw(Rng& rng) const {
  VectorXd z(mean_.size());
  for (double& value : z) value = rng.normal();
  const VectorXd x = mean_ + sigma_ * scale_.cwiseProduct(basis_ * axes_.cwiseProduct(z));
  return x.cwiseMax(0.0).cwiseMin(1.0);  // what lies beyond an end is on it: there the best often is
}

void Cma::update(const std::vector<VectorXd>& sorted) {
  const double d = static_cast<double>(mean_.size());
  const double longest = std::sqrt(d) + 2 * d / (d + 2);  // of a step, in standard deviations
  std::vector<VectorXd> steps, whitened;
  for (const VectorXd& x : sorted) {
    VectorXd y = (x - mean_).cwiseQuotient(sigma_ * scale_);
    VectorXd z = basis_ * (basis_.transpose() * y).cwiseQuotient(axes_);
    const double shrink = std::min(1.0, longest / std::max(z.norm(), 1e-300));
    steps.push_back(shrink * y);
    whitened.push_back(shrink * z);
  }
  VectorXd step = VectorXd::Zero(mean_.size()), white = step;
  for (size_t i = 0; i < population_ / 2; ++i) {
    step += weights_[static_cast<Index>(i)] * steps[i];
    white += weights_[static_cast<Index>(i)] * whitened[i];
  }
  mean_ = (mean_ + sigma_ * scale_.cwiseProduct(step)).cwiseMax(0.0).cwiseMin(1.0);
  path_sigma_ = (1 - c_sigma_) * path_sigma_ + std::sqrt(c_sigma_ * (2 - c_sigma_) * mu_eff_) * white;
  ++generation_;
  const double length = path_sigma_.norm();
  const double settled = std::sqrt(1 - std::pow(1 - c_sigma_, 2.0 * static_cast<double>(generation_ + 1)));
  const double held = length / settled < (1.4 + 2 / (d + 1)) * chi_ ? 1 : 0;
  path_c_ = (1 - c_c_) * path_c_ + held * std::sqrt(c_c_ * (2 - c_c_) * mu_eff_) * step;
  MatrixXd rank_mu = MatrixXd::Zero(mean_.size(), mean_.size());
  for (size_t i = 0; i < population_; ++i) {
    const double w = weights_[static_cast<Index>(i)];
    rank_mu += (w >= 0 ? w : w * d / std::max(whitened[i].squaredNorm(), 1e-12)) * steps[i] * steps[i].transpose();
  }
  const double forget = 1 + (1 - held) * c_1_ * c_c_ * (2 - c_c_) - c_1_ - c_mu_ * weights_.sum();
  covariance_ = forget * covariance_ + c_1_ * path_c_ * path_c_.transpose() + c_mu_ * rank_mu;
  sigma_ = std::min(1.0, sigma_ * std::exp(c_sigma_ / d_sigma_ * (length / chi_ - 1)));
  decompose();
  keep_margin();
}

void Cma::decompose() {
  const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(0.5 * (covariance_ + covariance_.transpose()));
  basis_ = solver.eigenvectors();
  const VectorXd values = solver.eigenvalues().cwiseMax(1e-14);
  axes_ = values.cwiseSqrt();
  covariance_ = basis_ * values.asDiagonal() * basis_.transpose();
}

double Cma::deviation(Index j) const {
  return sigma_ * scale_[j] * std::sqrt(covariance_(j, j));
}

void Cma::keep_margin() {
  const double least = 1 / static_cast<double>(population_ * static_cast<size_t>(mean_.size()));
  for (Index j = 0; j < mean_.size(); ++j) {
    if (!cells_[static_cast<size_t>(j)]) continue;
    const auto [low, high] = cells_[static_cast<size_t>(j)](mean_[j]);
    const double m = std::clamp(mean_[j], low, high);
    const double s = deviation(j);
    if (low <= 0 && high >= 1) continue;
    if (low <= 0 || high >= 1) {  // the outermost cell: the mean stays near its only inner border
      const double farthest = -normal_quantile(std::min(0.5, least)) * s;
      mean_[j] = low <= 0 ? std::max(m, high - farthest) : std::min(m, low + farthest);
      continue;
    }
    const double below = std::max(least / 2, normal_below((low - m) / s));
    const double above = std::max(least / 2, normal_below((m - high) / s));
    const double left = -normal_quantile(below), right = -normal_quantile(above);
    if (left + right <= 0) continue;  // wider than the cell: no margin needed
    const double wide = (high - low) / (left + right);
    scale_[j] *= wide / s;
    mean_[j] = low + left * wide;
  }
}

bool Cma::exhausted() const {
  if (axes_.maxCoeff() > 1e7 * axes_.minCoeff()) return true;
  bool continua = false;
  for (Index j = 0; j < mean_.size(); ++j) {
    if (cells_[static_cast<size_t>(j)]) continue;  // keeps its margin
    continua = true;
    if (deviation(j) > 1e-9) return false;
  }
  return continua;
}

}  // namespace quasar::search
