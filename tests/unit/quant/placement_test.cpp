#include "quasar/quant/placement.hpp"

#include <gtest/gtest.h>

#include "made_up_statistics.hpp"
#include "quasar/runtime/kernels.hpp"
#include "sample_models.hpp"

namespace quasar::quant {
namespace {

// Half a transformer's block: Add_0 is MatMul_0's bias, Add_1 the residual sum, which only the normalization reads.
graph::Model normalized_sum() {
  Builder b(9);
  b.model().opsets[""] = 17;
  const auto x = b.input("x", {1, 6, 16});
  const auto projected = b.node("Add", {b.node("MatMul", {x, b.weights({16, 16})}), b.weights({16}, 0.1F)});
  const auto sum = b.node("Add", {projected, x});
  const auto normal = b.node("LayerNormalization", {sum, b.weights({16}, 0.1F, 1), b.weights({16}, 0.1F)});
  return b.finish({b.node("MatMul", {normal, b.weights({16, 4})})});
}

TEST(Placement, ASumThatOnlyFloatNodesReadStaysInFloatOnOrtCpu) {
  const graph::Model model = normalized_sum();
  stats::Statistics seen = made_up_statistics(model);
  seen.at("MatMul_0_out").shape = {1, 6, 16};
  const Plan plan = resolve(model, seen, config_of(DataType::uint8, false), *targets::table().make("ort_cpu"));
  EXPECT_EQ(plan.nodes.count("Add_1"), 0U);
  EXPECT_EQ(plan.nodes.count("MatMul_0"), 1U);
  EXPECT_EQ(plan.values.count("Add_0_out"), 0U) << "the product writes floats, no pair stands behind it";
  EXPECT_EQ(plan.values.count("LayerNormalization_0_out"), 1U);
  EXPECT_EQ(plan.values.count("MatMul_1_out"), 1U) << "the model's output keeps its grid";
  const auto runs = runtime::runs_quantized(apply(model, plan), {"MatMul_0", "MatMul_1"});
  EXPECT_TRUE(runs.at("MatMul_0"));
  EXPECT_TRUE(runs.at("MatMul_1"));
}

// Conv, Relu, Sigmoid, and a product with constant weights and one without.
graph::Model of_many_kinds() {
  Builder b(5);
  const auto image = b.node("Relu", {b.conv(b.input("x", {1, 2, 4, 4}), 2, 4, 3)});
  const auto rows = b.node("Reshape", {b.node("Sigmoid", {image}), b.constant(Tensor::of<int64_t>({2}, {4, 16}))});
  const auto product = b.node("MatMul", {rows, b.weights({16, 4})});
  return b.finish({b.node("MatMul", {product, rows})});
}

std::set<std::string> names_with(const Plan& plan, NodeForm form) {
  std::set<std::string> out;
  for (const auto& [name, planned] : plan.nodes) {
    if (planned.form == form) out.insert(name);
  }
  return out;
}

TEST(Placement, AFormSaysWhichOperatorsAreQuantized) {
  const graph::Model model = of_many_kinds();
  const auto planned = [&](const char* form) {
    return plan_of(model, parse_config({{"activation", "UInt8Spec"},
                                        {"activation_params", {{"symmetric", false}}},
                                        {"weight_params", {{"quant_granularity", "Channel"}}},
                                        {"form", form}}));
  };
  using Names = std::set<std::string>;
  const Plan all = planned("all"), products = planned("products"), mixed = planned("dynamic_products"),
             dynamic = planned("dynamic");
  EXPECT_TRUE(all.nodes.contains("Sigmoid_0"));
  EXPECT_EQ(names_with(products, NodeForm::pairs), (Names{"Conv_0", "Relu_0", "MatMul_0", "MatMul_1"}));
  EXPECT_EQ(names_with(mixed, NodeForm::pairs), (Names{"Conv_0", "Relu_0"}));
  EXPECT_EQ(names_with(mixed, NodeForm::dynamic), Names{"MatMul_0"});
  EXPECT_EQ(names_with(dynamic, NodeForm::pairs), Names{});
  EXPECT_EQ(names_with(dynamic, NodeForm::dynamic), Names{"MatMul_0"});
  const auto runs = runtime::runs_quantized(apply(model, mixed), {"Conv_0", "Relu_0", "MatMul_0", "MatMul_1"});
  EXPECT_EQ(runs, (std::map<std::string, bool>{{"Conv_0", true}, {"Relu_0", true}, {"MatMul_0", true}, {"MatMul_1", false}}));
}

TEST(Placement, ALayersOwnRuleComesBeforeTheForm) {
  const Plan plan =
      plan_of(of_many_kinds(), parse_config({{"activation", "UInt8Spec"},
                                             {"activation_params", {{"symmetric", false}}},
                                             {"form", "dynamic_products"},
                                             {"specific_layer_config", {{{"spec", "UInt8Spec"}, {"nodes", {"MatMul_0"}}}}}}));
  EXPECT_EQ(plan.nodes.at("MatMul_0").form, NodeForm::pairs);
}

TEST(Placement, OtherTargetsQuantizeEverySum) {
  const graph::Model model = normalized_sum();
  const Plan plan = plan_of(model, config_of(DataType::uint8, false), "generic");
  EXPECT_EQ(plan.nodes.count("Add_1"), 1U);
  EXPECT_EQ(plan.values.count("Add_0_out"), 1U);
}

TEST(Placement, ASumThatAQuantizedNodeReadsIsQuantized) {
  const Plan plan = plan_of(residual(), config_of(DataType::uint8, false));
  EXPECT_EQ(plan.nodes.count("Add_0"), 1U);
}

// Tables, products and an LSTM, none of them between pairs.
graph::Model without_pairs() {
  Builder b(4);
  const auto row = b.node("Gather", {b.weights({200, 8}), b.input("ids", {5, 1}, DataType::int64)});
  const auto small = b.node("Gather", {b.weights({20, 8}), "ids"});
  const auto states =
      b.node("LSTM", {b.node("Add", {row, small}), b.weights({1, 32, 8}), b.weights({1, 32, 8})}, {{"hidden_size", int64_t{8}}});
  const auto product = b.node("MatMul", {states, b.weights({8, 8})});
  return b.finish({b.node("MatMul", {product, b.weights({8, 4})})});
}

std::set<std::string> quantized(Json words, const Json& choice) {
  words.update(choice);
  std::set<std::string> out;
  for (const auto& [name, node] : plan_of(without_pairs(), parse_config(words)).nodes) out.insert(name);
  return out;
}

TEST(Placement, SelectionsHoldForNodesWithoutPairs) {
  using Names = std::set<std::string>;
  const Json dynamic = schemes::table().make("dynamic")->words(), w4 = schemes::table().make("w4")->words();
  EXPECT_EQ(quantized(w4, Json::object()), (Names{"MatMul_0", "MatMul_1"}));
  EXPECT_EQ(quantized(w4, {{"NodesToQuantize", {"MatMul_1"}}}), Names{"MatMul_1"});
  EXPECT_EQ(quantized(w4, {{"InputNodes", {"MatMul_1"}}}), Names{"MatMul_1"});
  EXPECT_EQ(quantized(w4, {{"OutputNodes", {"MatMul_0"}}}), Names{"MatMul_0"});
  EXPECT_EQ(quantized(dynamic, Json::object()), (Names{"Gather_0", "LSTM_0", "MatMul_0", "MatMul_1"}));
  EXPECT_EQ(quantized(dynamic, {{"OpTypesToQuantize", {"LSTM"}}}), Names{"LSTM_0"});
  EXPECT_EQ(quantized(dynamic, {{"EnableNPUTransformer", true}}), (Names{"MatMul_0", "MatMul_1"}));
}

TEST(Placement, ASmallTableSaysWhyItStaysInFloat) {
  const Plan plan = plan_of(without_pairs(), parse_config(schemes::table().make("dynamic")->words()));
  EXPECT_EQ(plan.skipped.at("Gather_1"), "its table has 160 values: tables of fewer than 1024 stay in float");
}

// Durations of letters, rounded up, say how long the output is.
TEST(Placement, WhatDecidesTheLengthStaysInFloat) {
  for (const bool open : {true, false}) {
    Builder b;
    const auto x = b.input("x", {1, 4});
    const auto durations = b.node("MatMul", {x, b.weights({4, 4})});
    const auto sum = b.node("ReduceSum", {b.node("Ceil", {b.node("Exp", {durations})})}, {{"keepdims", int64_t{0}}});
    const auto count = b.node("Cast", {sum}, {{"to", static_cast<int64_t>(DataType::int64)}});
    const auto zero = b.constant(Tensor::scalar(int64_t{0})), one = b.constant(Tensor::scalar(int64_t{1}));
    const auto times = b.node("Cast", {b.node("Range", {zero, count, one})}, {{"to", static_cast<int64_t>(DataType::float32)}});
    auto model = b.finish({b.node("Add", {times, b.node("MatMul", {x, b.weights({4, 1})})})});
    model.outputs.front() = {model.outputs.front().name, DataType::float32, Shape{1, open ? -1 : 9}, {"", ""}};
    for (const DataType activation : {DataType::uint8, DataType::float32}) {
      const Plan plan = plan_of(model, config_of(activation, false, Granularity::channel));
      EXPECT_EQ(plan.nodes.contains("MatMul_0"), !open);
      EXPECT_TRUE(plan.nodes.contains("MatMul_1"));
      if (open) {
        EXPECT_NE(plan.skipped.at("MatMul_0").find("how many values"), std::string::npos);
      }
    }
  }
}

}  // namespace
}  // namespace quasar::quant
