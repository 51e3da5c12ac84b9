#include <gtest/gtest.h>

#include <cmath>

#include "made_up_statistics.hpp"
#include "quasar/base/error.hpp"
#include "quasar/quant/placement/integer_softmax.hpp"
#include "sample_models.hpp"

namespace quasar::quant {
namespace {

std::set<std::string> values_of(const Plan& plan) {
  std::set<std::string> out;
  for (const auto& [value, params] : plan.values) out.insert(value);
  return out;
}

TEST(Resolve, AsymmetricActivationsAreAbsorbed) {
  const auto plan = plan_of(separable(), config_of(DataType::uint8, false));
  EXPECT_EQ(values_of(plan), (std::set<std::string>{"x", "Clip_0_out", "Relu_0_out", "Conv_2_out", "GlobalAveragePool_0_out",
                                                    "Reshape_0_out", "Gemm_0_out", "Softmax_0_out"}));
  EXPECT_EQ(plan.values.at("Clip_0_out").zero_points[0], 0);
  EXPECT_EQ(plan.values.at("Reshape_0_out"), plan.values.at("GlobalAveragePool_0_out"));
  EXPECT_TRUE(plan.skipped.empty());
}

TEST(Resolve, SymmetricOnesGetThePairOfTheirOutput) {
  const auto plan = plan_of(separable(), config_of(DataType::int8, true));
  EXPECT_EQ(plan.values.at("Conv_0_out"), plan.values.at("Clip_0_out"));
  EXPECT_EQ(plan.values.at("Conv_1_out"), plan.values.at("Relu_0_out"));
  EXPECT_FALSE(plan_of(separable(), config_of(DataType::int8, true), "generic").values.contains("Conv_0_out"));
}

TEST(Resolve, ScalesComeFromTheStatistics) {
  const auto model = separable();
  const auto seen = made_up_statistics(model);
  for (const bool symmetric : {true, false}) {
    const auto plan = plan_of(model, config_of(DataType::int8, symmetric));
    const auto& [low, high] = seen.at("x").range;
    const auto& x = plan.values.at("x");
    EXPECT_EQ(x.scales[0], static_cast<float>(symmetric ? std::max(-low, high) / 127 : (high - low) / 255));
    EXPECT_EQ(x.zero_points[0],
              symmetric ? 0 : static_cast<int32_t>(std::nearbyint(-128 - low / static_cast<double>(x.scales[0]))));
    const auto& bias = plan.nodes.at("Conv_0").bias->params;
    EXPECT_EQ(bias.scales[0], x.scales[0] * plan.nodes.at("Conv_0").weight->params.scales[0]);
  }
}

// A grid must not reach beyond a Clip's bounds, or ONNX Runtime would keep the Clip.
TEST(Resolve, AClipsGridStaysWithinItsBounds) {
  for (int k = 1; k < 400; k++) {
    Builder b;
    const float high = 0.05F * static_cast<float>(k);
    const auto model = b.finish({b.clip(b.conv(b.input("x", {1, 2, 4, 4}), 2, 2, 1), 0, high)});
    auto seen = made_up_statistics(model);
    seen["Clip_0_out"] = stats::of_values(std::vector<float>{0, high}, {});
    const auto plan = resolve(model, seen, config_of(DataType::uint8, false), *targets::table().make("ort_cpu"));
    const float scale = plan.values.at("Clip_0_out").scales[0];
    EXPECT_LE(scale * 255.0F, high);
    EXPECT_NEAR(scale * 255.0F, high, 1e-6 * high);
    EXPECT_FALSE(plan.values.contains("Conv_0_out")) << high;
  }
}

// ONNX Runtime's integer Softmax overflows where the scale of its output is small.
// What is beyond the bounds is clipped anyway.
TEST(Resolve, AMarginEndsAtTheBoundsOfAClip) {
  const graph::Model model = separable();
  Config config = config_of(DataType::uint16, false);
  const Plan plain = plan_of(model, config, "qnn_htp");
  config.activation.range_options["margin"] = 0.5;
  const Plan wide = plan_of(model, config, "qnn_htp");
  size_t wider = 0;
  for (const auto& [value, range] : plain.ranges) {
    const stats::Range with = wide.ranges.at(value);
    const graph::Node* const writer = graph::Index(model).producer(value);
    if (writer != nullptr && writer->is("Softmax")) continue;  // its codes reach to 1 anyway
    const bool clipped = writer != nullptr && writer->is("Clip");
    EXPECT_DOUBLE_EQ(with.high, clipped ? std::min(1.5 * range.high, 6.0) : 1.5 * range.high) << value;
    EXPECT_DOUBLE_EQ(with.low, 1.5 * range.low) << value;
    wider += with.high > range.high;
  }
  EXPECT_GT(wider, 0U);
}

// Methods that look for a power of two widen a range to what it covers, which no bound may take back.
TEST(Resolve, PowersOfTwoReachBeyondTheBoundsOfAClip) {
  Builder b;
  const auto x = b.conv(b.input("x", {1, 4, 8, 8}), 4, 4, 3);
  const auto y = b.node("Clip", {x, b.constant(Tensor::scalar(0.0F)), b.constant(Tensor::scalar(5.0F))});
  const graph::Model model = b.finish({b.conv(y, 4, 4, 3)});
  stats::Statistics seen = made_up_statistics(model);
  seen["Clip_0_out"] = stats::of_values(std::vector<float>{0, 1, 2.5F, 5, 5, 5}, {.histogram = true});
  const Plan plan = resolve(model, seen, power_of_two(config_of(DataType::int8, true)), *targets::table().make("xint8"));
  EXPECT_EQ(plan.values.at("Clip_0_out").scales.front(), 0.0625F);
}

TEST(Resolve, ProbabilitiesKeepAWideRange) {
  const auto model = separable();
  auto seen = made_up_statistics(model);
  seen["Softmax_0_out"] = stats::of_values(std::vector<float>{0.0F, 0.1F}, {.histogram = true});
  for (const char* target : {"ort_cpu", "generic"}) {
    const auto plan = resolve(model, seen, config_of(DataType::uint8, false), *targets::table().make(target));
    EXPECT_FLOAT_EQ(plan.values.at("Softmax_0_out").scales[0], 0.225F / 255);  // of ten classes
    const auto wide = resolve(model, seen, config_of(DataType::uint16, false), *targets::table().make(target));
    EXPECT_FLOAT_EQ(wide.values.at("Softmax_0_out").scales[0], 0.1F / 65535);
  }
}

// x [rows, length] -> MatMul -> Softmax along the last axis.
graph::Model probabilities(int64_t length) {
  Builder b;
  const std::string x = b.input("x", {2, length});
  const auto weights = b.weights({std::max<int64_t>(length, 1), std::max<int64_t>(length, 1)});
  return b.finish({b.node("Softmax", {length < 0 ? x : b.node("MatMul", {x, weights})}, {{"axis", int64_t{-1}}})});
}

// Over one element it gives 0, over two it overflows below 0.85 / 255.
TEST(Resolve, SoftmaxOverFewElementsIsLeftOrCoversOne) {
  const auto plan = [](int64_t length, const Config& config, const char* target = "ort_cpu") {
    const auto model = probabilities(length);
    auto seen = made_up_statistics(model);
    seen["Softmax_0_out"] = stats::of_values(std::vector<float>{0.0F, 0.3F}, {.histogram = true});
    return resolve(model, seen, config, *targets::table().make(target));
  };
  auto config = config_of(DataType::uint8, false);
  for (const char* target : {"ort_cpu", "ort_cuda", "generic"}) {
    EXPECT_FLOAT_EQ(plan(2, config, target).values.at("Softmax_0_out").scales[0], 1.0F / 255);
    EXPECT_FLOAT_EQ(plan(3, config, target).values.at("Softmax_0_out").scales[0], 0.75F / 255);
    EXPECT_FLOAT_EQ(plan(5, config, target).values.at("Softmax_0_out").scales[0], 0.45F / 255);
    EXPECT_FLOAT_EQ(plan(9, config, target).values.at("Softmax_0_out").scales[0], 0.3F / 255);
  }
  // Probabilities of many classes are small; their scale is a power of two there.
  EXPECT_LE(plan(1000, parse_config({{"scheme", "XINT8"}}), "xint8").values.at("Softmax_0_out").scales[0], 0.005F);
  EXPECT_EQ(plan(1, config).skipped.at("Softmax_0"), obstacle_to_integer_softmax(1));
  EXPECT_EQ(plan(-1, config, "generic").skipped.at("Softmax_0"), obstacle_to_integer_softmax(0));
  EXPECT_TRUE(plan(1, config_of(DataType::uint16, false)).nodes.contains("Softmax_0"));
  EXPECT_TRUE(plan(2, config).notes.empty());
  config.tensors["Softmax_0_out"].scale = 0.5 / 255;
  config.tensors["Softmax_0_out"].zero_point = 0;
  ASSERT_EQ(plan(2, config).notes.size(), 1u);
  EXPECT_TRUE(plan(2, config).notes[0].starts_with("Softmax_0: ")) << plan(2, config).notes[0];
}

TEST(Resolve, MovedValuesShareTheirScale) {
  const auto plan = plan_of(branches(), config_of(DataType::uint8, false));
  EXPECT_EQ(plan.values.at("MaxPool_0_out"), plan.values.at("Conv_0_out"));
  EXPECT_EQ(plan.values.at("Split_0_out"), plan.values.at("Concat_0_out"));
  EXPECT_EQ(plan.values.at("Split_0_out1"), plan.values.at("Concat_0_out"));
  EXPECT_EQ(plan.values.at("Resize_0_out"), plan.values.at("Concat_0_out"));
  EXPECT_EQ(plan.values.at("Transpose_0_out"), plan.values.at("Conv_3_out"));
}

TEST(Resolve, ProductsWithAVectorBehindThemStayWide) {
  const auto plan = plan_of(attention(), config_of(DataType::uint8, false, Granularity::channel));
  EXPECT_FALSE(plan.values.contains("MatMul_0_out"));
  EXPECT_TRUE(plan.nodes.at("Add_0").constants.empty());
  EXPECT_EQ(plan.nodes.at("MatMul_0").weight->params.axis, 1);
  EXPECT_TRUE(plan.values.contains("MatMul_3_out"));  // of two activations
  EXPECT_EQ(plan.nodes.at("Add_3").constants.size(), 1U);
  const auto generic = plan_of(attention(), config_of(DataType::uint8, false), "generic");
  EXPECT_TRUE(generic.values.contains("MatMul_0_out"));
}

TEST(Resolve, NothingStandsBetweenFloatNodes) {
  auto config = config_of(DataType::int8, true);
  config.exclude = {"Conv_1", "Conv_2", Json{{"op_type", "GlobalAveragePool"}}, "Gemm_0", "Softmax_0"};
  const auto plan = plan_of(separable(), config);
  EXPECT_EQ(values_of(plan), (std::set<std::string>{"x", "Conv_0_out", "Clip_0_out"}));
  EXPECT_EQ(plan.skipped.at("Conv_1"), "excluded");
  EXPECT_EQ(plan.skipped.at("Relu_0"), "its input is not quantized");
  EXPECT_EQ(plan.skipped.at("Reshape_0"), "its input is not quantized");
}

TEST(Resolve, AFloatBranchReadsFloatValues) {
  Builder b;
  const auto x = b.input("x", {1, 2, 4, 4});
  const auto flat = b.node("Reshape", {x, b.constant(Tensor::of<int64_t>({2}, {1, 32}))});
  const auto model = b.finish({b.conv(x, 2, 2, 1), b.node("Exp", {flat})});
  const auto plan = plan_of(model, config_of(DataType::int8, false));
  EXPECT_EQ(values_of(plan), (std::set<std::string>{"x", "Conv_0_out"}));
  const auto quantized = apply(model, plan);
  EXPECT_EQ(graph::Index(quantized).node("Reshape_0")->inputs[0], "x");
  EXPECT_EQ(graph::Index(quantized).node("Conv_0")->inputs[0], "x_dequantized");
}

TEST(Resolve, IntegersAreLeftAlone) {
  Builder b;
  const auto x = b.conv(b.input("x", {1, 2, 4, 4}), 2, 2, 1);
  const auto shape = b.node("Shape", {x});
  const auto doubled = b.node("Mul", {shape, b.constant(Tensor::of<int64_t>({4}, {1, 1, 1, 1}))});
  const auto model = b.finish({b.node("Reshape", {x, b.node("Concat",
                                                            {b.node("Slice", {doubled, b.constant(Tensor::of<int64_t>({1}, {0})),
                                                                              b.constant(Tensor::of<int64_t>({1}, {2}))}),
                                                             b.constant(Tensor::of<int64_t>({1}, {-1}))},
                                                            {{"axis", int64_t{0}}})})});
  const auto plan = plan_of(model, config_of(DataType::int8, false));
  EXPECT_EQ(values_of(plan), (std::set<std::string>{"x", "Conv_0_out", "Reshape_0_out"}));
  EXPECT_EQ(plan.skipped.at("Mul_0"), "a constant input of type int64, not float32");
  EXPECT_EQ(plan.skipped.at("Slice_0"), "its data is not known to be float32");
}

TEST(Resolve, AValueThatIsReadTwiceIsStoredAsUint8OnOnnxRuntimesCpu) {
  const auto plan = plan_of(residual(), config_of(DataType::int8, true));
  EXPECT_EQ(plan.values.at("Relu_0_out").type, DataType::uint8);
  EXPECT_EQ(plan.values.at("Relu_0_out").zero_points[0], 128);
  EXPECT_EQ(plan.values.at("x").type, DataType::int8);
  EXPECT_EQ(plan_of(residual(), config_of(DataType::int8, true), "generic").values.at("Relu_0_out").type, DataType::int8);
}

// Sixteen bits are float simulation on ONNX Runtime's CPU: nothing is left out for want of a kernel, no pair stands before what
// another processor fuses, and the plan says so.
TEST(Resolve, SixteenBitsAreSimulated) {
  for (const auto& [activation, weight] : std::vector<std::pair<DataType, DataType>>{
           {DataType::int16, DataType::int8}, {DataType::uint16, DataType::int16}, {DataType::int8, DataType::int16}}) {
    const auto plan = plan_of(residual(), config_of(activation, true, Granularity::tensor, weight));
    EXPECT_TRUE(plan.skipped.empty());
    ASSERT_FALSE(plan.notes.empty());
    EXPECT_NE(plan.notes.back().find("simulation"), std::string::npos);
    EXPECT_EQ(plan.nodes.at("Conv_0").weight->params.type, weight);
    EXPECT_EQ(plan.nodes.at("Conv_0").bias->params.type, DataType::int32);
  }
  const auto wide = plan_of(residual(), config_of(DataType::int16, true));
  EXPECT_EQ(wide.values.at("Relu_0_out").type, DataType::int16);
  EXPECT_FALSE(wide.values.contains("Conv_0_out"));  // fused with its Relu
  EXPECT_TRUE(plan_of(residual(), config_of(DataType::int8, true)).notes.empty());
}

TEST(Resolve, PowersOfTwoEverywhere) {
  for (const auto& model : {separable(), residual(), branches(), attention(), recurrent()}) {
    for (const DataType type : {DataType::int8, DataType::uint8, DataType::int16}) {
      for (const bool symmetric : {true, false}) {
        const auto plan = plan_of(model, power_of_two(config_of(type, symmetric, Granularity::channel)));
        std::vector<float> scales;
        const auto add = [&](const QuantParams& params) {
          scales.insert(scales.end(), params.scales.begin(), params.scales.end());
        };
        for (const auto& [name, params] : plan.values) add(params);
        for (const auto& [name, node] : plan.nodes) {
          if (node.weight) add(node.weight->params);
          if (node.bias) add(node.bias->params);
          for (const auto& constant : node.constants) add(constant.params);
        }
        for (const float scale : scales) {
          int exponent = 0;
          EXPECT_EQ(std::frexp(scale, &exponent), 0.5F) << scale;
        }
      }
    }
  }
}

TEST(Hash, CountsWhatDecidesTheModelAndNothingElse) {
  const auto model = separable();
  const auto config = config_of(DataType::int8, false, Granularity::channel);
  const auto hash = hash_of(plan_of(model, config));

  auto same = config;
  same.calib_data_size = 5;
  same.exclude = {"Softmax_0"};
  const auto without = plan_of(model, same);
  same.exclude = {Json{{"regex", "Soft.*"}}};
  EXPECT_EQ(hash_of(plan_of(model, same)), hash_of(without));
  EXPECT_NE(hash_of(without), hash);

  auto plan = plan_of(model, config);
  plan.notes.push_back("a remark");
  plan.skipped["Nothing"] = "a reason";
  EXPECT_EQ(hash_of(plan), hash);
  plan.nodes.at("Conv_1").weight->params.scales[3] = std::nextafter(plan.nodes.at("Conv_1").weight->params.scales[3], 9.0F);
  EXPECT_NE(hash_of(plan), hash);
}

TEST(Resolve, MissingStatisticsAreAnError) {
  EXPECT_THROW(resolve(separable(), {}, config_of(DataType::int8, true), *targets::table().make("ort_cpu")), Error);
}

}  // namespace
}  // namespace quasar::quant
