#include "quasar/rounding/branches/branches.hpp"

#include <gtest/gtest.h>

#include "quasar/graph/bodies.hpp"
#include "unit/rounding/branch_models.hpp"

namespace quasar::tune {
namespace {

graph::Model merged() {
  graph::Model model = two_ways();
  model.initializers = {{"first", random_tensor({8, 8}, 2, 0.4F)}, {"one", random_tensor({8, 8}, 3, 0.4F)}};
  const std::string out = test::value_bytes("o", DataType::float32, {4, 8});
  graph::Node choice = test::node("If", "choice", {"chooses"}, {"y"});
  choice.captures = {"g", "one"};
  choice.attributes = {test::subgraph("then_branch", {test::node_bytes("MatMul", {"g", "one"}, "o")}, {}, {out}),
                       test::subgraph("else_branch", {test::node_bytes("MatMul", {"g", "one"}, "o")}, {}, {out})};
  model.nodes = {test::node("MatMul", "gemm1", {"x", "first"}, {"g"}), choice};
  return graph::opened(model);
}

quant::Plan weights_plan(const graph::Model& model, const std::string& method) {
  const quant::Config config = quant::parse_config({{"scheme", "w4"}, {"algorithms", method}});
  return quant::resolve(model, {}, config, *quant::targets::table().make("ort_cpu"));
}

TEST(Branches, SamplesThatChooseAlikeAreOneWay) {
  const auto routes = routes_of(two_ways(), *chosen_by([](size_t i) { return i % 4 == 0; }), 0);
  ASSERT_EQ(routes.size(), 2U);
  EXPECT_EQ(routes[0].samples.size(), 18U);
  EXPECT_TRUE(routes[0].nodes.contains("choice/else_branch/MatMul_2"));
  EXPECT_EQ(routes[1].nodes, (std::set<std::string>{"choice/then_branch/MatMul_0"}));
  for (const auto& route : routes) {
    for (const auto& node : route.model.nodes) EXPECT_FALSE(node.is("If"));
  }
}

TEST(Branches, TheirLayersAreRounded) {
  const graph::Model model = two_ways();
  const auto data = chosen_by([](size_t i) { return i % 2 == 0; });
  Rounder rounder(model, data);
  for (const std::string method : {"adaround", "adaquant", "gptq"}) {
    quant::Plan plan = plan_for(model, *data, method, Json::object());
    const double nearest = output_error(model, plan, *data);
    const RoundingReport report = rounder.improve(plan);
    EXPECT_EQ(report.layers.size(), 5U) << method;
    EXPECT_TRUE(report.kept.empty()) << method;
    EXPECT_TRUE(plan.nodes.at("choice/then_branch/MatMul_0").weight->optimized) << method;
    EXPECT_LT(output_error(model, plan, *data), nearest) << method;
  }
}

// Both branches of a merged decoder have one weight: it is stored once.
TEST(Branches, WeightsOfTwoBranchesHaveTheSameCodes) {
  const graph::Model model = merged();
  const auto data = chosen_by([](size_t i) { return i % 3 == 0; });
  Rounder rounder(model, data);
  quant::Plan plan = weights_plan(model, "gptq");
  const RoundingReport report = rounder.improve(plan);
  EXPECT_EQ(report.layers.size(), 2U);
  EXPECT_TRUE(report.kept.empty()) << report.kept.front();
  const auto& one = plan.nodes.at("choice/then_branch/MatMul_0").weight->optimized;
  ASSERT_TRUE(one);
  EXPECT_EQ(one, plan.nodes.at("choice/else_branch/MatMul_0").weight->optimized);
  EXPECT_EQ(quant::apply(model, plan).initializers.size(), 6U);  // of two weights: codes, scales and zero points
}

TEST(Branches, ThoseThatNoSampleEntersStayInFloat) {
  const graph::Model model = two_ways();
  const auto data = chosen_by([](size_t) { return true; });
  Rounder rounder(model, data);
  quant::Plan plan = plan_for(model, *data, "gptq", Json::object());
  EXPECT_EQ(rounder.improve(plan).layers.size(), 3U);
  EXPECT_FALSE(plan.nodes.contains("choice/else_branch/MatMul_0"));
}

}  // namespace
}  // namespace quasar::tune
