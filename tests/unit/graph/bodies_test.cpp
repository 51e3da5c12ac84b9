#include "quasar/graph/bodies.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "quasar/graph/load.hpp"
#include "unit/error_of.hpp"
#include "unit/runtime/models.hpp"
#include "wire.hpp"

namespace quasar::graph {
namespace {

using wire::attribute;
using wire::bytes;
using wire::input;
using wire::node;
using wire::node_name;
using wire::output;
using wire::tensor;

std::string weight(const std::string& name, float value) {
  return bytes(5, bytes(8, name) + tensor(1, {1}, wire::real(4, value)));
}

// Both branches call their values "r" and their weights "w"; one has another If inside, whose branch reads two levels out.
Model two_levels() {
  const std::string deep = node({"Add", {"x", "r"}, {"d"}, node_name("sum")}) + output("d");
  const std::string same = node({"Identity", {"r"}, {"s"}}) + output("s");
  const std::string one =
      weight("w", 2) + node({"Mul", {"a", "w"}, {"r"}, node_name("twice")}) +
      node({"If",
            {"c"},
            {"q"},
            node_name("inner") + attribute("then_branch", 5, bytes(6, deep)) + attribute("else_branch", 5, bytes(6, same))}) +
      output("q");
  const std::string other = weight("w", 3) + node({"Mul", {"a", "w"}, {"r"}, node_name("twice")}) + output("r");
  return from_bytes(wire::model(input("x") + input("c") + output("y") + node({"Relu", {"x"}, {"a"}}) +
                                node({"If",
                                      {"c"},
                                      {"y"},
                                      node_name("choose") + attribute("then_branch", 5, bytes(6, one)) +
                                          attribute("else_branch", 5, bytes(6, other))})),
                    "test");
}

TEST(Bodies, OpenNodesHaveUniqueNamesAndOneGraph) {
  const Model model = opened(two_levels());
  verify(model, "test");
  const Index index(model);
  const Node* sum = index.node("choose/then_branch/inner/then_branch/sum");
  ASSERT_NE(sum, nullptr);
  EXPECT_EQ(sum->inside, "choose/then_branch/inner/then_branch");
  const Node* twice = index.node("choose/else_branch/twice");
  ASSERT_NE(twice, nullptr);
  EXPECT_NE(twice->outputs, index.node("choose/then_branch/twice")->outputs);
  EXPECT_EQ(model.initializer(twice->inputs[1])->as<float>()[0], 3);
  EXPECT_EQ(model.initializer(index.node("choose/then_branch/twice")->inputs[1])->as<float>()[0], 2);
  ASSERT_EQ(owners_of(*sum, index).size(), 2U);
  EXPECT_EQ(owners_of(*sum, index).back()->name, "choose");
  EXPECT_EQ(model.nodes.back().name, "choose");
  EXPECT_EQ(model.nodes.back().captures.size(), 2U);
}

TEST(Bodies, ClosedModelsHaveTheBodiesOfTheFirst) {
  const Model first = two_levels(), again = closed(opened(first));
  verify(again, "test");
  ASSERT_EQ(again.nodes.size(), 2U);
  EXPECT_FALSE(has_open_bodies(again));
  EXPECT_TRUE(std::ranges::count(again.nodes[1].captures, "a") == 1 && std::ranges::count(again.nodes[1].captures, "x") == 1);
  const Model reopened = opened(from_bytes(to_bytes(opened(first)), "test"));
  std::vector<std::string> names, others;
  for (const auto& node : opened(first).nodes) names.push_back(node.name);
  for (const auto& node : reopened.nodes) others.push_back(node.name);
  EXPECT_EQ(names, others);  // names that have their body before them keep it once
}

// An output that one branch leaves out is not what the other one leaves out.
TEST(Bodies, WhatIsLeftOutStandsNowhere) {
  const std::string one = weight("w", 2) + node({"GRU", {"a", "w", "w"}, {"", "h"}, node_name("state")}) + output("h");
  const std::string other = weight("w", 3) + node({"Clip", {"a", "", "w"}, {"r"}, node_name("bound")}) + output("r");
  const Model model = from_bytes(wire::model(input("x") + input("c") + output("y") + node({"Relu", {"x"}, {"a"}}) +
                                             node({"If",
                                                   {"c"},
                                                   {"b"},
                                                   node_name("choose") + attribute("then_branch", 5, bytes(6, one)) +
                                                       attribute("else_branch", 5, bytes(6, other))}) +
                                             node({"Clip", {"b", "", "a"}, {"y"}, node_name("last")})),
                                 "test");
  const Model open = opened(model), again = closed(open);
  verify(again, "test");
  const Index index(open);
  EXPECT_EQ(index.node("choose/then_branch/state")->inside, "choose/then_branch");
  EXPECT_EQ(index.node("choose/else_branch/bound")->inside, "choose/else_branch");
  EXPECT_EQ(again.nodes.size(), model.nodes.size()) << "'last' stays outside";
}

// x ─Q─DQ─▶ read by a branch and by the model's own graph.
TEST(Bodies, EachGraphHasItsOwnDequantizeLinear) {
  Model model = opened(two_levels());
  model.initializers["scale"] = Tensor::scalar(0.5F);
  model.initializers["zero"] = Tensor::scalar<uint8_t>(0);
  for (auto& node : model.nodes) {
    if (!node.inside.empty()) std::ranges::replace(node.inputs, std::string("a"), std::string("a_pair"));
  }
  model.nodes.push_back({"q", "QuantizeLinear", "", {"a", "scale", "zero"}, {"codes"}});
  model.nodes.push_back({"dq", "DequantizeLinear", "", {"codes", "scale", "zero"}, {"a_pair"}});
  sort_nodes(model);
  const Model again = closed(model);
  verify(again, "test");
  const Index index(again);
  EXPECT_NE(index.node("q"), nullptr);  // two branches read it
  EXPECT_EQ(index.node("dq"), nullptr);
  const Node& choose = again.nodes.back();
  EXPECT_EQ(std::ranges::count(choose.captures, "codes"), 1);
  EXPECT_EQ(std::ranges::count(choose.captures, "a_pair"), 0);
}

TEST(Bodies, NodesThatAreAddedStandWhereTheirValuesAre) {
  Model model = opened(two_levels());
  const Index index(model);
  const std::string inner = index.node("choose/else_branch/twice")->outputs[0];
  model.nodes.push_back({"own", "Neg", "", {"a"}, {"outer_negated"}});
  model.nodes.push_back({"deep", "Neg", "", {inner}, {"inner_negated"}});
  sort_nodes(model);
  place_in_bodies(model);
  const Index placed(model);
  EXPECT_EQ(placed.node("own")->inside, "");
  EXPECT_EQ(placed.node("deep")->inside, "choose/else_branch");
  EXPECT_TRUE(inner_values(model).contains("inner_negated"));
}

TEST(Bodies, WhatALoopHandsInHasItsTypes) {
  const Model loop = test::endless_loop(4), model = opened(loop);
  verify(model, "test");
  const auto entry = std::ranges::find(model.nodes, std::string(entry_domain), &Node::domain);
  ASSERT_NE(entry, model.nodes.end());
  EXPECT_EQ(entry->outputs, (std::vector<std::string>{"round", "go_on", "v"}));
  EXPECT_EQ(entry->integers("types"), (std::vector<int64_t>{7, 9, 1}));
  EXPECT_EQ(closed(model).nodes.size(), loop.nodes.size());
}

// One message of Quasar's own: ONNX Runtime's names neither branch.
TEST(Bodies, BranchesOfDifferentTypesAreAnError) {
  const auto choosing = [](DataType one, DataType other, bool second) {
    Model model = test::empty_model();
    const auto branch = [&](const char* name, const std::string& from, DataType type, bool again) {
      std::vector<std::string> outputs{test::value_bytes(from, type, {2})};
      if (again) outputs.push_back(test::value_bytes(from, type, {2}));
      return test::subgraph(name, {test::node_bytes("Identity", {"x"}, from)}, {}, outputs);
    };
    model.nodes = {test::node("If", "choose", {"c"}, {"y"},
                              {branch("then_branch", "a", one, false), branch("else_branch", "b", other, second)})};
    model.inputs = {test::float_value("x", {2}), {.name = "c", .type = DataType::boolean, .shape = Shape{}}};
    model.outputs = {test::float_value("y", {2})};
    return test::error_of([&] { opened(model); });
  };
  EXPECT_EQ(choosing(DataType::float32, DataType::int64, false),
            "the branches of If 'choose' do not fit together: for its output 'y' then_branch gives float32 ('a'), and "
            "else_branch int64 "
            "('b'); ONNX wants one type: put a Cast into one of them, or export the model anew");
  EXPECT_EQ(choosing(DataType::float32, DataType::float32, true),
            "the branches of If 'choose' do not fit together: then_branch gives 1 outputs, else_branch 2");
  EXPECT_EQ(choosing(DataType::float32, DataType::float32, false), "no error");
  EXPECT_EQ(choosing(DataType::float32, DataType::undefined, false), "no error");
}

TEST(Bodies, OtherGraphsStayClosed) {
  Model model = two_levels();
  model.nodes.back().op_type = "BeamSearch";
  model.nodes.back().domain = "com.microsoft";
  EXPECT_FALSE(has_open_bodies(opened(model)));
}

TEST(Bodies, ANodeOfTwoBranchesIsAnError) {
  Model model = opened(two_levels());
  const Index index(model);
  const std::string one = index.node("choose/then_branch/twice")->outputs[0];
  const std::string other = index.node("choose/else_branch/twice")->outputs[0];
  model.nodes.push_back({"both", "Add", "", {one, other}, {"b"}});
  EXPECT_NE(test::error_of([&] { closed(model); }).find("which no graph has both"), std::string::npos);
}

}  // namespace
}  // namespace quasar::graph
