#include "quasar/graph/rewrites/hard_sigmoids.hpp"

#include <gtest/gtest.h>

#include "quasar/runtime/session.hpp"
#include "unit/quant/sample_models.hpp"

namespace quasar::graph {
namespace {

using quant::Builder;

struct Chain {
  float term = 3, high = 6, divisor = 6;
  bool multiplies = true, by_product = false, reads_clip = false;
  Shape shape = {};  // of the constants
};

// x · clip(x + 3, 0, 6) / 6, as exporters write hard-swish, or without the product.
Model chain(const Chain& of) {
  Builder b;
  const auto x = b.input("x", {1, 3, 4, 5});
  const auto one = [&](float value) { return b.constant(Tensor::of(of.shape, std::vector<float>{value})); };
  const auto limit = [&](float value) { return b.constant(Tensor::scalar(value)); };
  const auto clipped = b.node("Clip", {b.node("Add", {one(of.term), x}), limit(0), limit(of.high)});
  const auto product = of.multiplies ? b.node("Mul", {x, clipped}) : clipped;
  const auto divided = of.by_product ? b.node("Mul", {product, one(1 / of.divisor)}) : b.node("Div", {product, one(of.divisor)});
  std::vector<std::string> outputs{divided};
  if (of.reads_clip) outputs.push_back(b.node("Neg", {clipped}));
  Model model = b.finish(outputs);
  model.opsets[""] = 13;
  return model;
}

size_t count_of(const Model& model, const char* type) {
  return static_cast<size_t>(std::ranges::count_if(model.nodes, [&](const Node& node) { return node.is(type); }));
}

TEST(HardSigmoids, ChainsOfOperatorsAreOneFunction) {
  for (const Chain& of :
       {Chain{}, Chain{.by_product = true}, Chain{.multiplies = false},
        Chain{.term = 1, .high = 2, .divisor = 2, .multiplies = false, .by_product = true}, Chain{.shape = {1}}}) {
    const Model before = chain(of);
    Model after = before;
    write_hard_sigmoids(after);
    EXPECT_NO_THROW(verify(after, "the test"));
    EXPECT_EQ(count_of(after, "HardSigmoid"), 1U);
    EXPECT_EQ(after.nodes.size(), of.multiplies ? 2U : 1U);
    std::vector<float> values;
    for (int i = 0; i < 60; i++) values.push_back(0.2F * static_cast<float>(i) - 6);
    const std::vector<Tensor> sample{Tensor::of({1, 3, 4, 5}, values)};
    const Tensor expected = runtime::Session(before).run(sample)[0], found = runtime::Session(after).run(sample)[0];
    for (size_t i = 0; i < values.size(); i++) EXPECT_NEAR(expected.as<float>()[i], found.as<float>()[i], 1e-5) << values[i];
  }
}

TEST(HardSigmoids, OtherFunctionsStay) {
  for (const Chain& of : {Chain{.divisor = 3}, Chain{.reads_clip = true}, Chain{.high = -1}, Chain{.shape = {1, 1, 1, 1, 1}}}) {
    const Model before = chain(of);
    Model after = before;
    write_hard_sigmoids(after);
    EXPECT_EQ(count_of(after, "HardSigmoid"), 0U);
    EXPECT_EQ(after.nodes.size(), before.nodes.size());
  }
}

}  // namespace
}  // namespace quasar::graph
