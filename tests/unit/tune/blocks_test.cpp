#include "quasar/tune/blocks.hpp"

#include <gtest/gtest.h>

namespace quasar::tune {
namespace {

using Blocks = std::vector<std::vector<std::string>>;

// Nodes are named after their outputs.
struct Net {
  graph::Model model;
  std::set<std::string> names;

  void add(const std::string& output, const std::string& type, std::vector<std::string> inputs, int64_t stride = 1) {
    graph::Node node{.name = output, .op_type = type, .domain = "", .inputs = std::move(inputs), .outputs = {output}};
    if (type == "Conv") {
      const std::string weights = output + "_w";
      model.initializers[weights] = Tensor::of(Shape{2, 2, 1, 1}, std::vector<float>(4, 1));
      node.inputs.push_back(weights);
      node.set({"strides", std::vector<int64_t>{stride, stride}});
    }
    model.nodes.push_back(node);
    names.insert(output);
  }
  Blocks blocks() const { return blocks_of(model, names); }
};

TEST(Blocks, AResidualBlockIsWhatLiesBetweenTwoCuts) {
  Net net;
  net.add("stem", "Conv", {"x"});
  net.add("a", "Conv", {"stem"});
  net.add("b", "Conv", {"a"});
  net.add("sum", "Add", {"b", "stem"});
  net.add("c", "Conv", {"sum"});
  net.add("d", "Conv", {"c"});
  net.add("sum2", "Add", {"d", "sum"});
  net.add("y", "Conv", {"sum2"});
  net.model.outputs = {{"y"}};
  EXPECT_EQ(net.blocks(), (Blocks{{"stem", "a", "b", "sum"}, {"c", "d", "sum2"}, {"y"}}));
}

TEST(Blocks, AChainIsCutWhereItShrinks) {
  Net net;
  net.add("a", "Conv", {"x"}, 2);
  net.add("b", "Conv", {"a"});
  net.add("c", "Conv", {"b"}, 2);
  net.add("d", "Conv", {"c"});
  net.model.outputs = {{"d"}};
  EXPECT_EQ(net.blocks(), (Blocks{{"a", "b"}, {"c", "d"}}));
}

// A mask that is made of an input alone and read in every block hides no cut.
TEST(Blocks, WhatNoWeightedLayerHasComputedDoesNotCount) {
  Net net;
  net.add("mask", "Sub", {"m", "m"});
  net.add("a", "Conv", {"x"});
  net.add("a2", "Add", {"a", "mask"});
  net.add("s", "Add", {"a2", "a"});
  net.add("b", "Conv", {"s"});
  net.add("b2", "Add", {"b", "mask"});
  net.add("t", "Add", {"b2", "b"});
  net.model.outputs = {{"t"}};
  EXPECT_EQ(net.blocks(), (Blocks{{"mask", "a", "a2", "s"}, {"b", "b2", "t"}}));
}

}  // namespace
}  // namespace quasar::tune
