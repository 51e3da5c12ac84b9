// Scales, zero points, integer weights and biases, bit by bit against straightforward code that shares nothing with the library.
#include "quasar/quant/codes/weights.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <random>

namespace quasar::quant {
namespace {

struct Reference {
  std::vector<float> scales;
  std::vector<int32_t> zero_points;
  std::vector<int32_t> codes;
};

// Quantizes values [outer, channels, inner] with one scale per channel (all in one group when `channels` is 1).
Reference reference(const std::vector<float>& values, size_t channels, size_t inner, DataType type, bool symmetric) {
  const bool is_signed = type == DataType::int8 || type == DataType::int16;
  const int count = type == DataType::int8 || type == DataType::uint8 ? 256 : 65536;
  const int lowest = is_signed ? -count / 2 : 0, highest = lowest + count - 1, middle = is_signed ? 0 : count / 2;
  Reference out{std::vector<float>(channels), std::vector<int32_t>(channels), std::vector<int32_t>(values.size())};
  const auto channel_of = [&](size_t i) { return i / inner % channels; };
  for (size_t c = 0; c < channels; c++) {
    double low = 0, high = 0;
    for (size_t i = 0; i < values.size(); i++) {
      if (channel_of(i) != c) continue;
      if (values[i] < low) low = values[i];
      if (values[i] > high) high = values[i];
    }
    if (symmetric) {
      out.scales[c] = static_cast<float>((high > -low ? high : -low) / (count / 2 - 1));
      out.zero_points[c] = middle;
    } else {
      out.scales[c] = static_cast<float>((high - low) / (count - 1));
      out.zero_points[c] = static_cast<int32_t>(std::nearbyint(lowest - low / static_cast<double>(out.scales[c])));
    }
  }
  for (size_t i = 0; i < values.size(); i++) {
    const size_t c = channel_of(i);
    const int code = static_cast<int>(std::nearbyintf(values[i] / out.scales[c])) + out.zero_points[c];
    out.codes[i] = code < lowest ? lowest : code > highest ? highest : code;
  }
  return out;
}

std::vector<float> normal(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> values(0.02F, 0.7F);
  std::vector<float> out(count);
  for (auto& value : out) value = values(random);
  return out;
}

std::vector<int32_t> integers(const Tensor& tensor) {
  const auto values = to_doubles(tensor);
  return {values.begin(), values.end()};
}

struct Case {
  Shape shape;
  int axis;  // −1: per tensor
  DataType type;
  bool symmetric;
};

class WeightBits : public testing::TestWithParam<Case> {};

TEST_P(WeightBits, AgreeWithTheReference) {
  const auto& [shape, axis, type, symmetric] = GetParam();
  const auto values = normal(count_of(shape), 7);
  const auto tensor = Tensor::of(shape, values);
  const size_t channels = axis < 0 ? 1 : static_cast<size_t>(shape[static_cast<size_t>(axis)]);
  const size_t inner = axis < 0 ? 1 : count_of(Shape(shape.begin() + axis + 1, shape.end()));
  const auto expected = reference(values, channels, inner, type, symmetric);

  const Scheme scheme{.type = type, .symmetric = symmetric, .granularity = axis < 0 ? Granularity::tensor : Granularity::channel};
  const auto params = weight_params(tensor, axis < 0 ? std::optional<int>() : axis, scheme);
  EXPECT_EQ(params.scales, expected.scales);
  EXPECT_EQ(params.zero_points, expected.zero_points);
  EXPECT_EQ(params.axis, axis);
  const auto codes = quantize(tensor, params);
  EXPECT_EQ(codes.type(), type);
  EXPECT_EQ(integers(codes), expected.codes);
}

INSTANTIATE_TEST_SUITE_P(All, WeightBits, testing::ValuesIn([] {
                           std::vector<Case> cases;
                           const std::vector<std::pair<Shape, int>> layouts = {{{8, 3, 3, 3}, -1}, {{8, 3, 3, 3}, 0},
                                                                               {{16, 1, 3, 3}, 0}, {{12, 10}, 1},
                                                                               {{10, 12}, 0},      {{4, 6, 2, 2}, 1}};
                           for (const auto& [shape, axis] : layouts) {
                             for (const DataType type : {DataType::int8, DataType::uint8, DataType::int16, DataType::uint16}) {
                               for (const bool symmetric : {true, false}) cases.push_back({shape, axis, type, symmetric});
                             }
                           }
                           return cases;
                         }()));

TEST(WeightParams, WithoutChannelsOneScaleServesAll) {
  const auto params =
      weight_params(Tensor::of<float>({2, 2}, {1, -2, 3, 4}), std::nullopt, {.granularity = Granularity::channel});
  EXPECT_EQ(params.axis, -1);
  EXPECT_EQ(params.scales, std::vector<float>{4.0F / 127});
}

RC_GTEST_PROP(WeightParams, EveryWeightIsWithinHalfAStep, (const std::vector<float>& raw, bool symmetric, bool is_signed)) {
  std::vector<float> values;
  for (const float value : raw) {
    if (std::isfinite(value) && std::abs(value) < 1e30F) values.push_back(value);
  }
  RC_PRE(!values.empty());
  const auto tensor = Tensor::of({static_cast<int64_t>(values.size())}, values);
  const auto params =
      weight_params(tensor, std::nullopt, {.type = is_signed ? DataType::int8 : DataType::uint8, .symmetric = symmetric});
  const Tensor back = dequantize(quantize(tensor, params), params);
  for (size_t i = 0; i < values.size(); i++) {
    // The zero point's own rounding may shift the grid's ends by another half a step.
    const double steps = symmetric ? 0.5 : 1;
    RC_ASSERT(std::abs(static_cast<double>(back.as<float>()[i]) - static_cast<double>(values[i])) <=
              params.scales[0] * (steps + 1e-5));
  }
}

TEST(Bias, IsInUnitsOfInputScaleTimesWeightScale) {
  const auto weights = Tensor::of({4, 3, 1, 1}, normal(12, 3));
  const auto bias = Tensor::of<float>({4}, {0.5F, -0.25F, 3, -1e-4F});
  for (const auto granularity : {Granularity::tensor, Granularity::channel}) {
    const auto weight = weight_params(weights, 0, {.granularity = granularity});
    const float input_scale = 0.0321F;
    const auto params = bias_params(weight, bias, input_scale);
    EXPECT_EQ(params.type, DataType::int32);
    const auto codes = quantize(bias, params);
    ASSERT_EQ(codes.type(), DataType::int32);
    for (size_t k = 0; k < 4; k++) {
      const size_t at = weight.axis < 0 ? 0 : k;
      const float scale = input_scale * weight.scales[at];
      EXPECT_EQ(params.scales[at], scale);
      EXPECT_EQ(params.zero_points[at], 0);
      EXPECT_EQ(codes.as<int32_t>()[k],
                static_cast<int32_t>(std::nearbyint(static_cast<double>(bias.as<float>()[k]) / static_cast<double>(scale))));
    }
  }
}

TEST(Bias, RaisesTheScaleOfChannelsThatVanish) {
  const auto weights = Tensor::of<float>({3, 2}, {0.5F, -0.25F, 1e-20F, 2e-20F, 0, 0});
  const auto bias = Tensor::of<float>({3}, {0.1F, 0.7F, -0.3F});
  auto params = weight_params(weights, 0, {.granularity = Granularity::channel});
  const auto before = params;
  EXPECT_EQ(fit_to_bias(params, weights, bias, 0.02F), 2U);
  EXPECT_EQ(params.scales[0], before.scales[0]);
  const auto bias_scales = bias_params(params, bias, 0.02F);
  const auto codes = quantize(bias, bias_scales);
  const auto back = dequantize(codes, bias_scales);
  for (size_t k = 0; k < 3; k++) {
    EXPECT_LE(std::abs(static_cast<double>(codes.as<int32_t>()[k])), 1.0001 * (1 << 30));
    EXPECT_NEAR(back.as<float>()[k], bias.as<float>()[k], 1e-4);
  }
}

bool power_of_two(float scale) {
  int exponent = 0;
  return std::frexp(scale, &exponent) == 0.5F;
}

RC_GTEST_PROP(WeightParams, PowersOfTwoArePowersOfTwo, (std::vector<int> raw, bool symmetric, bool per_channel)) {
  RC_PRE(!raw.empty());
  std::vector<float> values, biases(raw.size());
  for (const int value : raw) values.push_back(static_cast<float>(value) * 3e-7F);
  for (size_t i = 0; i < raw.size(); i++) biases[i] = static_cast<float>(raw[raw.size() - 1 - i]);
  const auto channels = static_cast<int64_t>(raw.size());
  const auto weights = Tensor::of({channels, 1}, values), bias = Tensor::of({channels}, biases);
  for (const DataType type : {DataType::int8, DataType::uint8, DataType::int16, DataType::uint16}) {
    for (const char* method : {"min_max", "min_mse", "non_overflow", "percentile"}) {
      auto params = weight_params(weights, 0,
                                  {.type = type,
                                   .symmetric = symmetric,
                                   .scale_type = ScaleType::power_of_two,
                                   .granularity = per_channel ? Granularity::channel : Granularity::tensor,
                                   .range_method = method});
      for (const float scale : params.scales) RC_ASSERT(power_of_two(scale));
      const float input_scale = 0x1p-12F;
      fit_to_bias(params, weights, bias, input_scale, ScaleType::power_of_two);
      for (const float scale : params.scales) RC_ASSERT(power_of_two(scale));
      for (const float scale : bias_params(params, bias, input_scale).scales) RC_ASSERT(power_of_two(scale));
      const auto codes = quantize(bias, bias_params(params, bias, input_scale));
      for (const int32_t code : codes.as<int32_t>()) RC_ASSERT(std::abs(static_cast<double>(code)) <= 1 << 30);
    }
  }
}

// With 16 bits on both sides the product of scales is so small that ordinary biases would not fit int32.
TEST(Bias, RaisesTheScaleOf16BitWeights) {
  const auto weights = Tensor::of<float>({2, 2}, {0.5F, -0.25F, 0.3F, 0.1F});
  const auto bias = Tensor::of<float>({2}, {40, -0.01F});
  const float input_scale = 1e-4F;
  auto params = weight_params(weights, 0, {.type = DataType::int16, .granularity = Granularity::channel});
  EXPECT_EQ(fit_to_bias(params, weights, bias, input_scale), 1U);
  EXPECT_FLOAT_EQ(params.scales[0], 40 / (input_scale * (1 << 30)));
  const auto scales = bias_params(params, bias, input_scale);
  const auto back = dequantize(quantize(bias, scales), scales);
  for (size_t k = 0; k < 2; k++) EXPECT_NEAR(back.as<float>()[k], bias.as<float>()[k], 1e-5);
}

TEST(Bias, PerTensorTheLargestBiasDecides) {
  const auto weights = Tensor::of<float>({2, 1}, {1e-12F, -1e-12F});
  const auto bias = Tensor::of<float>({2}, {0.1F, -9});
  auto params = weight_params(weights, std::nullopt, {});
  EXPECT_EQ(fit_to_bias(params, weights, bias, 0.5F), 1U);
  EXPECT_FLOAT_EQ(params.scales[0], 9 / (0.5F * (1 << 30)));
}

}  // namespace
}  // namespace quasar::quant
