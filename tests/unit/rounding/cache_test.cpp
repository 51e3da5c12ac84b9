// A cache of keys as input and output, empty at first: it is calibrated, rounded and run like other values.
#include <gtest/gtest.h>

#include <cmath>

#include "quasar/runtime/session.hpp"
#include "quasar/trial/variants.hpp"
#include "unit/rounding/random_tensor.hpp"
#include "unit/tune/generated_samples.hpp"

namespace quasar::tune {
namespace {

// One head that attends to the cache and to its own keys, which are values as well.
graph::Model attention() {
  graph::Model model;
  model.opsets[""] = 17;
  model.inputs = {{"x", DataType::float32, Shape{1, -1, 32}}, {"past", DataType::float32, Shape{1, -1, 32}}};
  model.outputs = {{"y", DataType::float32, Shape{1, -1, 32}}, {"present", DataType::float32, Shape{1, -1, 32}}};
  model.initializers["wq"] = random_tensor({32, 32}, 1, 0.05F);  // shares that no rounding turns round
  model.initializers["wk"] = random_tensor({32, 32}, 2, 0.2F);
  model.initializers["wo"] = random_tensor({32, 32}, 3, 0.2F);
  const auto add = [&](const std::string& type, std::vector<std::string> inputs, const std::string& output,
                       std::vector<graph::Attribute> attributes = {}) {
    model.nodes.push_back({.name = "make_" + output,
                           .op_type = type,
                           .domain = "",
                           .inputs = std::move(inputs),
                           .outputs = {output},
                           .attributes = std::move(attributes)});
  };
  add("MatMul", {"x", "wq"}, "q");
  add("MatMul", {"x", "wk"}, "k");
  add("Concat", {"past", "k"}, "present", {{"axis", int64_t{1}}});
  add("Transpose", {"present"}, "turned", {{"perm", std::vector<int64_t>{0, 2, 1}}});
  add("MatMul", {"q", "turned"}, "scores");
  add("Softmax", {"scores"}, "shares", {{"axis", int64_t{-1}}});
  add("MatMul", {"shares", "present"}, "mixed");
  add("MatMul", {"mixed", "wo"}, "y");
  return model;
}

// Prompts without a cache, and single tokens with one of three.
data::Sample sample_of(size_t index) {
  const bool prompt = index % 2 == 0;
  return {random_tensor({1, prompt ? 5 : 1, 32}, 10 + index, 1),
          prompt ? Tensor::of<float>({1, 0, 32}, std::vector<float>{}) : random_tensor({1, 3, 32}, 50 + index, 1)};
}

class EmptyCache : public ::testing::TestWithParam<std::string> {};

TEST_P(EmptyCache, IsAValueLikeOthers) {
  const graph::Model model = attention();
  const auto samples = std::make_shared<GeneratedSamples>(16, sample_of);
  const quant::Config config = quant::parse_config(Json{{"scheme", GetParam()}});
  CalibrationNeeds needs;
  needs.add(config);
  Variants variants(model, model, samples, needs, {});
  quant::Plan plan = variants.plan(config, *quant::targets::table().make("ort_cpu"));
  EXPECT_GE(plan.nodes.size(), 3U);
  const runtime::Session reference(model), quantized(variants.build(config, plan).model);
  for (size_t i = 0; i < samples->size(); ++i) {
    const auto wanted = reference.run(samples->at(i)), got = quantized.run(samples->at(i));
    for (size_t output = 0; output < 2; ++output) {
      ASSERT_EQ(got[output].shape(), wanted[output].shape());
      double noise = 0, signal = 0;
      for (size_t k = 0; k < wanted[output].count(); ++k) {
        const double value = wanted[output].as<float>()[k];
        noise += std::pow(got[output].as<float>()[k] - value, 2);
        signal += value * value;
      }
      EXPECT_LT(std::sqrt(noise / signal), 0.25) << "sample " << i << ", output " << output;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, EmptyCache,
                         ::testing::Values("W4", "W8", "GPTQ_G32ASYM", "AWQ_G32ASYM", "DYNAMIC", "U8S8_CHANNEL"));

}  // namespace
}  // namespace quasar::tune
