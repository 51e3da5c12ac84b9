#include "quasar/graph/model.hpp"

#include <gtest/gtest.h>

#include "quasar/base/error.hpp"
#include "small_models.hpp"

namespace quasar::graph {
namespace {

std::string message_of(const Model& model) {
  try {
    verify(model, "here");
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(Node, AttributesAreFoundOrReplacedByTheFallback) {
  Node node{"n", "Conv", "", {}, {}};
  node.set({"group", int64_t{2}});
  node.set({"group", int64_t{3}});
  EXPECT_EQ(node.attributes.size(), 1);
  EXPECT_EQ(node.integer("group", 1), 3);
  EXPECT_EQ(node.integer("missing", 1), 1);
  EXPECT_EQ(node.text("auto_pad", "NOTSET"), "NOTSET");
  EXPECT_THROW(node.real("group", 1), Error);
}

TEST(Index, FindsProducersAndConsumers) {
  Model model = small_model();
  model.nodes[1].inputs = {"c", "c"};
  model.nodes[1].captures = {"w"};
  const Index index(model);
  EXPECT_EQ(index.producer("c"), &model.nodes[0]);
  EXPECT_EQ(index.producer("x"), nullptr);
  EXPECT_EQ(index.consumers("c"), (std::vector<const Node*>{&model.nodes[1]}));
  EXPECT_EQ(index.consumers("w"), (std::vector<const Node*>{&model.nodes[0], &model.nodes[1]}));
  EXPECT_TRUE(index.consumers("y").empty());
  EXPECT_TRUE(index.is_output("y"));
  EXPECT_EQ(index.node("relu"), &model.nodes[1]);
}

TEST(Names, AreFresh) {
  Names names(small_model());
  EXPECT_EQ(names.fresh("new"), "new");
  EXPECT_EQ(names.fresh("new"), "new_1");
  EXPECT_EQ(names.fresh("conv"), "conv_1");
  EXPECT_EQ(names.fresh("conv"), "conv_2");
  EXPECT_EQ(names.fresh("conv_1"), "conv_1_1");
}

TEST(Verify, NamesTheViolation) {
  struct Case {
    void (*spoil)(Model&);
    std::string says;
  };
  const std::vector<Case> cases{
      {[](Model&) {}, ""},
      {[](Model& m) { std::swap(m.nodes[0], m.nodes[1]); },
       "here: node 'relu' (Relu) reads 'c', which is produced only after it"},
      {[](Model& m) { m.initializers.erase("b"); }, "neither an input"},
      {[](Model& m) { m.nodes[1].outputs = {"c"}; }, "'c' is defined twice"},
      {[](Model& m) { m.nodes[1].name = "conv"; }, "two nodes have the name 'conv'"},
      {[](Model& m) { m.nodes[1].captures = {"nowhere"}; }, "reads 'nowhere'"},
      {[](Model& m) { m.outputs[0].name = "z"; }, "graph output 'z' is not produced"},
      {[](Model& m) { m.inputs.push_back(m.inputs[0]); }, "'x' is defined twice"},
      {[](Model& m) { m.nodes[0].op_type = ""; }, "has no operator"},
  };
  for (const auto& [spoil, says] : cases) {
    Model model = small_model();
    spoil(model);
    EXPECT_EQ(message_of(model).empty(), says.empty());
    EXPECT_NE(message_of(model).find(says), std::string::npos) << message_of(model);
  }
}

TEST(SortNodes, IsStableAndFindsCycles) {
  Model model = small_model();
  model.nodes.push_back({"other", "Relu", "", {"x"}, {"o"}});
  std::swap(model.nodes[0], model.nodes[1]);
  sort_nodes(model);
  EXPECT_EQ(model.nodes[0].name, "conv");
  EXPECT_EQ(model.nodes[1].name, "relu");
  EXPECT_EQ(model.nodes[2].name, "other");
  model.nodes[0].inputs[0] = "y";
  EXPECT_THROW(sort_nodes(model), Error);
}

TEST(SortNodes, CapturesCount) {
  Model model = small_model();
  model.nodes.insert(model.nodes.begin(), {"loop", "Loop", "", {}, {"l"}, {"y"}});
  sort_nodes(model);
  EXPECT_EQ(model.nodes.back().name, "loop");
}

TEST(RemoveUnused, KeepsWhatIsRead) {
  Model model = small_model();
  model.initializers["unused"] = Tensor::scalar(1.0F);
  model.initializers["captured"] = Tensor::scalar(1.0F);
  model.nodes.push_back({"dead", "Relu", "", {"c"}, {"d"}});
  model.nodes.push_back({"dead_too", "Relu", "", {"d"}, {"e"}});
  model.nodes[1].captures = {"captured"};
  remove_unused(model);
  EXPECT_EQ(model.nodes.size(), 2);
  EXPECT_EQ(model.initializers.count("unused"), 0);
  EXPECT_EQ(model.initializers.count("captured"), 1);
  verify(model, "after removal");
}

}  // namespace
}  // namespace quasar::graph
