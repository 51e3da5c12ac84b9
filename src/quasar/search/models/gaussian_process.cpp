#include "quasar/search/models/gaussian_process.hpp"

#include <algorithm>
#include <cmath>

#include "quasar/search/models/descent.hpp"

namespace quasar::search {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// Of the values' variance: differences below its root cannot be told apart. Less, and matrices of close points lose their factor.
constexpr double least_noise = 1e-8;

// Distances must be those of points in some Euclidean space, or the matrix of covariances has no factor.
double difference(bool is_choice, double a, double b) {
  if (is_choice) return a == b || (std::isnan(a) && std::isnan(b)) ? 0 : 1;
  return (std::isnan(a) ? 0.5 : a) - (std::isnan(b) ? 0.5 : b);
}

double matern(double squared) {
  const double r = std::sqrt(5 * squared);
  return (1 + r + r * r / 3) * std::exp(-r);
}

// dm/d(r²)
double matern_slope(double squared) {
  const double r = std::sqrt(5 * squared);
  return -5.0 / 6 * (1 + r) * std::exp(-r);
}

struct Standard {
  VectorXd values;
  double center, spread;
};

Standard standard(const std::vector<double>& values) {
  const Eigen::Map<const VectorXd> raw(values.data(), static_cast<Index>(values.size()));
  const double center = raw.mean();
  const double spread = std::sqrt((raw.array() - center).square().mean());
  const double divisor = spread > 1e-12 ? spread : 1;
  return {(raw.array() - center) / divisor, center, divisor};
}

// Squared differences of all pairs, one matrix per coordinate.
std::vector<MatrixXd> squares(const std::vector<bool>& is_choice, const std::vector<Coordinates>& points) {
  const auto n = static_cast<Index>(points.size());
  std::vector<MatrixXd> out(is_choice.size(), MatrixXd(n, n));
  for (size_t j = 0; j < is_choice.size(); ++j) {
    for (Index a = 0; a < n; ++a) {
      for (Index b = 0; b <= a; ++b) {
        const double d = difference(is_choice[j], points[static_cast<size_t>(a)][j], points[static_cast<size_t>(b)][j]);
        out[j](a, b) = out[j](b, a) = d * d;
      }
    }
  }
  return out;
}

// Logarithms of weights, scale and noise -> minus the log posterior, with its gradient. Rasmussen and Williams 2006, (5.9).
double loss(const std::vector<MatrixXd>& squared, const VectorXd& y, const VectorXd& logs, VectorXd& gradient) {
  const auto d = static_cast<Index>(squared.size());
  const Index n = y.size();
  const VectorXd p = logs.array().exp();
  const double scale = p[d], noise = p[d + 1] + least_noise;
  MatrixXd distance = MatrixXd::Zero(n, n);
  for (Index j = 0; j < d; ++j) distance += p[j] * squared[static_cast<size_t>(j)];
  const MatrixXd shape = distance.unaryExpr(&matern);
  MatrixXd k = scale * shape;
  k.diagonal().array() += noise;
  const Eigen::LLT<MatrixXd> factor(k);
  if (factor.info() != Eigen::Success) return INFINITY;
  const VectorXd solved = factor.solve(y);
  const MatrixXd inverse = factor.solve(MatrixXd::Identity(n, n));
  const MatrixXd outer = 0.5 * (inverse - solved * solved.transpose());  // dL/dK
  const MatrixXd slope = outer.cwiseProduct(scale * distance.unaryExpr(&matern_slope));
  double value = 0.5 * y.dot(solved) + factor.matrixL().toDenseMatrix().diagonal().array().log().sum();
  for (Index j = 0; j < d; ++j) {
    value += 0.1 / p[j] + 0.1 * p[j];
    gradient[j] = p[j] * slope.cwiseProduct(squared[static_cast<size_t>(j)]).sum() - 0.1 / p[j] + 0.1 * p[j];
  }
  value += -std::log(scale) + scale;
  gradient[d] = scale * outer.cwiseProduct(shape).sum() - 1 + scale;
  value += -0.1 * std::log(noise) + 30 * noise;
  gradient[d + 1] = p[d + 1] * (outer.trace() - 0.1 / noise + 30);
  return value;
}

}  // namespace

GaussianProcess::GaussianProcess(std::vector<bool> is_choice, std::vector<Coordinates> points, const std::vector<double>& values,
                                 GpParameters parameters)
    : is_choice_(std::move(is_choice)), points_(std::move(points)), parameters_(std::move(parameters)) {
  auto [y, center, spread] = standard(values);
  values_ = std::move(y);
  center_ = center;
  spread_ = spread;
  factorize();
}

void GaussianProcess::factorize() {
  const auto n = static_cast<Index>(points_.size());
  MatrixXd k(n, n);
  for (Index a = 0; a < n; ++a) {
    for (Index b = 0; b <= a; ++b) {
      double squared = 0;
      for (size_t j = 0; j < is_choice_.size(); ++j) {
        const double d = difference(is_choice_[j], points_[static_cast<size_t>(a)][j], points_[static_cast<size_t>(b)][j]);
        squared += parameters_.weights[static_cast<Index>(j)] * d * d;
      }
      k(a, b) = k(b, a) = parameters_.scale * matern(squared);
    }
  }
  k.diagonal().array() += parameters_.noise + least_noise;
  factor_.compute(k);
  solved_ = factor_.solve(values_);
}

GaussianProcess::Belief GaussianProcess::at(const Coordinates& x, bool with_gradient) const {
  const auto n = static_cast<Index>(points_.size());
  const auto d = static_cast<Index>(x.size());
  VectorXd k(n);
  MatrixXd slopes = MatrixXd::Zero(with_gradient ? d : 0, with_gradient ? n : 0);
  for (Index i = 0; i < n; ++i) {
    const Coordinates& point = points_[static_cast<size_t>(i)];
    double squared = 0;
    for (size_t j = 0; j < x.size(); ++j) {
      const double difference_j = difference(is_choice_[j], x[j], point[j]);
      squared += parameters_.weights[static_cast<Index>(j)] * difference_j * difference_j;
    }
    k[i] = parameters_.scale * matern(squared);
    const double slope = with_gradient ? parameters_.scale * matern_slope(squared) : 0;
    for (size_t j = 0; with_gradient && j < x.size(); ++j) {
      if (is_choice_[j] || std::isnan(x[j])) continue;
      slopes(static_cast<Index>(j), i) =
          slope * 2 * parameters_.weights[static_cast<Index>(j)] * difference(false, x[j], point[j]);
    }
  }
  const VectorXd half = factor_.matrixL().solve(k);
  Belief out{.mean = k.dot(solved_), .deviation = std::sqrt(std::max(parameters_.scale - half.squaredNorm(), 1e-12))};
  if (with_gradient) {
    out.mean_gradient = slopes * solved_;
    out.variance_gradient = -2 * (slopes * factor_.matrixU().solve(half));
  }
  return out;
}

void GaussianProcess::believe(const Coordinates& x) {
  const double mean = at(x).mean;
  points_.push_back(x);
  values_.conservativeResize(values_.size() + 1);
  values_[values_.size() - 1] = mean;
  factorize();
}

GpParameters fitted(const std::vector<bool>& is_choice, const std::vector<Coordinates>& points,
                    const std::vector<double>& values) {
  const auto d = static_cast<Index>(is_choice.size());
  const auto squared = squares(is_choice, points);
  const VectorXd y = standard(values).values;
  VectorXd start = VectorXd::Zero(d + 2);
  start[d + 1] = std::log(1e-3);
  const auto function = [&](const VectorXd& logs, VectorXd& gradient) { return loss(squared, y, logs, gradient); };
  const VectorXd best =
      descended(function, std::move(start), {.low = -16, .high = 7, .most_steps = 60, .tolerance = 1e-3}).array().exp();
  return {best.head(d), best[d], best[d + 1]};
}

}  // namespace quasar::search
