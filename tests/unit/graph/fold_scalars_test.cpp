#include "quasar/graph/rewrites/fold_scalars.hpp"

#include <gtest/gtest.h>

#include "quasar/runtime/session.hpp"
#include "unit/quant/sample_models.hpp"

namespace quasar::graph {
namespace {

using quant::Builder;

size_t nodes_of(const Model& model, const char* type) {
  return static_cast<size_t>(std::ranges::count_if(model.nodes, [&](const Node& node) { return node.is(type); }));
}

std::vector<float> run(const Model& model) {
  std::vector<float> values;
  for (int i = 0; i < 3 * 6 * 7; i++) values.push_back(0.05F * static_cast<float>(i % 41) - 1);
  const Tensor out = runtime::Session(model).run(std::vector<Tensor>{Tensor::of({1, 3, 6, 7}, values)})[0];
  return {out.as<float>().begin(), out.as<float>().end()};
}

Model folded(const Model& model) {
  Model out = model;
  fold_scalars(out);
  EXPECT_NO_THROW(verify(out, "the test"));
  const auto expected = run(model), found = run(out);
  EXPECT_EQ(expected.size(), found.size());
  for (size_t i = 0; i < found.size(); i++) EXPECT_NEAR(expected[i], found[i], 1e-4) << i;
  return out;
}

// A value times 1.5, and more by 0.25, as a learnable affine block has it.
std::string affine(Builder& b, const std::string& value) {
  const auto product = b.node("Mul", {b.constant(Tensor::of<float>({1}, {1.5F})), value});
  return b.node("Add", {product, b.constant(Tensor::scalar(0.25F))});
}

TEST(FoldScalars, BehindAConvolutionTheyArePartOfIt) {
  Builder b;
  const auto x = b.conv(b.input("x", {1, 3, 6, 7}), 3, 4, 3);
  const auto without_bias = b.node("ConvTranspose", {b.node("Relu", {affine(b, x)}), b.weights({4, 2, 3, 3})});
  const Model model = folded(b.finish({b.node("Relu", {affine(b, without_bias)})}));
  EXPECT_EQ(nodes_of(model, "Mul") + nodes_of(model, "Add"), 0U);
  EXPECT_EQ(model.nodes.size(), 4U);
}

TEST(FoldScalars, BeforeConvolutionsTheSumStaysWhereOneOfThemPads) {
  for (const int64_t kernel : {1, 3}) {
    Builder b;
    const auto x = affine(b, b.node("Relu", {b.input("x", {1, 3, 6, 7})}));
    const auto sum = b.node("Add", {b.conv(x, 3, 4, kernel), b.conv(x, 3, 4, 1)});
    const Model model = folded(b.finish({sum}));
    EXPECT_EQ(nodes_of(model, "Mul"), 0U);
    EXPECT_EQ(nodes_of(model, "Add"), kernel == 1 ? 1U : 2U);
  }
}

TEST(FoldScalars, WhatOthersReadStays) {
  Builder b;
  const auto x = b.conv(b.input("x", {1, 3, 6, 7}), 3, 4, 3);
  const auto before = affine(b, b.node("Relu", {x}));
  const Model model = b.finish({b.conv(before, 4, 4, 1), b.node("Neg", {before}), b.node("Neg", {x})});
  EXPECT_EQ(folded(model).nodes.size(), model.nodes.size());
}

TEST(FoldScalars, WhatIsKeptStays) {
  Builder b;
  const auto before = affine(b, b.node("Relu", {b.input("x", {1, 3, 6, 7})}));
  Model model = b.finish({b.conv(before, 3, 4, 1)});
  const size_t all = model.nodes.size();
  fold_scalars(model, {"Mul_0"});
  EXPECT_EQ(model.nodes.size(), all);
}

TEST(FoldScalars, OneValueForEachChannelStays) {
  Builder b;
  const auto x = b.conv(b.input("x", {1, 3, 6, 7}), 3, 4, 3);
  const Model model = b.finish({b.node("Mul", {x, b.weights({4, 1, 1})})});
  EXPECT_EQ(folded(model).nodes.size(), model.nodes.size());
}

}  // namespace
}  // namespace quasar::graph
