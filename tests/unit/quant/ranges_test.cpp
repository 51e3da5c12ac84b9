// Every range method against a straightforward computation on the raw values.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "quasar/base/rng.hpp"
#include "quasar/quant/codes/quantization_error.hpp"
#include "quasar/quant/codes/range.hpp"

namespace quasar::quant {
namespace {

using stats::Range;

Scheme scheme_of(DataType type, bool symmetric, ScaleType scale_type = ScaleType::float32) {
  return {.type = type, .symmetric = symmetric, .scale_type = scale_type};
}

const std::vector<Scheme> all_schemes{scheme_of(DataType::int8, true),
                                      scheme_of(DataType::int8, false),
                                      scheme_of(DataType::uint8, true),
                                      scheme_of(DataType::uint8, false),
                                      scheme_of(DataType::int16, true),
                                      scheme_of(DataType::uint16, false),
                                      scheme_of(DataType::int8, true, ScaleType::power_of_two),
                                      scheme_of(DataType::uint8, false, ScaleType::power_of_two)};

// Activations of different kinds: what a network's values look like.
std::vector<float> sample(const std::string& kind, size_t count = 20000) {
  Rng rng(11);
  std::vector<float> values(count);
  for (float& x : values) {
    const double normal = rng.normal();
    if (kind == "normal") x = static_cast<float>(normal * 2);
    if (kind == "shifted") x = static_cast<float>(normal + 4);
    if (kind == "relu") x = static_cast<float>(std::max(0.0, normal));
    if (kind == "relu6") x = static_cast<float>(std::clamp(normal * 5, 0.0, 6.0));
    if (kind == "heavy") x = static_cast<float>(std::copysign(std::pow(std::abs(normal), 4), normal));
    if (kind == "lopsided") x = static_cast<float>(normal < 0 ? normal * 0.1 : std::pow(normal, 3));
  }
  if (kind == "outlier") {
    for (float& x : values) x = static_cast<float>(rng.normal());
    values[17] = 60;
  }
  return values;
}

const std::vector<std::string> kinds{"normal", "shifted", "relu", "relu6", "heavy", "lopsided", "outlier"};

stats::TensorStats seen_in(const std::vector<float>& values) {
  return stats::of_values(values, {.histogram = true});
}

Range pick(const std::string& method, const std::vector<float>& values, const Scheme& scheme,
           const Json& options = Json::object()) {
  return ranges::table().make(method, options)->pick(seen_in(values), scheme);
}

// Mean of |error|^power of quantizing every value one by one.
double raw_error(const std::vector<float>& values, const Range& range, const Scheme& scheme, int power) {
  const ScaleAndZero scale = scale_for(range, scheme.type, scheme.symmetric, scheme.scale_type);
  const Grid codes = grid_of(scheme.type, false);
  double sum = 0;
  for (const float x : values) {
    const double code = std::clamp(std::nearbyint(x / static_cast<double>(scale.scale)) + scale.zero_point,
                                   static_cast<double>(codes.low), static_cast<double>(codes.high));
    sum += std::pow(std::abs(x - (code - scale.zero_point) * static_cast<double>(scale.scale)), power);
  }
  return sum / static_cast<double>(values.size());
}

TEST(QuantizationError, AgreesWithTheRawValues) {
  for (const auto& kind : kinds) {
    const auto values = sample(kind);
    const auto seen = seen_in(values);
    const QuantizationError error(seen.histogram);
    // Values need not be spread evenly within a bin: "heavy" ones crowd at zero.
    const double bin = kind == "heavy" ? seen.histogram.width() : 0;
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    for (const Scheme& scheme : all_schemes) {
      for (const double part : {1.0, 0.6, 0.1}) {
        const Range range{*low * part, *high * part};
        const double squared = raw_error(values, range, scheme, 2), absolute = raw_error(values, range, scheme, 1);
        EXPECT_NEAR(error.squared(range, scheme), squared, 0.03 * squared + bin * bin / 6) << kind << " " << part;
        EXPECT_NEAR(error.absolute(range, scheme), absolute, 0.03 * absolute + bin / 6) << kind << " " << part;
      }
    }
  }
}

TEST(MinMax, WholeRangeWithZero) {
  const Scheme scheme = scheme_of(DataType::int8, true);
  EXPECT_EQ(pick("minmax", {-1, 2, 0.5F}, scheme), (Range{-1, 2}));
  EXPECT_EQ(pick("CalibrationMethod.MinMax", {3, 2}, scheme), (Range{0, 3}));
}

TEST(MinMax, MovingAverageOfTheSamples) {
  const auto method = ranges::table().make("min_max", {{"CalibMovingAverage", true}, {"moving_average_constant", 0.25}});
  ASSERT_EQ(method->needs().averages, std::set<double>{0.25});
  stats::TensorStats seen{.range = {-8, 9}, .averaged = {{0.25, {-2, 3}}}, .count = 1};
  EXPECT_EQ(method->pick(seen, {}), (Range{-2, 3}));
}

// What other samples reach beyond these is lost without it; steps of 8 bits are too large for one.
TEST(MinMax, MarginOfSixteenBits) {
  const std::vector<float> values{-1, 0.5F, 4};
  const Json margin{{"margin", 0.25}};
  for (const DataType type : {DataType::int16, DataType::uint16}) {
    const Range range = pick("min_max", values, scheme_of(type, false), margin);
    EXPECT_EQ(std::pair(range.low, range.high), std::pair(-1.25, 5.0));
  }
  const Range range = pick("min_max", values, scheme_of(DataType::uint8, false), margin);
  EXPECT_EQ(std::pair(range.low, range.high), std::pair(-1.0, 4.0));
}

TEST(Percentile, AgreesWithSortedValues) {
  for (const auto& kind : kinds) {
    auto values = sample(kind);
    const auto seen = seen_in(values);
    auto magnitudes = values;
    for (float& x : magnitudes) x = std::abs(x);
    std::sort(values.begin(), values.end());
    std::sort(magnitudes.begin(), magnitudes.end());
    const auto at = [](const std::vector<float>& sorted, double share) {
      return static_cast<double>(
          sorted[static_cast<size_t>(std::max(0.0, std::ceil(share * static_cast<double>(sorted.size())) - 1))]);
    };
    for (const double percentile : {90.0, 99.0, 99.9, 100.0}) {
      const double share = percentile / 100, bin = seen.histogram.width();
      const Json options{{"percentile", percentile}};
      const double t = at(magnitudes, share);
      const Range symmetric = pick("percentile", values, scheme_of(DataType::int8, true), options);
      EXPECT_NEAR(std::max(-symmetric.low, symmetric.high), t, bin) << kind << percentile;
      EXPECT_GE(symmetric.low, std::min(0.0F, values.front()));
      EXPECT_LE(symmetric.high, std::max(0.0F, values.back()));
      const Range asymmetric = pick("percentile", values, scheme_of(DataType::uint8, false), options);
      EXPECT_NEAR(asymmetric.low, std::min(0.0, at(values, (1 - share) / 2)), bin) << kind << percentile;
      EXPECT_NEAR(asymmetric.high, std::max(0.0, at(values, 1 - (1 - share) / 2)), bin) << kind << percentile;
    }
  }
}

TEST(Percentile, NeverCutsEverything) {
  std::vector<float> values(100000, 0.0F);
  values[5] = 2;
  EXPECT_EQ(pick("percentile", values, scheme_of(DataType::int8, true), {{"percentile", 99.9}}), (Range{0, 2}));
  EXPECT_EQ(pick("percentile", values, scheme_of(DataType::int8, false), {{"percentile", 99.9}}), (Range{0, 2}));
}

TEST(LayerwisePercentile, TakesTheCandidateThatIsBestOnTheRawValues) {
  const std::vector<double> candidates{99, 99.9, 99.99, 100};
  for (const auto& kind : kinds) {
    const auto values = sample(kind);
    for (const Scheme& scheme : all_schemes) {
      for (const bool squared : {false, true}) {
        double least = std::numeric_limits<double>::infinity();
        for (const double candidate : candidates) {
          const Range range = pick("percentile", values, scheme, {{"percentile", candidate}});
          least = std::min(least, raw_error(values, range, scheme, squared ? 2 : 1));
        }
        const Range chosen = pick("LayerWisePercentile", values, scheme,
                                  {{"PercentileCandidates", candidates}, {"metric", squared ? "mse" : "mae"}});
        EXPECT_LE(raw_error(values, chosen, scheme, squared ? 2 : 1), least * 1.03) << kind;
      }
    }
  }
}

TEST(LayerwisePercentile, SymmetricTensorsAreScoredAsSymmetric) {
  // Positive values with a symmetric scheme: half of the codes are lost, so that the step is twice that of an asymmetric scheme
  // and clipping pays at a threshold where it would not yet pay there.
  Rng rng(3);
  std::vector<float> values(50000);
  for (float& x : values) x = static_cast<float>(-std::log(1 - rng.uniform()));
  const Json options{{"percentile_candidates", {99.99, 100}}, {"metric", "mse"}};
  for (const Scheme& scheme : {scheme_of(DataType::int8, true), scheme_of(DataType::int8, false)}) {
    const Range tight = pick("percentile", values, scheme, {{"percentile", 99.99}});
    const Range whole = pick("percentile", values, scheme, {{"percentile", 100}});
    const bool cut = raw_error(values, tight, scheme, 2) < raw_error(values, whole, scheme, 2);
    EXPECT_EQ(pick("layerwise_percentile", values, scheme, options) == tight, cut);
  }
}

TEST(LayerwisePercentile, RejectsListsThatAreNotPercentages) {
  EXPECT_THROW(ranges::table().make("layerwise_percentile", {{"percentile_candidates", {99, 101}}}), Error);
  EXPECT_THROW(ranges::table().make("layerwise_percentile", {{"percentile_candidates", Json::array()}}), Error);
  EXPECT_THROW(ranges::table().make("layerwise_percentile", {{"percentile_candidates", {"99"}}}), Error);
}

// The least error over a fine grid of both ends, on the raw values.
double brute_force(const std::vector<float>& values, const Scheme& scheme) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i <= 24; ++i) {
    for (int j = 0; j <= 24; ++j) {
      if (scheme.symmetric && i != j) continue;
      const Range range{std::min(0.0F, *low) * std::exp2(-i / 4.0), std::max(0.0F, *high) * std::exp2(-j / 4.0)};
      least = std::min(least, raw_error(values, range, scheme, 2));
    }
  }
  return least;
}

TEST(MinMse, AsGoodAsBruteForce) {
  for (const auto& kind : kinds) {
    const auto values = sample(kind, 2000);
    for (const Scheme& scheme :
         {scheme_of(DataType::int8, true), scheme_of(DataType::uint8, false), scheme_of(DataType::int16, true)}) {
      const double error = raw_error(values, pick("MinMSE", values, scheme), scheme, 2);
      EXPECT_LE(error, brute_force(values, scheme) * 1.05) << kind;
    }
  }
}

TEST(MinMse, BestPowerOfTwo) {
  const Scheme scheme = scheme_of(DataType::int8, true, ScaleType::power_of_two);
  for (const auto& kind : kinds) {
    const auto values = sample(kind);
    double least = std::numeric_limits<double>::infinity();
    for (int position = -8; position < 16; ++position) {
      const double t = 127 * std::exp2(-position);
      least = std::min(least, raw_error(values, {-t, t}, scheme, 2));
    }
    const Range range = pick("PowerOfTwoMethod.MinMSE", values, scheme);
    EXPECT_LE(raw_error(values, range, scheme, 2), least * 1.01) << kind;
    const float scale = scale_for(range, scheme.type, true, scheme.scale_type).scale;
    EXPECT_EQ(scale, std::exp2(std::nearbyint(std::log2(scale))));
  }
}

TEST(NonOverflow, TheLeastPowerOfTwoThatClipsNothing) {
  for (const auto& kind : kinds) {
    const auto values = sample(kind);
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    const double largest = std::max<double>(std::abs(*low), std::abs(*high));
    const double width = std::max<double>(*high, 0) - std::min<double>(*low, 0);
    for (const DataType type : {DataType::int8, DataType::uint8, DataType::int16, DataType::uint16}) {
      const double codes = type == DataType::int8 || type == DataType::uint8 ? 256 : 65536;
      for (const bool symmetric : {true, false}) {
        const Scheme scheme = scheme_of(type, symmetric, ScaleType::power_of_two);
        const Range range = pick("PowerOf2Method.NonOverflow", values, scheme);
        const double needed = symmetric ? largest / (codes / 2 - 1) : width / (codes - 1);
        double expected = 1;
        while (expected >= 2 * needed) expected /= 2;
        while (expected < needed * (1 - 1e-6)) expected *= 2;
        EXPECT_EQ(scale_for(range, type, symmetric, ScaleType::power_of_two).scale, expected) << kind;
        EXPECT_EQ(pick("NonOverflow", values, scheme_of(type, symmetric)), pick("MinMax", values, scheme_of(type, symmetric)));
      }
    }
  }
}

TEST(NonOverflow, APowerOfTwoThatFitsExactlyStays) {
  const Scheme scheme = scheme_of(DataType::int8, true, ScaleType::power_of_two);
  for (const float scale : {0x1p-9F, 0x1p-3F, 1.0F, 16.0F}) {
    const Range range = pick("NonOverflow", {-127 * scale, 0, scale}, scheme);
    EXPECT_EQ(scale_for(range, scheme.type, true, scheme.scale_type).scale, scale);
  }
}

TEST(MinMse, NeverWorseThanMinMaxOnTheHistogram) {
  for (const auto& kind : kinds) {
    const auto values = sample(kind);
    const QuantizationError error(seen_in(values).histogram);
    for (const Scheme& scheme : all_schemes) {
      EXPECT_LE(error.squared(pick("min_mse", values, scheme), scheme), error.squared(pick("min_max", values, scheme), scheme))
          << kind;
    }
  }
}

// KL(P‖Q) from its definition: bins of the histogram's width, cells of a symmetric int8 grid on |x|, every bin in 16 parts;
// both as shares of all values. Infinite where more is clipped than a 255th of what is not zero.
double naive_divergence(const std::vector<float>& values, double threshold, double width) {
  const double step = threshold / 127;
  auto inside = static_cast<size_t>(std::floor(threshold * (1 + 1e-6) / width)) + 1;
  constexpr size_t parts = 16;  // of a bin: cells may cut bins
  std::vector<double> bins(inside, 0);
  double outside = 0, nonzero = 0;
  for (const float x : values) {
    const auto bin = static_cast<size_t>(std::abs(x) / width);
    if (x == 0) continue;
    ++nonzero;
    ++(bin < inside ? bins[bin] : outside);
  }
  if (outside * 255 > nonzero) return std::numeric_limits<double>::infinity();
  while (bins[inside - 1] == 0) --inside;
  std::vector<double> mass(129, 0), occupied(129, 0);
  const auto cell_of = [&](size_t bin, size_t part) {
    const double x = (static_cast<double>(bin) + (static_cast<double>(part) + 0.5) / parts) * width;
    return static_cast<size_t>(std::min(127.0, std::nearbyint(x / step)));
  };
  for (size_t bin = 0; bin < inside; ++bin) {
    for (size_t part = 0; part < parts && bins[bin] > 0; ++part) {
      mass[cell_of(bin, part)] += bins[bin] / parts;
      occupied[cell_of(bin, part)] += 1.0 / parts;
    }
  }
  const double total = static_cast<double>(values.size());
  double divergence = 0;
  for (size_t bin = 0; bin < inside; ++bin) {
    for (size_t part = 0; part < parts && bins[bin] > 0; ++part) {
      const size_t cell = cell_of(bin, part);
      const double clipped = bin + 1 == inside ? outside : 0;
      const double p = (bins[bin] + clipped) / parts / total, q = mass[cell] / occupied[cell] / parts / total;
      divergence += p * std::log(p / q);
    }
  }
  return divergence;
}

TEST(Entropy, LeastDivergenceOfANaiveComputation) {
  const Scheme scheme = scheme_of(DataType::int8, true);
  for (const auto& kind : kinds) {
    const auto values = sample(kind, 60000);  // enough for all bins
    const auto seen = seen_in(values);
    const double top = std::max(-seen.range.low, seen.range.high);
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i <= 128; ++i) {
      const double threshold = top * std::exp2(-i / 16.0);
      const double divergence = naive_divergence(values, threshold, seen.histogram.width());
      least = std::min(least, divergence);
    }
    const Range chosen = pick("entropy", values, scheme);
    const double threshold = std::max(-chosen.low, chosen.high);
    EXPECT_NEAR(naive_divergence(values, threshold, seen.histogram.width()), least, 0.02 * std::abs(least) + 1e-4) << kind;
  }
}

// Histograms of few values say nothing of a distribution: a channel of weights, the output of a pooling.
TEST(Entropy, TakesTheWholeRangeOfFewValues) {
  for (const size_t count : {9, 96, 1000}) {
    const auto values = sample("normal", count);
    const auto [low, high] = std::ranges::minmax(values);
    for (const Scheme& scheme : {scheme_of(DataType::int8, true), scheme_of(DataType::uint8, false)}) {
      const Range range = pick("entropy", values, scheme);
      EXPECT_LE(range.low, low);
      EXPECT_GE(range.high, high);
    }
  }
}

TEST(Entropy, ClipsALonelyOutlierAndKeepsAUniformDistribution) {
  Rng rng(2);
  std::vector<float> values(50000);
  for (float& x : values) x = static_cast<float>(rng.uniform(-1, 1));
  for (const Scheme& scheme : {scheme_of(DataType::int8, true), scheme_of(DataType::uint8, false)}) {
    const Range uniform = pick("entropy", values, scheme);
    EXPECT_GT(uniform.high - uniform.low, 1.9);
  }
  auto outlier = sample("outlier", 50000);
  for (const Scheme& scheme : {scheme_of(DataType::int8, true), scheme_of(DataType::uint8, false)}) {
    const Range range = pick("entropy", outlier, scheme);
    EXPECT_LT(range.high, 12);
    EXPECT_GT(range.high, 2.5);
  }
  EXPECT_EQ(pick("entropy", outlier, scheme_of(DataType::int16, true)).high, 60);  // 65535 codes: clipping never pays
}

}  // namespace
}  // namespace quasar::quant
