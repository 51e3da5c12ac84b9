#include "quasar/rounding/branches.hpp"

#include <gtest/gtest.h>

#include "unit/rounding/branch_models.hpp"

namespace quasar::tune {
namespace {

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
