#include "quasar/quant/write/idle_bounds.hpp"

#include <gtest/gtest.h>

#include "executed.hpp"
#include "made_up_statistics.hpp"
#include "quasar/runtime/kernels.hpp"
#include "quasar/runtime/session.hpp"
#include "sample_models.hpp"

namespace quasar::quant {
namespace {

// Conv, Clip, Conv. "": no such bound.
graph::Model clipped(std::optional<float> low, std::optional<float> high) {
  Builder b;
  const auto bound = [&](std::optional<float> value) { return value ? b.constant(Tensor::scalar(*value)) : ""; };
  const auto first = b.conv(b.input("x", {1, 3, 6, 6}), 3, 4, 3);
  return b.finish({b.conv(b.node("Clip", {first, bound(low), bound(high)}), 4, 5, 1)});
}

Plan plan_for(const graph::Model& model, float scale, int zero_point, DataType type = DataType::uint8) {
  Config config = config_of(type, false);
  Plan plan = plan_of(model, config, "generic");
  plan.values["Clip_0_out"] = {.type = type, .scales = {scale}, .zero_points = {zero_point}};
  return plan;
}

TEST(IdleBounds, OnnxRuntimeTakesTheModelAndTheCodesStay) {
  struct Case {
    std::optional<float> low, high;
    int zero_point;
    bool low_left, high_left;
  };
  // Steps of 0.02; 255 − 239 = 16 of them are 0.32.
  const std::vector<Case> cases{{{}, 0.312F, 239, false, false}, {{}, 0.308F, 239, false, true}, {-10, 0.312F, 239, true, false},
                                {-1, 0.312F, 239, true, true},   {-0.205F, {}, 10, true, false}, {-0.195F, {}, 10, false, false},
                                {-0.18F, {}, 10, true, false},   {0, 5.11F, 0, true, true},      {0, 5.095F, 0, true, false}};
  for (const auto& [low, high, zero_point, low_left, high_left] : cases) {
    const graph::Model model = clipped(low, high);
    const graph::Model quantized = apply(model, plan_for(model, 0.02F, zero_point));
    const std::string what = "to " + std::to_string(high.value_or(99)) + ", from " + std::to_string(low.value_or(-99));
    const graph::Index index(quantized);
    const graph::Node& clip = *index.node("Clip_0");
    EXPECT_EQ(clip.inputs.size() > 1 && !clip.inputs[1].empty(), low_left) << what;
    EXPECT_EQ(clip.inputs.size() > 2 && !clip.inputs[2].empty(), high_left) << what;
    graph::Model bounded = quantized;  // with its bounds
    for (auto& node : bounded.nodes) {
      if (node.name != "Clip_0") continue;
      node.inputs = {node.inputs[0], "low", "high"};
      bounded.initializers["low"] = Tensor::scalar(low.value_or(-1e30F));
      bounded.initializers["high"] = Tensor::scalar(high.value_or(1e30F));
    }
    const runtime::SessionOptions plain{.optimization = runtime::Optimization::none, .integer_kernels = false};
    const runtime::Session as_written(bounded, plain), simulated(quantized, plain), fast(quantized);
    for (const auto& sample : random_samples(model, 2)) {
      const auto wanted = as_written.run(sample), got = simulated.run(sample);
      EXPECT_EQ(wanted[0], got[0]) << what;
      EXPECT_NO_THROW((void)fast.run(sample)) << what;
    }
  }
}

TEST(IdleBounds, OtherTypesKeepTheirs) {
  const graph::Model model = clipped(-10, 0.312F);
  const graph::Model quantized = apply(model, plan_for(model, 0.02F, 0, DataType::int16));
  EXPECT_EQ(graph::Index(quantized).node("Clip_0")->inputs.size(), 3);
}

}  // namespace
}  // namespace quasar::quant
