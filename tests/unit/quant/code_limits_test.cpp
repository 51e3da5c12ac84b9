// Codes that no input makes overflow in sums of 16 bits.
#include "quasar/quant/codes/code_limits.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "made_up_statistics.hpp"
#include "quasar/base/error.hpp"
#include "quasar/base/rng.hpp"
#include "quasar/ops/overflow.hpp"
#include "quasar/quant/codes/weights.hpp"
#include "sample_models.hpp"

namespace quasar::quant {
namespace {

Tensor random_matrix(int64_t inputs, int64_t outputs, uint64_t seed) {
  Rng rng(seed);
  std::vector<float> values(static_cast<size_t>(inputs * outputs));
  for (float& value : values) value = static_cast<float>(rng.normal());
  return Tensor::of({inputs, outputs}, values);
}

ops::SumOrder columns(int64_t inputs, int64_t outputs) {
  graph::Node node{.name = "n", .op_type = "MatMul", .domain = "", .inputs = {}, .outputs = {}};
  return *ops::sum_order(node, {inputs, outputs});
}

TEST(KeepPair, ChangesAsLittleAsItMust) {
  for (int32_t a = -127; a <= 127; a += 3) {
    for (int32_t b = -127; b <= 127; b += 2) {
      int32_t x = a, y = b;
      keep_pair(x, y, 128);
      const bool fits = a * b <= 0 || std::abs(a + b) <= 128;
      EXPECT_EQ(x == a && y == b, fits) << a << " " << b;
      if (fits) continue;
      EXPECT_EQ(std::abs(x + y), 128) << a << " " << b;
      EXPECT_GE(x * a, 0);
      EXPECT_GE(y * b, 0);
      EXPECT_LE(std::abs(std::abs(a - x) - std::abs(b - y)), 1) << a << " " << b;
    }
  }
}

TEST(FitToPairs, LeavesRoomForEveryPairAndNotMore) {
  for (const bool per_channel : {true, false}) {
    for (const int64_t inputs : {2, 7, 64}) {
      const Tensor weights = random_matrix(inputs, 5, static_cast<uint64_t>(inputs));
      const Scheme scheme{.type = DataType::int8, .granularity = per_channel ? Granularity::channel : Granularity::tensor};
      QuantParams params = weight_params(weights, 1, scheme);
      const QuantParams before = params;
      const CodeLimits limits = limit_codes(params, Saturation::avoid, columns(inputs, 5), 255, ScaleType::float32);
      EXPECT_EQ(limits.pair, 128);
      EXPECT_EQ(limits.most, 127);
      fit_to_pairs(params, weights, limits);
      const auto codes = plain_codes(quantize(weights, params));
      EXPECT_EQ(ops::overflowing_pairs(codes, limits.order), 0U);
      EXPECT_EQ(plain_codes(quantize_within(weights, params, limits)), codes);  // nothing is left to be moved
      for (size_t k = 0; k < params.scales.size(); k++) {
        EXPECT_GE(params.scales[k], before.scales[k]);
        EXPECT_LE(params.scales[k], before.scales[k] * 2.001F);
      }
    }
  }
}

// Twice the scale would cost more than what two pairs give up.
TEST(FitToPairs, PowersOfTwoAreDoubledOnlyWhereThatIsCheaper) {
  std::vector<float> values(256);
  for (size_t i = 0; i < values.size(); i++) values[i] = static_cast<float>(i % 32) + 0.4F;
  values[0] = 66, values[1] = 66;
  const Tensor weights = Tensor::of({256, 1}, values);
  const ops::SumOrder order = columns(256, 1);
  QuantParams params{.type = DataType::int8, .scales = {1}, .zero_points = {0}};
  CodeLimits limits = limit_codes(params, Saturation::avoid, order, 255, ScaleType::power_of_two);
  fit_to_pairs(params, weights, limits, ScaleType::power_of_two);
  EXPECT_EQ(params.scales[0], 1);
  const auto codes = plain_codes(quantize_within(weights, params, limits));
  EXPECT_EQ(codes[0], 64);
  EXPECT_EQ(codes[1], 64);
  EXPECT_EQ(ops::overflowing_pairs(codes, order), 0U);
  values[0] = 127, values[1] = 127;
  fit_to_pairs(params, Tensor::of({256, 1}, values), limits, ScaleType::power_of_two);
  EXPECT_EQ(params.scales[0], 2);
}

TEST(LimitCodes, SevenBitsKeepTheRange) {
  const Tensor weights = random_matrix(16, 3, 5);
  for (const bool symmetric : {true, false}) {
    const Scheme scheme{.type = DataType::int8, .symmetric = symmetric, .granularity = Granularity::channel};
    QuantParams params = weight_params(weights, 1, scheme);
    const auto limits = limit_codes(params, Saturation::reduce_range, columns(16, 3), 255, ScaleType::float32);
    const Tensor codes = quantize_within(weights, params, limits), back = dequantize(codes, params);
    for (const int32_t code : plain_codes(codes)) EXPECT_LE(std::abs(code), 64);
    for (size_t i = 0; i < weights.count(); i++)
      EXPECT_NEAR(back.as<float>()[i], weights.as<float>()[i], params.scales[i % 3] * 1.01F) << symmetric;
    EXPECT_EQ(ops::overflowing_pairs(plain_codes(codes), limits.order), 0U);
  }
}

TEST(LimitCodes, UnsignedIsTheSameGrid) {
  const Tensor weights = random_matrix(16, 3, 6);
  for (const auto& [saturation, symmetric] :
       {std::pair{Saturation::unsigned_weights, true}, {Saturation::unsigned_weights, false}, {Saturation::avoid, false}}) {
    const QuantParams before = weight_params(weights, std::nullopt, {.type = DataType::int8, .symmetric = symmetric});
    QuantParams params = before;
    EXPECT_FALSE(limit_codes(params, saturation, columns(16, 3), 255, ScaleType::float32).any());
    EXPECT_EQ(params.type, DataType::uint8);
    const Tensor one = dequantize(quantize(weights, before), before), other = dequantize(quantize(weights, params), params);
    for (size_t i = 0; i < one.count(); i++) EXPECT_EQ(one.as<float>()[i], other.as<float>()[i]);
  }
}

TEST(LimitCodes, InputsThatStayLowLeaveRoom) {
  QuantParams params{.type = DataType::int8, .scales = {1}, .zero_points = {0}};
  EXPECT_EQ(limit_codes(params, Saturation::avoid, columns(4, 1), 200, ScaleType::float32).pair, 163);
  EXPECT_EQ(limit_codes(params, Saturation::avoid, columns(4, 1), 128, ScaleType::float32).pair, 0);
  EXPECT_FALSE(limit_codes(params, Saturation::ignore, columns(4, 1), 255, ScaleType::float32).any());
  params.type = DataType::uint8;
  EXPECT_FALSE(limit_codes(params, Saturation::avoid, columns(4, 1), 255, ScaleType::float32).any());
}

TEST(SaturationKey, SaysWhatItMustBe) {
  EXPECT_EQ(parse_saturation("AVOID"), Saturation::avoid);
  EXPECT_EQ(parse_saturation("unsigned"), Saturation::unsigned_weights);
  const auto message = [](const Json& value) {
    try {
      parse_saturation(value);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(
      message("avoyd"),
      R"(saturation is "avoyd", but must be one of avoid, raise_scales, reduce_range, unsigned, ignore; did you mean 'avoid'?)");
  EXPECT_NE(message(7).find("saturation is 7"), std::string::npos);
}

TEST(SaturationKey, ReduceRangeIsAnotherWordForOneOfThem) {
  const Json words{{"activation", "UInt8Spec"}, {"weight", "Int8Spec"}};
  const auto with = [&](const Json& more) {
    Json all = words;
    all.update(more);
    return parse_config(all);
  };
  EXPECT_EQ(with({{"reduce_range", true}}).saturation, Saturation::reduce_range);
  EXPECT_EQ(with({{"reduce_range", false}}).saturation, std::nullopt);
  EXPECT_EQ(with({{"reduce_range", false}, {"saturation", "ignore"}}).saturation, Saturation::ignore);
  EXPECT_THROW(with({{"reduce_range", true}, {"saturation", "ignore"}}), Error);
  EXPECT_EQ(parse_config(to_json(with({{"saturation", "unsigned"}}))), with({{"saturation", "unsigned"}}));
}

// Every weight of sums, of every scheme: no plan of the default can overflow, and what is ignored can.
TEST(SaturationKey, IsAvoidedOnOrtCpuUnlessItIsAskedFor) {
  const auto model = separable();
  size_t could = 0;
  for (const bool per_channel : {true, false}) {
    for (const auto type : {DataType::uint8, DataType::int8}) {
      Config config = config_of(type, type == DataType::int8);
      config.weight = {.type = DataType::int8, .granularity = per_channel ? Granularity::channel : Granularity::tensor};
      EXPECT_TRUE(ops::overflows(apply(model, plan_of(model, config))).empty());
      for (const auto saturation : {Saturation::raise_scales, Saturation::reduce_range, Saturation::unsigned_weights}) {
        config.saturation = saturation;
        EXPECT_TRUE(ops::overflows(apply(model, plan_of(model, config))).empty()) << name_of(saturation);
      }
      config.saturation = Saturation::ignore;
      could += ops::overflows(apply(model, plan_of(model, config))).size();
    }
  }
  EXPECT_GT(could, 0U);
}

// Kernels on 64-bit Arm add in 32 bits: scales stay, and only code -128 is left out.
TEST(SaturationKey, OnArmWeightsKeepAllOtherCodes) {
  const auto model = separable();
  Config config = config_of(DataType::uint8, false, Granularity::channel);
  const Plan arm = plan_of(model, config, "ort_arm64"), plain = plan_of(model, config, "generic");
  config.saturation = Saturation::ignore;
  const Plan ignored = plan_of(model, config, "ort_cpu");
  for (const auto& [name, node] : arm.nodes) {
    if (!node.weight) continue;
    EXPECT_EQ(node.weight->params, ignored.nodes.at(name).weight->params) << name;
    EXPECT_EQ(node.weight->limits.pair, 0) << name;
    EXPECT_EQ(node.weight->limits.most, 127) << name;
  }
  const auto quantized = apply(model, arm);
  EXPECT_TRUE(ops::overflows(quantized, ops::Kernels::neon).empty());
  EXPECT_FALSE(ops::overflows(quantized).empty()) << "the test's weights do not overflow on x86 either";
  EXPECT_FALSE(plain.nodes.empty());
  for (const auto wanted : {Saturation::reduce_range, Saturation::unsigned_weights, Saturation::raise_scales}) {
    config.saturation = wanted;
    EXPECT_THROW(plan_of(model, config, "ort_arm64"), Error) << name_of(wanted);
  }
}

// Its library leaves int8 as it is, and has no kernel that reads one type and writes the other: of ResNet-8 in A8W8 five of nine
// convolutions ran in float (ONNX Runtime 1.30 with session.qdqisint8allowed, 2026-11-29).
TEST(Arm64, AllValuesAreUint8WhereOneIs) {
  const auto model = residual();
  const Plan arm = plan_of(model, config_of(DataType::int8, true), "ort_arm64");
  for (const auto& [value, params] : arm.values) EXPECT_EQ(params.type, DataType::uint8) << value;
  const Plan x86 = plan_of(model, config_of(DataType::int8, true), "ort_cpu");
  EXPECT_TRUE(std::ranges::any_of(x86.values, [](const auto& value) { return value.second.type == DataType::int8; }));
}

TEST(SaturationKey, RaisedScalesKeepInt8WhereFewProductsAreAdded) {
  Builder b(7);
  const auto model = b.finish({b.node("Relu", {b.conv(b.input("x", {1, 3, 8, 8}), 3, 8, 3)})});
  Config config = config_of(DataType::uint8, false, Granularity::channel);
  EXPECT_EQ(plan_of(model, config).nodes.at("Conv_0").weight->params.type, DataType::uint8);
  config.saturation = Saturation::raise_scales;
  const Plan plan = plan_of(model, config);
  EXPECT_EQ(plan.nodes.at("Conv_0").weight->params.type, DataType::int8);
  EXPECT_TRUE(ops::overflows(apply(model, plan)).empty());
}

TEST(SaturationKey, TargetsWithoutSuchSumsHaveNoUseForIt) {
  Config config = config_of(DataType::int8, true);
  config.saturation = Saturation::reduce_range;
  for (const char* target : {"xint8", "ort_cuda"}) {
    try {
      plan_of(separable(), config, target);
      ADD_FAILURE() << target;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("saturation is reduce_range"), std::string::npos) << e.what();
    }
  }
  EXPECT_NO_THROW(plan_of(separable(), config, "generic"));
}

}  // namespace
}  // namespace quasar::quant
