// Layers behind selections, whose rows are others once the model is quantized.
#include <gtest/gtest.h>

#include "quasar/rounding/rounding_layers.hpp"
#include "quasar/rounding/weighted_rows.hpp"
#include "unit/rounding/rounding_models.hpp"

namespace quasar::tune {
namespace {

// x → MatMul → TopK of its own values' sums → rows in that order → MatMul
graph::Model with_selection() {
  graph::Model model;
  model.opsets[""] = 13;
  model.inputs = {{"x", DataType::float32, Shape{40, 6}}};
  model.outputs = {{"y", DataType::float32, Shape{10, 6}}, {"z", DataType::float32, Shape{40, 6}}};
  model.initializers["w1"] = random_tensor({6, 6}, 1, 0.4F);
  model.initializers["w2"] = random_tensor({6, 6}, 2, 0.4F);
  model.initializers["w3"] = random_tensor({6, 6}, 3, 0.4F);
  model.initializers["k"] = Tensor::of<int64_t>({1}, {10});
  const auto add = [&](std::string name, std::string type, std::vector<std::string> inputs, std::vector<std::string> outputs,
                       std::vector<graph::Attribute> attributes = {}) {
    model.nodes.push_back({.name = std::move(name),
                           .op_type = std::move(type),
                           .domain = "",
                           .inputs = std::move(inputs),
                           .outputs = std::move(outputs),
                           .attributes = std::move(attributes)});
  };
  add("first", "MatMul", {"x", "w1"}, {"f"});
  add("score", "ReduceMax", {"f"}, {"s"}, {{"axes", std::vector<int64_t>{1}}, {"keepdims", int64_t{0}}});
  add("top", "TopK", {"s", "k"}, {"most", "order"}, {{"axis", int64_t{0}}});
  add("rows", "Gather", {"f", "order"}, {"chosen"}, {{"axis", int64_t{0}}});
  add("behind", "MatMul", {"chosen", "w2"}, {"y"});
  add("beside", "MatMul", {"f", "w3"}, {"z"});
  return model;
}

data::DatasetPtr rows(size_t count) {
  return std::make_shared<GeneratedSamples>(count, [](size_t i) { return data::Sample{random_tensor({40, 6}, 10 + i, 1)}; });
}

// Which rows are chosen changes with the scores, and a row must not be rounded for another one's float value.
TEST(Rounding, RowsThatQuantizationReordersAreNotRoundedFor) {
  const graph::Model model = with_selection();
  const auto samples = rows(16);
  quant::Plan plan = plan_for(model, *samples, "gptq", {});
  EXPECT_EQ(out_of_order(model, plan), (std::set<std::string>{"rows", "behind"}));
  const RoundingReport report = Rounder(model, samples).improve(plan);
  ASSERT_EQ(report.kept.size(), 1U);
  EXPECT_TRUE(report.kept[0].starts_with("behind: which rows it gets, and in which order")) << report.kept[0];
  EXPECT_FALSE(plan.nodes.at("behind").weight->optimized);
  EXPECT_TRUE(plan.nodes.at("first").weight->optimized);
  EXPECT_TRUE(plan.nodes.at("beside").weight->optimized);
}

// Scattered back they are in order; what is chosen by an input of the model never was out of it.
TEST(Rounding, RowsThatAreScatteredBackAreInOrder) {
  graph::Model model = with_selection();
  const auto samples = rows(4);
  quant::Plan plan = plan_for(model, *samples, "gptq", {});
  model.nodes.push_back({.name = "back", .op_type = "ScatterND", .domain = "", .inputs = {"z", "order", "y"}, .outputs = {"b"}});
  model.nodes.push_back({.name = "last", .op_type = "MatMul", .domain = "", .inputs = {"b", "w2"}, .outputs = {"l"}});
  EXPECT_EQ(out_of_order(model, plan), (std::set<std::string>{"rows", "behind"}));
  model.nodes[1].inputs = {"x"};
  plan.nodes.erase("score");
  EXPECT_TRUE(out_of_order(model, plan).empty());
}

TEST(WeightedRows, ValuesOfAnotherNumberAreAllWrong) {
  const Tensor four = Tensor::of<float>({4}, {1, 2, 3, 4}), two = Tensor::of<float>({2}, {1, 2});
  EXPECT_EQ(squared_distance(two, four, Weighting(four, {})), 30);
}

}  // namespace
}  // namespace quasar::tune
