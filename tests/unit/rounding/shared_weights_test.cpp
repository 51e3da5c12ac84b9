// Layers that read one constant get the same codes, chosen for the inputs of all of them.
#include "quasar/rounding/shared_weights.hpp"

#include <gtest/gtest.h>

#include "quasar/rounding/rounding_layers.hpp"
#include "unit/rounding/rounding_models.hpp"

namespace quasar::tune {
namespace {

// Three steps of a loop that was unrolled: x → W → Tanh → W → Tanh → W, each with the same bias where `bias` says so.
graph::Model unrolled(bool bias) {
  graph::Model model;
  model.opsets[""] = 13;
  model.inputs = {{"x", DataType::float32, Shape{6, 24}}};
  model.outputs = {{"y", DataType::float32, Shape{6, 24}}};
  model.initializers["w"] = random_tensor({24, 24}, 1, 0.2F);
  model.initializers["b"] = random_tensor({24}, 2, 0.2F);
  const auto add = [&](std::string name, std::string type, std::vector<std::string> inputs, std::string output) {
    graph::Node node;
    node.name = std::move(name);
    node.op_type = std::move(type);
    node.inputs = std::move(inputs);
    node.outputs = {std::move(output)};
    model.nodes.push_back(std::move(node));
  };
  std::string value = "x";
  for (const std::string step : {"1", "2", "3"}) {
    std::vector<std::string> inputs{value, "w"};
    if (bias) inputs.emplace_back("b");
    add("step" + step, bias ? "Gemm" : "MatMul", inputs, step == "3" ? "y" : "p" + step);
    if (step != "3") add("tanh" + step, "Tanh", {"p" + step}, "h" + step);
    value = "h" + step;
  }
  return model;
}

struct Rows final : GeneratedSamples {
  Rows()
      : GeneratedSamples(40, [](size_t index) {
          Rng rng(index);
          std::vector<float> values;
          for (int row = 0; row < 6; row++) {
            const double a = rng.normal(), b = rng.normal();
            for (int i = 0; i < 24; i++) values.push_back(static_cast<float>(a * (i % 3) + b * (i % 5) + 0.3 * rng.normal()));
          }
          return data::Sample{Tensor::of(Shape{6, 24}, values)};
        }) {}
};

quant::Plan four_bit_plan(const graph::Model& model, const data::Dataset& samples, const std::string& method,
                          const char* scheme) {
  const quant::Config config =
      quant::parse_config({{"scheme", scheme}, {"weight_params", {{"group_size", 16}}}, {"algorithms", method}});
  const auto seen = stats::collect(model, samples, quant::observed_values(model), quant::needs_of(config)).at(samples.size());
  return quant::resolve(model, seen, config, *quant::targets::table().make("ort_cpu"));
}

void expect_one_set_of_codes(const graph::Model& model, const quant::Plan& plan) {
  const auto& first = plan.nodes.at("step1").weight->optimized;
  ASSERT_TRUE(first);
  EXPECT_EQ(plan.nodes.at("step2").weight->optimized, first);
  EXPECT_EQ(plan.nodes.at("step3").weight->optimized, first);
  size_t stored = 0;
  for (const auto& [name, tensor] : quant::apply(model, plan).initializers) stored += name.starts_with("w_quantized");
  EXPECT_EQ(stored, 1U);
}

TEST(SharedWeights, AreRoundedOnceForAllInputs) {
  const auto samples = std::make_shared<Rows>();
  for (const bool bias : {false, true}) {
    const graph::Model model = unrolled(bias);
    Rounder rounder(model, samples);
    for (const std::string method : {"adaround", "adaquant", "gptq"}) {
      quant::Plan plan = plan_for(model, *samples, method, {{"refine_activations", false}});
      const double nearest = output_error(model, plan, *samples);
      const RoundingReport report = rounder.improve(plan);
      EXPECT_LT(output_error(model, plan, *samples), 0.9 * nearest) << method;
      EXPECT_EQ(report.layers.size(), 3U);
      expect_one_set_of_codes(model, plan);
      quant::Plan again = plan_for(model, *samples, method, {{"refine_activations", false}});
      rounder.improve(again);  // from what was kept
      EXPECT_EQ(again.nodes, plan.nodes) << method;
    }
  }
}

TEST(SharedWeights, AreRoundedOnceWithoutActivationsInIntegers) {
  const auto samples = std::make_shared<Rows>();
  const graph::Model model = unrolled(false);
  quant::Plan plan = four_bit_plan(model, *samples, "gptq", "RTN_G32ASYM");
  const double nearest = output_error(model, plan, *samples);
  Rounder(model, samples).improve(plan);
  EXPECT_LT(output_error(model, plan, *samples), 0.9 * nearest);
  expect_one_set_of_codes(model, plan);
}

// A layer that is planned otherwise has codes of its own.
TEST(SharedWeights, LayersWithOtherScalesDoNotShare) {
  const auto samples = std::make_shared<Rows>();
  const graph::Model model = unrolled(false);
  quant::Plan plan = plan_for(model, *samples, "gptq", {{"refine_activations", false}});
  for (float& scale : plan.nodes.at("step2").weight->params.scales) scale *= 2;
  const auto layers = layers_of(model);
  const std::vector<size_t> all{0, 1, 2};
  const auto shared = shared_weights(layers, all, model, plan, 4608);
  EXPECT_TRUE(shared.contains(0) && !shared.contains(1) && shared.contains(2));
  EXPECT_TRUE(shared.at(2)->is_last(2) && !shared.at(0)->is_last(0));
  EXPECT_TRUE(shared_weights(layers, all, model, plan, 8).empty()) << "as many inputs as have moments";
}

}  // namespace
}  // namespace quasar::tune
