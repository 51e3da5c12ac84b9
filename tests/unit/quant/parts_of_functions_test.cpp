// Gelu and LayerNormalization that are written as several operators stay whole where the target computes them in float.
#include "quasar/ops/parts_of_functions.hpp"

#include <gtest/gtest.h>

#include "executed.hpp"
#include "made_up_statistics.hpp"
#include "sample_models.hpp"

namespace quasar::quant {
namespace {

std::string one(Builder& b, float value) {
  return b.constant(Tensor::scalar(value));
}

// x · (1 + erf(x / √2)) · ½, the half behind or before.
std::string gelu(Builder& b, const std::string& x, bool half_first) {
  const auto sum = b.node("Add", {b.node("Erf", {b.node("Div", {x, one(b, 1.414213F)})}), one(b, 1)});
  if (half_first) return b.node("Mul", {b.node("Mul", {x, one(b, 0.5F)}), sum});
  return b.node("Mul", {b.node("Mul", {x, sum}), one(b, 0.5F)});
}

std::string normalization(Builder& b, const std::string& x, int64_t size) {
  const std::vector<graph::Attribute> last{{"axes", std::vector<int64_t>{-1}}};
  const auto centred = b.node("Sub", {x, b.node("ReduceMean", {x}, last)});
  const auto variance = b.node("ReduceMean", {b.node("Pow", {centred, one(b, 2)})}, last);
  const auto root = b.node("Sqrt", {b.node("Add", {variance, one(b, 1e-5F)})});
  return b.node("Add", {b.node("Mul", {b.node("Div", {centred, root}), b.weights({size}, 0.1F, 1)}), b.weights({size})});
}

// MatMul, LayerNormalization, MatMul, Gelu twice, MatMul.
graph::Model encoder() {
  Builder b;
  const auto first = b.node("MatMul", {b.input("x", {1, 5, 8}), b.weights({8, 8})});
  const auto second = b.node("MatMul", {normalization(b, first, 8), b.weights({8, 6})});
  const auto curved = gelu(b, gelu(b, second, false), true);
  return b.finish({b.node("MatMul", {b.node("Mul", {curved, curved}), b.weights({6, 4})})});
}

TEST(PartsOfFunctions, AreItsProductsAndSums) {
  const graph::Model model = encoder();
  const auto parts = ops::parts_of_functions(graph::Index(model));
  const auto is_part = [&](const graph::Node& node) { return parts.contains(node.name); };
  EXPECT_EQ(std::ranges::count_if(model.nodes, is_part), 9) << "3 of LayerNormalization, 3 of each Gelu";
  EXPECT_EQ(parts.size(), 9U);
}

TEST(PartsOfFunctions, GeluAloneNormalizesNothing) {
  const graph::Model both = encoder();
  EXPECT_TRUE(ops::normalizes_layers(graph::Index(both)));
  Builder b;
  const graph::Model curved = b.finish({gelu(b, b.input("x", {1, 5, 8}), false)});
  EXPECT_FALSE(ops::normalizes_layers(graph::Index(curved)));
  Builder whole;
  const auto x = whole.input("x", {1, 5, 8});
  const graph::Model one = whole.finish({whole.node("LayerNormalization", {x, whole.weights({8}), whole.weights({8})})});
  EXPECT_TRUE(ops::normalizes_layers(graph::Index(one)));
}

TEST(PartsOfFunctions, StayInFloatWhereTheTargetComputesThemAsOneOperator) {
  const graph::Model model = encoder();
  const auto seen = observe(model, random_samples(model, 4));
  const auto quantized = [&](DataType type, const char* target) {
    const Plan plan = resolve(model, seen, config_of(type, false), *targets::table().make(target));
    return std::ranges::count_if(plan.nodes, [&](const auto& node) { return node.first.starts_with("Mul"); });
  };
  EXPECT_EQ(quantized(DataType::uint8, "ort_cpu"), 1) << "the square";
  EXPECT_EQ(quantized(DataType::uint16, "ort_cpu"), 6) << "a simulation quantizes all";
  EXPECT_EQ(quantized(DataType::uint8, "generic"), 6);
}

}  // namespace
}  // namespace quasar::quant
