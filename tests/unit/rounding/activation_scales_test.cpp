// What plans share when activation scales are refined.
#include "quasar/rounding/activation_scales.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "quasar/rounding/rounding.hpp"
#include "unit/rounding/rounding_models.hpp"

namespace quasar::tune {
namespace {

// An operator more in float changes the windows around it; the others are decided already, and just so.
TEST(ActivationScales, WindowsThatStayAreNotLookedAtAgain) {
  const graph::Model model = network();
  const Samples usual;
  std::atomic<size_t> reads{0};
  const GeneratedSamples samples(usual.size(), [&](size_t index) {
    reads++;
    return usual.at(index);
  });
  const quant::Config config =
      quant::parse_config({{"activation_params", {{"scale_type", "PowerOf2"}, {"calibration_method", "MinMSE"}}}});
  const auto seen = stats::collect(model, usual, quant::observed_values(model), quant::needs_of(config)).at(usual.size());
  quant::Plan whole = quant::resolve(model, seen, config, *quant::targets::table().make("ort_cpu"));
  whole.values.at("a").scales[0] *= 4;
  quant::Plan less = whole;
  less.nodes.erase("gemm");
  less.values.erase("y");
  const auto memo = std::make_shared<WindowMemo>();
  const auto first = refined_activations(model, whole, samples, {.memo = memo});
  EXPECT_TRUE(first.contains("a"));
  reads = 0;
  EXPECT_EQ(refined_activations(model, whole, samples, {.memo = memo}), first);
  EXPECT_EQ(reads, 0U);
  const auto later = refined_activations(model, less, samples, {.memo = memo});
  EXPECT_EQ(refined_activations(model, less, samples, {}), later);
}

// Scales are judged one by one: what must have one grid with others keeps it.
TEST(ActivationScales, ValuesThatShareAGridByDemandKeepIt) {
  const graph::Model model = network();
  const auto samples = std::make_shared<Samples>();
  const quant::Config config = quant::parse_config({{"activation_params", {{"calibration_method", "MinMax"}}},
                                                    {"algorithms", "adaround"},
                                                    {"adaround_params", {{"refine_activations", true}}}});
  const auto seen = stats::collect(model, *samples, quant::observed_values(model), quant::needs_of(config)).at(samples->size());
  for (const bool demanded : {false, true}) {
    quant::Plan plan = quant::resolve(model, seen, config, *quant::targets::table().make("ort_cpu"));
    plan.values.at("a").scales[0] *= 4;
    if (demanded) plan.aligned = {"a"};
    Rounder rounder(model, samples);
    rounder.settle(plan, std::nullopt);
    rounder.improve(plan);
    EXPECT_EQ(plan.refined.contains("a"), !demanded);
  }
}

}  // namespace
}  // namespace quasar::tune
