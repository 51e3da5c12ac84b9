// Minimization of a smooth function within a box: limited-memory BFGS with projection onto the box (Nocedal and Wright
// 2006, 7.4).
#pragma once

#include <Eigen/Core>
#include <functional>

namespace quasar::search {

// Value at x; fills the gradient, which has the size of x. Infinity where it is not defined.
using Smooth = std::function<double(const Eigen::VectorXd& x, Eigen::VectorXd& gradient)>;

struct DescentOptions {
  double low = 0, high = 1;  // of every coordinate
  int most_steps = 50;
  double tolerance = 1e-6;  // stops when a step gains less, or the projected gradient is shorter
};

// A point that is at least as good as `start`, usually a local minimum.
Eigen::VectorXd descended(const Smooth& function, Eigen::VectorXd start, const DescentOptions& options);

}  // namespace quasar::search
