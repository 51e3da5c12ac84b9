#include "quasar/rounding/layer_bias.hpp"

#include <gtest/gtest.h>

#include "unit/rounding/rounding_models.hpp"

namespace quasar::tune {
namespace {

graph::Node node(std::string name, std::string type, std::vector<std::string> inputs, std::string output,
                 std::vector<graph::Attribute> attributes = {}) {
  return {.name = std::move(name),
          .op_type = std::move(type),
          .domain = "",
          .inputs = std::move(inputs),
          .outputs = {std::move(output)},
          .attributes = std::move(attributes)};
}

// Relu(x) W + b, as one Gemm, or as the product and the sum that exporters make of a layer on sequences.
graph::Model dense(bool as_gemm) {
  graph::Model model;
  model.opsets[""] = 13;
  model.inputs = {{"x", DataType::float32, Shape{8, 24}}};
  model.outputs = {{"y", DataType::float32, Shape{8, 12}}};
  model.initializers["w"] = random_tensor({24, 12}, 1, 0.2F);
  model.initializers["b"] = random_tensor({12}, 2, 0.1F);
  model.nodes = {node("relu", "Relu", {"x"}, "r")};
  if (as_gemm) {
    model.nodes.push_back(node("product", "Gemm", {"r", "w", "b"}, "y"));
  } else {
    model.nodes.push_back(node("product", "MatMul", {"r", "w"}, "p"));
    model.nodes.push_back(node("sum", "Add", {"p", "b"}, "y"));
  }
  return model;
}

data::DatasetPtr samples_of(const Shape& shape, float mean) {
  return std::make_shared<GeneratedSamples>(20, [=](size_t index) {
    Rng rng(index);
    std::vector<float> values(count_of(shape));
    for (auto& value : values) value = mean + static_cast<float>(rng.normal());
    return data::Sample{Tensor::of(shape, values)};
  });
}

quant::Plan planned(const graph::Model& model, const data::Dataset& samples, const Json& configuration,
                    const std::string& target) {
  const quant::Config config = quant::parse_config(configuration);
  const auto seen = stats::collect(model, samples, quant::observed_values(model), quant::needs_of(config)).at(samples.size());
  return quant::resolve(model, seen, config, *quant::targets::table().make(target));
}

const Json four_bits{{"activation", "Int16Spec"}, {"weight", "Int4Spec"}, {"algorithms", "adaquant"}};

// The vector of the sum does what the bias of the Gemm does.
TEST(LayerBias, TheVectorBehindAProductTakesUpItsMeanError) {
  const auto samples = samples_of({8, 24}, 1);
  std::map<bool, double> rounded;
  for (const bool as_gemm : {true, false}) {
    const graph::Model model = dense(as_gemm);
    quant::Plan plan = planned(model, *samples, four_bits, "ort_cpu");
    const double nearest = output_error(model, plan, *samples);
    const RoundingReport report = Rounder(model, samples).improve(plan);
    rounded[as_gemm] = output_error(model, plan, *samples);
    ASSERT_EQ(report.layers.size(), 1U);
    EXPECT_NEAR(report.layers[0].after / report.layers[0].before, rounded[as_gemm] / nearest, 0.05 * rounded[as_gemm] / nearest);
    EXPECT_TRUE(as_gemm || !plan.nodes.at("sum").replaced.empty());
  }
  EXPECT_NEAR(rounded[false], rounded[true], 0.05 * rounded[true]);
}

TEST(LayerBias, TheVectorStaysWithoutUpdateBias) {
  const auto samples = samples_of({8, 24}, 1);
  const graph::Model model = dense(false);
  Json configuration = four_bits;
  configuration["adaquant_params"] = {{"update_bias", false}};
  quant::Plan plan = planned(model, *samples, configuration, "ort_cpu"), unrounded = plan;
  Rounder(model, samples).improve(plan);
  EXPECT_TRUE(plan.nodes.at("product").weight->optimized);
  EXPECT_EQ(plan.nodes.at("sum").replaced, unrounded.nodes.at("sum").replaced);
}

// Integer kernels add its codes to those of the products.
TEST(LayerBias, AStayingBiasFollowsTheScalesOfItsWeights) {
  const auto samples = samples_of({8, 24}, 1);
  const graph::Model model = dense(true);
  for (const size_t most_inputs : {4096, 8}) {  // the whole layer at once, and in blocks
    quant::Plan plan = planned(model, *samples,
                               {{"weight", "Int4Spec"},
                                {"weight_params", {{"calibration_method", "MinMax"}, {"quant_granularity", "Tensor"}}},
                                {"algorithms", "gptq"},
                                {"gptq_params", {{"update_bias", false}, {"refine_activations", false}}}},
                               "ort_cpu");
    Rounder(model, samples, {.most_inputs = most_inputs, .block_inputs = 8}).improve(plan);
    const quant::NodePlan& product = plan.nodes.at("product");
    ASSERT_TRUE(product.weight->optimized);
    const float weight = product.weight->optimized->params.scales[0];
    ASSERT_LT(weight, product.weight->params.scales[0]);
    ASSERT_TRUE(product.bias->optimized) << most_inputs;
    EXPECT_FLOAT_EQ(product.bias->optimized->params.scales[0], plan.params("r").scales[0] * weight) << most_inputs;
  }
}

// Biases of 8 bits hold a mean error only nearly; both errors are the model's all the same.
TEST(LayerBias, ErrorsOfLayersWithNarrowBiasesAreTheModels) {
  graph::Model model;
  model.opsets[""] = 13;
  model.inputs = {{"x", DataType::float32, Shape{1, 6, 4, 4}}};
  model.outputs = {{"y", DataType::float32, Shape{1, 6, 4, 4}}};
  model.initializers["w"] = random_tensor({6, 1, 1, 1}, 1, 0.3F);
  model.initializers["b"] = random_tensor({6}, 2);
  model.nodes = {node("conv", "Conv", {"x", "w", "b"}, "y", {{"group", int64_t{6}}})};
  const auto samples = samples_of({1, 6, 4, 4}, 5);
  quant::Plan plan =
      planned(model, *samples,
              {{"activation", "Int16Spec"}, {"weight", "Int8Spec"}, {"algorithms", "adaquant"}, {"Int32Bias", false}}, "generic");
  EXPECT_EQ(plan.nodes.at("conv").bias->params.type, DataType::int8);
  const double nearest = output_error(model, plan, *samples);
  const RoundingReport report = Rounder(model, samples).improve(plan);
  const double rounded = output_error(model, plan, *samples);
  ASSERT_EQ(report.layers.size(), 1U);
  EXPECT_LT(rounded, nearest);
  EXPECT_NEAR(report.layers[0].after / report.layers[0].before, rounded / nearest, 0.05 * rounded / nearest);
}

}  // namespace
}  // namespace quasar::tune
