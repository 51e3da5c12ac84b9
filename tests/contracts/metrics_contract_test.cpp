// What every metric keeps.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "quasar/base/rng.hpp"
#include "quasar/eval/metric.hpp"

namespace quasar::eval {
namespace {

constexpr size_t classes = 23;
const Context context = {-4, 4};

std::vector<float> noisy(const std::vector<float>& values, double noise, uint64_t seed) {
  Rng rng(seed);
  std::vector<float> out;
  for (const float value : values) out.push_back(value + static_cast<float>(noise * rng.normal()));
  return out;
}

class Metrics : public ::testing::TestWithParam<std::string> {
 protected:
  // Mean over 200 samples with this much noise on the outputs.
  double mean_score(double noise) const {
    double total = 0;
    for (uint64_t i = 0; i < 200; ++i) {
      const std::vector<float> f = noisy(std::vector<float>(classes), 1, i), q = noisy(f, noise, i + 1000);
      const auto label = std::max_element(f.begin(), f.end()) - f.begin();
      total += metric->of({f, q, label}, context) / 200;
    }
    return total;
  }
  std::unique_ptr<Metric> metric = metrics::table().make(GetParam());
};

TEST_P(Metrics, MoreNoiseIsWorse) {
  const double sign = metric->direction() == Direction::maximize ? 1 : -1;
  const double none = sign * mean_score(0), little = sign * mean_score(0.5), much = sign * mean_score(5);
  EXPECT_GE(none, little);
  EXPECT_GT(little, much);
  EXPECT_TRUE(std::isfinite(none) && std::isfinite(much));
}

TEST_P(Metrics, BestValueOfIdenticalOutputs) {
  const double best = mean_score(0);
  if (metric->direction() == Direction::minimize) {
    EXPECT_EQ(best, 0);
  }
  if (metric->is_proportion()) {
    EXPECT_DOUBLE_EQ(best, 1);
  }
  if (GetParam() == "cos" || GetParam() == "ssim") {
    EXPECT_NEAR(best, 1, 1e-12);
  }
}

TEST_P(Metrics, EdgesAreFinite) {
  const std::vector<std::vector<float>> edges = {{0},       {1},       {-1e30F},           {1e30F},
                                                 {0, 0, 0}, {1, 1, 1}, {1e30F, -1e30F, 0}, {1e-40F, 0, 1}};
  for (const auto& f : edges) {
    for (const auto& q : edges) {
      if (f.size() != q.size()) continue;
      for (const Context& range : {Context{0, 0}, Context{-1e30, 1e30}}) {
        const double value = metric->of({f, q, 0}, range);
        EXPECT_TRUE(std::isfinite(value)) << value;
        if (metric->is_proportion()) {
          EXPECT_TRUE(value == 0 || value == 1);
        }
      }
    }
  }
}

TEST_P(Metrics, AreDescribed) {
  EXPECT_FALSE(metrics::table().find(GetParam()).second.help.empty());
  EXPECT_EQ(metrics::table().resolve(GetParam()), GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, Metrics, ::testing::ValuesIn(metrics::table().names()),
                         [](const auto& item) { return item.param; });

}  // namespace
}  // namespace quasar::eval
