// The scheme of float16: what it does not hold stays in float32.
#include "quasar/quant/half/beyond_half.hpp"

#include <gtest/gtest.h>

#include "made_up_statistics.hpp"
#include "quasar/quant/config/named_schemes.hpp"
#include "sample_models.hpp"

namespace quasar::quant {
namespace {

TEST(BeyondHalf, WhatFloat16DoesNotHoldStaysInFloat) {
  Builder b;
  const auto large = b.node("MatMul", {b.input("x", {2, 4}), b.constant(Tensor::of({4, 4}, std::vector<float>(16, 1e5F)))});
  const auto small = b.node("MatMul", {large, b.weights({4, 4})});
  const auto last = b.node("MatMul", {b.node("MatMul", {small, b.weights({4, 4})}), b.weights({4, 4})});
  const auto masked = b.node("Add", {last, b.constant(Tensor::of({1, 4}, std::vector<float>{0, 0, 0, -3.4e38F}))});
  const graph::Model model = b.finish({masked});
  stats::Statistics seen = made_up_statistics(model);
  seen[small] = stats::of_values(std::vector<float>{-1, 7e4F}, {.histogram = true});
  const Plan plan = resolve(model, seen, parse_config(words_of_scheme("fp16")), *targets::table().make("ort_cpu"));
  EXPECT_EQ(plan.skipped.at("MatMul_0"), "float16 ends at 65504, and 'constant_0' goes to 1e+05 there");
  EXPECT_TRUE(plan.skipped.contains("MatMul_1") && plan.skipped.contains("MatMul_2")) << "they write and read what is too large";
  EXPECT_TRUE(plan.nodes.contains("MatMul_3"));
  EXPECT_TRUE(plan.nodes.contains("Add_0")) << "what hides a position may be infinite";
}

}  // namespace
}  // namespace quasar::quant
