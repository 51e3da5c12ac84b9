#include "quasar/quant/codes/scheme.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

#include "quasar/base/error.hpp"
#include "quasar/base/rng.hpp"
#include "quasar/graph/model.hpp"
#include "quasar/runtime/session.hpp"

namespace quasar::quant {
namespace {

const std::vector<DataType> code_types{DataType::int8, DataType::uint8, DataType::int16, DataType::uint16};

TEST(Grid, CodesOfEachType) {
  EXPECT_EQ(grid_of(DataType::int8, true), (Grid{-127, 127, true}));
  EXPECT_EQ(grid_of(DataType::int8, false), (Grid{-128, 127, false}));
  EXPECT_EQ(grid_of(DataType::uint8, true), (Grid{1, 255, true}));
  EXPECT_EQ(grid_of(DataType::uint8, false), (Grid{0, 255, false}));
  EXPECT_EQ(grid_of(DataType::int16, true), (Grid{-32767, 32767, true}));
  EXPECT_EQ(grid_of(DataType::uint16, false), (Grid{0, 65535, false}));
  EXPECT_EQ(grid_of(DataType::int4, true), (Grid{-7, 7, true}));
  EXPECT_EQ(grid_of(DataType::uint4, false), (Grid{0, 15, false}));
  EXPECT_EQ(grid_of(DataType::int2, true), (Grid{-1, 1, true}));
  EXPECT_EQ(grid_of(DataType::int2, false), (Grid{-2, 1, false}));
  EXPECT_EQ(grid_of(DataType::uint2, true), (Grid{1, 3, true}));
  EXPECT_THROW(grid_of(DataType::float32, true), Error);
}

TEST(ScaleFor, WorkedExamples) {
  struct Case {
    stats::Range range;
    DataType type;
    bool symmetric;
    float scale;
    int32_t zero_point;
  };
  const Case cases[]{
      {{0, 2.55}, DataType::uint8, false, 0.01F, 0},
      {{-1.28, 1.27}, DataType::int8, false, 0.01F, 0},
      {{-2.55, 0}, DataType::uint8, false, 0.01F, 255},
      {{1, 2.55}, DataType::uint8, false, 0.01F, 0},
      {{-0.5, 1.27}, DataType::int8, true, 0.01F, 0},
      {{-1.27, 0.5}, DataType::uint8, true, 0.01F, 128},
      {{-3.2767, 1}, DataType::int16, true, 0.0001F, 0},
      {{-3.2767, 1}, DataType::uint16, true, 0.0001F, 32768},
      {{0, 6.5535}, DataType::uint16, false, 0.0001F, 0},
      {{0, 0}, DataType::int8, true, 1, 0},
      {{0, 0}, DataType::uint8, false, 1, 0},
      {{0, 0}, DataType::uint8, true, 1, 128},
      {{-1e-43, 1e-43}, DataType::int8, false, 1, 0},
      {{std::nan(""), 1}, DataType::int8, true, 1, 0},
      {{-1, INFINITY}, DataType::uint8, false, 1, 0},
  };
  for (const Case& c : cases) {
    const ScaleAndZero result = scale_for(c.range, c.type, c.symmetric);
    EXPECT_FLOAT_EQ(result.scale, c.scale) << c.range.low << " " << c.range.high;
    EXPECT_EQ(result.zero_point, c.zero_point) << c.range.low << " " << c.range.high;
  }
}

TEST(ScaleFor, PowersOfTwoRoundTheExponent) {
  // 127 · 2^−7 ≈ 0.992; the exponent changes at a factor of √2.
  EXPECT_EQ(scale_for({-0.992, 0}, DataType::int8, true, ScaleType::power_of_two).scale, 0x1p-7F);
  EXPECT_EQ(scale_for({-1.4, 0}, DataType::int8, true, ScaleType::power_of_two).scale, 0x1p-7F);
  EXPECT_EQ(scale_for({-1.41, 0}, DataType::int8, true, ScaleType::power_of_two).scale, 0x1p-6F);
  const ScaleAndZero affine = scale_for({-1, 3}, DataType::uint8, false, ScaleType::power_of_two);
  EXPECT_EQ(affine.scale, 0x1p-6F);
  EXPECT_EQ(affine.zero_point, 64);
}

RC_GTEST_PROP(ScaleFor, ZeroIsExactAndTheRangeIsCovered, (int a, int b)) {
  const stats::Range range{a / 1000.0, b / 1000.0};
  for (const DataType type : code_types) {
    for (const bool symmetric : {true, false}) {
      const ScaleAndZero result = scale_for(range, type, symmetric);
      const QuantParams params{.type = type, .scales = {result.scale}, .zero_points = {result.zero_point}};
      const std::vector<float> ends{0, static_cast<float>(std::min(a, 0) / 1000.0), static_cast<float>(std::max(b, 0) / 1000.0)};
      const Tensor back = dequantize(quantize(Tensor::of<float>({3}, ends), params), params);
      RC_ASSERT(back.as<float>()[0] == 0);
      for (size_t i = 1; i < 3; ++i)
        RC_ASSERT(std::abs(back.as<float>()[i] - ends[i]) <= 0.51F * result.scale);  // float32 division
    }
  }
}

// Ties, limits, infinities, NaN and random values for a scale.
std::vector<float> probes(float scale, Rng& rng) {
  std::vector<float> values{0, -0.0F, INFINITY, -INFINITY, NAN, 3e38F, -3e38F, 1e-42F};
  for (int k = -300; k < 300; ++k) values.push_back((static_cast<float>(k) + 0.5F) * scale);
  for (int k = 0; k < 3000; ++k) values.push_back(static_cast<float>(rng.normal() * 200) * scale);
  for (int k = 0; k < 1000; ++k) values.push_back(static_cast<float>(rng.uniform(-70000, 70000)) * scale);
  while (values.size() % 12 != 0) values.push_back(scale);
  return values;
}

Tensor zero_points_of(const QuantParams& params, Shape shape) {
  std::vector<int32_t> wide = params.zero_points;
  return converted(Tensor::of(std::move(shape), wide), params.type);
}

// A model of one QuantizeLinear and one DequantizeLinear, both its outputs.
graph::Model round_trip(const QuantParams& params, const Shape& shape) {
  const Shape scales = params.axis < 0 ? Shape{} : Shape{static_cast<int64_t>(params.scales.size())};
  graph::Model model;
  model.opsets[""] = 21;
  model.ir_version = 10;
  model.inputs = {{.name = "x", .type = DataType::float32, .shape = shape}};
  model.outputs = {{.name = "q", .type = params.type, .shape = shape}, {.name = "y", .type = DataType::float32, .shape = shape}};
  model.initializers["s"] = Tensor::of(scales, params.scales);
  model.initializers["z"] = zero_points_of(params, scales);
  std::vector<graph::Attribute> axis;
  if (params.axis >= 0) axis.push_back({"axis", static_cast<int64_t>(params.axis)});
  model.nodes = {
      {.name = "Q", .op_type = "QuantizeLinear", .domain = "", .inputs = {"x", "s", "z"}, .outputs = {"q"}, .attributes = axis},
      {.name = "D",
       .op_type = "DequantizeLinear",
       .domain = "",
       .inputs = {"q", "s", "z"},
       .outputs = {"y"},
       .attributes = axis}};
  return model;
}

void expect_same_bits(const QuantParams& params, const Tensor& values) {
  const runtime::Session session(round_trip(params, values.shape()), {.optimization = runtime::Optimization::none});
  const auto expected = session.run(std::vector<Tensor>{values});
  const Tensor codes = quantize(values, params);
  EXPECT_EQ(codes, expected.at(0)) << name_of(params.type) << " scale " << params.scales[0];
  EXPECT_EQ(dequantize(codes, params), expected.at(1)) << name_of(params.type);
}

TEST(Quantize, BitByBitAsOnnxRuntime) {
  Rng rng(9);
  for (const DataType type : code_types) {
    for (const float scale : {1.0F, 0.1F, 0.0078125F, 3e-5F, 17.3F, 1e-30F}) {
      const Grid grid = grid_of(type, false);
      for (const int64_t zero : {grid.low, (grid.low + grid.high) / 2, grid.high, grid.low + 37}) {
        const auto values = probes(scale, rng);
        const QuantParams params{.type = type, .scales = {scale}, .zero_points = {static_cast<int32_t>(zero)}};
        expect_same_bits(params, Tensor::of({static_cast<int64_t>(values.size())}, values));
      }
    }
  }
}

TEST(Quantize, PerAxisAsOnnxRuntime) {
  Rng rng(10);
  const auto values = probes(0.05F, rng);
  const Shape shape{2, 3, 2, static_cast<int64_t>(values.size() / 12)};
  for (const DataType type : code_types) {
    const int32_t zero = static_cast<int32_t>(grid_of(type, false).low) + 100;
    for (const int axis : {0, 1, 2}) {
      QuantParams params{.type = type, .scales = {0.05F, 0.011F, 2}, .zero_points = {zero, zero + 3, zero - 7}, .axis = axis};
      params.scales.resize(static_cast<size_t>(shape[static_cast<size_t>(axis)]));
      params.zero_points.resize(params.scales.size());
      expect_same_bits(params, Tensor::of(shape, values));
    }
  }
}

TEST(Quantize, BiasCodesKeep32Bits) {
  const QuantParams params{.type = DataType::int32, .scales = {1e-4F, 1e-9F}, .zero_points = {0, 0}, .axis = 0};
  const std::vector<float> bias{1234.5678F, -20};
  const Tensor codes = quantize(Tensor::of<float>({2}, bias), params);
  EXPECT_EQ(codes.as<int32_t>()[0], static_cast<int32_t>(std::nearbyint(static_cast<double>(bias[0]) / 1e-4F)));
  EXPECT_EQ(codes.as<int32_t>()[1], std::numeric_limits<int32_t>::min());
  EXPECT_FLOAT_EQ(dequantize(codes, params).as<float>()[0], bias[0]);
}

TEST(Quantize, ParametersMustFitTheShape) {
  const Tensor values = Tensor::of<float>({2, 3}, std::vector<float>(6, 1.0F));
  EXPECT_THROW(quantize(values, {.scales = {1, 1}, .zero_points = {0, 0}, .axis = 1}), Error);
  EXPECT_THROW(quantize(values, {.scales = {1, 1}, .zero_points = {0, 0}}), Error);
  EXPECT_THROW(quantize(values, {.scales = {1}, .zero_points = {}}), Error);
  EXPECT_THROW(quantize(values, {.scales = {1, 1}, .zero_points = {0, 0}, .axis = 2}), Error);
}

}  // namespace
}  // namespace quasar::quant
