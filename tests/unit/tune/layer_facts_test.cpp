// What a report says of single operators.
#include "quasar/tune/layer_facts.hpp"

#include <gtest/gtest.h>

namespace quasar::tune {
namespace {

TEST(Portrait, OperatorsIn16BitFloatsStandBetweenCasts) {
  graph::Model model;
  for (const char* name : {"a", "b"})
    model.nodes.push_back(
        {.name = name, .op_type = "Sigmoid", .domain = "", .inputs = {"x"}, .outputs = {std::string("y") + name}});
  // A bias's sum writes no value of its own.
  model.nodes.push_back({.name = "sum", .op_type = "Add", .domain = "", .inputs = {"x", "b"}, .outputs = {"s"}});
  model.nodes.push_back({.name = "relu", .op_type = "Relu", .domain = "", .inputs = {"s"}, .outputs = {"r"}});
  quant::Plan plan;
  plan.values["r"] = {.type = DataType::bfloat16, .scales = {1}, .zero_points = {0}};
  plan.values["ya"] = {.type = DataType::float16, .scales = {1}, .zero_points = {0}};
  plan.values["yb"] = {.type = DataType::int16, .scales = {0.1F}, .zero_points = {0}};
  plan.nodes = {{"a", {}}, {"b", {}}, {"sum", {}}, {"relu", {}}};
  const stats::Statistics seen;
  const std::map<std::string, bool> runs;
  const Json rounding;
  const auto layers = layers_of({model, plan, seen, runs, rounding}, {});
  EXPECT_EQ(layers[0].why, "ONNX Runtime runs it in float between casts to 16-bit floats");
  EXPECT_EQ(layers[1].why, "ONNX Runtime runs it in float between Q/DQ pairs");
  EXPECT_EQ(layers[2].why, "ONNX Runtime runs it in float between casts to 16-bit floats");
}

}  // namespace
}  // namespace quasar::tune
