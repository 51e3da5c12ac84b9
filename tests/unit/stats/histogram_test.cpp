#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "quasar/base/rng.hpp"
#include "quasar/stats/statistics.hpp"

namespace quasar::stats {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

// Finite floats of all magnitudes, many zeros, some powers of two (bin edges).
rc::Gen<float> any_float() {
  const auto scaled =
      rc::gen::map(rc::gen::pair(rc::gen::inRange(-1000000, 1000000), rc::gen::inRange(-130, 100)),
                   [](const std::pair<int, int>& p) { return std::ldexp(static_cast<float>(p.first), p.second); });
  const auto edges = rc::gen::map(rc::gen::pair(rc::gen::inRange(-9, 9), rc::gen::inRange(-8, 8)),
                                  [](const std::pair<int, int>& p) { return std::ldexp(static_cast<float>(p.first), p.second); });
  const auto near = rc::gen::map(rc::gen::inRange(-1000, 1000), [](int i) { return static_cast<float>(i) / 100; });
  return rc::gen::weightedOneOf<float>(
      {{2, scaled}, {3, edges}, {5, near}, {3, rc::gen::element(0.0F, -0.0F)}, {1, rc::gen::element(1e-45F, -1e-45F, 3e38F)}});
}

Histogram of(const std::vector<float>& values, size_t bins = 64) {
  Histogram histogram(bins);
  histogram.add(values);
  return histogram;
}

RC_GTEST_PROP(Histogram, OrderAndPartitionDoNotMatter, ()) {
  const auto values = *rc::gen::container<std::vector<float>>(any_float());
  const Histogram at_once = of(values);
  Histogram one_by_one(64), merged(64);
  for (size_t i = values.size(); i-- > 0;) one_by_one.add({&values[i], 1});
  for (size_t i = 0; i < values.size(); i += 3) {
    Histogram part(64);
    part.add(std::span(values).subspan(i, std::min<size_t>(3, values.size() - i)));
    merged.merge(part);
  }
  RC_ASSERT(one_by_one == at_once);
  RC_ASSERT(merged == at_once);
}

RC_GTEST_PROP(Histogram, EveryValueIsInItsBin, ()) {
  const auto values = *rc::gen::container<std::vector<float>>(any_float());
  const Histogram histogram = of(values);
  std::vector<uint64_t> expected(histogram.bins(), 0);
  uint64_t zeros = 0;
  double magnitude = 0;
  for (const float x : values) {
    magnitude = std::max(magnitude, std::abs(static_cast<double>(x)));
    if (x == 0) {
      ++zeros;
      continue;
    }
    size_t bin = 0;
    while (x > 0 ? !(histogram.edge(bin) <= x && x < histogram.edge(bin + 1))
                 : !(histogram.edge(bin) < x && x <= histogram.edge(bin + 1)))
      RC_ASSERT(++bin < histogram.bins());
    ++expected[bin];
  }
  RC_ASSERT(histogram.zeros() == zeros);
  RC_ASSERT(histogram.total() == values.size());
  RC_ASSERT(std::equal(expected.begin(), expected.end(), histogram.counts().begin()));
  if (magnitude > 1e-30) RC_ASSERT(histogram.limit() > magnitude && histogram.limit() <= 2 * magnitude);
}

TEST(Histogram, TwoBinsMerge) {
  const Histogram histogram = of({-1, -100, 3, 0.25F, 0}, 2);
  EXPECT_EQ(histogram.counts()[0], 2U);
  EXPECT_EQ(histogram.counts()[1], 2U);
  EXPECT_EQ(histogram.zeros(), 1U);
  EXPECT_EQ(histogram.limit(), 128);
}

TEST(Histogram, ValuesThatAreNotFiniteAreCountedApart) {
  const Histogram histogram = of({1, nan, -inf, inf, 2, 0}, 64);
  EXPECT_EQ(histogram.not_finite(), 3U);
  EXPECT_EQ(histogram.total(), 3U);
  EXPECT_EQ(histogram.range(), (Range{0, 2}));
  EXPECT_EQ(of({nan}).total(), 0U);
}

TEST(Histogram, QuantileIsWithinOneBinOfTheSortedValues) {
  Rng rng(5);
  std::vector<float> values(20000);
  for (float& x : values) x = static_cast<float>(rng.uniform() < 0.3 ? 0 : rng.normal() * 3 + 1);
  const Histogram histogram = of(values, 8192);
  std::sort(values.begin(), values.end());
  for (const double q : {0.0, 0.0001, 0.01, 0.3, 0.5, 0.77, 0.99, 0.9999, 1.0}) {
    const auto rank = static_cast<size_t>(std::max(0.0, std::ceil(q * 20000) - 1));
    EXPECT_NEAR(histogram.quantile(q), values[rank], histogram.width()) << q;
  }
  EXPECT_EQ(histogram.quantile(0), values.front());
  EXPECT_EQ(histogram.quantile(1), values.back());
}

TEST(Histogram, ZerosAreExactlyZero) {
  std::vector<float> values(1000, 0.0F);
  values[3] = 6;
  const Histogram histogram = of(values, 8192);
  EXPECT_EQ(histogram.zeros(), 999U);
  EXPECT_EQ(histogram.quantile(0.5), 0);
  EXPECT_EQ(of(std::vector<float>(50, 0.0F)).limit(), 0);
  EXPECT_EQ(of({}).quantile(0.5), 0);
}

TEST(Summary, AgreesWithPlainSums) {
  Rng rng(1);
  for (const size_t count : {0, 1, 15, 16, 17, 1000}) {
    std::vector<float> values(count);
    for (float& x : values) x = static_cast<float>(rng.normal());
    const Summary seen = summarize(values);
    double sum = 0, squares = 0;
    for (const float x : values) {
      sum += x;
      squares += static_cast<double>(x) * x;
    }
    EXPECT_NEAR(seen.sum, sum, 1e-9);
    EXPECT_NEAR(seen.sum_squares, squares, 1e-9);
    EXPECT_EQ(seen.count, count);
    if (count == 0) continue;
    EXPECT_EQ(seen.low, *std::min_element(values.begin(), values.end()));
    EXPECT_EQ(seen.high, *std::max_element(values.begin(), values.end()));
  }
}

TEST(Summary, FindsWhatIsNotFinite) {
  for (const float bad : {inf, -inf, nan, -nan}) {
    for (const size_t at : {0, 7, 40}) {
      std::vector<float> values(41, -2.0F);
      values[at] = bad;
      values[20] = 5;
      const Summary seen = summarize(values);
      EXPECT_EQ(seen.not_finite, 1U);
      EXPECT_EQ(seen.count, 40U);
      EXPECT_EQ(seen.low, -2);
      EXPECT_EQ(seen.high, 5);
      EXPECT_EQ(seen.sum, -2.0 * 39 + 5);
    }
  }
}

TEST(OfValues, HoldsWhatWasRequested) {
  const std::vector<float> values{-1, 0, 3};
  const TensorStats plain = of_values(values, {});
  EXPECT_EQ(plain.range, (Range{-1, 3}));
  EXPECT_EQ(plain.histogram.total(), 0U);
  EXPECT_DOUBLE_EQ(plain.mean, 2.0 / 3);
  EXPECT_DOUBLE_EQ(plain.mean_square, 10.0 / 3);
  const TensorStats full = of_values(values, {.histogram = true, .averages = {0.5}});
  EXPECT_EQ(full.histogram.total(), 3U);
  EXPECT_EQ(full.averaged.at(0.5), (Range{-1, 3}));
}

}  // namespace
}  // namespace quasar::stats
