// Which weights share a sum of 16 bits. That kernels really add in this order is tried on processors without VNNI by
// tests/processors.
#include "quasar/ops/sum_order.hpp"

#include <gtest/gtest.h>

#include <set>

#include "quasar/ops/overflow.hpp"

namespace quasar::ops {
namespace {

graph::Node reading_weights(const std::string& type, std::vector<graph::Attribute> attributes = {}) {
  return {.name = "node",
          .op_type = type,
          .domain = "",
          .inputs = {"x", "w"},
          .outputs = {"y"},
          .captures = {},
          .attributes = std::move(attributes)};
}

// All elements once, as terms of some sum.
void expect_all_once(const SumOrder& order, size_t count) {
  std::set<size_t> seen;
  for (size_t sum = 0; sum < order.sums; sum++) {
    for (size_t term = 0; term < order.terms; term++) seen.insert(order.at(sum, term));
  }
  EXPECT_EQ(seen.size(), count);
  EXPECT_EQ(*seen.rbegin(), count - 1);
  EXPECT_EQ(order.sums * order.terms, count);
}

std::set<std::pair<size_t, size_t>> pairs_of(const SumOrder& order) {
  std::set<std::pair<size_t, size_t>> out;
  for_pairs(order, [&](size_t i, size_t j) { out.emplace(std::min(i, j), std::max(i, j)); });
  return out;
}

TEST(SumOrder, ConvolutionsRunOverChannelsFirst) {
  const auto order = sum_order(reading_weights("Conv"), {2, 4, 3, 3});
  ASSERT_TRUE(order);
  expect_all_once(*order, 72);
  EXPECT_EQ(order->at(0, 1), 9U);  // the next channel of the first kernel element
  EXPECT_EQ(order->at(0, 4), 1U);  // then the next kernel element
  EXPECT_EQ(order->at(1, 0), 36U);
  EXPECT_TRUE(pairs_of(*order).contains({0, 9}));
  EXPECT_FALSE(pairs_of(*order).contains({9, 18}));
}

// An odd number of channels: a pair lies across two kernel elements, and the last element stands alone.
TEST(SumOrder, PairsGoOnAcrossKernelElements) {
  const auto order = sum_order(reading_weights("Conv"), {1, 3, 1, 3});
  ASSERT_TRUE(order);
  EXPECT_EQ(pairs_of(*order), (std::set<std::pair<size_t, size_t>>{{0, 3}, {1, 6}, {4, 7}, {2, 5}}));
}

TEST(SumOrder, DepthwiseConvolutionsHaveNoPairs) {
  EXPECT_FALSE(sum_order(reading_weights("Conv", {{"group", int64_t{4}}}), {4, 1, 3, 3}));
  EXPECT_TRUE(sum_order(reading_weights("Conv", {{"group", int64_t{4}}}), {8, 1, 3, 3}));
  EXPECT_FALSE(sum_order(reading_weights("Add"), {4, 4}));
  EXPECT_FALSE(sum_order(reading_weights("ConvInteger"), {4, 4, 3, 3}));
}

TEST(SumOrder, MatricesRunOverInputs) {
  const auto columns = sum_order(reading_weights("MatMul"), {4, 3});
  ASSERT_TRUE(columns);
  expect_all_once(*columns, 12);
  EXPECT_TRUE(pairs_of(*columns).contains({0, 3}));
  const auto stack = sum_order(reading_weights("MatMul"), {2, 4, 3});
  ASSERT_TRUE(stack);
  expect_all_once(*stack, 24);
  EXPECT_TRUE(pairs_of(*stack).contains({12, 15}));
  const auto rows = sum_order(reading_weights("Gemm", {{"transB", int64_t{1}}}), {3, 4});
  ASSERT_TRUE(rows);
  expect_all_once(*rows, 12);
  EXPECT_TRUE(pairs_of(*rows).contains({0, 1}));
  EXPECT_EQ(sum_order(reading_weights("Gemm"), {4, 3}), columns);
}

TEST(SumOrder, PartnersAreTheSamePairs) {
  for (const auto& [channels, taps] : {std::pair<size_t, size_t>{4, 9}, {3, 9}, {5, 1}, {1, 6}, {7, 3}}) {
    const SumOrder order{
        .sums = 1, .terms = channels * taps, .across = channels * taps, .fast = channels, .along = taps, .beyond = 1};
    const auto pairs = pairs_of(order);
    size_t found = 0;
    for (size_t j = 0; j < channels * taps; j++) {
      const auto partner = partner_of(j, channels, taps);
      if (!partner) continue;
      EXPECT_TRUE(pairs.contains({std::min(j, *partner), std::max(j, *partner)})) << channels << "x" << taps << ": " << j;
      EXPECT_EQ(partner_of(*partner, channels, taps), j);
      found++;
    }
    EXPECT_EQ(found, 2 * pairs.size());
  }
}

// OpenVINO's kernels pad what lies at one kernel element to an even number of channels.
TEST(SumOrder, NoPairGoesBeyondAKernelElementInOneDnn) {
  const auto order = sum_order(reading_weights("Conv"), {2, 3, 1, 2}, Kernels::onednn);
  ASSERT_TRUE(order);
  EXPECT_TRUE(order->padded);
  EXPECT_EQ(pairs_of(*order), (std::set<std::pair<size_t, size_t>>{{0, 2}, {1, 3}, {6, 8}, {7, 9}}));
  EXPECT_EQ(order->pairs(), 4U);
  EXPECT_FALSE(sum_order(reading_weights("Conv", {{"group", int64_t{2}}}), {4, 3, 1, 2}, Kernels::onednn)->padded);
  EXPECT_EQ(sum_order(reading_weights("Conv"), {2, 1, 3, 3}, Kernels::onednn)->pairs(), 0U);
  for (const auto& [channels, taps] : {std::pair<size_t, size_t>{3, 2}, {4, 9}, {1, 6}, {5, 1}}) {
    for (size_t j = 0; j < channels * taps; j++) {
      const auto partner = partner_of(j, channels, taps, true);
      EXPECT_EQ(!partner, channels % 2 == 1 && j / taps == channels - 1);
      if (!partner) continue;
      EXPECT_EQ(partner_of(*partner, channels, taps, true), j);
    }
  }
}

TEST(SumOrder, ConvTransposeAddsPairsInOneDnnOnly) {
  const auto node = reading_weights("ConvTranspose", {{"group", int64_t{2}}});
  EXPECT_FALSE(sum_order(node, {4, 3, 1, 2}));
  const auto order = sum_order(node, {4, 3, 1, 2}, Kernels::onednn);
  ASSERT_TRUE(order);
  expect_all_once(*order, 24);
  EXPECT_TRUE(pairs_of(*order).contains({0, 6}));
  EXPECT_TRUE(pairs_of(*order).contains({12, 18}));
  EXPECT_FALSE(sum_order(node, {2, 3, 1, 2}, Kernels::onednn));
}

TEST(SumOrder, OnlyPairsOfOneSignOverflow) {
  const SumOrder order{.sums = 1, .terms = 2, .fast = 2};
  const auto overflows_with = [&](int32_t a, int32_t b, int32_t most = 255) {
    return overflowing_pairs(std::vector<int32_t>{a, b}, order, most) > 0;
  };
  EXPECT_FALSE(overflows_with(127, 1));
  EXPECT_TRUE(overflows_with(127, 2));
  EXPECT_FALSE(overflows_with(-128, 0));
  EXPECT_TRUE(overflows_with(-128, -1));
  EXPECT_FALSE(overflows_with(127, -127));
  EXPECT_FALSE(overflows_with(127, 127, 128));
  EXPECT_TRUE(overflows_with(127, 127, 130));
}

// y = x · w between pairs of Q and DQ; x is written by Sigmoid where asked for.
graph::Model product(std::vector<int8_t> codes, bool bounded, float scale,
                     const Tensor& zero_point = Tensor::scalar(uint8_t{0})) {
  graph::Model model;
  model.opsets = {{"", 13}};
  model.inputs = {{"x", DataType::float32, Shape{1, 2}, {}}};
  model.outputs = {{"y", DataType::float32, Shape{1, 1}, {}}};
  model.initializers["s"] = Tensor::scalar(scale);
  model.initializers["z"] = zero_point;
  model.initializers["w"] = Tensor::of({2, 1}, codes);
  model.initializers["zw"] = Tensor::scalar(int8_t{0});
  const auto add = [&](const std::string& type, std::vector<std::string> inputs, const std::string& output) {
    model.nodes.push_back(
        {.name = type + output, .op_type = type, .domain = "", .inputs = std::move(inputs), .outputs = {output}});
  };
  add(bounded ? "Sigmoid" : "Neg", {"x"}, "v");
  add("QuantizeLinear", {"v", "s", "z"}, "q");
  add("DequantizeLinear", {"q", "s", "z"}, "d");
  add("DequantizeLinear", {"w", "s", "zw"}, "dw");
  add("MatMul", {"d", "dw"}, "y");
  return model;
}

TEST(Overflow, IsFoundInModelsOfOthers) {
  const auto found = overflows(product({100, 100}, false, 0.1F));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].node, "MatMuly");
  EXPECT_EQ(found[0].pairs, 1U);
  EXPECT_EQ(found[0].overflowing, 1U);
  EXPECT_TRUE(overflows(product({100, 28}, false, 0.1F)).empty());
  graph::Model halves = product({100, 100}, false, 0.1F);
  halves.initializers["s"] = converted(halves.initializers["s"], DataType::float16);
  EXPECT_TRUE(overflows(halves).empty()) << "ONNX Runtime has no integer kernels for it";
}

// A Sigmoid's output is at most 1: code 100 on a grid of steps of 0.01.
TEST(Overflow, KnownBoundsLeaveRoom) {
  EXPECT_TRUE(overflows(product({100, 100}, true, 0.01F)).empty());
  EXPECT_EQ(overflows(product({100, 100}, true, 0.001F)).size(), 1U);
}

// Stored as uint8, code 0 is 128: a Sigmoid's output on steps of 0.01 is at most 228, and 32767 / 228 = 143.
TEST(Overflow, ValuesOfInt8AreBoundedAsTheKernelSeesThem) {
  const Tensor zero = Tensor::scalar(int8_t{0});
  EXPECT_TRUE(overflows(product({100, 43}, true, 0.01F, zero)).empty());
  EXPECT_EQ(overflows(product({100, 44}, true, 0.01F, zero)).size(), 1U);
  EXPECT_EQ(overflows(product({100, 43}, false, 0.01F, zero)).size(), 1U);
}

TEST(Overflow, ValuesOf16BitsHaveNoSuchKernels) {
  EXPECT_TRUE(overflows(product({100, 100}, false, 0.1F, Tensor::scalar(int16_t{0}))).empty());
  EXPECT_TRUE(overflows(product({100, 100}, false, 0.1F, Tensor::scalar(uint16_t{0}))).empty());
}

TEST(Overflow, TwoLowestCodesAreNamed) {
  const auto found = overflows(product({-128, -128}, true, 0.01F));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].lowest, 2U);
}

}  // namespace
}  // namespace quasar::ops
