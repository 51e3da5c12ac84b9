// What every metric keeps.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "quasar/base/rng.hpp"
#include "quasar/eval/decoder.hpp"
#include "quasar/eval/share.hpp"

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

// One box per class, side by side; the model finds that of its greatest output.
data::Box box_of(int64_t label) {
  const auto left = static_cast<double>(10 * label);
  return {left, 0, left + 8, 8, 0};
}
class OneBox : public Decoder {
 public:
  std::vector<Detection> decode(std::span<const float> values, const Layout&) const override {
    const auto best = std::ranges::max_element(values);
    const data::Box box = box_of(best - values.begin());
    return {{box.left, box.top, box.right, box.bottom, 1 / (1 + std::exp(-static_cast<double>(*best))), 0}};
  }
};

// What is written in the tests: of one place, which has a label and no token before it, and is no space.
std::string written(const std::string& name) {
  if (name == "perplexity") return "perplexity(ids=labels)";
  return name == "word_error_rate" ? "word_error_rate(space=99)" : name;
}

class Metrics : public ::testing::TestWithParam<std::string> {
 protected:
  // Mean over 200 samples with this much noise on the outputs.
  double mean_score(double noise) const {
    double total = 0;
    for (uint64_t i = 0; i < 200; ++i) {
      const std::vector<float> f = noisy(std::vector<float>(classes), 1, i), q = noisy(f, noise, i + 1000);
      const auto label = std::max_element(f.begin(), f.end()) - f.begin();
      total += of(f, q, label, context) / 200;
    }
    return total;
  }

  // The metric with everything that it may need of a sample with this label.
  double of(std::span<const float> f, std::span<const float> q, int64_t label, Context all) const {
    const auto n = static_cast<int64_t>(f.size());
    const Layout layout{{GetParam() == "mean_iou" ? Shape{1, n, 1} : Shape{1, 1, n}}, {{1, 3, 8, 8}}};
    const data::Boxes boxes{box_of(label)};
    const Tensor target = Tensor::of<int64_t>({1}, {label});
    const OneBox decoder;
    all.decoder = &decoder;
    return metric->of({f, q, label, &layout, &boxes, &target}, all);
  }
  bool is_share() const { return dynamic_cast<const Share*>(metric.get()) != nullptr; }
  std::unique_ptr<Metric> metric = make_metric(written(GetParam()));
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
  if (metric->direction() == Direction::minimize && metric->pooled() == nullptr) {
    EXPECT_EQ(best, 0);
  }
  if (metric->is_proportion() || (metric->pooled() != nullptr && is_share())) {
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
        double value = 0;
        try {
          value = of(f, q, 0, range);
        } catch (const Error&) {
          EXPECT_EQ(f.size(), 1U) << "only one value may be refused: it names no class";
        }
        EXPECT_TRUE(std::isfinite(value)) << value;
        if (metric->is_proportion()) {
          EXPECT_TRUE(value == 0 || value == 1);
        }
      }
    }
  }
}

// Means over samples can be given up early; what pools samples cannot.
TEST_P(Metrics, MeansHaveABestValue) {
  const auto best = metric->best_possible();
  ASSERT_EQ(best.has_value(), metric->pooled() == nullptr);
  if (!best) return;
  const double sign = metric->direction() == Direction::maximize ? 1 : -1;
  EXPECT_LE(sign * mean_score(0), sign * *best + 1e-12);
  EXPECT_LE(sign * mean_score(1e-5), sign * *best + 1e-12);
}

TEST_P(Metrics, SharesAreNeverBelowZero) {
  if (!is_share()) GTEST_SKIP() << "no share";
  EXPECT_EQ(metric->direction(), Direction::maximize);
  for (const double noise : {0.0, 1e-5, 1.0, 100.0}) EXPECT_GE(mean_score(noise), 0) << noise;
}

// A pool of all samples drawn once, and of the same ones twice.
TEST_P(Metrics, PoolsDoNotDependOnTheOrderOrOnRepetition) {
  const PooledMetric* pooled = metric->pooled();
  if (pooled == nullptr) GTEST_SKIP() << "a mean over samples";
  std::vector<Part> parts, backwards;
  const OneBox decoder;
  Context all = context;
  all.decoder = &decoder;
  for (uint64_t i = 0; i < 40; ++i) {
    const std::vector<float> f = noisy(std::vector<float>(classes), 1, i), q = noisy(f, 0.7, i + 1000);
    const auto label = std::ranges::max_element(f) - f.begin();
    const Layout layout{{GetParam() == "mean_iou" ? Shape{1, classes, 1} : Shape{1, 1, classes}}, {{1, 3, 8, 8}}};
    const data::Boxes boxes{box_of(label)};
    const Tensor target = Tensor::of<int64_t>({1}, {label});
    parts.push_back(pooled->part({f, q, label, &layout, &boxes, &target}, all));
    backwards.insert(backwards.begin(), parts.back());
  }
  const std::vector<uint32_t> once(40, 1), twice(40, 2);
  const auto pool = pooled->pool(parts);
  const double value = pool->value(once);
  const bool from_one = GetParam() == "perplexity";  // others are shares, of what is right or wrong
  EXPECT_GT(value, from_one ? 1 : 0.2);
  EXPECT_LT(value, from_one ? classes : 1);
  EXPECT_EQ(pool->value(once), value);
  EXPECT_NEAR(pooled->pool(backwards)->value(once), value, 1e-12);
  EXPECT_NEAR(pool->value(twice), value, 0.02);
  EXPECT_EQ(pool->value(std::vector<uint32_t>(40, 0)), 0);
}

TEST_P(Metrics, AreDescribed) {
  const auto& entry = metrics::table().find(GetParam()).second;
  EXPECT_FALSE(entry.help.empty());
  EXPECT_EQ(metrics::table().resolve(GetParam()), GetParam());
  EXPECT_EQ(metric_text(written(GetParam())), written(GetParam()));
  for (const auto& option : entry.options) EXPECT_FALSE(option.help.empty()) << option.name;
  EXPECT_THROW(metric_text(Json{{"name", GetParam()}, {"no_such_option", 1}}), Error);
}

INSTANTIATE_TEST_SUITE_P(All, Metrics, ::testing::ValuesIn(metrics::table().names()),
                         [](const auto& item) { return item.param; });

}  // namespace
}  // namespace quasar::eval
