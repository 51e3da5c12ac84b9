#include "quasar/strategy/operator_groups.hpp"

#include <gtest/gtest.h>

namespace quasar::tune {
namespace {

using Names = std::vector<std::string>;

// x ─a─ p ─b─ q; r = p + q ─Relu─ s ─c─ t with a's weights ─Softmax─ u
graph::Model residual() {
  graph::Model model;
  model.opsets[""] = 17;
  model.inputs = {{"x", DataType::float32, Shape{1, 4}}};
  model.outputs = {{"u", DataType::float32, Shape{1, 4}}};
  const Tensor weights = Tensor::of({4, 4}, std::vector<float>(16, 0.5F));
  model.initializers = {{"w", weights}, {"v", weights}};
  model.nodes = {{"a", "MatMul", "", {"x", "w"}, {"p"}}, {"b", "MatMul", "", {"p", "v"}, {"q"}},
                 {"sum", "Add", "", {"p", "q"}, {"r"}},  {"relu", "Relu", "", {"r"}, {"s"}},
                 {"c", "MatMul", "", {"s", "w"}, {"t"}}, {"softmax", "Softmax", "", {"t"}, {"u"}}};
  return model;
}

const Names all{"a", "b", "sum", "c", "softmax"};

TEST(OperatorGroups, SumsGoWithWhatIsBeforeThemAndOneWeightDecidesOnce) {
  const OperatorGroups groups = operator_groups(residual(), all, 10);
  EXPECT_EQ(groups.nodes, (std::vector<Names>{{"a", "c"}, {"b", "sum"}, {"softmax"}}));
  EXPECT_EQ(groups.of_node.at("relu"), 1U) << "follows the sum";
  EXPECT_EQ(groups.of_node.at("c"), 0U);
}

TEST(OperatorGroups, NeighboursReadEachOtherOrMeetInOneOperator) {
  const OperatorGroups groups = operator_groups(residual(), all, 10);
  EXPECT_EQ(groups.neighbours, (std::vector<std::pair<size_t, size_t>>{{0, 1}, {0, 2}}));
}

TEST(OperatorGroups, NoMoreThanAreWanted) {
  EXPECT_EQ(operator_groups(residual(), all, 2).nodes, (std::vector<Names>{{"a", "c"}, {"b", "sum", "softmax"}}));
  EXPECT_EQ(operator_groups(residual(), all, 1).nodes.size(), 1U);
  EXPECT_TRUE(operator_groups(residual(), all, 1).neighbours.empty());
}

}  // namespace
}  // namespace quasar::tune
