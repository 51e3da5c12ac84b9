// Tensors of zeros take no part in the scales of others.
#include "quasar/quant/npu/zero_tensors.hpp"

#include <gtest/gtest.h>

#include <optional>

#include "npu_models.hpp"
#include "quasar/quant/npu/npu.hpp"

namespace quasar::quant {
namespace {

stats::TensorStats zero_everywhere() {
  return stats::of_values(std::vector<float>{0, 0}, {.histogram = true});
}

stats::TensorStats within(float bound) {
  return stats::of_values(std::vector<float>{-bound, bound / 3, bound}, {.histogram = true});
}

Tensor filled(const Shape& shape, float value) {
  return Tensor::of(shape, std::vector<float>(count_of(shape), value));
}

Plan shifting(const graph::Model& model, const stats::Statistics& seen, const Json& options = Json::object()) {
  return resolve(model, seen, xint8_config(options), *targets::table().make("xint8"));
}

int position(const QuantParams& params) {
  return position_of(params.scales.front()).value();
}

// A cache that is empty in all samples, of a streaming convolution.
TEST(ZeroTensors, AddNothingToWhatTheyAreJoinedWith) {
  Builder b;
  const auto both = b.node("Concat", {b.input("cache", {1, 4, 2, 6}), b.input("x", {1, 4, 6, 6})}, {{"axis", int64_t{2}}});
  const graph::Model model = b.finish({b.conv(both, 4, 3, 3)});
  for (const auto& [scheme, target] : std::vector<std::pair<const char*, const char*>>{
           {"A8W8", "ort_cpu"}, {"A16W8", "generic"}, {"U8S8_CHANNEL", "ort_cpu"}, {"XINT8", "xint8"}}) {
    const auto scale_with = [&](const stats::TensorStats& cache) {
      const Config config = parse_config({{"scheme", scheme}, {"AlignConcat", true}});
      stats::Statistics seen = made_up_statistics(model);
      seen.at("x") = seen.at(both) = within(0.1F);
      seen.at("cache") = cache;
      const Plan plan = resolve(model, seen, config, *targets::table().make(target));
      EXPECT_EQ(plan.values.at("cache").scales, plan.values.at(both).scales) << scheme;
      return plan.values.at("cache").scales.front();
    };
    EXPECT_EQ(scale_with(zero_everywhere()), scale_with(within(0.05F))) << scheme;
  }
}

// x [1, 8, 6, 6] of small values -> Conv of small weights with this bias -> Conv
graph::Model convolved(const std::optional<Tensor>& bias) {
  Builder b;
  std::vector<std::string> inputs{b.input("x", {1, 8, 6, 6}), b.weights({8, 8, 1, 1}, 1e-4F)};
  if (bias) inputs.push_back(b.constant(*bias));
  return b.finish({b.node("Conv", {b.node("Conv", inputs), b.constant(filled({4, 8, 1, 1}, 0.3F))})});
}

TEST(ZeroTensors, ABiasOfZerosLeavesTheWeightsTheirBits) {
  const auto plan_with = [](const std::optional<Tensor>& bias) {
    const graph::Model model = convolved(bias);
    stats::Statistics seen = made_up_statistics(model);
    seen.at("x") = within(0.5F);
    seen.at("Conv_0_out") = within(1e-3F);
    const Plan plan = shifting(model, seen);
    EXPECT_TRUE(violations(apply(model, plan)).empty());
    return plan;
  };
  const Plan plain = plan_with(std::nullopt), zero = plan_with(filled({8}, 0)), real = plan_with(filled({8}, 100));
  EXPECT_EQ(zero.nodes.at("Conv_0").weight->params, plain.nodes.at("Conv_0").weight->params);
  EXPECT_EQ(zero.nodes.at("Conv_0").least_weight_scale, plain.nodes.at("Conv_0").least_weight_scale);
  EXPECT_EQ(zero.notes, plain.notes);
  EXPECT_NE(real.nodes.at("Conv_0").weight->params, plain.nodes.at("Conv_0").weight->params) << "the rule acts on biases";
  // What optimized rounding may add to it is of the output's size.
  EXPECT_NEAR(position(zero.nodes.at("Conv_0").bias->params), position(zero.values.at("Conv_0_out")) + 1, 1);
}

TEST(ZeroTensors, ASumKeepsItsOtherSide) {
  for (const bool constant : {true, false}) {
    Builder b;
    const auto x = b.input("x", {1, 4, 6, 6}), other = b.input("other", {1, 4, 6, 6});
    const auto sum =
        b.node("Add", {x, constant ? b.constant(filled({1, 4, 1, 1}, 0)) : b.node("Relu", {b.conv(other, 4, 4, 1)})});
    const graph::Model model = b.finish({b.conv(sum, 4, 4, 1)});
    stats::Statistics seen = made_up_statistics(model);
    seen.at("x") = seen.at(sum) = within(1e-3F);
    if (!constant) seen.at("Relu_0_out") = zero_everywhere();
    const Plan plan = shifting(model, seen);
    EXPECT_EQ(position(plan.values.at("x")), position(shifting(model, seen, {{"NPULimitationCheck", false}}).values.at("x")));
    EXPECT_GE(position(plan.values.at("x")), 16);
    EXPECT_TRUE(violations(apply(model, plan)).empty());
  }
}

TEST(ZeroTensors, WeightsOfZerosGiveTheSumNoScale) {
  Builder b;
  const auto product = b.node("MatMul", {b.input("x", {1, 4, 6}), b.constant(filled({6, 3}, 0))});
  const auto vector = b.constant(filled({1, 4, 3}, 1e-3F));
  const auto sum = b.node("Add", {product, vector});
  const graph::Model model = b.finish({b.node("MatMul", {sum, b.weights({3, 3})})});
  stats::Statistics seen = made_up_statistics(model);
  seen.at(product) = zero_everywhere();
  seen.at(sum) = within(1e-3F);
  const Plan plan = shifting(model, seen);
  EXPECT_GE(position(plan.nodes.at("Add_0").constants.at(0).params), 16);
  EXPECT_TRUE(violations(apply(model, plan)).empty());
}

TEST(ZeroTensors, WhatFloat32HasNoScaleForIsZero) {
  EXPECT_TRUE(is_zero(stats::Range{0, 0}));
  EXPECT_TRUE(is_zero(stats::Range{-1e-40, 1e-36}));
  EXPECT_FALSE(is_zero(stats::Range{0, 1e-30}));
  EXPECT_FALSE(is_zero(filled({3}, -1e-20F)));
}

}  // namespace
}  // namespace quasar::quant
