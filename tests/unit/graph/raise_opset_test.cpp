#include <gtest/gtest.h>

#include "quasar/base/error.hpp"
#include "quasar/graph/load.hpp"
#include "small_models.hpp"
#include "wire.hpp"

namespace quasar::graph {
namespace {

// x -> node -> y at an old opset.
Model around(Node node, int64_t opset, Shape shape = {2, 3, 4, 5}) {
  Model model;
  model.opsets = {{"", opset}};
  model.inputs = {tensor_value("x", std::move(shape))};
  model.outputs = {{"y", DataType::float32}};
  model.nodes = {std::move(node)};
  return model;
}

Node node_of(const std::string& op, std::vector<Attribute> attributes) {
  Node node{"n", op, "", {"x"}, {"y"}};
  node.attributes = std::move(attributes);
  return node;
}

std::vector<std::string> operators(const Model& model) {
  std::vector<std::string> out;
  for (const auto& node : model.nodes) out.push_back(node.op_type);
  return out;
}

// The values of the node's constant inputs from the second on.
std::vector<std::vector<double>> constants(const Model& model) {
  std::vector<std::vector<double>> out;
  const Node& node = *Index(model).node("n");
  for (size_t i = 1; i < node.inputs.size(); ++i) out.push_back(to_doubles(*model.initializer(node.inputs[i])));
  return out;
}

TEST(RaiseOpset, AttributesBecomeInputs) {
  using Constants = std::vector<std::vector<double>>;
  struct Case {
    Node node;
    int64_t opset;
    std::string op;
    Constants constants;
  };
  const std::vector<int64_t> pads{0, 0, 1, 2, 0, 0, 1, 0};
  const std::vector<double> padding(pads.begin(), pads.end());
  const std::vector<Case> cases{
      {node_of("Clip", {{"min", -0.5F}, {"max", 2.0F}}), 7, "Clip", {{-0.5}, {2}}},
      {node_of("Clip", {}), 10, "Clip", {}},
      {node_of("Pad", {{"pads", pads}}), 7, "Pad", {padding, {0}}},
      {node_of("Pad", {{"pads", pads}, {"value", 3.0F}}), 10, "Pad", {padding, {3}}},
      {node_of("Pad", {{"pads", pads}, {"mode", std::string("reflect")}, {"value", 0.0F}}), 9, "Pad", {padding}},
      {node_of("Slice",
               {{"starts", std::vector<int64_t>{1}}, {"ends", std::vector<int64_t>{3}}, {"axes", std::vector<int64_t>{2}}}),
       9,
       "Slice",
       {{1}, {3}, {2}}},
      {node_of("Upsample", {{"scales", std::vector<float>{1, 1, 2, 2}}}), 7, "Resize", {{}, {1, 1, 2, 2}}},
      {node_of("ReduceSum", {{"axes", std::vector<int64_t>{-1}}}), 11, "ReduceSum", {{-1}}},
      {node_of("Unsqueeze", {{"axes", std::vector<int64_t>{0}}}), 12, "Unsqueeze", {{0}}},
      {node_of("Dropout", {{"ratio", 0.25F}}), 7, "Dropout", {{0.25}}},
  };
  for (const auto& [node, opset, op, expected] : cases) {
    const Model raised = raise_opset(around(node, opset), 13);
    EXPECT_EQ(raised.opset(), 13);
    EXPECT_EQ(operators(raised), (std::vector<std::string>{op}));
    EXPECT_EQ(raised.nodes[0].name, "n");
    EXPECT_EQ(constants(raised), expected) << op;
    EXPECT_EQ(raised.nodes[0].find("value"), nullptr);
  }
}

Node batch_norm(int64_t spatial) {
  Node node{"n", "BatchNormalization", "", {"x", "v", "v", "v", "v"}, {"y"}};
  node.set({"spatial", spatial});
  return node;
}

TEST(RaiseOpset, BatchNormalizationLosesSpatial) {
  Model model = around(batch_norm(1), 7);
  model.initializers["v"] = Tensor::of<float>({3}, {1, 2, 3});
  EXPECT_EQ(raise_opset(model, 13).nodes[0].find("spatial"), nullptr);
}

TEST(RaiseOpset, ResizeKeepsItsOldCoordinates) {
  for (const auto& [scale, rounding] : {std::pair{2.0F, "floor"}, {0.5F, "ceil"}}) {
    Model model = around({"n", "Resize", "", {"x", "s"}, {"y"}}, 10);
    model.initializers["s"] = Tensor::of<float>({4}, {1, 1, scale, scale});
    const Model raised = raise_opset(model, 13);
    EXPECT_EQ(raised.nodes[0].text("coordinate_transformation_mode", ""), "asymmetric");
    EXPECT_EQ(raised.nodes[0].text("nearest_mode", ""), rounding);
  }
}

// One nearest_mode cannot serve both: ONNX Runtime rounded up where it shrank and down where it enlarged.
TEST(RaiseOpset, ResizeThatShrinksAndEnlargesBecomesTwo) {
  Model model = around({"n", "Resize", "", {"x", "s"}, {"y"}}, 10);
  model.initializers["s"] = Tensor::of<float>({4}, {1, 1, 0.5F, 2});
  const Model raised = raise_opset(model, 13);
  ASSERT_EQ(operators(raised), (std::vector<std::string>{"Resize", "Resize"}));
  EXPECT_EQ(raised.nodes[0].text("nearest_mode", ""), "ceil");
  EXPECT_EQ(to_doubles(*raised.initializer(raised.nodes[0].inputs[2])), (std::vector<double>{1, 1, 0.5, 1}));
  EXPECT_EQ(raised.nodes[1].name, "n");
  EXPECT_EQ(raised.nodes[1].text("nearest_mode", ""), "floor");
  EXPECT_EQ(to_doubles(*raised.initializer(raised.nodes[1].inputs[2])), (std::vector<double>{1, 1, 1, 2}));
}

TEST(RaiseOpset, SoftmaxOverSeveralAxesIsFlattened) {
  const std::vector<std::string> flattened{"Flatten", "Softmax", "Shape", "Reshape"};
  EXPECT_EQ(operators(raise_opset(around(node_of("Softmax", {}), 7), 13)), flattened);
  EXPECT_EQ(operators(raise_opset(around(node_of("Softmax", {{"axis", int64_t{-2}}}), 11), 13)), flattened);
  for (const auto& model :
       {around(node_of("Softmax", {}), 7, {-1, 10}), around(node_of("Softmax", {{"axis", int64_t{3}}}), 12)}) {
    const Model raised = raise_opset(model, 13);
    ASSERT_EQ(operators(raised), (std::vector<std::string>{"Softmax"}));
    EXPECT_EQ(raised.nodes[0].integer("axis", 0), -1);
  }
}

// libonnx looks for the kernel in the weights, and once read beyond their end.
TEST(RaiseOpset, ConvolutionsThatLeaveTheirKernelToTheWeights) {
  Model model = around({"n", "Conv", "", {"x", "w"}, {"c"}}, 7);
  model.nodes[0].attributes = {{"auto_pad", std::string("SAME_UPPER")}};
  model.nodes.push_back({"softmax", "Softmax", "", {"c"}, {"y"}});
  model.initializers["w"] = Tensor::of(Shape{1, 3, 1, 1}, std::vector<float>{1, 2, 3});
  EXPECT_EQ(operators(raise_opset(model, 13)), (std::vector<std::string>{"Conv", "Flatten", "Softmax", "Shape", "Reshape"}));
  model.nodes[1].op_type = "Relu";
  for (const Shape& shape : {Shape{3}, Shape{1, 3}, Shape{1, 3, 1}, Shape{1, 3, 1, 1, 1}}) {
    model.initializers["w"] = Tensor::of(shape, std::vector<float>{1, 2, 3});
    EXPECT_EQ(operators(raise_opset(model, 13)), (std::vector<std::string>{"Conv", "Relu"})) << to_string(shape);
  }
  model.initializers.clear();
  model.opsets["own"] = 1;
  model.nodes.insert(model.nodes.begin(), {"maker", "Maker", "own", {"x"}, {"w"}});
  EXPECT_EQ(operators(raise_opset(model, 13)), (std::vector<std::string>{"Maker", "Conv", "Relu"}));
}

TEST(RaiseOpset, WeightsAreSharedAndOtherDomainsStay) {
  Model model = small_model();
  model.opsets = {{"", 9}, {"com.microsoft", 1}};
  model.nodes[1] = {"gelu", "Gelu", "com.microsoft", {"c"}, {"y"}};
  const Model raised = raise_opset(model, 13);
  EXPECT_EQ(raised.initializers.at("w").bytes().data(), model.initializers.at("w").bytes().data());
  EXPECT_EQ(raised.nodes[1].domain, "com.microsoft");
  EXPECT_EQ(raised.opsets.at("com.microsoft"), 1);
  EXPECT_EQ(raised.inputs[0].symbols, model.inputs[0].symbols);
}

TEST(RaiseOpset, SubgraphsShareTheOpset) {
  using namespace wire;
  const std::string axes = wire::attribute("axes", 7, number(8, 0));
  const std::string squeeze = wire::node({"Squeeze", {"a"}, {"b"}, axes}) + wire::output("b");
  const std::string identity = wire::node({"Identity", {"a"}, {"d"}}) + wire::output("d");
  const std::string branches =
      wire::attribute("then_branch", 5, bytes(6, squeeze)) + wire::attribute("else_branch", 5, bytes(6, identity));
  const Model old = from_bytes(wire::model(wire::input("x") + wire::input("c") + wire::output("y") +
                                               wire::node({"Relu", {"x"}, {"a"}}) + wire::node({"If", {"c"}, {"y"}, branches}),
                                           6, 11),
                               "test");
  const Model raised = raise_opset(old, 13);
  EXPECT_EQ(raised.nodes[1].captures, (std::vector<std::string>{"a"}));
  const std::string written = to_bytes(raised);
  EXPECT_EQ(written.find(axes), std::string::npos);        // the attribute …
  EXPECT_NE(written.find("Constant"), std::string::npos);  // … is an input now
}

// As Faster R-CNN has it, for pictures without boxes.
TEST(RaiseOpset, ABranchThatIsNothingButAConstantStays) {
  using namespace wire;
  const std::string none = bytes(5, number(1, 0) + number(2, static_cast<int>(DataType::int64)));
  const std::string constant = wire::node({"Constant", {}, {"d"}, wire::attribute("value", 4, none)}) + wire::output("d");
  const std::string identity = wire::node({"Identity", {"x"}, {"b"}}) + wire::output("b");
  const std::string branches =
      wire::attribute("then_branch", 5, bytes(6, identity)) + wire::attribute("else_branch", 5, bytes(6, constant));
  const Model old = from_bytes(
      wire::model(wire::input("x") + wire::input("c") + wire::output("y") + wire::node({"If", {"c"}, {"y"}, branches}), 6, 12),
      "test");
  const std::string written = to_bytes(raise_opset(old, 13));
  EXPECT_NE(written.find("Constant"), std::string::npos);
  EXPECT_NE(written.find(none), std::string::npos);
}

TEST(RaiseOpset, FromSeventeenToNineteenAxesAreInputsAndSplitsHaveTheirNumber) {
  const std::vector<int64_t> axes{2, 3};
  for (const int64_t opset : {13, 17}) {
    const Model raised = raise_opset(around(node_of("ReduceMean", {{"axes", axes}, {"keepdims", int64_t{0}}}), opset), 19);
    EXPECT_EQ(raised.opset(), 19);
    EXPECT_EQ(raised.ir_version, 9);
    EXPECT_EQ(constants(raised), (std::vector<std::vector<double>>{{2, 3}}));
    EXPECT_EQ(raised.nodes[0].find("axes"), nullptr);
    EXPECT_EQ(raised.nodes[0].integer("keepdims", 1), 0);
    Node split{"n", "Split", "", {"x"}, {"y", "z"}};
    EXPECT_EQ(raise_opset(around(split, opset), 19).nodes[0].integer("num_outputs", 0), 2);
    split.inputs.push_back("sizes");
    Model sized = around(split, opset);
    sized.initializers["sizes"] = Tensor::of<int64_t>({2}, {1, 1});
    EXPECT_EQ(raise_opset(sized, 19).nodes[0].find("num_outputs"), nullptr);
  }
  const Model newer = around(node_of("ReduceMean", {}), 18);
  EXPECT_EQ(raise_opset(newer, 19).nodes[0].inputs.size(), 1U);
}

TEST(RaiseOpset, WhatCannotBeConvertedIsNamed) {
  const auto message_of = [](const Model& model, int64_t version) -> std::string {
    try {
      raise_opset(model, version);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  Model scan = around(node_of("Scan", {{"num_scan_inputs", int64_t{1}}}), 8);
  EXPECT_NE(message_of(scan, 13).find("node 'n': operator Scan cannot be raised from opset 8 to 13"), std::string::npos);
  Model norm = around(batch_norm(0), 7);
  norm.initializers["v"] = Tensor::of<float>({3}, {1, 2, 3});
  EXPECT_NE(message_of(norm, 13).find("spatial"), std::string::npos);
  Model pad = around(node_of("Pad", {{"pads", 1.0F}}), 7);
  EXPECT_NE(message_of(pad, 13).find("pads"), std::string::npos);
  EXPECT_NE(message_of(small_model(), 20).find("up to 19"), std::string::npos);
  EXPECT_EQ(message_of(small_model(), 12), "");
}

}  // namespace
}  // namespace quasar::graph
