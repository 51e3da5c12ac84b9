// The model behind the sampler gp, and the pieces that it stands on.
#include "quasar/search/models/gaussian_process.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "quasar/search/models/acquisition.hpp"
#include "quasar/search/models/cma.hpp"
#include "quasar/search/models/descent.hpp"
#include "quasar/search/models/normal.hpp"

namespace quasar::search {
namespace {

const std::vector<bool> kinds{false, false, true};

// 30 values of a smooth function of two numbers and a choice; the second number is not there for choice 2.
struct Data {
  std::vector<Coordinates> points;
  std::vector<double> values;
};

double truth(const Coordinates& x) {
  return 3 * std::sin(4 * x[0]) + (std::isnan(x[1]) ? 1 : x[1] * x[1]) + 2 * x[2];
}

Data data() {
  Data out;
  Rng rng(7);
  for (int i = 0; i < 30; ++i) {
    const double choice = static_cast<double>(rng.below(3));
    out.points.push_back({rng.uniform(), choice == 2 ? NAN : rng.uniform(), choice});
    out.values.push_back(truth(out.points.back()));
  }
  return out;
}

GaussianProcess model(const Data& d) {
  return {kinds, d.points, d.values, fitted(kinds, d.points, d.values)};
}

TEST(GaussianProcess, KnowsWhatItSawAndExpectsWhatIsBetween) {
  const Data d = data();
  const GaussianProcess gp = model(d);
  for (size_t i = 0; i < d.points.size(); ++i) {
    const auto belief = gp.at(d.points[i]);
    EXPECT_NEAR(belief.mean, gp.standardized(d.values[i]), 0.02);
    EXPECT_LT(belief.deviation, 0.05);
  }
  Rng rng(8);
  for (int i = 0; i < 20; ++i) {
    const Coordinates x{rng.uniform(), rng.uniform(), static_cast<double>(rng.below(2))};
    const auto belief = gp.at(x);
    EXPECT_NEAR(belief.mean, gp.standardized(truth(x)), 4 * belief.deviation + 0.02);
  }
}

TEST(GaussianProcess, GradientsAreThoseOfDifferences) {
  const Data d = data();
  const Data other = data();
  std::vector<double> constraint;
  for (const auto& x : d.points) constraint.push_back(x[0] - 0.5);
  const Beliefs beliefs{model(d), {{kinds, d.points, constraint, fitted(kinds, d.points, constraint)}}, -1.0};
  const size_t numbers[] = {0, 1};
  for (const double a : {0.2, 0.55, 0.9}) {
    Coordinates x{a, 0.4, 1};
    Eigen::VectorXd gradient(2), unused(2);
    negative_gain(beliefs, x, numbers, gradient);
    for (const size_t j : numbers) {
      Coordinates up = x, down = x;
      up[j] += 1e-5;
      down[j] -= 1e-5;
      const double slope = (negative_gain(beliefs, up, numbers, unused) - negative_gain(beliefs, down, numbers, unused)) / 2e-5;
      EXPECT_NEAR(gradient[static_cast<Eigen::Index>(j)], slope, 1e-3 * std::max(1.0, std::abs(slope)));
    }
    EXPECT_NEAR(negative_gain(beliefs, x, numbers, unused), -gain(beliefs, x), 1e-12);
  }
}

TEST(GaussianProcess, BelievingAPointMakesItCertainWithoutMovingIt) {
  GaussianProcess gp = model(data());
  const Coordinates x{0.31, 0.77, 0};
  const auto before = gp.at(x);
  gp.believe(x);
  EXPECT_NEAR(gp.at(x).mean, before.mean, 1e-3 + before.deviation * 1e-2);
  EXPECT_LT(gp.at(x).deviation, before.deviation);
}

TEST(Normal, LogarithmsHoldWhereTheValuesUnderflow) {
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-12);
  EXPECT_NEAR(normal_below(normal_quantile(1e-9)), 1e-9, 1e-18);
  EXPECT_NEAR(log_normal_below(-5.1), std::log(normal_below(-5.1)), 1e-9);
  EXPECT_NEAR(log_normal_below(-40), -804.6084420137538, 1e-6);
  for (const double z : {-0.999, -1.001, -4.99, -5.01}) {
    const double direct = std::exp(-0.5 * z * z) / std::sqrt(2 * M_PI) + z * normal_below(z);
    EXPECT_NEAR(log_improvement(z), std::log(direct), 1e-6) << z;
  }
  EXPECT_LT(log_improvement(-1e4), log_improvement(-1e3));
  EXPECT_TRUE(std::isfinite(log_improvement(-1e6)));
}

TEST(Descent, FindsTheCornerOfABoxAndAMinimumWithin) {
  const Smooth bowl = [](const Eigen::VectorXd& x, Eigen::VectorXd& gradient) {
    const Eigen::Vector3d center(0.3, 2.0, -1.0), stretch(1, 10, 3);
    gradient = 2 * stretch.cwiseProduct(x - center);
    return stretch.dot((x - center).cwiseAbs2());
  };
  const Eigen::VectorXd found = descended(bowl, Eigen::VectorXd::Constant(3, 0.9), {});
  EXPECT_NEAR(found[0], 0.3, 1e-4);
  EXPECT_EQ(found[1], 1);
  EXPECT_EQ(found[2], 0);
}

TEST(Cma, FollowsAValleyThatIsNotAlongTheAxes) {
  Cma cma(Eigen::VectorXd::Constant(3, 0.5), 0.2, 8, std::vector<Cells>(3));
  const auto height = [](const Eigen::VectorXd& x) {
    return std::pow(x[0] - x[1], 2) * 1e4 + std::pow(x[0] + x[1] - 0.4, 2) + std::pow(x[2] - 0.8, 2);
  };
  Rng rng(1);
  for (int i = 0; i < 120; ++i) {
    std::vector<Eigen::VectorXd> points;
    for (size_t k = 0; k < cma.population(); ++k) points.push_back(cma.draw(rng));
    std::ranges::sort(points, {}, height);
    cma.update(points);
  }
  const Eigen::VectorXd last = cma.draw(rng);
  EXPECT_NEAR(last[0], 0.2, 1e-3);
  EXPECT_NEAR(last[1], 0.2, 1e-3);
  EXPECT_NEAR(last[2], 0.8, 1e-3);
}

TEST(Cma, ACoordinateInCellsKeepsLeavingItsCell) {
  const Cells tenths = [](double x) {
    const double i = std::min(std::floor(x * 10), 9.0);
    return std::pair{i / 10, (i + 1) / 10};
  };
  Cma cma(Eigen::VectorXd::Constant(2, 0.55), 0.2, 6, {tenths, tenths});
  Rng rng(2);
  size_t left = 0;
  for (int i = 0; i < 200; ++i) {
    std::vector<Eigen::VectorXd> points;
    for (size_t k = 0; k < cma.population(); ++k) points.push_back(cma.draw(rng));
    for (const auto& x : points) left += i >= 150 && std::floor(x[0] * 10) != 5 ? 1 : 0;
    std::ranges::sort(points, {}, [](const Eigen::VectorXd& x) { return std::abs(std::floor(x[0] * 10) - 5) + x[1]; });
    cma.update(points);
  }
  EXPECT_GT(left, 5u);  // of 300
  EXPECT_LT(left, 150u);
}

}  // namespace
}  // namespace quasar::search
