#include "quasar/rounding/refinement_check.hpp"

#include <gtest/gtest.h>

#include "quasar/rounding/rounding.hpp"
#include "unit/tune/generated_samples.hpp"

namespace quasar::tune {
namespace {

// The second channel is a large input times a small weight: clipping the large input serves the first channel and spoils the
// model.
TEST(RefinementCheck, ScalesThatSpoilTheOutputsAreDroppedAndOthersKept) {
  graph::Model model;
  model.opsets[""] = 13;
  model.inputs = {{"x", DataType::float32, Shape{1, 2, 1, 1}}};
  model.outputs = {{"y", DataType::float32, Shape{1, 2, 1, 1}}};
  model.initializers["w"] = Tensor::of(Shape{2, 2, 1, 1}, std::vector<float>{1, 0, 0, 0.0015F});
  model.initializers["b"] = Tensor::of(Shape{2}, std::vector<float>{0, 0});
  model.nodes.push_back(
      {.name = "conv", .op_type = "Conv", .domain = "", .inputs = {"x", "w", "b"}, .outputs = {"y"}, .attributes = {}});
  const GeneratedSamples samples(4, [](size_t) {
    return data::Sample{Tensor::of(Shape{1, 2, 1, 1}, std::vector<float>{0.9F, 1000})};
  });
  const quant::Config config = quant::parse_config(
      {{"activation", "UInt8Spec"}, {"activation_params", {{"symmetric", false}, {"calibration_method", "MinMax"}}}});
  const auto seen = stats::collect(model, samples, quant::observed_values(model), quant::needs_of(config)).at(samples.size());
  quant::Plan plan = quant::resolve(model, seen, config, *quant::targets::table().make("ort_cpu"));

  quant::QuantParams clipped = plan.params("x");
  clipped.scales = {0.9F / 255};
  RefinementCheck check(model, data::DatasetPtr(data::DatasetPtr(), &samples), 1, 1 << 20);
  EXPECT_TRUE(check.proven({{"x", clipped}}, plan).params.empty());
  const quant::QuantParams fitting = plan.params("y");
  plan.values["y"].scales = {fitting.scales.front() * 16};
  EXPECT_EQ(check.proven({{"y", fitting}}, plan).params.size(), 1U);
  EXPECT_EQ(check.proven({{"x", clipped}, {"y", fitting}}, plan).params.size(), 1U);  // without the model's input
}

}  // namespace
}  // namespace quasar::tune
