// What every calibration method promises, whatever was observed.
#include <gtest/gtest.h>

#include <cmath>

#include "quasar/base/rng.hpp"
#include "quasar/quant/codes/range.hpp"

namespace quasar::quant {
namespace {

std::map<std::string, std::vector<float>> tensors() {
  std::map<std::string, std::vector<float>> all{{"all zero", std::vector<float>(1000, 0.0F)},
                                                {"constant", std::vector<float>(1000, 2.5F)},
                                                {"negative constant", std::vector<float>(1000, -1e-3F)},
                                                {"one value", {7}},
                                                {"nothing", {}},
                                                {"tiny", {1e-42F, -3e-41F, 0}},
                                                {"huge", {3e38F, -3e38F, 1, 0}},
                                                {"zeros and one outlier", std::vector<float>(5000, 0.0F)},
                                                {"two values", {-1, 1}}};
  all["zeros and one outlier"][7] = 1000;
  Rng rng(4);
  for (const char* name : {"normal", "positive", "negative", "outlier"}) {
    for (int i = 0; i < 4000; ++i) all[name].push_back(static_cast<float>(rng.normal()));
  }
  for (float& x : all["positive"]) x = std::abs(x);
  for (float& x : all["negative"]) x = -std::abs(x);
  all["outlier"][0] = -500;
  return all;
}

std::vector<Scheme> schemes() {
  std::vector<Scheme> all;
  for (const DataType type : {DataType::int8, DataType::uint8, DataType::int16, DataType::uint16}) {
    for (const bool symmetric : {true, false}) {
      for (const ScaleType scale_type : {ScaleType::float32, ScaleType::power_of_two}) {
        all.push_back({.type = type, .symmetric = symmetric, .scale_type = scale_type});
      }
    }
  }
  return all;
}

class RangeContract : public testing::TestWithParam<std::string> {};

TEST_P(RangeContract, FiniteRangeWithZeroAndAUsableScale) {
  const auto method = ranges::table().make(GetParam());
  for (const auto& [name, values] : tensors()) {
    const stats::TensorStats seen = stats::of_values(values, method->needs());
    const double low = std::min(0.0, seen.range.low), high = std::max(0.0, seen.range.high);
    for (const Scheme& scheme : schemes()) {
      const stats::Range range = method->pick(seen, scheme);
      ASSERT_TRUE(std::isfinite(range.low) && std::isfinite(range.high)) << name;
      EXPECT_LE(range.low, 0) << name;
      EXPECT_GE(range.high, 0) << name;
      const ScaleAndZero scale = scale_for(range, scheme.type, scheme.symmetric, scheme.scale_type);
      EXPECT_TRUE(std::isnormal(scale.scale) && scale.scale > 0) << name;
      if (name == "all zero" || name == "nothing") {
        EXPECT_EQ(range, stats::Range{}) << name;
      }
      if (scheme.scale_type == ScaleType::power_of_two) continue;  // may reach beyond what was seen
      EXPECT_GE(range.low, low) << name;
      EXPECT_LE(range.high, high) << name;
      if (high - low > 1e-30) {
        EXPECT_GT(range.high - range.low, 0) << name;
      }
    }
  }
}

TEST_P(RangeContract, TheSameAgain) {
  for (const auto& [name, values] : tensors()) {
    const auto once = ranges::table().make(GetParam()), again = ranges::table().make(GetParam());
    for (const Scheme& scheme : schemes()) {
      EXPECT_EQ(once->pick(stats::of_values(values, once->needs()), scheme),
                again->pick(stats::of_values(values, again->needs()), scheme));
    }
  }
}

TEST_P(RangeContract, ScalesWithTheValues) {
  const auto method = ranges::table().make(GetParam());
  const auto values = tensors().at("normal");
  auto doubled = values;
  for (float& x : doubled) x *= 4;
  for (const Scheme& scheme : schemes()) {
    const stats::Range range = method->pick(stats::of_values(values, method->needs()), scheme);
    const stats::Range wide = method->pick(stats::of_values(doubled, method->needs()), scheme);
    EXPECT_NEAR(wide.low, 4 * range.low, 1e-5);
    EXPECT_NEAR(wide.high, 4 * range.high, 1e-5);
  }
}

TEST_P(RangeContract, HasOneSentenceOfHelp) {
  const auto& entry = ranges::table().find(GetParam()).second;
  EXPECT_FALSE(entry.help.empty());
  EXPECT_EQ(entry.help.back(), '.');
  for (const auto& option : entry.options) EXPECT_FALSE(option.help.empty()) << option.name;
}

INSTANTIATE_TEST_SUITE_P(Every, RangeContract, testing::ValuesIn(ranges::table().names()),
                         [](const auto& method) { return method.param; });

}  // namespace
}  // namespace quasar::quant
