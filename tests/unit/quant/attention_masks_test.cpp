// Attention masks that calibration never saw at work.
#include "quasar/quant/placement/attention_masks.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "executed.hpp"
#include "made_up_statistics.hpp"
#include "quasar/quant/given_ranges.hpp"
#include "sample_models.hpp"

namespace quasar::quant {
namespace {

constexpr float lowest = std::numeric_limits<float>::lowest();

std::string number(Builder& b, float value) {
  return b.constant(Tensor::scalar(value));
}

// -> what Softmax reads, of scores and a mask of ones (seen) and zeros (padded).
using Masking = std::function<std::string(Builder&, const std::string& scores, const std::string& mask)>;

std::string inverted(Builder& b, const std::string& mask) {
  return b.node("Sub", {number(b, 1), mask});
}

Masking times(float hidden) {
  return [=](Builder& b, const std::string& scores, const std::string& mask) {
    return b.node("Add", {scores, b.node("Mul", {inverted(b, mask), number(b, hidden)})});
  };
}

std::string minus(Builder& b, const std::string& scores, const std::string& mask) {
  const auto penalty = b.node("Mul", {b.node("Sub", {mask, number(b, 1)}), number(b, 1e4F)});
  return b.node("Max", {b.node("Add", {penalty, scores}), number(b, lowest)});
}

std::string chosen(Builder& b, const std::string& scores, const std::string& mask) {
  const auto open = b.node("Greater", {mask, number(b, 0.5F)});
  return b.node("Where", {open, scores, number(b, -1e9F)});
}

std::string behind_a_bias(Builder& b, const std::string& scores, const std::string& mask) {
  const auto hiding = b.node("Where", {b.node("Greater", {mask, number(b, 0.5F)}), number(b, 0), number(b, -INFINITY)});
  const auto sum = b.node("Add", {b.node("Add", {scores, b.weights({1, 4, 4})}), b.node("Identity", {hiding})});
  return b.node("Mul", {sum, number(b, 0.5F)});
}

// x [1, 4, 6] attends to itself.
graph::Model attending(const Masking& masking) {
  Builder b(4);
  const auto x = b.input("x", {1, 4, 6}), mask = b.input("mask", {1, 1, 4});
  const auto keys = b.node("Transpose", {b.node("MatMul", {x, b.weights({6, 6})})}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
  const auto scores = b.node("MatMul", {x, keys});
  const auto weights = b.node("Softmax", {masking(b, scores, mask)}, {{"axis", int64_t{-1}}});
  return b.finish({b.node("MatMul", {weights, b.node("MatMul", {x, b.weights({6, 3})})})});
}

Samples samples_with(const graph::Model& model, const std::vector<float>& mask) {
  Samples samples = random_samples(model, 4);
  for (auto& sample : samples) sample.at(1) = Tensor::of(Shape{1, 1, 4}, mask);
  return samples;
}

// Of all samples' outputs together.
double relative_error(const graph::Model& wanted, const graph::Model& got, const Samples& samples, const Samples& others) {
  const runtime::Session one(wanted), other(got);
  double error = 0, power = 0;
  for (size_t k = 0; k < samples.size(); k++) {
    const Tensor a = one.run(samples[k]).at(0), b = other.run(others[k]).at(0);
    for (size_t i = 0; i < a.count(); i++) {
      const auto value = static_cast<double>(a.as<float>()[i]), found = static_cast<double>(b.as<float>()[i]);
      error += std::pow(found - value, 2), power += value * value;
    }
  }
  return std::sqrt(error / power);
}

const std::vector<std::pair<const char*, Masking>>& maskings() {
  static const std::vector<std::pair<const char*, Masking>> all{
      {"-1e4", times(-1e4F)}, {"lowest", times(lowest)}, {"minus", minus}, {"where", chosen}, {"bias", behind_a_bias}};
  return all;
}

TEST(AttentionMasks, HideWhatNoSampleHid) {
  for (const auto& [name, masking] : maskings()) {
    const graph::Model model = attending(masking);
    const Samples full = samples_with(model, {1, 1, 1, 1}), padded = samples_with(model, {1, 1, 0, 0});
    const auto seen = observe(model, full);
    const double without = relative_error(model, model, padded, full);
    EXPECT_GT(without, 0.3) << "the mask matters";
    for (const auto& [scheme, target] : std::vector<std::pair<const char*, const char*>>{
             {"U8S8_CHANNEL", "ort_cpu"}, {"A8W8", "generic"}, {"A16W8", "generic"}, {"A16W8", "ort_cpu"}, {"XINT8", "xint8"}}) {
      const Config config = parse_config(schemes::table().make(scheme)->words());
      const Plan plan = resolve(model, seen, config, *targets::table().make(target));
      EXPECT_FALSE(plan.nodes.contains("Softmax_0")) << name << scheme << target;
      EXPECT_TRUE(plan.nodes.contains("MatMul_0")) << name << scheme << target;
      // What is hidden no longer evens out, so that some values leave the ranges that were seen.
      EXPECT_LT(relative_error(model, apply(model, plan), padded, padded), without / 3) << name << scheme << target;
      // They come back from a file of ranges, which names what is observed only.
      const auto given = parse_ranges(ranges_json(plan, config), model, config.activation);
      EXPECT_TRUE(given.contains(model.nodes.back().inputs.front())) << name;
    }
  }
}

TEST(AttentionMasks, CastsHoldThem) {
  const graph::Model model = attending(times(-1e4F));
  const Config config = parse_config(schemes::table().make("bf16")->words());
  EXPECT_TRUE(resolve(model, {}, config, *targets::table().make("ort_cpu")).nodes.contains("Softmax_0"));
}

// Large biases and factors of scores hide nothing, nor do constants that only bound values.
TEST(AttentionMasks, AreNothingElse) {
  Builder b;
  const auto scores = b.node("MatMul", {b.input("x", {2, 6}), b.weights({6, 4})});
  const auto biased = b.node("Add", {scores, b.constant(Tensor::of<float>({4}, {9000, -9000, 0, 1}))});
  const auto scaled = b.node("Mul", {biased, number(b, 2000)});
  const auto bounded = b.node("Max", {b.node("Clip", {scaled, number(b, lowest)}), number(b, -1e4F)});
  const graph::Model model = b.finish({b.node("Softmax", {bounded})});
  EXPECT_TRUE(mask_values(graph::Index(model)).empty());
}

// The ends of a grid that holds the lowest float are infinite, and 0 · ∞ is no number.
TEST(AttentionMasks, ConstantsBeyondAllGridsStayInFloat) {
  Builder b;
  const auto x = b.conv(b.input("x", {1, 3, 4, 4}), 3, 4, 1);
  const graph::Model model = b.finish({b.node("Mul", {x, b.constant(Tensor::scalar(lowest))}), b.node("Mul", {x, number(b, 3)})});
  const Plan plan = plan_of(model, config_of(DataType::int8, true), "generic");
  EXPECT_NE(plan.skipped.at("Mul_0").find("holds huge or infinite numbers"), std::string::npos);
  EXPECT_TRUE(plan.nodes.contains("Mul_1"));
}

}  // namespace
}  // namespace quasar::quant
