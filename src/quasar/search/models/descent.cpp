#include "quasar/search/models/descent.hpp"

#include <cmath>
#include <deque>

namespace quasar::search {
namespace {

using Eigen::VectorXd;

struct Memory {
  VectorXd step, change;  // of x and of the gradient
};

// Two-loop recursion: an approximation of the inverse Hessian times the gradient.
VectorXd direction(const std::deque<Memory>& memory, VectorXd gradient) {
  std::vector<double> shares;
  for (auto m = memory.rbegin(); m != memory.rend(); ++m) {
    shares.push_back(m->step.dot(gradient) / m->step.dot(m->change));
    gradient -= shares.back() * m->change;
  }
  if (!memory.empty()) gradient *= memory.back().step.dot(memory.back().change) / memory.back().change.squaredNorm();
  for (const Memory& m : memory) {
    const double share = m.change.dot(gradient) / m.step.dot(m.change);
    gradient += (shares.back() - share) * m.step;
    shares.pop_back();
  }
  return -gradient;
}

// 0 where the box stops a step against the gradient.
VectorXd projected(const VectorXd& x, const VectorXd& gradient, const DescentOptions& box) {
  VectorXd out = gradient;
  for (Eigen::Index j = 0; j < x.size(); ++j) {
    if ((x[j] <= box.low && gradient[j] > 0) || (x[j] >= box.high && gradient[j] < 0)) out[j] = 0;
  }
  return out;
}

}  // namespace

VectorXd descended(const Smooth& function, VectorXd start, const DescentOptions& options) {
  constexpr size_t remembered = 8;
  constexpr int most_halvings = 20;
  VectorXd x = start.cwiseMax(options.low).cwiseMin(options.high), gradient = VectorXd::Zero(x.size());
  double value = function(x, gradient);
  std::deque<Memory> memory;
  for (int step = 0; step < options.most_steps && std::isfinite(value); ++step) {
    const VectorXd slope = projected(x, gradient, options);
    if (slope.norm() < options.tolerance) break;
    VectorXd way = direction(memory, slope);
    for (Eigen::Index j = 0; j < x.size(); ++j) way[j] = slope[j] == 0 ? 0 : way[j];
    if (way.dot(slope) >= 0) {
      memory.clear();
      way = -slope;
    }
    if (memory.empty()) way *= std::min(1.0, 0.1 * (options.high - options.low) / way.norm());
    VectorXd next_x = x, next_gradient = gradient;
    double next = value, length = 1;
    for (int i = 0; i < most_halvings; ++i, length *= 0.5) {
      next_x = (x + length * way).cwiseMax(options.low).cwiseMin(options.high);
      next = function(next_x, next_gradient);
      if (next <= value + 1e-4 * slope.dot(next_x - x)) break;
    }
    if (!(next < value)) break;
    Memory m{next_x - x, next_gradient - gradient};
    if (m.step.dot(m.change) > 1e-12) memory.push_back(std::move(m));
    if (memory.size() > remembered) memory.pop_front();
    const double gain = value - next;
    x = std::move(next_x);
    gradient = std::move(next_gradient);
    value = next;
    if (gain < options.tolerance * 1e-2) break;
  }
  return x;
}

}  // namespace quasar::search
