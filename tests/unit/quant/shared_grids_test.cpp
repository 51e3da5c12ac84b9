// Parts of very different ranges that meet on one grid.
#include "quasar/quant/shared_grids.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "executed.hpp"
#include "made_up_statistics.hpp"
#include "quasar/quant/config/named_schemes.hpp"
#include "sample_models.hpp"
#include "unit/error_of.hpp"

namespace quasar::quant {
namespace {

const graph::Attribute channels_axis{"axis", int64_t{1}};

// Boxes of hundreds and scores of 0…1 from one picture, [1, 4, 64] and [1, 2, 64].
struct Heads {
  std::string boxes, scores;
};

Heads heads(Builder& b) {
  const auto x = b.node("Relu", {b.conv(b.input("x", {1, 3, 8, 8}), 3, 6, 3)});
  const auto flat = [&](const std::string& value, int64_t channels) {
    return b.node("Reshape", {value, b.constant(Tensor::of<int64_t>({3}, {1, channels, 64}))});
  };
  const auto boxes = b.node("Mul", {flat(b.conv(x, 6, 4, 1), 4), b.constant(Tensor::scalar(100.0F))});
  return {boxes, b.node("Sigmoid", {flat(b.conv(x, 6, 2, 1), 2)})};
}

graph::Model packed() {
  Builder b;
  const Heads h = heads(b);
  return b.finish({b.node("Concat", {h.boxes, h.scores}, {channels_axis})});
}

Plan observed_plan(const graph::Model& model, const Json& words = Json::object(), const std::string& target = "ort_cpu") {
  Json all = schemes::table().make(target == "xint8" ? "xint8" : "u8s8_channel")->words();
  all.update(words);
  return resolve(model, observe(model, random_samples(model, 4)), parse_config(all), *targets::table().make(target));
}

bool is_said(const Plan& plan, const std::string& words) {
  return std::ranges::any_of(plan.notes, [&](const std::string& note) { return note.find(words) != std::string::npos; });
}

double relative_error(std::span<const float> is, std::span<const float> was) {
  double error = 0, power = 0;
  for (size_t i = 0; i < is.size(); i++) {
    error += std::pow(is[i] - was[i], 2);
    power += std::pow(was[i], 2);
  }
  return std::sqrt(error / power);
}

TEST(SharedGrids, ScoresBesideBoxesKeepTheirPrecision) {
  const graph::Model model = packed();
  const Plan plan = observed_plan(model);
  EXPECT_FALSE(plan.nodes.contains("Concat_0"));
  EXPECT_TRUE(plan.nodes.contains("Sigmoid_0"));
  EXPECT_EQ(plan.skipped.at("Concat_0"), "one grid for all that it joins would lose a part");
  EXPECT_TRUE(is_said(plan, "Concat_0 stays in float, as one grid for all that is joined would lose a part: 'Sigmoid_0_out'"));
  EXPECT_EQ(plan.lost_parts.size(), 1U);
  const auto samples = random_samples(model, 3);
  const runtime::Session before(model), after(apply(model, plan));
  for (const auto& sample : samples) {
    const Tensor was = before.run(sample).front(), is = after.run(sample).front();
    const auto scores = [](const Tensor& all) { return all.as<float>().subspan(4 * 64); };
    EXPECT_LT(relative_error(scores(is), scores(was)), 0.1);
  }
}

TEST(SharedGrids, EveryTargetThatMayLeaveItInFloatDoes) {
  for (const char* target : {"ort_cpu", "generic", "ort_cuda"})
    EXPECT_FALSE(observed_plan(packed(), Json::object(), target).nodes.contains("Concat_0")) << target;
}

TEST(SharedGrids, WhoDemandsOneGridIsToldWhatItCosts) {
  for (const Plan& plan : {observed_plan(packed(), {{"AlignConcat", true}}), observed_plan(packed(), Json::object(), "xint8")}) {
    EXPECT_TRUE(plan.nodes.contains("Concat_0"));
    EXPECT_TRUE(is_said(plan, "Concat_0 stays on one grid, which is demanded there, and a part is lost"));
  }
}

TEST(SharedGrids, PartsOfLikeRangesShareOne) {
  Builder b;
  const auto x = b.conv(b.input("x", {1, 3, 8, 8}), 3, 6, 3);
  const auto both = b.node("Concat", {b.node("Sigmoid", {b.conv(x, 6, 2, 1)}), b.conv(x, 6, 2, 1)}, {channels_axis});
  const Plan plan = observed_plan(b.finish({both}));
  EXPECT_TRUE(plan.nodes.contains("Concat_0"));
  EXPECT_TRUE(plan.lost_parts.empty());
}

// A grid that comes behind: what was saved would be lost there.
TEST(SharedGrids, WhatIsBehindStaysInFloatToo) {
  Builder b;
  const Heads h = heads(b);
  const auto one = b.node("Concat", {h.boxes, h.scores}, {channels_axis});
  const auto moved = b.node("Transpose", {one}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
  const auto all = b.node("Concat", {moved, moved}, {channels_axis});
  const Plan plan = observed_plan(b.finish({b.node("Mul", {all, b.constant(Tensor::scalar(2.0F))})}));
  for (const char* node : {"Concat_0", "Transpose_0", "Concat_1", "Mul_1"}) EXPECT_TRUE(plan.skipped.contains(node)) << node;
  EXPECT_TRUE(is_said(plan, "and 1 more that join values stay in float"));
}

// The convolution would put all on one grid again.
TEST(SharedGrids, SumsBehindNeedOneGrid) {
  Builder b;
  const auto x = b.conv(b.input("x", {1, 3, 8, 8}), 3, 6, 3);
  const auto large = b.node("Mul", {b.conv(x, 6, 2, 1), b.constant(Tensor::scalar(1e6F))});
  const auto both = b.node("Concat", {large, b.node("Sigmoid", {b.conv(x, 6, 2, 1)})}, {channels_axis});
  const Plan plan = observed_plan(b.finish({b.conv(both, 4, 3, 1)}));
  EXPECT_TRUE(plan.nodes.contains("Concat_0"));
  EXPECT_TRUE(is_said(plan, "Concat_0 stays on one grid, with which the sums behind it are computed, and a part is lost"));
}

TEST(SharedGrids, AConstantIsAPartAndWhereJoinsToo) {
  Builder b;
  const auto x = b.node("Sigmoid", {b.conv(b.input("x", {1, 3, 8, 8}), 3, 6, 3)});
  const auto far = b.constant(Tensor::scalar(-900.0F));
  const Plan plan = observed_plan(b.finish({b.node("Where", {b.input("open", {}, DataType::boolean), x, far})}));
  EXPECT_FALSE(plan.nodes.contains("Where_0"));
  EXPECT_TRUE(is_said(plan, "'Sigmoid_0_out'"));
}

TEST(SharedGrids, AGridThatTheUserGaveIsHis) {
  const Json own{{"TensorQuantOverrides", {{"Concat_0_out", {{{"rmin", 0}, {"rmax", 300}}}}}}};
  const Plan plan = observed_plan(packed(), own);
  EXPECT_TRUE(plan.nodes.contains("Concat_0"));
  EXPECT_TRUE(plan.lost_parts.empty());
}

// One grid for factors of hundreds and of hundredths, which the target asks for.
TEST(SharedGrids, OfAProductThatTheTargetUnifiesIsSaid) {
  Builder b;
  const auto x = b.conv(b.input("x", {1, 4, 8, 8}), 4, 4, 3);
  const auto large = b.node("Mul", {b.conv(x, 4, 4, 3), b.constant(Tensor::scalar(100.0F))});
  const auto small = b.node("Mul", {b.conv(x, 4, 4, 3), b.constant(Tensor::scalar(0.01F))});
  const graph::Model model = b.finish({b.conv(b.node("Mul", {large, small}), 4, 4, 3)});
  EXPECT_TRUE(is_said(observed_plan(model, Json::object(), "openvino_npu"), "Mul_2 stays on one grid, which is demanded there"));
  EXPECT_FALSE(is_said(observed_plan(model, Json::object(), "generic"), "Mul_2"));
}

// Its range would be cut to that of the group's codes.
TEST(SharedGrids, AnOverridesOwnTypeInAGroupIsRefused) {
  Builder b;
  const auto x = b.conv(b.input("x", {1, 4, 8, 8}), 4, 4, 3);
  const graph::Model model = b.finish({b.conv(b.node("Concat", {b.conv(x, 4, 4, 3), x}, {channels_axis}), 8, 4, 3)});
  Config config = parse_config(words_of_scheme("u8s8_channel"));
  config.switches["AlignConcat"] = true;
  config.tensors = parse_tensor_overrides({{"Conv_0_out", {{"quant_type", "QUInt16"}}}});
  const std::string said = test::error_of([&] { plan_of(model, config, "generic"); });
  EXPECT_NE(said.find("TensorQuantOverrides.Conv_0_out.quant_type is"), std::string::npos) << said;
  config.tensors = parse_tensor_overrides({{"Conv_0_out", {{"quant_type", "QUInt8"}}}});
  EXPECT_EQ(test::error_of([&] { plan_of(model, config, "generic"); }), "no error");
}

}  // namespace
}  // namespace quasar::quant
