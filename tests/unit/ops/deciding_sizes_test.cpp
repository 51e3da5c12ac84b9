#include "quasar/ops/deciding_sizes.hpp"

#include <gtest/gtest.h>

namespace quasar::ops {
namespace {

graph::Node made(const std::string& type, std::vector<std::string> inputs, const std::string& output) {
  return {.name = output + "_node", .op_type = type, .domain = "", .inputs = std::move(inputs), .outputs = {output}};
}

// Letters x [1, 4] -> MatMul, Exp: durations; their sum is the length of y, which a second product fills. `length`: the nodes
// from the durations to `count`, a whole number.
graph::Model speech(const std::vector<graph::Node>& length, std::vector<std::string> symbols = {"", "frames"}) {
  graph::Model out;
  out.opsets = {{"", 17}};
  out.inputs = {{"x", DataType::float32, Shape{1, 4}, {"", ""}}};
  out.outputs = {{"y", DataType::float32, Shape{1, -1}, std::move(symbols)}};
  out.initializers["w"] = Tensor::of(Shape{4, 4}, std::vector<float>(16, 0.5F));
  out.initializers["v"] = Tensor::of(Shape{4, 1}, std::vector<float>(4, 0.5F));
  out.initializers["zero"] = Tensor::scalar(int64_t{0});
  out.initializers["one"] = Tensor::scalar(int64_t{1});
  out.nodes = {made("MatMul", {"x", "w"}, "hidden"), made("Exp", {"hidden"}, "durations")};
  out.nodes.insert(out.nodes.end(), length.begin(), length.end());
  out.nodes.push_back(made("Range", {"zero", "count", "one"}, "positions"));
  out.nodes.push_back(made("MatMul", {"x", "v"}, "loudness"));
  out.nodes.push_back(made("Cast", {"positions"}, "times"));
  out.nodes.push_back(made("Add", {"times", "loudness"}, "y"));
  return out;
}

std::set<std::string> deciding(const graph::Model& model) {
  return nodes_deciding_sizes(graph::Index(model));
}

TEST(DecidingSizes, WhatPredictsALength) {
  const auto found = deciding(
      speech({made("Ceil", {"durations"}, "whole"), made("ReduceSum", {"whole"}, "sum"), made("Cast", {"sum"}, "count")}));
  EXPECT_EQ(found, (std::set<std::string>{"hidden_node", "durations_node", "whole_node", "sum_node", "count_node"}));
}

TEST(DecidingSizes, ShapesAndWhatIsChosenAreNoPrediction) {
  EXPECT_EQ(deciding(speech({made("Shape", {"durations"}, "shape"), made("Squeeze", {"shape"}, "count")})),
            (std::set<std::string>{"count_node"}));
  EXPECT_TRUE(deciding(speech({made("NonZero", {"durations"}, "found"), made("ReduceMax", {"found"}, "count")})).empty());
}

// The same length as the input's, or a number: whatever is computed, it comes out so.
TEST(DecidingSizes, OutputsOfKnownSizeDependOnNone) {
  const std::vector<graph::Node> length{made("ReduceSum", {"durations"}, "sum"), made("Cast", {"sum"}, "count")};
  graph::Model model = speech(length, {"", "letters"});
  model.inputs.front().shape = Shape{1, -1};
  model.inputs.front().symbols = {"", "letters"};
  EXPECT_TRUE(deciding(model).empty());
  EXPECT_FALSE(deciding(speech(length)).empty());
  model.outputs.front().shape = Shape{1, 7};
  EXPECT_TRUE(deciding(model).empty());
}

// A crop by predicted corners: its size may be the same whatever these are, and all that they come from would stay in float.
TEST(DecidingSizes, CropsAreNotFollowed) {
  graph::Model model = speech(
      {made("Cast", {"durations"}, "corner"), made("Slice", {"x", "corner", "corner"}, "cut"), made("Shape", {"cut"}, "count")});
  EXPECT_EQ(deciding(model).count("hidden_node"), 0U);
}

}  // namespace
}  // namespace quasar::ops
