#include "quasar/quant/computed_hash.hpp"

#include <gtest/gtest.h>

#include "executed.hpp"
#include "made_up_statistics.hpp"
#include "sample_models.hpp"

namespace quasar::quant {
namespace {

std::vector<Tensor> simulated(const graph::Model& model, const Plan& plan, const std::vector<Tensor>& sample) {
  return runtime::Session(apply(model, plan), {.optimization = runtime::Optimization::none, .integer_kernels = false})
      .run(sample);
}

std::set<std::string> without_effect(const graph::Model& model) {
  const auto samples = random_samples(model, 2);
  const auto seen = observe(model, samples);
  Config config = config_of(DataType::uint8, false);
  const auto target = targets::table().make("ort_cpu");
  const Plan plan = resolve(model, seen, config, *target);
  std::set<std::string> out;
  for (const auto& node : model.nodes) {
    config.exclude = {node.name};
    const Plan other = resolve(model, seen, config, *target);
    if (!plan.nodes.contains(node.name) || other.nodes.contains(node.name)) continue;
    EXPECT_NE(hash_of(plan), hash_of(other));
    if (hash_of_values(model, plan) != hash_of_values(model, other)) continue;
    out.insert(node.name);
    EXPECT_EQ(simulated(model, plan, samples[0]), simulated(model, other, samples[0])) << node.name;
  }
  return out;
}

TEST(SameValues, WhatIsTheSameInFloatArithmeticIsFound) {
  EXPECT_EQ(without_effect(sums()), std::set<std::string>{"Add_0"});
  for (const auto& model : {separable(), residual(), branches(), attention()}) {
    for (const auto& node : without_effect(model)) {
      EXPECT_EQ(node.find("Conv"), std::string::npos);
      EXPECT_EQ(node.find("Gemm"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace quasar::quant
