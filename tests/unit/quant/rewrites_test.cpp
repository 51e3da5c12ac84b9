// Rewrites of the float graph: what they make, and what they leave alone. That the function stays is a contract test.
#include <gtest/gtest.h>

#include "made_up_statistics.hpp"
#include "quasar/quant/config/transform.hpp"
#include "sample_models.hpp"

namespace quasar::quant {
namespace {

using Ints = std::vector<int64_t>;

Transformed rewritten(const std::string& name, const graph::Model& model) {
  return transforms::table().make(name, Json::object())->rewrite(model, {});
}

graph::Model mean_over(const Ints& axes, bool keeps, const Shape& shape = {2, 3, 4, 5}) {
  Builder b;
  return b.finish({b.node("ReduceMean", {b.input("x", shape)}, {{"axes", axes}, {"keepdims", int64_t{keeps}}})});
}

TEST(Rewrites, MeansOverImagesBecomePooling) {
  const auto name = "reduce_mean_to_global_average_pool";
  EXPECT_EQ(operators(rewritten(name, mean_over({2, 3}, true)).model), (std::map<std::string, int>{{"GlobalAveragePool", 1}}));
  EXPECT_EQ(operators(rewritten(name, mean_over({-2, -1}, false)).model),
            (std::map<std::string, int>{{"GlobalAveragePool", 1}, {"Squeeze", 1}}));
  EXPECT_EQ(rewritten(name, mean_over({2}, true, {2, 3, 4})).changes, 1U);
  for (const auto& axes : {Ints{1}, Ints{1, 2, 3}, Ints{3}}) EXPECT_EQ(rewritten(name, mean_over(axes, true)).changes, 0U);
  EXPECT_EQ(rewritten(name, mean_over({2, 3}, true, {2, 3, 4, 5, 6})).changes, 0U);
}

TEST(Rewrites, LargePoolsAreSplitIntoWholeWindows) {
  const auto pool = [](const Shape& shape) {
    Builder b;
    return b.finish({b.node("GlobalAveragePool", {b.input("x", shape)})});
  };
  const Transformed result = rewritten("split_large_kernel_pool", pool({1, 2, 32, 48}));
  ASSERT_EQ(result.changes, 1U);
  const auto kernel = result.model.nodes.front().integers("kernel_shape");
  EXPECT_EQ(32 % kernel[0] + 48 % kernel[1], 0);
  EXPECT_LE(std::max(kernel[0] * kernel[1], 32 * 48 / (kernel[0] * kernel[1])), 512);
  EXPECT_EQ(rewritten("split_large_kernel_pool", pool({1, 2, 16, 32})).changes, 0U);
  EXPECT_EQ(rewritten("split_large_kernel_pool", pool({1, 2, -1, 48})).changes, 0U);
  const Transformed prime = rewritten("split_large_kernel_pool", pool({1, 2, 23, 521}));
  EXPECT_EQ(prime.changes, 0U);
  EXPECT_EQ(prime.notes.size(), 1U);
}

TEST(Rewrites, SplitsBecomeSlices) {
  const auto split = [](int64_t opset, const Shape& shape, std::vector<graph::Attribute> attributes, size_t parts) {
    Builder b;
    b.model().opsets[""] = opset;
    b.node("Split", {b.input("x", shape)}, std::move(attributes), parts);
    std::vector<std::string> outputs{"Split_0_out"};
    for (size_t k = 1; k < parts; k++) outputs.push_back("Split_0_out" + std::to_string(k));
    return b.finish(outputs);
  };
  const Transformed equal = rewritten("split_to_slice", split(13, {2, 6}, {{"axis", int64_t{-1}}}, 3));
  EXPECT_EQ(operators(equal.model), (std::map<std::string, int>{{"Slice", 3}}));
  EXPECT_EQ(equal.became.at("Split_0").size(), 3U);
  EXPECT_EQ(rewritten("split_to_slice", split(18, {2, 7}, {{"axis", int64_t{1}}, {"num_outputs", int64_t{3}}}, 3)).changes, 1U);
  EXPECT_EQ(rewritten("split_to_slice", split(13, {2, -1}, {{"axis", int64_t{1}}}, 3)).changes, 0U);
}

TEST(Rewrites, BatchNormalizationNeedsChannelsAndPositions) {
  const auto normal = [](const Shape& shape) {
    Builder b;
    return b.finish({b.node("BatchNormalization", {b.input("x", shape), b.weights({3}), b.weights({3}), b.weights({3}),
                                                   b.constant(Tensor::of({3}, std::vector<float>{1, 2, 3}))})});
  };
  EXPECT_EQ(operators(rewritten("bn_to_conv", normal({2, 3, 4, 5})).model), (std::map<std::string, int>{{"Conv", 1}}));
  EXPECT_EQ(rewritten("bn_to_conv", normal({2, 3, 4})).changes, 1U);
  EXPECT_EQ(rewritten("bn_to_conv", normal({2, 3})).changes, 0U);
}

// x / max(‖x‖, bound)
graph::Model unit_vectors(float bound, bool read_twice) {
  Builder b;
  const auto x = b.input("x", {2, 8});
  const auto length = b.node("ReduceL2", {x}, {{"axes", Ints{-1}}, {"keepdims", int64_t{1}}});
  const auto quotient = b.node("Div", {x, b.node("Max", {length, b.constant(Tensor::scalar(bound))})});
  return read_twice ? b.finish({quotient, length}) : b.finish({quotient});
}

TEST(Rewrites, NormsAreFusedWhereNobodyLooksInside) {
  EXPECT_EQ(operators(rewritten("fuse_l2_norm", unit_vectors(1e-12F, false)).model),
            (std::map<std::string, int>{{"LpNormalization", 1}}));
  EXPECT_EQ(rewritten("fuse_l2_norm", unit_vectors(1e-3F, false)).changes, 0U);
  EXPECT_EQ(rewritten("fuse_l2_norm", unit_vectors(1e-12F, true)).changes, 0U);
}

TEST(Rewrites, ClipsBecomeReluWhereTheGridEnds) {
  Builder b;
  const graph::Model model = b.finish({b.clip(b.conv(b.input("x", {1, 3, 6, 6}), 3, 4, 3), 0, 6)});
  stats::Statistics seen = made_up_statistics(model);
  const auto relus = [&](float greatest) {
    seen["Clip_0_out"] = stats::of_values(std::vector<float>{0, greatest}, {.histogram = true});
    const Config config = parse_config(
        {{"activation", "UInt8Spec"}, {"activation_params", {{"calibration_method", "MinMax"}}}, {"ConvertClipToRelu", true}});
    const Plan plan = resolve(model, seen, config, *targets::table().make("generic"));
    return std::pair{plan.relus.size(), operators(apply(model, plan))["Relu"]};
  };
  EXPECT_EQ(relus(6), (std::pair{size_t{1}, 1}));
  EXPECT_EQ(relus(3), (std::pair{size_t{1}, 1}));
  EXPECT_EQ(relus(7), (std::pair{size_t{0}, 0}));
}

}  // namespace
}  // namespace quasar::quant
