#include "quasar/sensitivity/joint_errors.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "quasar/base/rng.hpp"
#include "quasar/runtime/session.hpp"
#include "unit/tune/generated_samples.hpp"

namespace quasar::tune {
namespace {

Tensor normal_values(const Shape& shape, uint64_t seed) {
  Rng rng(seed);
  std::vector<float> values(count_of(shape));
  for (auto& value : values) value = 0.5F * static_cast<float>(rng.normal());
  return Tensor::of(shape, values);
}

// x ─MatMul a─ p ─MatMul b─ q ─MatMul c─ y
graph::Model three_products() {
  graph::Model model;
  model.opsets[""] = 17;
  model.inputs = {{"x", DataType::float32, Shape{1, 8}}};
  model.outputs = {{"y", DataType::float32, Shape{1, 4}}};
  model.initializers = {{"wa", normal_values({8, 8}, 1)}, {"wb", normal_values({8, 8}, 2)}, {"wc", normal_values({8, 4}, 3)}};
  model.nodes = {{.name = "a", .op_type = "MatMul", .domain = "", .inputs = {"x", "wa"}, .outputs = {"p"}},
                 {.name = "b", .op_type = "MatMul", .domain = "", .inputs = {"p", "wb"}, .outputs = {"q"}},
                 {.name = "c", .op_type = "MatMul", .domain = "", .inputs = {"q", "wc"}, .outputs = {"y"}}};
  return model;
}

// Values on a grid of 1/20; weights on one of this step. Without those of `in_float`.
quant::Plan plan_of_weights(float step, const std::string& in_float = "") {
  const auto on = [](float scale) { return quant::QuantParams{.type = DataType::int8, .scales = {scale}, .zero_points = {0}}; };
  quant::Plan plan;
  for (const char* value : {"x", "p", "q", "y"}) plan.values[value] = on(0.05F);
  for (const char* node : {"a", "b", "c"}) {
    if (node != in_float) plan.nodes[node].weight = quant::ConstantPlan{1, on(step)};
  }
  return plan;
}

struct ThreeSamples final : GeneratedSamples {
  ThreeSamples() : GeneratedSamples(3, [](size_t index) { return data::Sample{normal_values({1, 8}, 50 + index)}; }) {}
};

// By models of their own: the units' levels 0 (float), 1 and 2.
double distance_at(const ToggledModel& toggled, const data::Sample& sample, const ToggledModel::Levels& levels) {
  const ToggledModel::Passage passage(toggled, sample, levels);
  return output_distance(runtime::Session(three_products()).run(sample), passage.outputs());
}

TEST(JointErrors, AreWhatTwoGroupsLoseBeyondTheirOwn) {
  const std::array plans{plan_of_weights(0.05F), plan_of_weights(0.4F)};
  const ToggledModel toggled(three_products(), plans);
  const ThreeSamples samples;
  const std::vector<std::vector<size_t>> groups{{0, 1}, {2}};
  const std::vector<std::pair<size_t, size_t>> pairs{{0, 1}};
  for (const Squared squared : {Squared::mean_distance, Squared::each_distance}) {
    const JointErrors errors = joint_errors(toggled, groups, 2, pairs, samples, output_distance, squared);
    const auto expected = [&](uint8_t first, uint8_t second) {
      double sum = 0;
      for (size_t i = 0; i < samples.size(); i++) {
        const double distance = distance_at(toggled, samples.at(i), {first, first, second});
        sum += squared == Squared::each_distance ? distance * distance : distance;
      }
      return squared == Squared::each_distance ? sum / 3 : sum * sum / 9;
    };
    for (uint8_t p = 1; p <= 2; p++) {
      EXPECT_NEAR(errors.single[0][p - 1] / expected(p, 0), 1, 1e-6);
      EXPECT_NEAR(errors.single[1][p - 1] / expected(0, p), 1, 1e-6);
      for (uint8_t q = 1; q <= 2; q++)
        EXPECT_NEAR(errors.pairs[0][p - 1][q - 1], expected(p, q) - expected(p, 0) - expected(0, q), 1e-6 * expected(p, q));
    }
    EXPECT_GT(errors.single[0][1], 4 * errors.single[0][0]) << "weights on a grid that is eight times as coarse";
  }
}

// The model with all switches at a level is that of its plan.
TEST(JointErrors, LevelsAreTheirPlans) {
  const std::array plans{plan_of_weights(0.05F), plan_of_weights(0.4F)};
  const ToggledModel toggled(three_products(), plans);
  const ThreeSamples samples;
  for (uint8_t level = 1; level <= 2; level++) {
    const runtime::Session session(quant::apply(three_products(), plans[level - 1]), {.integer_kernels = false});
    const ToggledModel::Passage passage(toggled, samples.at(0), ToggledModel::Levels(3, level));
    EXPECT_LT(output_distance(session.run(samples.at(0)), passage.outputs()), 1e-5) << int{level};
  }
}

TEST(JointErrors, AUnitThatAPlanLeavesInFloatLosesNothingThere) {
  const std::array plans{plan_of_weights(0.05F), plan_of_weights(0.4F, "b")};
  const ToggledModel toggled(three_products(), plans);
  const ThreeSamples samples;
  const std::vector<std::vector<size_t>> groups{{1}, {2}};
  const JointErrors errors = joint_errors(toggled, groups, 2, {}, samples, output_distance);
  EXPECT_GT(errors.single[0][0], 0);
  EXPECT_EQ(errors.single[0][1], 0);
  EXPECT_GT(errors.single[1][1], 0);
  EXPECT_TRUE(errors.pairs.empty());
}

}  // namespace
}  // namespace quasar::tune
