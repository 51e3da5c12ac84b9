#include "quasar/rounding/branches.hpp"

#include <gtest/gtest.h>

#include "quasar/runtime/prepare.hpp"
#include "unit/rounding/rounding_models.hpp"
#include "unit/runtime/models.hpp"

namespace quasar::tune {
namespace {

using test::node_bytes;
using test::value_bytes;

// x ─▶ Gemm ─▶ If chooses: MatMul, else MatMul ─▶ Relu ─▶ MatMul; then Gemm. Half of the samples take either branch.
graph::Model two_ways() {
  graph::Model model;
  model.opsets[""] = 13;
  model.inputs = {{"x", DataType::float32, Shape{4, 8}, {"", ""}}, {"chooses", DataType::boolean, Shape{}}};
  model.outputs = {{"y", DataType::float32, Shape{4, 8}, {"", ""}}};
  for (const char* name : {"first", "one", "two", "three", "last"})
    model.initializers[name] = random_tensor({8, 8}, static_cast<unsigned>(model.initializers.size()) + 1, 0.4F);
  const std::string out = value_bytes("o", DataType::float32, {4, 8});
  graph::Node choice = test::node("If", "choice", {"chooses"}, {"c"});
  choice.captures = {"g", "one", "two", "three"};
  choice.attributes = {test::subgraph("then_branch", {node_bytes("MatMul", {"g", "one"}, "o")}, {}, {out}),
                       test::subgraph("else_branch",
                                      {node_bytes("MatMul", {"g", "two"}, "m"), node_bytes("Relu", {"m"}, "r"),
                                       node_bytes("MatMul", {"r", "three"}, "o")},
                                      {}, {out})};
  model.nodes = {test::node("MatMul", "gemm1", {"x", "first"}, {"g"}), choice,
                 test::node("MatMul", "gemm2", {"c", "last"}, {"y"})};
  return runtime::prepare(model);
}

std::shared_ptr<GeneratedSamples> chosen_by(const std::function<bool(size_t)>& choice) {
  return std::make_shared<GeneratedSamples>(24, [choice](size_t index) {
    return data::Sample{random_tensor({4, 8}, static_cast<unsigned>(index) + 1, 1), Tensor::scalar(choice(index))};
  });
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
