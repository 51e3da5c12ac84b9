#include "quasar/sensitivity/blocks.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "quasar/strategy/fallback.hpp"

namespace quasar::tune {
namespace {

using Blocks = std::vector<std::vector<std::string>>;

// Nodes are named after their outputs.
struct Net {
  graph::Model model;
  std::set<std::string> names;

  void add(const std::string& output, const std::string& type, std::vector<std::string> inputs, int64_t stride = 1) {
    graph::Node node{.name = output, .op_type = type, .domain = "", .inputs = std::move(inputs), .outputs = {output}};
    if (type == "Conv" || type == "Gemm" || type == "Gather") {
      const std::string weights = output + "_w";
      model.initializers[weights] = Tensor::of(Shape{2, 2, 1, 1}, std::vector<float>(4, 1));
      node.inputs.push_back(weights);
    }
    if (type == "Conv") node.set({"strides", std::vector<int64_t>{stride, stride}});
    model.nodes.push_back(node);
    names.insert(output);
  }
  Blocks blocks() const { return blocks_of(model, names); }
};

// The chain before a residual block was taken for a part of it.
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
  EXPECT_EQ(net.blocks(), (Blocks{{"stem"}, {"a", "b", "sum"}, {"c", "d", "sum2"}, {"y"}}));
}

// As MobileNetV3's: a bottleneck with squeeze-and-excitation and no sum, then one with a sum; x * sigmoid(x) is an activation.
TEST(Blocks, GatesAreOfTheChainInWhichTheyStand) {
  Net net;
  net.add("wide", "Conv", {"x"});
  net.add("sigmoid", "Sigmoid", {"wide"});
  net.add("active", "Mul", {"wide", "sigmoid"});
  net.add("deep", "Conv", {"active"});
  net.add("gate", "Conv", {"deep"});
  net.add("gated", "Mul", {"deep", "gate"});
  net.add("narrow", "Conv", {"gated"});
  net.add("wide2", "Conv", {"narrow"});
  net.add("gate2", "Conv", {"wide2"});
  net.add("gated2", "Mul", {"wide2", "gate2"});
  net.add("narrow2", "Conv", {"gated2"});
  net.add("sum", "Add", {"narrow2", "narrow"});
  net.add("y", "Conv", {"sum"});
  net.model.outputs = {{"y"}};
  EXPECT_EQ(net.blocks(), (Blocks{{"wide", "sigmoid", "active", "deep", "gate", "gated", "narrow"},
                                  {"wide2", "gate2", "gated2", "narrow2", "sum"},
                                  {"y"}}));
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

// Layers of attention, x + attention(x): `side` is what all of them read.
struct Layers : Net {
  using Side = std::function<std::string(const std::string& scores)>;

  std::string attention(const std::string& name, const std::string& x, const std::string& memory, const Side& side) {
    add(name + "q", "Gemm", {x});
    add(name + "k", "Gemm", {memory});
    add(name + "v", "Gemm", {memory});
    add(name + "scores", "MatMul", {name + "q", name + "k"});
    add(name + "mixed", "MatMul", {side(name + "scores"), name + "v"});
    add(name + "o", "Gemm", {name + "mixed"});
    add(name + "sum", "Add", {name + "o", x});
    return name + "sum";
  }
  // The stream x, and how large it is.
  void embedded() {
    add("x", "Gather", {"ids"});
    add("size", "Shape", {"x"});
  }
  // Three of them on x; `sided(name, scores)`: what becomes of the scores of layer `name`.
  void three(const std::function<std::string(const std::string& name, const std::string& scores)>& sided) {
    std::string x = "x";
    for (const std::string name : {"1", "2", "3"})
      x = attention(name, x, x, [&](const std::string& scores) { return sided(name, scores); });
    model.outputs = {{x}};
  }
  // The same addend of their scores.
  void three_with(const std::string& addend) {
    three([&](const std::string& name, const std::string& scores) {
      add(name + "sided", "Add", {scores, addend});
      return name + "sided";
    });
  }
  // The layers that have products, by block: "12" for a block with those of layers 1 and 2.
  std::vector<std::string> layers() const {
    std::set<std::string> products;
    for (const auto& node : model.nodes) {
      if (node.is("Gemm")) products.insert(node.name);
    }
    std::vector<std::string> out;
    for (const auto& block : blocks_of(model, products)) {
      auto& word = out.emplace_back();
      for (const auto& name : block) {
        if (word.find(name.front()) == std::string::npos) word += name.front();
      }
    }
    return out;
  }
};

const std::vector<std::string> each{"1", "2", "3"};

// Nothing stands before the first layer.
TEST(Blocks, AttentionOnTheModelsInputIsOneBlock) {
  Layers net;
  net.three([](const std::string&, const std::string& scores) { return scores; });
  EXPECT_EQ(net.layers(), each);
}

TEST(Blocks, AttentionIsRecognized) {
  Layers with;
  with.three([&](const std::string& name, const std::string& scores) {
    with.add(name + "weights", "Softmax", {scores});
    return name + "weights";
  });
  EXPECT_TRUE(has_attention(with.model));
  Layers without;
  without.three([](const std::string&, const std::string& scores) { return scores; });
  EXPECT_FALSE(has_attention(without.model));
}

// As MiniLM's: how large the mask must be is asked of the embeddings, which makes no data of them.
TEST(Blocks, AMaskOfTheSizeOfTheEmbeddings) {
  Layers net;
  net.embedded();
  net.add("wide", "Expand", {"attention_mask", "size"});
  net.add("mask", "Where", {"wide", "low", "zero"});
  net.three_with("mask");
  EXPECT_EQ(net.layers(), each);
}

// Relative biases come from a table and from no sample.
TEST(Blocks, RelativeBiasesThatAllLayersShare) {
  Layers net;
  net.embedded();
  net.add("distances", "Range", {"size"});
  net.add("bias", "Gather", {"distances"});
  net.three_with("bias");
  EXPECT_EQ(net.layers(), each);
}

// Rotary tables from positions that are an input of the model: two values that every layer reads twice.
TEST(Blocks, RotaryTablesOfGivenPositions) {
  Layers net;
  net.add("angles", "Gather", {"position_ids"});
  net.add("cos", "Cos", {"angles"});
  net.add("sin", "Sin", {"angles"});
  net.add("x", "Gather", {"ids"});
  net.three([&](const std::string& name, const std::string& scores) {
    net.add(name + "cos", "Mul", {scores, "cos"});
    net.add(name + "sin", "Mul", {scores, "sin"});
    net.add(name + "turned", "Add", {name + "cos", name + "sin"});
    return name + "turned";
  });
  EXPECT_EQ(net.layers(), each);
}

// What the encoder gives is read by every layer of the decoder; both are streams.
TEST(Blocks, AnEncoderAndItsDecoder) {
  const auto plain = [](const std::string& scores) { return scores; };
  Layers net;
  net.add("x", "Gather", {"ids"});
  const std::string first = net.attention("1", "x", "x", plain), memory = net.attention("2", first, first, plain);
  net.add("y", "Gather", {"decoder_ids"});
  const std::string own = net.attention("3", "y", "y", plain), third = net.attention("4", own, memory, plain);
  const std::string next = net.attention("5", third, third, plain);
  net.model.outputs = {{net.attention("6", next, memory, plain)}};
  EXPECT_EQ(net.layers(), (std::vector<std::string>{"1", "2", "3", "4", "5", "6"}));
}

// A skip connection over half the network is of the stream: what lies under it is one block.
TEST(Blocks, AConnectionOverManyLayersIsNoSide) {
  Net net;
  net.add("a", "Conv", {"x"});
  net.add("b", "Conv", {"a"});
  net.add("c", "Conv", {"b"});
  net.add("d", "Add", {"c", "b"});
  net.add("e", "Concat", {"d", "a"});
  net.add("y", "Conv", {"e"});
  net.model.outputs = {{"y"}};
  EXPECT_EQ(net.blocks(), (Blocks{{"a"}, {"b", "c", "d", "e"}, {"y"}}));
}

TEST(Blocks, NeighboursAreJoinedWhereThereAreTooMany) {
  const Blocks five{{"a"}, {"b"}, {"c"}, {"d"}, {"e"}};
  EXPECT_EQ(at_most(five, 5), five);
  EXPECT_EQ(at_most(five, 3), (Blocks{{"a", "b"}, {"c", "d"}, {"e"}}));
  EXPECT_EQ(at_most(five, 2), (Blocks{{"a", "b", "c", "d"}, {"e"}}));
  EXPECT_EQ(at_most(five, 0), (Blocks{{"a", "b", "c", "d", "e"}}));
}

}  // namespace
}  // namespace quasar::tune
