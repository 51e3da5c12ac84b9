// Target tensorrt: where pairs stand, what it refuses, and what its checker says of finished models. No engine was built.
#include <gtest/gtest.h>

#include "made_up_statistics.hpp"
#include "quasar/base/error.hpp"
#include "quasar/quant/config/named_schemes.hpp"
#include "quasar/quant/pairs.hpp"
#include "sample_models.hpp"
#include "unit/error_of.hpp"

namespace quasar::quant {
namespace {

constexpr const char* tensorrt = "tensorrt";

Config usual_of_tensorrt() {
  return parse_config(words_of_scheme("s8s8_tensorrt"));
}

// {node: rule}
std::map<std::string, std::string> tensorrt_faults_of(const graph::Model& model) {
  std::map<std::string, std::string> out;
  for (const auto& [node, fault] : targets::table().make(tensorrt)->faults(model, {})) {
    EXPECT_FALSE(fault.what.empty());
    out[node] = fault.rule;
  }
  return out;
}

// "": it breaks none.
std::string rule_at(const graph::Model& model, const std::string& node) {
  const auto faults = tensorrt_faults_of(model);
  return faults.contains(node) ? faults.at(node) : "";
}

graph::Model of_generic(const graph::Model& model, const Config& config) {
  return apply(model, plan_of(model, config, "generic"));
}

// conv -> Add(conv, conv of conv) -> Relu -> conv, 16 channels.
graph::Model wide_residual() {
  Builder b;
  const auto first = b.conv(b.input("x", {1, 16, 8, 8}), 16, 16, 3);
  const auto second = b.conv(first, 16, 16, 3);
  return b.finish({b.conv(b.node("Relu", {b.node("Add", {first, second})}), 16, 16, 3)});
}

TEST(TensorRtTarget, PairsStandOnWhatWeightedSumsReadAndOnTheResidualBranch) {
  const Plan plan = plan_of(wide_residual(), usual_of_tensorrt(), tensorrt);
  EXPECT_TRUE(plan.values.contains("x"));
  EXPECT_TRUE(plan.values.contains("Conv_0_out")) << "the residual branch";
  EXPECT_FALSE(plan.values.contains("Conv_1_out")) << "one kernel with the Add";
  EXPECT_FALSE(plan.values.contains("Add_0_out")) << "one kernel with the Relu";
  EXPECT_TRUE(plan.values.contains("Relu_0_out"));
  EXPECT_FALSE(plan.values.contains("Conv_2_out")) << "nobody reads codes of it";
  for (const auto& [value, params] : plan.values) EXPECT_EQ(params.zero_points, std::vector<int32_t>{0}) << value;
  for (const auto& [name, node] : plan.nodes) EXPECT_FALSE(node.bias) << name;
}

TEST(TensorRtTarget, SumsOfOtherValuesStayInFloat) {
  Builder b;
  const auto x = b.conv(b.input("x", {1, 16, 8, 8}), 16, 16, 3), pooled = b.node("Relu", {x});
  const auto model = b.finish({b.conv(b.node("Add", {pooled, b.node("Sigmoid", {pooled})}), 16, 16, 3)});
  EXPECT_TRUE(plan_of(model, usual_of_tensorrt(), tensorrt).skipped.contains("Add_0"));
}

TEST(TensorRtTarget, SmallProductsStayInFloat) {
  const auto target = targets::table().make(tensorrt);
  const auto why = [&](const char* type, Shape weights, Shape output, bool first = false) {
    graph::Node node;
    node.op_type = type;
    return target->obstacle_to_sizes(node, {std::move(weights), std::move(output), first});
  };
  EXPECT_NE(why("MatMul", {8, 64}, {4, 64}), "");
  EXPECT_NE(why("Gemm", {64, 10}, {4, 10}), "");
  EXPECT_NE(why("MatMul", {64, 64}, {1, 64}), "") << "one row";
  EXPECT_EQ(why("MatMul", {64, 64}, {}), "") << "nobody knows the rows";
  EXPECT_EQ(why("MatMul", {16, 16}, {2, 16}), "");
  EXPECT_NE(why("Conv", {4, 4, 3, 3}, {}), "");
  EXPECT_NE(why("Conv", {8, 3, 3, 3}, {}), "");
  EXPECT_EQ(why("Conv", {8, 3, 3, 3}, {}, true), "") << "the first of the model";
  EXPECT_EQ(why("Conv", {32, 16, 1, 1}, {}), "");
}

TEST(TensorRtTarget, TypesThatItDoesNotRunAreErrorsThatNameTheNearest) {
  const auto said = [&](const char* scheme) {
    return test::error_of([&] { check_taken(*targets::table().make(tensorrt), parse_config(words_of_scheme(scheme))); });
  };
  for (const char* scheme : {"u8s8_channel", "a16w8", "dynamic", "a8w8_channel", "w4"})
    EXPECT_NE(said(scheme).find("s8s8_tensorrt"), std::string::npos) << scheme << said(scheme);
  EXPECT_NE(said("a8w8_channel").find("QuantizeBias: false"), std::string::npos);
  check_taken(*targets::table().make(tensorrt), usual_of_tensorrt());
}

// As FastViT's: a depthwise convolution of 1 x 1 beside one of 3 x 3.
graph::Model small_beside_large() {
  Builder b;
  const auto x = b.node("Relu", {b.conv(b.input("x", {1, 16, 8, 8}), 16, 16, 3)});
  return b.finish({b.node("Add", {b.conv(x, 16, 16, 1, 16), b.conv(x, 16, 16, 3)})});
}

TEST(TensorRtTarget, ItsOwnModelsBreakNoRule) {
  ASSERT_TRUE(plan_of(small_beside_large(), usual_of_tensorrt(), tensorrt).skipped.contains("Conv_1"));
  for (const auto& model : {small_beside_large(), wide_residual(), separable(), residual(), branches(), attention()}) {
    const Plan plan = plan_of(model, usual_of_tensorrt(), tensorrt);
    EXPECT_TRUE(tensorrt_faults_of(apply(model, plan)).empty());
    EXPECT_TRUE(tensorrt_faults_of(written(model, plan)).empty());
  }
}

TEST(TensorRtTarget, TheCheckerNamesWhatBreaksItsRules) {
  const graph::Model model = wide_residual();
  Config config = usual_of_tensorrt();
  EXPECT_EQ(rule_at(of_generic(model, config), "Add_0"), "residual");
  Config biased = config;
  biased.switches["QuantizeBias"] = true;
  EXPECT_EQ(rule_at(of_generic(model, biased), "Conv_0"), "bias");
  Config apart = config;
  apart.switches["RemoveQDQConvRelu"] = false;
  Builder b;
  const auto chain = b.finish({b.conv(b.node("Relu", {b.conv(b.input("x", {1, 16, 8, 8}), 16, 16, 3)}), 16, 16, 3)});
  EXPECT_EQ(rule_at(of_generic(chain, apart), "Relu_0"), "between");
  Config shifted = config;
  shifted.activation.symmetric = false;
  EXPECT_EQ(rule_at(of_generic(model, shifted), "Conv_0"), "zero_points");
  Config other = config;
  other.activation.type = DataType::int16;
  EXPECT_EQ(rule_at(of_generic(model, other), "Conv_0"), "types");
  Config free = config;
  free.switches["AlignConcat"] = false;
  EXPECT_EQ(rule_at(of_generic(branches(), free), "Concat_0"), "concat");
  graph::Model cast = apply(model, plan_of(model, config, tensorrt));
  graph::Node* const sum = &*std::ranges::find(cast.nodes, "Conv_1", &graph::Node::name);
  graph::Node between{.name = "between", .op_type = "Cast", .domain = "", .inputs = {sum->inputs[0]}, .outputs = {"narrow"}};
  between.set({"to", static_cast<int64_t>(DataType::float32)});
  sum->inputs[0] = "narrow";
  cast.nodes.insert(cast.nodes.begin() + (sum - cast.nodes.data()), between);
  EXPECT_EQ(rule_at(cast, "Conv_1"), "casts");
  Builder small;
  const auto narrow = small.finish({small.conv(small.conv(small.input("x", {1, 16, 8, 8}), 16, 4, 3), 4, 4, 3)});
  EXPECT_EQ(rule_at(of_generic(narrow, config), "Conv_1"), "sizes");
}

TEST(TensorRtTarget, WhatConcatJoinsHasOneScaleWhateverTheConfigurationSays) {
  Builder b;
  const auto x = b.conv(b.input("x", {1, 16, 8, 8}), 16, 16, 3);
  const auto both = b.node("Concat", {b.node("Relu", {b.conv(x, 16, 16, 3)}), x}, {{"axis", int64_t{1}}});
  const graph::Model model = b.finish({b.conv(both, 32, 16, 3)});
  Config config = usual_of_tensorrt();
  config.switches["AlignConcat"] = false;
  const graph::Model made = apply(model, plan_of(model, config, tensorrt));
  EXPECT_TRUE(tensorrt_faults_of(made).empty());
  EXPECT_EQ(rule_at(of_generic(model, config), "Concat_0"), "concat");
}

}  // namespace
}  // namespace quasar::quant
