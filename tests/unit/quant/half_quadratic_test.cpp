#include "quasar/quant/codes/half_quadratic.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "executed.hpp"
#include "quasar/base/rng.hpp"
#include "quasar/quant/codes/block_scales.hpp"
#include "quasar/quant/config/named_schemes.hpp"
#include "quasar/quant/standalone.hpp"
#include "sample_models.hpp"
#include "unit/error_of.hpp"

namespace quasar::quant {
namespace {

std::vector<float> block(uint64_t seed) {
  Rng rng(seed);
  std::vector<float> out;
  for (int i = 0; i < 32; i++) out.push_back(static_cast<float>(0.05 * rng.normal() + 0.01));
  return out;
}

stats::Range range_of(const std::vector<float>& values) {
  stats::Range out;
  for (const float value : values) {
    out.low = std::min<double>(out.low, value);
    out.high = std::max<double>(out.high, value);
  }
  return out;
}

double squared_error(const std::vector<float>& values, const ScaleAndRealZero& at, DataType type) {
  const Grid grid = grid_of(type, false);
  double sum = 0;
  for (const float value : values) {
    const double code = std::clamp<double>(std::nearbyint(value / at.scale + at.zero_point), static_cast<double>(grid.low),
                                           static_cast<double>(grid.high));
    sum += std::pow(value - at.scale * (code - at.zero_point), 2);
  }
  return sum / static_cast<double>(values.size());
}

TEST(HalfQuadratic, IsNearerThanIntegerZeroPoints) {
  for (const DataType type : {DataType::uint2, DataType::uint4, DataType::int4}) {
    const Grid grid = grid_of(type, false);
    double integers = 0, reals = 0;
    for (uint64_t seed = 1; seed <= 50; seed++) {
      const auto values = block(seed);
      const stats::Range range = range_of(values);
      const auto [scale, zero] = scale_for(range, type, false);
      const ScaleAndRealZero found = half_quadratic(values, range, type);
      EXPECT_EQ(found.scale, scale);
      const auto own = static_cast<float>(static_cast<double>(grid.low) - range.low / scale);
      EXPECT_LE(squared_error(values, found, type), squared_error(values, {scale, own}, type) * (1 + 1e-5));
      integers += squared_error(values, {scale, static_cast<float>(zero)}, type);
      reals += squared_error(values, found, type);
    }
    EXPECT_LT(reals, 0.9 * integers) << static_cast<int>(type);
  }
}

TEST(HalfQuadratic, BlocksOfOneValueAreExact) {
  const std::vector<float> zeros(32, 0.0F), same(32, 0.25F);
  EXPECT_EQ(half_quadratic(zeros, {}, DataType::uint4).scale, 1);
  const ScaleAndRealZero found = half_quadratic(same, {0, 0.25}, DataType::uint4);
  EXPECT_NEAR(squared_error(same, found, DataType::uint4), 0, 1e-12);
}

// What ONNX Runtime computes is what codes, scales and zero points say.
TEST(HalfQuadratic, OnnxRuntimeTakesZeroPointsThatAreNoIntegers) {
  for (const char* type : {"UInt4Spec", "UInt2Spec"}) {
    Builder b;
    const graph::Model model = b.finish({b.node("MatMul", {b.input("x", {3, 80}), b.weights({80, 20})})});
    Json words = schemes::table().make("hqq_g32asym")->words();
    words["weight"] = type;
    const Config config = parse_config(words);
    const Plan plan = resolve(model, {}, config, *targets::table().make("ort_cpu"));
    const QuantParams& params = plan.nodes.at("MatMul_0").weight->params;
    ASSERT_EQ(params.real_zero_points.size(), 60U);
    const auto whole = [](float z) { return z == std::nearbyintf(z); };
    EXPECT_FALSE(std::ranges::all_of(params.real_zero_points, whole));
    graph::Model same = model;
    const std::string weights = model.nodes[0].inputs[1];
    same.initializers[weights] = dequantize(quantize(*model.initializer(weights), params), params);
    const auto x = random_samples(model, 1).front();
    const Tensor wanted = runtime::Session(same).run(x).front(), found = runtime::Session(written(model, plan)).run(x).front();
    for (size_t i = 0; i < wanted.count(); i++) EXPECT_NEAR(found.as<float>()[i], wanted.as<float>()[i], 1e-4) << type;
  }
}

TEST(HalfQuadratic, WhatCannotBeIsSaid) {
  const auto error = [](const Json& more) {
    Json words = schemes::table().make("hqq_g32asym")->words();
    words.merge_patch(more);
    return test::error_of([&] { parse_config(words); });
  };
  EXPECT_NE(error({{"weight", "UInt8Spec"}}).find("weights of 2 and 4 bits"), std::string::npos);
  EXPECT_NE(error({{"activation", "UInt8Spec"}}).find("Float32Spec"), std::string::npos);
  EXPECT_NE(error({{"activation", "DynamicSpec"}}).find("Float32Spec"), std::string::npos);
  EXPECT_NE(error({{"weight_params", {{"symmetric", true}}}}).find("symmetric: false"), std::string::npos);
  EXPECT_NE(error({{"weight_params", {{"quant_granularity", "Channel"}, {"group_size", nullptr}}}}).find("Group"),
            std::string::npos);
  EXPECT_NE(error({{"algorithms", "gptq"}}).find("integer zero points"), std::string::npos);
  EXPECT_NE(test::error_of([] {
              parse_config({{"activation", "UInt8Spec"}, {"activation_params", {{"calibration_method", "HQQ"}}}});
            }).find("for weights"),
            std::string::npos);
}

}  // namespace
}  // namespace quasar::quant
