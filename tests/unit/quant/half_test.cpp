// Files of int8 and float16: which operators compute in float16, which keep float32 and why, and that they run.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "executed.hpp"
#include "made_up_statistics.hpp"
#include "quasar/base/error.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/quant/config/named_schemes.hpp"
#include "quasar/quant/half/half_operators.hpp"
#include "quasar/runtime/session.hpp"
#include "sample_models.hpp"
#include "unit/error_of.hpp"

namespace quasar::quant {
namespace {

Config of_tensorrt(const Json& more = {{"high_precision_dtype", "fp16"}}) {
  Json words = words_of_scheme("s8s8_tensorrt");
  words.update(more);
  return parse_config(words);
}

Plan half_plan(const graph::Model& model, const Config& config = of_tensorrt()) {
  return plan_of(model, config, "tensorrt");
}

// {constant or value: its type}, of what Conv, Gemm and MatMul read.
std::set<DataType> types_of_products(const graph::Model& model) {
  const graph::Index index(model);
  std::set<DataType> out;
  for (const auto& node : model.nodes) {
    if (!node.is("Conv") && !node.is("Gemm") && !node.is("MatMul")) continue;
    for (const auto& input : node.inputs) {
      const graph::Node* const writer = index.producer(input);
      if (const Tensor* const constant = model.initializer(input)) out.insert(constant->type());
      if (writer != nullptr && writer->is("DequantizeLinear")) out.insert(model.initializer(writer->inputs[1])->type());
    }
  }
  return out;
}

size_t casts_in(const graph::Model& model) {
  return static_cast<size_t>(std::ranges::count_if(model.nodes, [](const auto& node) { return node.is("Cast"); }));
}

// Between Relus, and a Softmax behind them.
graph::Model three_convolutions() {
  Builder b;
  std::string value = b.input("x", {1, 16, 6, 6});
  for (int k = 0; k < 3; k++) value = b.node("Relu", {b.conv(value, 16, 16, 3)});
  return b.finish({b.node("Softmax", {value}, {{"axis", int64_t{1}}})});
}

// ONNX Runtime's rewriting of pairs would make QLinearConcat of it, and int32 codes of biases that float16 cannot count.
graph::Model joined_convolutions() {
  Builder b;
  const auto x = b.node("Relu", {b.conv(b.input("x", {1, 16, 6, 6}), 16, 16, 3)});
  const auto large = [&](const std::string& value) {
    std::vector<float> bias(16, 200);
    return b.node("Relu", {b.node("Conv", {value, b.weights({16, 16, 1, 1}, 0.002F), b.constant(Tensor::of({16}, bias))})});
  };
  return b.finish({b.conv(b.node("Concat", {large(x), large(x)}, {{"axis", int64_t{1}}}), 32, 16, 1)});
}

const std::vector<std::function<graph::Model()>> half_models = {three_convolutions,         joined_convolutions,
                                                                [] { return separable(); }, [] { return residual(); },
                                                                [] { return branches(); },  [] { return attention(); }};

TEST(Half, AllThatIsNotInCodesIsFloat16AndTheModelsEndsAreNot) {
  const graph::Model model = three_convolutions();
  const Plan plan = half_plan(model);
  ASSERT_TRUE(plan.half_but.has_value());
  EXPECT_TRUE(plan.half_but->empty());
  const graph::Model made = written(model, plan);
  EXPECT_EQ(made.opset(), 19);
  EXPECT_EQ(types_of_products(made), std::set<DataType>{DataType::float16});
  EXPECT_EQ(made.inputs[0].type, DataType::float32);
  EXPECT_EQ(made.outputs[0].type, DataType::float32);
  EXPECT_EQ(made.outputs[0].name, model.outputs[0].name);
  EXPECT_EQ(casts_in(made), 1U) << "what leaves; what enters becomes codes as it is";
}

TEST(Half, SuchFilesRunAndAreAsFarFromFloatAsTheSameCodesInFloat32) {
  for (size_t which = 0; which < half_models.size(); which++) {
    const graph::Model model = half_models[which]();
    const Samples samples = random_samples(model, 6);
    Config config = of_tensorrt();
    const auto target = targets::table().make("tensorrt");
    const Plan plan = resolve(model, observe(model, samples), config, *target);
    config.high_precision = DataType::float32;
    const Plan wide = resolve(model, observe(model, samples), config, *target);
    EXPECT_FALSE(wide.half_but.has_value());
    EXPECT_NE(hash_of(plan), hash_of(wide));
    const runtime::Session original(model), halves(written(model, plan)),
        floats(written(model, wide), {.integer_kernels = false});
    double half = 0, full = 0, apart = 0;
    for (const auto& sample : samples) {
      const auto a = original.run(sample), b = floats.run(sample), c = halves.run(sample);
      for (size_t k = 0; k < a.size(); k++) {
        for (size_t i = 0; i < a[k].count(); i++) {
          const float x = a[k].as<float>()[i], y = b[k].as<float>()[i], z = c[k].as<float>()[i];
          full += std::pow(y - x, 2), half += std::pow(z - x, 2), apart += std::pow(z - y, 2);
        }
      }
    }
    EXPECT_LT(std::sqrt(half), 1.2 * std::sqrt(full) + 1e-3) << which;
    EXPECT_GT(apart, 0) << "nothing was rounded to float16";
  }
}

// Weights of a channel that training has switched off.
TEST(Half, ScalesOfChannelsThatDoNothingAreRaised) {
  Builder b;
  const auto x = b.node("Relu", {b.conv(b.input("x", {1, 16, 4, 4}), 16, 16, 3)});
  graph::Model model = b.finish({b.conv(x, 16, 16, 3)});
  Tensor& weights = model.initializers.at(model.nodes.back().inputs[1]);
  std::vector<float> values(weights.as<float>().begin(), weights.as<float>().end());
  for (size_t i = 0; i < 16 * 9; i++) values[i] *= 1e-9F;
  weights = Tensor::of(weights.shape(), values);
  const Plan plan = half_plan(model);
  EXPECT_TRUE(plan.half_but->empty());
  EXPECT_TRUE(std::ranges::all_of(plan.nodes.at("Conv_1").weight->params.scales, fits_half));
  for (float& value : values) value *= 1e-9F;
  weights = Tensor::of(weights.shape(), values);
  EXPECT_TRUE(half_plan(model).half_but->contains("Conv_1")) << "all of them would be lost";
}

// conv -> Mul by a constant -> Sigmoid
graph::Model with_product(float factor) {
  Builder b;
  const auto sum = b.conv(b.input("x", {1, 16, 4, 4}), 16, 16, 3);
  return b.finish({b.node("Sigmoid", {b.node("Mul", {sum, b.constant(Tensor::scalar(factor))})})});
}

TEST(Half, ValuesNearTheLargestNumberStayFloat32AndAreNamed) {
  const graph::Model model = with_product(1);
  stats::Statistics seen = made_up_statistics(model);
  const auto plan_with = [&](float largest) {
    seen["Mul_0_out"] = stats::of_values(std::vector<float>{-1, largest}, {.histogram = true});
    return resolve(model, seen, of_tensorrt(), *targets::table().make("tensorrt"));
  };
  EXPECT_TRUE(plan_with(30000).half_but->empty());
  const Plan plan = plan_with(40000);
  EXPECT_EQ(*plan.half_but, (std::set<std::string>{"Mul_0", "Sigmoid_0"}));
  const auto says = [](const std::string& note) { return note.find("65504: Mul_0, Sigmoid_0") != std::string::npos; };
  EXPECT_TRUE(std::ranges::any_of(plan.notes, says));
  const graph::Model made = written(model, plan);
  const graph::Index index(made);
  EXPECT_TRUE(index.producer(index.node("Mul_0")->inputs[0])->is("Cast")) << "behind a convolution in float16";
  EXPECT_EQ(made.initializer(index.node("Mul_0")->inputs[1])->type(), DataType::float32);
  EXPECT_EQ(index.node("Sigmoid_0")->inputs[0], "Mul_0_out");
}

TEST(Half, ConstantsThatItDoesNotHoldStayFloat32) {
  for (const auto& [factor, stays] : {std::pair{0.001F, false}, {1e-7F, true}, {1e5F, true}}) {
    const Plan plan = half_plan(with_product(factor));
    EXPECT_EQ(plan.half_but->contains("Mul_0"), stays) << factor;
  }
  EXPECT_TRUE(fits_half(0)) << "exactly";
  EXPECT_TRUE(fits_half(65504));
  EXPECT_FALSE(fits_half(70000)) << "conversion saturates";
  EXPECT_FALSE(fits_half(1e-12F));
}

TEST(Half, ScalesThatItDoesNotHoldStayFloat32) {
  const graph::Model model = with_product(1);
  stats::Statistics seen = made_up_statistics(model);
  seen["x"] = stats::of_values(std::vector<float>{-1e-5F, 1e-5F}, {.histogram = true});
  const Plan plan = resolve(model, seen, of_tensorrt(), *targets::table().make("tensorrt"));
  EXPECT_TRUE(plan.half_but->contains("Conv_0"));
  EXPECT_TRUE(types_of_products(written(model, plan)).contains(DataType::float32));
}

TEST(Half, WhatNobodyObservedIsBoundedOrStaysFloat32) {
  Builder b;
  const auto sum = b.conv(b.input("x", {1, 16, 4, 4}), 16, 16, 3);
  const auto root = b.node("Sqrt", {b.clip(sum, 1, 6)});
  const auto model = b.finish({b.node("Exp", {root})});
  const Plan plan = half_plan(model);
  EXPECT_EQ(*plan.half_but, std::set<std::string>{"Exp_0"});
  EXPECT_TRUE(
      std::ranges::any_of(plan.notes, [](const auto& note) { return note.find("nothing was observed") != std::string::npos; }));
}

// softmax(q·kᵀ + mask)·v, where each position with a large value is hidden.
graph::Model masked_attention(float hidden) {
  Builder b;
  const auto x = b.input("x", {1, 6, 16});
  const auto project = [&] { return b.node("MatMul", {x, b.weights({16, 16})}); };
  const auto query = project(), value = project();
  const auto keys = b.node("Transpose", {project()}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
  const auto largest = b.node("ReduceMax", {x}, {{"axes", std::vector<int64_t>{2}}});
  const auto across = b.node("Reshape", {largest, b.constant(Tensor::of<int64_t>({3}, {1, 1, 6}))});
  const auto far = b.node("Greater", {across, b.constant(Tensor::scalar(1.8F))});
  const auto mask = b.node("Where", {far, b.constant(Tensor::scalar(hidden)), b.constant(Tensor::scalar(0.0F))});
  const auto scores = b.node("Add", {b.node("MatMul", {query, keys}), mask});
  return b.finish({b.node("MatMul", {b.node("Softmax", {scores}, {{"axis", int64_t{-1}}}), value})});
}

TEST(Half, MasksHideByANumberThatItHolds) {
  for (const float hidden : {std::numeric_limits<float>::lowest(), -std::numeric_limits<float>::infinity(), -65504.0F}) {
    const graph::Model model = masked_attention(hidden);
    const Samples samples = random_samples(model, 4);
    const Plan plan = resolve(model, observe(model, samples), of_tensorrt(), *targets::table().make("tensorrt"));
    EXPECT_TRUE(plan.half_but->empty()) << hidden << ": " << *plan.half_but->begin();
    EXPECT_TRUE(
        std::ranges::any_of(plan.notes, [](const auto& note) { return note.find("hide by -10000") != std::string::npos; }));
    const graph::Model made = written(model, plan);
    const graph::Node& choice = *graph::Index(made).node("Where_0");
    EXPECT_EQ(to_doubles(*made.initializer(choice.inputs[1])), std::vector<double>{-10000});
    EXPECT_EQ(made.initializer(choice.inputs[1])->type(), DataType::float16);
    const runtime::Session original(model), halves(made);
    for (const auto& sample : samples) {
      const auto a = original.run(sample), b = halves.run(sample);
      for (size_t i = 0; i < a[0].count(); i++) EXPECT_NEAR(a[0].as<float>()[i], b[0].as<float>()[i], 0.35F);
    }
  }
}

// As from a file of ranges: nothing but those of pairs is known.
TEST(Half, SumsAreBoundedByTheirWeights) {
  const graph::Model model = three_convolutions();
  stats::Statistics seen;
  for (const auto& [name, stats] : made_up_statistics(model)) seen[name];
  for (const char* value : {"x", "Relu_0_out", "Relu_1_out"}) {
    seen[value].given = stats::Given{.range = stats::Range{-3, 3}};
    seen[value].range = {-3, 3};
  }
  const auto target = targets::table().make("tensorrt");
  EXPECT_TRUE(resolve(model, seen, of_tensorrt(), *target).half_but->empty());
  seen["x"].given = {.range = stats::Range{-30000, 30000}}, seen["x"].range = {-30000, 30000};
  EXPECT_EQ(*resolve(model, seen, of_tensorrt(), *target).half_but, (std::set<std::string>{"Conv_0", "Relu_0"}));
}

TEST(Half, BothSidesOfAPairHaveOneScale) {
  const graph::Model model = three_convolutions();
  const graph::Model made = written(model, half_plan(model));
  const graph::Index index(made);
  size_t pairs = 0;
  for (const auto& node : made.nodes) {
    if (!node.is("QuantizeLinear")) continue;
    const auto number = [&](const graph::Node& one) { return to_doubles(*made.initializer(one.inputs[1])); };
    for (const graph::Node* reader : index.consumers(node.outputs[0])) {
      EXPECT_EQ(number(node), number(*reader));
      pairs++;
    }
  }
  EXPECT_GE(pairs, 2U);
}

TEST(Half, CutsNoKnotWhereNothingIsFloat16) {
  Builder b;
  const auto seen = b.node("Reshape", {b.input("x", {1, 16, 4, 4}), b.constant(Tensor::of<int64_t>({2}, {1, 256}))});
  const auto sum = b.conv("x", 16, 16, 3);
  const auto chosen = b.node("TopK", {seen, b.constant(Tensor::of<int64_t>({1}, {3}))}, {}, 2);
  const graph::Model model = b.finish({chosen, sum});
  const graph::Model made = written(model, half_plan(model));
  const graph::Index index(made);
  EXPECT_EQ(index.node("Reshape_0")->inputs[0], "x") << "casts for a Reshape alone";
  EXPECT_EQ(index.node("TopK_0")->inputs[0], "Reshape_0_out");
}

// Codes that both types read.
TEST(Half, CodesAreReadTwiceInsteadOfCast) {
  Builder b;
  const auto x = b.node("Relu", {b.conv(b.input("x", {1, 16, 4, 4}), 16, 16, 3)});
  const auto model = b.finish({b.conv(x, 16, 16, 3), b.conv(x, 16, 16, 3)});
  Plan plan = half_plan(model);
  plan.half_but->insert("Conv_2");
  const graph::Model made = written(model, plan);
  const graph::Index index(made);
  const auto before = [&](const char* node) { return index.producer(index.node(node)->inputs[0]); };
  ASSERT_TRUE(before("Conv_1")->is("DequantizeLinear"));
  ASSERT_TRUE(before("Conv_2")->is("DequantizeLinear"));
  EXPECT_EQ(before("Conv_1")->inputs[0], before("Conv_2")->inputs[0]);
  EXPECT_EQ(made.initializer(before("Conv_1")->inputs[1])->type(), DataType::float16);
  EXPECT_EQ(made.initializer(before("Conv_2")->inputs[1])->type(), DataType::float32);
  EXPECT_TRUE(targets::table().make("tensorrt")->faults(made, {}).empty());
}

TEST(Half, OptionAndTargets) {
  EXPECT_EQ(to_json(of_tensorrt({{"high_precision_dtype", "float16"}})).at("high_precision_dtype"), "fp16");
  EXPECT_FALSE(to_json(of_tensorrt(Json::object())).contains("high_precision_dtype"));
  EXPECT_FALSE(plan_of(three_convolutions(), of_tensorrt(Json::object()), "tensorrt").half_but.has_value());
  const auto said = [](const Json& value) { return test::error_of([&] { of_tensorrt({{"high_precision_dtype", value}}); }); };
  EXPECT_NE(said("fp61").find("did you mean 'fp16'?"), std::string::npos) << said("fp61");
  EXPECT_NE(said(16).find("must be fp32 or fp16"), std::string::npos) << said(16);
  Config config = config_of(DataType::uint8, false);
  config.high_precision = DataType::float16;
  const auto refused = test::error_of([&] { check_taken(*targets::table().make("ort_cpu"), config); });
  EXPECT_NE(refused.find("target tensorrt"), std::string::npos) << refused;
}

}  // namespace
}  // namespace quasar::quant
