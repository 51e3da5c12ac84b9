// Weights of 2 and 4 bits and scales in blocks: the laws of the codes, and what ONNX Runtime makes of them.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

#include "made_up_statistics.hpp"
#include "quasar/quant/blocks.hpp"
#include "quasar/quant/codes/block_scales.hpp"
#include "quasar/runtime/session.hpp"
#include "sample_models.hpp"

namespace quasar::quant {
namespace {

Tensor normal(const Shape& shape, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> distribution(0.05F, 0.3F);
  std::vector<float> values(count_of(shape));
  for (auto& value : values) value = distribution(random);
  return Tensor::of(shape, values);
}

// The scale of element (row, column) of a matrix.
size_t scale_of(const QuantParams& params, const Shape& shape, size_t row, size_t column) {
  const auto block = static_cast<size_t>(params.block);
  const size_t blocks = (static_cast<size_t>(shape[static_cast<size_t>(params.axis)]) + block - 1) / block;
  return params.axis == 0 ? row / block * static_cast<size_t>(shape[1]) + column : row * blocks + column / block;
}

RC_GTEST_PROP(FourBits, PackingIsLossless, ()) {
  const auto type =
      *rc::gen::element(DataType::int2, DataType::uint2, DataType::int4, DataType::uint4, DataType::int8, DataType::uint16);
  const Grid grid = grid_of(type, false);
  const auto codes = *rc::gen::container<std::vector<int32_t>>(
      rc::gen::inRange(static_cast<int32_t>(grid.low), static_cast<int32_t>(grid.high) + 1));
  const Tensor packed = codes_tensor(type, {static_cast<int64_t>(codes.size())}, codes);
  RC_ASSERT(plain_codes(packed) == codes);
}

// Every weight comes back within half a step, or lies at the clipping bound.
RC_GTEST_PROP(FourBits, WeightsInBlocksComeBackWithinHalfAStep, ()) {
  const auto type =
      *rc::gen::element(DataType::int2, DataType::uint2, DataType::int4, DataType::uint4, DataType::int8, DataType::uint8);
  const bool symmetric = *rc::gen::arbitrary<bool>();
  const int axis = *rc::gen::inRange(0, 2);
  const Shape shape{*rc::gen::inRange(1, 70), *rc::gen::inRange(1, 70)};
  const std::string method = *rc::gen::element(std::string("min_max"), std::string("min_mse"));
  const ScaleType scale_type = *rc::gen::element(ScaleType::float32, ScaleType::power_of_two);
  const Tensor weights = normal(shape, *rc::gen::arbitrary<uint32_t>());
  const QuantParams params = block_params(weights, axis,
                                          {.type = type,
                                           .symmetric = symmetric,
                                           .scale_type = scale_type,
                                           .granularity = Granularity::group,
                                           .group_size = 16,
                                           .range_method = method});
  const Tensor codes = quantize(weights, params);
  const auto plain = plain_codes(codes);
  const Tensor back = dequantize(codes, params);
  const Grid grid = grid_of(type, false);
  const auto columns = static_cast<size_t>(shape[1]);
  for (size_t i = 0; i < weights.count(); i++) {
    const size_t k = scale_of(params, shape, i / columns, i % columns);
    const float error = std::abs(back.as<float>()[i] - weights.as<float>()[i]);
    const bool at_bound = plain[i] == grid.low || plain[i] == grid.high;
    RC_ASSERT(at_bound || error <= params.scales[k] * 0.501F);
    int exponent = 0;
    if (scale_type == ScaleType::power_of_two) RC_ASSERT(std::frexp(params.scales[k], &exponent) == 0.5F);
  }
}

// With min_mse no block does worse than with min_max.
RC_GTEST_PROP(FourBits, LeastErrorIsNotMoreThanMinMax, ()) {
  const Tensor weights = normal({32, 8}, *rc::gen::arbitrary<uint32_t>());
  Scheme scheme{.type = *rc::gen::element(DataType::int2, DataType::uint2, DataType::int4, DataType::uint4),
                .symmetric = *rc::gen::arbitrary<bool>()};
  scheme.granularity = Granularity::group;
  scheme.group_size = 16;
  const auto error = [&](const std::string& method) {
    scheme.range_method = method;
    const QuantParams params = block_params(weights, 0, scheme);
    const Tensor back = dequantize(quantize(weights, params), params);
    double sum = 0;
    for (size_t i = 0; i < weights.count(); i++) {
      const double difference = static_cast<double>(back.as<float>()[i] - weights.as<float>()[i]);
      sum += difference * difference;
    }
    return sum;
  };
  RC_ASSERT(error("min_mse") <= error("min_max") * (1 + 1e-5));
}

// A MatMul and a Gemm with a bias, both ways round; sizes that no block divides.
graph::Model products(int64_t opset = 13) {
  Builder b(9);
  b.model().opsets[""] = opset;
  const auto hidden = b.node("Relu", {b.node("MatMul", {b.input("x", {3, 40}), b.weights({40, 24})})});
  const auto gemm = b.node("Gemm", {hidden, b.weights({10, 24}), b.weights({10})}, {{"transB", int64_t{1}}});
  return b.finish({b.node("Gemm", {gemm, b.weights({10, 7}), b.weights({1, 7})})});
}

// The float model with the weights that the plan's codes stand for.
graph::Model with_rounded_weights(graph::Model model, const Plan& plan) {
  for (const auto& node : model.nodes) {
    const auto found = plan.nodes.find(node.name);
    if (found == plan.nodes.end() || !found->second.weight) continue;
    const QuantParams& params = found->second.weight->params;
    Tensor& weights = model.initializers.at(node.inputs[1]);
    weights = dequantize(quantize(weights, params), params);
  }
  return model;
}

TEST(FourBits, WeightsOnlyRunAsTheRoundedModelDoes) {
  const graph::Model model = products();
  const Tensor x = normal({3, 40}, 5);
  for (const DataType type :
       {DataType::int2, DataType::uint2, DataType::int4, DataType::uint4, DataType::int8, DataType::uint8}) {
    for (const Granularity granularity : {Granularity::tensor, Granularity::channel, Granularity::group}) {
      for (const bool symmetric : {true, false}) {
        Config config;
        config.activation.type = DataType::float32;
        config.weight = {.type = type, .symmetric = symmetric, .granularity = granularity, .group_size = 16};
        const Plan plan = plan_of(model, config);
        EXPECT_EQ(plan.nodes.size(), 3u);
        EXPECT_TRUE(plan.values.empty());
        const graph::Model quantized = apply(model, plan);
        for (const auto& node : quantized.nodes) EXPECT_TRUE(node.op_type == "MatMulNBits" || node.is("Relu"));
        const auto wanted = runtime::Session(with_rounded_weights(model, plan)).run({{x}});
        const auto got = runtime::Session(quantized).run({{x}});
        for (size_t i = 0; i < got[0].count(); i++) EXPECT_NEAR(got[0].as<float>()[i], wanted[0].as<float>()[i], 2e-5);
      }
    }
  }
}

// All that ONNX Runtime's kernel is asked for: bits, sizes of blocks, with zero points and without.
TEST(FourBits, BlocksOfEverySizeRunAsTheRoundedModelDoes) {
  Builder b(4);
  const graph::Model model = b.finish({b.node("MatMul", {b.input("x", {2, 300}), b.weights({300, 5})})});
  const Tensor x = normal({2, 300}, 6);
  for (const DataType type : {DataType::uint2, DataType::uint4, DataType::uint8}) {
    for (const size_t size : {16, 32, 64, 128, 256}) {
      for (const bool symmetric : {true, false}) {
        Config config;
        config.activation.type = DataType::float32;
        config.weight = {.type = type, .symmetric = symmetric, .granularity = Granularity::group, .group_size = size};
        const Plan plan = plan_of(model, config);
        const graph::Model quantized = apply(model, plan);
        const graph::Node& product = quantized.nodes.front();
        EXPECT_EQ(product.integer("bits", 0), static_cast<int64_t>(bits_of(type)));
        EXPECT_EQ(product.integer("block_size", 0), static_cast<int64_t>(size));
        EXPECT_EQ(product.inputs.size(), symmetric ? 3u : 4u);
        const auto wanted = runtime::Session(with_rounded_weights(model, plan)).run({{x}});
        const auto got = runtime::Session(quantized).run({{x}});
        for (size_t i = 0; i < got[0].count(); i++)
          EXPECT_NEAR(got[0].as<float>()[i], wanted[0].as<float>()[i], 5e-5) << name_of(type) << size;
      }
    }
  }
}

// Activations in 8 bits per block, found at run time.
TEST(FourBits, BlocksRunWithDynamicActivations) {
  const graph::Model model = products();
  const Tensor x = normal({3, 40}, 5);
  for (const DataType type : {DataType::uint2, DataType::int4, DataType::int8}) {
    Config config;
    config.activation = {.type = DataType::uint8, .symmetric = false, .range_method = "min_max", .dynamic = true};
    config.weight = {.type = type, .symmetric = true, .granularity = Granularity::group, .group_size = 32};
    const Plan plan = plan_of(model, config);
    const auto wanted = runtime::Session(with_rounded_weights(model, plan)).run({{x}});
    const auto got = runtime::Session(apply(model, plan)).run({{x}});
    for (size_t i = 0; i < got[0].count(); i++)
      EXPECT_NEAR(got[0].as<float>()[i], wanted[0].as<float>()[i], 0.3) << name_of(type);
  }
}

TEST(FourBits, WithQuantizedActivationsTheyRunBetweenPairs) {
  const Tensor x = normal({3, 40}, 5);
  for (const auto& [granularity, opset] : std::vector<std::pair<Granularity, int64_t>>{
           {Granularity::tensor, 13}, {Granularity::channel, 13}, {Granularity::channel, 21}, {Granularity::group, 21}}) {
    const graph::Model model = products(opset);
    Config config = config_of(DataType::uint8, false, granularity, DataType::int4);
    config.weight.group_size = 16;
    const graph::Model quantized = apply(model, plan_of(model, config));
    EXPECT_EQ(quantized.opset(), opset);
    EXPECT_EQ(runtime::Session(quantized).run({{x}}).front().count(), 21u);
  }
  Config config = config_of(DataType::uint8, false, Granularity::group);
  config.weight.group_size = 16;
  EXPECT_THROW(plan_of(products(), config), Error);  // blocks need opset 21
}

// What a search leaves out before its first trial.
TEST(FourBits, BlocksThatAModelCannotHaveAreKnownBefore) {
  const auto target = targets::table().make("generic");
  const auto why_in = [&](const graph::Model& model, const Json& words) {
    return why_no_blocks(parse_config(words), graph::Index(model), *target);
  };
  const auto why = [&](const Json& words) { return why_in(products(), words); };
  const Json group{{"quant_granularity", "Group"}};
  EXPECT_NE(why({{"weight", "Int4Spec"}, {"weight_params", group}}).find("opset 21"), std::string::npos);
  EXPECT_EQ(why({{"weight", "Int4Spec"}}), "");
  EXPECT_EQ(why({{"activation", nullptr}, {"weight", "Int4Spec"}, {"weight_params", group}}), "");
  EXPECT_EQ(why({{"activation", "DynamicSpec"}, {"weight", "Int4Spec"}, {"weight_params", group}}), "");
  graph::Model late = products();
  late.opsets[""] = 21;
  EXPECT_EQ(why_in(late, {{"weight", "Int4Spec"}, {"weight_params", group}}), "");
}

// What is said of single layers counts: a rule may need blocks, or spare the layers that would.
TEST(FourBits, BlocksOfSingleLayersAreKnownBefore) {
  const graph::Model model = products();
  const graph::Index index(model);
  const auto target = targets::table().make("generic");
  const auto needed = [&](Json words, bool group) {
    words["weight"] = "Int4Spec";
    if (group) words["weight_params"] = {{"quant_granularity", "Group"}};
    return !why_no_blocks(parse_config(words), index, *target).empty();
  };
  const auto rule = [](const char* type, const Json& words) {
    Json one{{"op_types", {type}}};
    one.update(words);
    return Json{{"layer_type_config", {one}}};
  };
  const Json in_groups{{"weight", "Int4Spec"}, {"weight_params", {{"quant_granularity", "Group"}}}};
  const Json per_channel{{"weight", "Int4Spec"}, {"weight_params", {{"quant_granularity", "Channel"}}}};
  EXPECT_TRUE(needed({{"exclude", {"Gemm_0"}}}, true)) << "MatMul_0 is left";
  EXPECT_FALSE(needed({{"exclude", {{{"op_type", "Gemm"}}, {{"op_type", "MatMul"}}}}}, true));
  EXPECT_TRUE(needed(rule("Gemm", in_groups), false));
  EXPECT_FALSE(needed(rule("Conv", in_groups), false));
  EXPECT_TRUE(needed(rule("Gemm", per_channel), true)) << "MatMul has none of its own";
  EXPECT_TRUE(needed(rule("Gemm", {{"spec", nullptr}}), true));
  const Json eights{{"weight", "Int4Spec"}, {"weight_params", {{"group_size", 64}, {"quant_granularity", "Group"}}}};
  const Config config = parse_config({{"weight", "Int4Spec"},
                                      {"weight_params", {{"quant_granularity", "Group"}, {"group_size", 16}}},
                                      {"layer_type_config", rule("Gemm", eights)["layer_type_config"]}});
  EXPECT_EQ(config.layers.front().weight.group_size, 64u);
  EXPECT_FALSE(needed(Json{{"OpTypesToQuantize", {"Relu"}}}, true));
  EXPECT_TRUE(needed({{"last_conv_or_matmul_quantization", false}}, true));
}

// ONNX Runtime makes one operator of 8-bit values, 8-bit weights and MatMul, which has no blocks.
TEST(FourBits, BlocksOf8BitsAreForGemmOnly) {
  const Tensor x = normal({3, 40}, 5);
  Config config = config_of(DataType::uint8, false, Granularity::group);
  config.weight.group_size = 16;
  const graph::Model model = products(21);
  const Plan plan = plan_of(model, config);
  EXPECT_EQ(plan.nodes.at("MatMul_0").weight->params.block, 0);
  EXPECT_EQ(plan.nodes.at("MatMul_0").weight->params.scales.size(), 24u);
  EXPECT_EQ(plan.nodes.at("Gemm_0").weight->params.block, 16);
  EXPECT_TRUE(std::ranges::any_of(plan.notes, [](const auto& note) { return note.ends_with("does not have: MatMul_0"); }));
  EXPECT_EQ(runtime::Session(apply(model, plan)).run({{x}}).front().count(), 21u);
  config.weight.type = DataType::int4;
  EXPECT_EQ(plan_of(model, config).nodes.at("MatMul_0").weight->params.block, 16);
}

std::vector<float> run(const graph::Model& model, const Tensor& x, bool simulated) {
  const auto out = runtime::Session(model, {.integer_kernels = !simulated}).run({{x}});
  const auto values = out.front().as<float>();
  return {values.begin(), values.end()};
}

// What a transformer is made of: no Relu, no Clip, no MaxPool.
graph::Model curved(int64_t opset) {
  Builder b(3);
  b.model().opsets[""] = opset;
  const auto hidden = b.node("Sigmoid", {b.node("MatMul", {b.input("x", {3, 40}), b.weights({40, 24})})});
  const auto turned = b.node("Transpose", {hidden}, {{"perm", std::vector<int64_t>{1, 0}}});
  const auto back = b.node("Transpose", {turned}, {{"perm", std::vector<int64_t>{1, 0}}});
  const auto sum = b.node("Add", {back, b.node("Tanh", {hidden})});
  return b.finish({b.node("Gemm", {sum, b.weights({24, 7}), b.weights({7})})});
}

TEST(FourBits, ActivationsRunWhereOnnxRuntimeCan) {
  const Tensor x = normal({3, 40}, 5);
  for (const int64_t opset : {13, 21}) {
    for (const DataType type : {DataType::uint4, DataType::int4}) {
      const graph::Model model = curved(opset);
      const Plan plan = plan_of(model, config_of(type, type == DataType::int4, Granularity::channel));
      EXPECT_EQ(plan.nodes.size(), 7u);
      const graph::Model quantized = apply(model, plan);
      const auto got = run(quantized, x, false), wanted = run(quantized, x, true), exact = run(model, x, true);
      double difference = 0, signal = 0, step = 0;
      for (size_t i = 0; i < got.size(); i++) {
        difference += std::abs(got[i] - exact[i]);
        signal += std::abs(exact[i]);
        step = std::max(step, std::abs(static_cast<double>(got[i]) - wanted[i]));
      }
      EXPECT_GT(difference, 0.005 * signal);  // 16 levels show
      EXPECT_LT(difference, 0.5 * signal);
      EXPECT_LT(step, 0.3 * signal / static_cast<double>(got.size()));  // one level at most, where a sum lies between two
    }
  }
}

TEST(FourBits, ActivationsStayInFloatWhereOnnxRuntimeCannot) {
  Builder b(4);
  const auto relu = b.node("Relu", {b.conv(b.input("x", {1, 3, 8, 8}), 3, 4, 3)});
  const auto moved = b.node("Transpose", {relu}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
  const auto second = b.node("Sigmoid", {b.conv(moved, 4, 4, 3)});
  const auto pooled = b.node("MaxPool", {second}, {{"kernel_shape", std::vector<int64_t>{2, 2}}});
  const graph::Model model = b.finish({b.clip(b.conv(pooled, 4, 4, 1), 0, 6)});
  const Config wide = config_of(DataType::uint4, false);
  EXPECT_NE(plan_of(model, wide).skipped.at("Conv_0").find("8-bit weights"), std::string::npos);
  const Plan plan = plan_of(model, config_of(DataType::uint4, false, Granularity::tensor, DataType::int4));
  EXPECT_TRUE(plan.nodes.contains("Conv_0"));
  for (const char* name : {"Relu_0", "Transpose_0", "Conv_1", "Sigmoid_0", "MaxPool_0", "Conv_2", "Clip_0"})
    EXPECT_FALSE(plan.nodes.contains(name)) << name;
  EXPECT_NE(plan.skipped.at("Conv_1").find("Relu writes one"), std::string::npos) << plan.skipped.at("Conv_1");
  EXPECT_NE(plan.skipped.at("Conv_2").find("MaxPool"), std::string::npos) << plan.skipped.at("Conv_2");
  const graph::Model quantized = apply(model, plan);
  const auto got = run(quantized, normal({1, 3, 8, 8}, 2), false), wanted = run(quantized, normal({1, 3, 8, 8}, 2), true);
  for (size_t i = 0; i < got.size(); i++) EXPECT_NEAR(got[i], wanted[i], 0.05);
}

}  // namespace
}  // namespace quasar::quant
