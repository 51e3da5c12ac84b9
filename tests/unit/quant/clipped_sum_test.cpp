// A HardSigmoid between pairs is a sum on codes for ONNX Runtime's CPU, whose pair clips.
#include <gtest/gtest.h>

#include "executed.hpp"
#include "made_up_statistics.hpp"
#include "no_overflow.hpp"
#include "quasar/runtime/session.hpp"
#include "sample_models.hpp"

namespace quasar::quant {
namespace {

// Conv, x · HardSigmoid(x), Conv.
graph::Model with_hard_swish(float alpha, float beta) {
  Builder b;
  const auto x = b.conv(b.input("x", {1, 3, 6, 7}), 3, 4, 3);
  const auto gate = b.node("HardSigmoid", {x}, {{"alpha", alpha}, {"beta", beta}});
  return without_overflow(b.finish({b.conv(b.node("Mul", {x, gate}), 4, 5, 1)}));
}

size_t count_of(const graph::Model& model, const char* type) {
  return static_cast<size_t>(std::ranges::count_if(model.nodes, [&](const graph::Node& node) { return node.op_type == type; }));
}

graph::Model quantized(const graph::Model& model, const Config& config, const char* target) {
  const auto seen = observe(model, random_samples(model, 8));
  return written(model, resolve(model, seen, config, *targets::table().make(target)));
}

double distance(const graph::Model& a, const graph::Model& b) {
  const runtime::Session first(a), second(b);
  double noise = 0, power = 0;
  for (const auto& sample : random_samples(a, 4)) {
    const Tensor one = first.run(sample)[0], other = second.run(sample)[0];
    for (size_t i = 0; i < one.as<float>().size(); i++) {
      noise += std::pow(one.as<float>()[i] - other.as<float>()[i], 2);
      power += std::pow(one.as<float>()[i], 2);
    }
  }
  return std::sqrt(noise / power);
}

TEST(ClippedSum, IsTheSameFunctionInEveryFormat) {
  for (const auto& [alpha, beta] : {std::pair{1.0F / 6, 0.5F}, {0.5F, 0.25F}, {0.3F, -0.1F}, {0.4F, 0.0F}}) {
    const graph::Model model = with_hard_swish(alpha, beta);
    for (const auto format : {Format::qdq, Format::qoperator}) {
      Config config = config_of(DataType::uint8, false);
      config.format = format;
      const graph::Model made = quantized(model, config, "ort_cpu");
      EXPECT_EQ(count_of(made, "HardSigmoid"), 0U);
      EXPECT_LT(distance(model, made), 0.03) << alpha << " " << beta;
      if (format == Format::qoperator) {
        EXPECT_EQ(count_of(made, "QLinearAdd"), 1U);
        EXPECT_EQ(count_of(made, "QLinearMul"), 1U);
      }
    }
  }
}

TEST(ClippedSum, StaysAHardSigmoidIn16BitFloats) {
  const graph::Model model = with_hard_swish(1.0F / 6, 0.5F);
  const Config half = config_of(DataType::bfloat16, true, Granularity::tensor, DataType::bfloat16);
  const graph::Model made = quantized(model, half, "ort_cpu");
  EXPECT_EQ(count_of(made, "HardSigmoid"), 1U);
  EXPECT_LT(distance(model, made), 0.03);
}

TEST(ClippedSum, NeedsAPairThatClips) {
  const graph::Model model = with_hard_swish(1.0F / 6, 0.5F);
  EXPECT_EQ(count_of(quantized(model, config_of(DataType::uint8, true), "ort_cpu"), "HardSigmoid"), 1U)
      << "its grid begins below 0";
  EXPECT_EQ(count_of(quantized(with_hard_swish(-0.2F, 0.5F), config_of(DataType::uint8, false), "ort_cpu"), "HardSigmoid"), 1U);

  EXPECT_EQ(count_of(quantized(model, config_of(DataType::uint8, false), "generic"), "HardSigmoid"), 1U);
}

}  // namespace
}  // namespace quasar::quant
