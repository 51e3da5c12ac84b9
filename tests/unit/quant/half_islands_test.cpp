// float16 on 64-bit Arm: products in float and what stands with them, where ONNX Runtime has kernels.
#include <gtest/gtest.h>

#include <cmath>

#include "executed.hpp"
#include "made_up_statistics.hpp"
#include "quasar/quant/config/named_schemes.hpp"
#include "quasar/quant/half/half_operators.hpp"
#include "quasar/runtime/session.hpp"
#include "sample_models.hpp"

namespace quasar::quant {
namespace {

Config of_arm(const Json& exclude, const Json& more = Json::object()) {
  Json words = words_of_scheme("u8s8_channel");
  words.update({{"high_precision_dtype", "fp16"}, {"exclude", exclude}, {"BiasCorrection", false}});
  words.update(more);
  return parse_config(words);
}

// Conv_0 and Conv_3 at the ends, and between them Conv_1, Relu, `function`, Conv_2.
graph::Model in_the_middle(const std::string& function = "MaxPool") {
  Builder b;
  const auto first = b.node("Relu", {b.conv(b.input("x", {1, 16, 8, 8}), 16, 16, 3)});
  const auto second = b.node("Relu", {b.conv(first, 16, 16, 3)});
  std::vector<graph::Attribute> attributes;
  if (function == "MaxPool") attributes.push_back({"kernel_shape", std::vector<int64_t>{2, 2}});
  const auto between = b.node(function, {second}, attributes);
  return b.finish({b.conv(b.node("Relu", {b.conv(between, 16, 16, 3)}), 16, 16, 3)});
}

Json all_between(const std::string& function = "MaxPool") {
  return std::vector<std::string>{"Conv_1", "Relu_1", function + "_0", "Conv_2", "Relu_2"};
}

std::set<std::string> in_half(const graph::Model& model) {
  std::set<std::string> halves;  // values
  std::set<std::string> out;
  for (const auto& node : model.nodes) {
    const auto is_half = [&](const auto& input) {
      const Tensor* const constant = model.initializer(input);
      return constant != nullptr ? constant->type() == DataType::float16 : halves.contains(input);
    };
    const bool casts = node.is("Cast");
    const bool half =
        casts ? node.integer("to", 0) == static_cast<int64_t>(DataType::float16) : std::ranges::any_of(node.inputs, is_half);
    if (!half) continue;
    if (!casts) out.insert(node.name);
    halves.insert(node.outputs.begin(), node.outputs.end());
  }
  return out;
}

size_t count_of_type(const graph::Model& model, const char* type) {
  return static_cast<size_t>(std::ranges::count_if(model.nodes, [&](const auto& node) { return node.is(type); }));
}

graph::Model arm_file(const graph::Model& model, const Config& config) {
  return written(model, plan_of(model, config, "ort_arm64"));
}

TEST(HalfIslands, ProductsInFloatAndWhatStandsWithThem) {
  const graph::Model model = in_the_middle();
  const graph::Model made = arm_file(model, of_arm(all_between()));
  EXPECT_EQ(in_half(made), (std::set<std::string>{"Conv_1", "Relu_1", "MaxPool_0", "Conv_2", "Relu_2"}));
  EXPECT_EQ(count_of_type(made, "Cast"), 2U);
  EXPECT_EQ(count_of_type(made, "Sum"), 0U) << "a Cast keeps Conv_1 in float";
  EXPECT_EQ(made.opset(), 14);
  for (const auto& node : made.nodes) {
    if (!node.is("QuantizeLinear") && !node.is("DequantizeLinear")) continue;
    EXPECT_EQ(made.initializer(node.inputs[1])->type(), DataType::float32) << node.name;
  }
}

TEST(HalfIslands, WhatHasNoKernelThereStaysFloat32) {
  const graph::Model made = arm_file(in_the_middle("Sigmoid"), of_arm(all_between("Sigmoid")));
  EXPECT_EQ(in_half(made), (std::set<std::string>{"Conv_1", "Relu_1", "Conv_2", "Relu_2"}));
  EXPECT_EQ(count_of_type(made, "Cast"), 4U);
  const Json without_product = std::vector<std::string>{"MaxPool_0"};
  const graph::Model other = arm_file(in_the_middle(), of_arm(without_product));
  EXPECT_EQ(in_half(other), std::set<std::string>());
  EXPECT_EQ(count_of_type(other, "Cast"), 0U);
}

// Without pairs, with scales found at run time.
TEST(HalfIslands, ConvolutionsBesideDynamicProducts) {
  const graph::Model model = separable();
  Json words = words_of_scheme("dynamic");
  words["high_precision_dtype"] = "fp16";
  const graph::Model made = arm_file(model, parse_config(words));
  EXPECT_TRUE(in_half(made).contains("Conv_0"));
  EXPECT_TRUE(in_half(made).contains("Conv_1"));
  EXPECT_EQ(count_of_type(made, "MatMulInteger"), 1U);
  EXPECT_EQ(made.initializer(graph::Index(made).node("Conv_0")->inputs[1])->type(), DataType::float16);
}

// Sums of codes and products of scales, which are written around dynamic products, may be of any size.
TEST(HalfIslands, OnlyOperatorsOfTheFloatModelBecomeFloat16) {
  Builder b;
  const auto x = b.input("x", {1, 4, 32});
  const auto keys = b.node("Transpose", {b.node("MatMul", {x, b.weights({32, 32})})}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
  const graph::Model model = b.finish({b.node("MatMul", {b.node("MatMul", {x, b.weights({32, 32})}), keys})});
  Json words = words_of_scheme("dynamic");
  words["high_precision_dtype"] = "fp16";
  const graph::Model made = arm_file(model, parse_config(words));
  const graph::Index index(model);
  EXPECT_EQ(count_of_type(made, "MatMulInteger"), 2U);
  EXPECT_TRUE(in_half(made).contains("MatMul_2"));
  for (const auto& name : in_half(made)) EXPECT_NE(index.node(name), nullptr) << name;
}

// A constant of −3e38 in an operator without a kernel stays what it is, and a Cast to float16 would make −∞ of it.
TEST(HalfIslands, AMaskInFloat32IsReadAsSuch) {
  Builder b;
  const auto x = b.input("x", {1, 4, 32});
  const auto seen = b.input("seen", {1, 4, 4}, DataType::boolean);
  const auto keys = b.node("Transpose", {b.node("MatMul", {x, b.weights({32, 32})})}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
  const auto scores = b.node("MatMul", {x, keys});
  const auto mask = b.node("Where", {seen, b.constant(Tensor::scalar(0.0F)), b.constant(Tensor::scalar(-3.4e38F))});
  const graph::Model model = b.finish({b.node("Softmax", {b.node("Add", {scores, mask})})});
  Json words = words_of_scheme("dynamic");
  words["high_precision_dtype"] = "fp16";
  const std::set<std::string> halves = in_half(arm_file(model, parse_config(words)));
  EXPECT_TRUE(halves.contains("MatMul_1"));
  EXPECT_FALSE(halves.contains("Add_0"));
}

TEST(HalfIslands, SuchFilesRunAndAreNearTheSameInFloat32) {
  for (const char* function : {"MaxPool", "Sigmoid"}) {
    const graph::Model model = in_the_middle(function);
    const Samples samples = random_samples(model, 4);
    const auto target = targets::table().make("ort_arm64");
    Config config = of_arm(all_between(function));
    const runtime::Session halves(written(model, resolve(model, observe(model, samples), config, *target)));
    config.high_precision = DataType::float32;
    const runtime::Session floats(written(model, resolve(model, observe(model, samples), config, *target)));
    double apart = 0, size = 0;
    for (const auto& sample : samples) {
      const auto a = floats.run(sample), b = halves.run(sample);
      for (size_t i = 0; i < a[0].count(); i++) {
        apart += std::pow(a[0].as<float>()[i] - b[0].as<float>()[i], 2);
        size += std::pow(a[0].as<float>()[i], 2);
      }
    }
    EXPECT_LT(std::sqrt(apart / size), 0.02) << function;
    EXPECT_GT(apart, 0) << "nothing was rounded to float16";
  }
}

TEST(HalfIslands, KernelsOnArm) {
  const auto node = [](const char* type, size_t outputs = 1) {
    return graph::Node{
        .name = "n", .op_type = type, .domain = "", .inputs = {"x", "y"}, .outputs = std::vector<std::string>(outputs)};
  };
  for (const char* type : {"Conv", "Gemm", "MatMul", "MaxPool", "Add", "Clip", "LayerNormalization", "Concat", "Transpose"}) {
    EXPECT_TRUE(has_arm_kernel(node(type), {})) << type;
    EXPECT_FALSE(half_inputs(node(type)).empty()) << type;
  }
  for (const char* type : {"Sigmoid", "Softmax", "Erf", "ConvTranspose", "Resize", "Where", "ReduceMean", "Pad"})
    EXPECT_FALSE(has_arm_kernel(node(type), {})) << type;
  EXPECT_FALSE(has_arm_kernel(node("MaxPool", 2), {})) << "of positions";
}

// ONNX Runtime (1.30) computes others in groups wrongly there.
TEST(HalfIslands, OfConvolutionsInGroupsOnlyDepthwiseOnes) {
  const auto has = [](int64_t outputs, int64_t groups) {
    Builder b;
    const auto model = b.finish({b.conv(b.input("x", {1, 8, 4, 4}), 8, outputs, 3, groups)});
    return has_arm_kernel(model.nodes[0], model);
  };
  EXPECT_TRUE(has(8, 1));
  EXPECT_TRUE(has(8, 8));
  EXPECT_FALSE(has(8, 2));
  EXPECT_FALSE(has(16, 8));
}

TEST(HalfIslands, ANoteSaysWhere) {
  const Plan plan = plan_of(in_the_middle(), of_arm(all_between()), "ort_arm64");
  const auto says = [](const std::string& note) {
    return note.find("ONNX Runtime's CPU on 64-bit Arm has kernels") != std::string::npos;
  };
  EXPECT_TRUE(std::ranges::any_of(plan.notes, says));
  EXPECT_TRUE(plan.half_islands);
  EXPECT_FALSE(
      plan_of(in_the_middle(), of_arm(all_between(), {{"high_precision_dtype", "fp32"}}), "ort_arm64").half_but.has_value());
}

}  // namespace
}  // namespace quasar::quant
