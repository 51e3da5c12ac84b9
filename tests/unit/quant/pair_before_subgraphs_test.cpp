// Quantized values that a subgraph reads: ONNX Runtime's optimizer fails by an assertion where one was only moved there.
#include "quasar/quant/write/pair_before_subgraphs.hpp"

#include <gtest/gtest.h>

#include "executed.hpp"
#include "made_up_statistics.hpp"
#include "quasar/graph/bodies.hpp"
#include "sample_models.hpp"
#include "unit/runtime/models.hpp"

namespace quasar::quant {
namespace {

// `chooses` ? Sigmoid(value) : Abs(other), in branches that read both from outside.
std::string choose(Builder& b, const std::string& chooses, const std::string& value, const std::string& other) {
  const std::string out = test::value_bytes("o", DataType::float32, {1, 4, 8, 8});
  const std::string result = b.node("If", {chooses},
                                    {test::subgraph("then_branch", {test::node_bytes("Sigmoid", {value}, "o")}, {}, {out}),
                                     test::subgraph("else_branch", {test::node_bytes("Abs", {other}, "o")}, {}, {out})});
  b.model().nodes.back().captures = {value, other};
  return result;
}

// Conv ─▶ Conv ─▶ first output; the first Conv's result, transposed, is read by both branches of an If, or by one.
graph::Model read_by_branches(bool both = true) {
  Builder b(5);
  const auto chooses = b.input("chooses", {}, DataType::boolean);
  const auto x = b.node("Relu", {b.conv(b.input("x", {1, 2, 8, 8}), 2, 4, 3)});
  const auto y = b.conv(x, 4, 4, 3);
  const auto moved = b.node("Transpose", {x}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
  return b.finish({y, choose(b, chooses, moved, both ? moved : y)});
}

size_t count(const graph::Model& model, const std::string& type) {
  return static_cast<size_t>(std::ranges::count(model.nodes, type, &graph::Node::op_type));
}

// The moving operator is left in float, and behind a value in codes: the pattern that ends the program.
Config with_transpose_in_float() {
  Config config = config_of(DataType::uint8, false);
  config.exclude = {"Transpose_0"};
  return config;
}

TEST(PairBeforeSubgraphs, ModelsOpenAndGiveTheSameValues) {
  const graph::Model model = read_by_branches();
  const Plan plan = plan_of(model, with_transpose_in_float());
  ASSERT_FALSE(plan.nodes.contains("Transpose_0"));
  const graph::Model quantized = apply(model, plan);
  const runtime::Session kernels(quantized);
  const runtime::Session simulation(quantized, {.optimization = runtime::Optimization::none, .integer_kernels = false});
  for (const auto& sample : random_samples(model, 3)) {
    const auto a = kernels.run(sample), b = simulation.run(sample);
    for (size_t k = 0; k < a.size(); ++k) EXPECT_LT(test::relative_difference(a[k], b[k]), 0.02) << k;
  }
}

// Bodies that are open are closed before a runtime sees them, and opened again when the file is read.
TEST(PairBeforeSubgraphs, OpenBodiesReadLikeClosedOnes) {
  for (const bool both : {true, false}) {
    const graph::Model model = graph::opened(read_by_branches(both));
    Config config = with_transpose_in_float();
    for (const auto& node : model.nodes) {
      if (node.is("Sigmoid") || node.is("Abs")) config.exclude.push_back(node.name);  // they read the moved value itself
    }
    const graph::Model quantized = apply(model, plan_of(model, config));
    const graph::Model closed = graph::closed(quantized), again = graph::closed(graph::opened(closed));
    EXPECT_EQ(count(again, "QuantizeLinear"), count(closed, "QuantizeLinear"));
    const runtime::Session first(closed), second(again);
    const runtime::Session simulation(closed, {.optimization = runtime::Optimization::none, .integer_kernels = false});
    for (const auto& sample : random_samples(model, 3)) {
      const auto a = first.run(sample), b = simulation.run(sample);
      EXPECT_EQ(a, second.run(sample));
      for (size_t k = 0; k < a.size(); ++k) EXPECT_LT(test::relative_difference(a[k], b[k]), 0.02) << both << k;
    }
  }
}

TEST(PairBeforeSubgraphs, OnlyWhereASubgraphReads) {
  const graph::Model model = read_by_branches();
  graph::Model quantized = apply(model, plan_of(model, with_transpose_in_float()));
  const size_t pairs = count(quantized, "QuantizeLinear");
  pair_before_subgraphs(quantized);  // once is enough
  EXPECT_EQ(count(quantized, "QuantizeLinear"), pairs);
  const graph::Index index(quantized);
  const graph::Node* before = index.producer("Transpose_0_out");
  ASSERT_NE(before, nullptr);
  EXPECT_EQ(before->op_type, "DequantizeLinear");
  const graph::Node* source = index.producer(index.producer(before->inputs[0])->inputs[0]);
  ASSERT_NE(source, nullptr);
  EXPECT_EQ(source->name, "Transpose_0");
  EXPECT_EQ(before->inputs[1], index.producer(source->inputs[0])->inputs[1]) << "the same scale: the same values";
}

}  // namespace
}  // namespace quasar::quant
