#include "quasar/rounding/rounding.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "quasar/data/fixed_batch.hpp"
#include "unit/rounding/rounding_models.hpp"

namespace quasar::tune {
namespace {

TEST(Rounding, EveryMethodLowersTheOutputsError) {
  const graph::Model model = network();
  const auto samples = std::make_shared<Samples>();
  Rounder rounder(model, samples);
  for (const std::string method : {"adaround", "adaquant", "gptq"}) {
    quant::Plan plan = plan_for(model, *samples, method, {{"damping", 0.05}});
    const double nearest = output_error(model, plan, *samples);
    const std::string hash = quant::hash_of(plan);
    const RoundingReport report = rounder.improve(plan);
    EXPECT_LT(output_error(model, plan, *samples), 0.7 * nearest) << method;
    EXPECT_EQ(quant::hash_of(plan), hash);
    ASSERT_EQ(report.layers.size(), 5U);
    EXPECT_EQ(report.layers[1].node, "depthwise");
    for (const auto& layer : report.layers) EXPECT_LE(layer.after, layer.before) << layer.node;
  }
}

// Copies of a sample in a fixed batch say nothing more: the same codes as for one at a time.
TEST(Rounding, CopiesInAFixedBatchAreNoMoreSamples) {
  const graph::Model one = network();
  graph::Model four = one;
  four.inputs[0].shape = Shape{4, 3, 8, 8};
  four.outputs[0].shape = Shape{4, 10};
  const auto singles = std::make_shared<Samples>();
  const auto batches = data::repeated(singles, four.inputs, 4);
  quant::Plan plan = plan_for(one, *singles, "adaquant", {{"refine_activations", false}});
  quant::Plan batch = plan;
  Rounder(one, singles).improve(plan);
  Rounder(four, batches).improve(batch);
  for (const auto& [name, node] : plan.nodes) {
    if (!node.weight) continue;
    ASSERT_TRUE(node.weight->optimized && batch.nodes.at(name).weight->optimized) << name;
    EXPECT_EQ(node.weight->optimized->codes, batch.nodes.at(name).weight->optimized->codes) << name;
  }
}

TEST(Rounding, FewerSamplesAndFixedBias) {
  const graph::Model model = network();
  const auto samples = std::make_shared<Samples>();
  Rounder rounder(model, samples);
  quant::Plan plan = plan_for(model, *samples, "adaround",
                              {{"data_size", 5}, {"update_bias", false}, {"scale_search", false}, {"refine_activations", false}});
  const RoundingReport report = rounder.improve(plan);
  EXPECT_EQ(report.samples, 5U);
  for (const auto& [name, node] : plan.nodes) EXPECT_FALSE(node.bias && node.bias->optimized) << name;
  const auto& weight = *plan.nodes.at("gemm").weight;
  ASSERT_TRUE(weight.optimized);
  const Tensor nearest = quant::quantize(model.initializers.at("w4"), weight.params);
  for (size_t i = 0; i < nearest.count(); i++)
    EXPECT_LE(std::abs(nearest.as<int8_t>()[i] - weight.optimized->codes.as<int8_t>()[i]), 1);
}

TEST(Rounding, ScalesShrinkWhereClippingPays) {
  const graph::Model model = network();
  const auto samples = std::make_shared<Samples>();
  Rounder rounder(model, samples);
  quant::Plan plan = plan_for(model, *samples, "adaquant", {{"damping", 0.05}, {"refine_activations", false}});
  rounder.improve(plan);
  size_t shrunk = 0;
  for (const auto& [name, node] : plan.nodes) {
    if (!node.weight) continue;
    ASSERT_TRUE(node.weight->optimized) << name;
    const float scale = node.weight->optimized->params.scales[0];
    EXPECT_LE(scale, node.weight->params.scales[0]) << name;
    if (scale < node.weight->params.scales[0]) shrunk++;
    if (!node.bias) continue;
    const auto& input = std::ranges::find(model.nodes, name, &graph::Node::name)->inputs[0];
    EXPECT_EQ(node.bias->optimized->params.scales[0], plan.params(input).scales[0] * scale) << name;
  }
  EXPECT_GE(shrunk, 1U);
}

// Layers that are rounded in blocks of inputs as well: one scale for all blocks, and of each output.
TEST(Rounding, ScalesOfWideLayersShrinkWhereClippingPays) {
  const graph::Model model = network();
  const auto samples = std::make_shared<Samples>();
  for (const bool channels : {false, true}) {
    const Json weights{{"calibration_method", "MinMax"}, {"quant_granularity", channels ? "Channel" : "Tensor"}};
    const quant::Config config =
        quant::parse_config({{"activation_params", {{"symmetric", false}, {"calibration_method", "MinMax"}}},
                             {"weight", "Int4Spec"},
                             {"weight_params", weights},
                             {"algorithms", "gptq"},
                             {"gptq_params", {{"refine_activations", false}}}});
    const auto seen = stats::collect(model, *samples, quant::observed_values(model), quant::needs_of(config)).at(samples->size());
    quant::Plan plan = quant::resolve(model, seen, config, *quant::targets::table().make("ort_cpu"));
    quant::Plan fixed = plan;
    fixed.rounding.options["scale_search"] = false;
    const RounderOptions wide{.most_inputs = 100, .block_inputs = 128};
    const double searched = Rounder(model, samples, wide).improve(plan).layers.back().after;
    const double given = Rounder(model, samples, wide).improve(fixed).layers.back().after;
    const auto& weight = *plan.nodes.at("gemm").weight;
    ASSERT_TRUE(weight.optimized);
    size_t shrunk = 0;
    for (size_t i = 0; i < weight.params.scales.size(); i++)
      shrunk += weight.optimized->params.scales[i] < weight.params.scales[i] ? 1 : 0;
    EXPECT_GE(shrunk, 1U) << channels;
    EXPECT_LT(searched, given) << channels;
  }
}

// A power of two that is twice too large or too small is found to be so.
TEST(Rounding, ActivationScalesAreRefined) {
  const graph::Model model = network();
  const auto samples = std::make_shared<Samples>();
  for (const float factor : {4.0F, 0.25F}) {
    const Json words{{"activation_params", {{"scale_type", "PowerOf2"}, {"calibration_method", "MinMSE"}}},
                     {"algorithms", "adaquant"},
                     {"adaquant_params", {{"damping", 0.05}}}};
    const quant::Config config = quant::parse_config(words);
    const auto seen = stats::collect(model, *samples, quant::observed_values(model), quant::needs_of(config)).at(samples->size());
    quant::Plan plan = quant::resolve(model, seen, config, *quant::targets::table().make("ort_cpu"));
    plan.values.at("a").scales[0] *= factor;
    const std::string hash = quant::hash_of(plan);
    quant::Plan fixed = plan;
    fixed.rounding.options["refine_activations"] = false;
    Rounder rounder(model, samples);
    EXPECT_GE(rounder.improve(plan).refined, 1U);
    EXPECT_EQ(quant::hash_of(plan), hash);
    ASSERT_TRUE(plan.refined.contains("a"));
    EXPECT_EQ(plan.params("a").scales[0], plan.values.at("a").scales[0] * (factor > 1 ? 0.5F : 2.0F));
    rounder.improve(fixed);
    EXPECT_TRUE(fixed.refined.empty());
    EXPECT_LT(output_error(model, plan, *samples), output_error(model, fixed, *samples));
    // Again, from what is kept: the same codes.
    quant::Plan again = plan;
    again.refined.clear();
    for (auto& [name, node] : again.nodes) {
      if (node.weight) node.weight->optimized.reset();
      if (node.bias) node.bias->optimized.reset();
    }
    rounder.improve(again);
    EXPECT_EQ(again.nodes, plan.nodes);
    EXPECT_EQ(again.refined, plan.refined);
  }
}

// Half the scale takes most of the first channel's error away and clips the second. But that error is nearly constant: a bias
// takes it up, and nothing needs to be clipped.
TEST(Rounding, RefinedScalesGoWhereABiasDoesBetter) {
  graph::Model model;
  model.opsets[""] = 13;
  model.inputs = {{"x", DataType::float32, Shape{1, 2, 4, 4}}};
  model.outputs = {{"y", DataType::float32, Shape{1, 1, 4, 4}}};
  model.initializers["w"] = Tensor::of(Shape{1, 2, 1, 1}, std::vector<float>{1, 0.008F});
  model.initializers["b"] = Tensor::of(Shape{1}, std::vector<float>{0});
  model.nodes.push_back(
      {.name = "conv", .op_type = "Conv", .domain = "", .inputs = {"x", "w", "b"}, .outputs = {"y"}, .attributes = {}});
  const auto samples = std::make_shared<GeneratedSamples>(16, [](size_t index) {
    std::vector<float> x(32);
    for (size_t i = 0; i < 16; i++) {
      x[i] = 0.4F + 0.001F * static_cast<float>((index + i) % 3);
      x[16 + i] = 10 + static_cast<float>((index * 16 + i) * 37 % 126);
    }
    return data::Sample{Tensor::of(Shape{1, 2, 4, 4}, x)};
  });
  quant::Plan plan = plan_for(model, *samples, "adaquant", {});
  plan.values.at("x").scales = {1};
  plan.values.at("x").zero_points = {static_cast<int32_t>(quant::grid_of(plan.values.at("x").type, false).low)};
  quant::Plan as_it_is = plan;
  as_it_is.rounding.options["update_bias"] = false;
  Rounder rounder(model, samples);
  rounder.improve(as_it_is);
  EXPECT_TRUE(as_it_is.refined.contains("x"));
  EXPECT_EQ(rounder.improve(plan).refined, 0U);
  EXPECT_TRUE(plan.refined.empty());
  EXPECT_LT(output_error(model, plan, *samples), 0.2 * output_error(model, as_it_is, *samples));
}

// Nearest codes are the best there are for a depthwise layer of one weight each; only the bias can make up for the mean error,
// and that counts before and after.
TEST(Rounding, ErrorsAreThoseOfTheModelAndTheBiasHelpsWhereCodesStay) {
  graph::Model model;
  model.opsets[""] = 13;
  model.inputs = {{"x", DataType::float32, Shape{1, 6, 4, 4}}};
  model.outputs = {{"y", DataType::float32, Shape{1, 6, 4, 4}}};
  model.initializers["w"] = random_tensor({6, 1, 1, 1}, 1, 0.3F);
  model.initializers["b"] = random_tensor({6}, 2);
  model.nodes = {{.name = "conv",
                  .op_type = "Conv",
                  .domain = "",
                  .inputs = {"x", "w", "b"},
                  .outputs = {"y"},
                  .attributes = {{"group", int64_t{6}}}}};
  const auto samples = std::make_shared<GeneratedSamples>(20, [](size_t index) {
    std::vector<float> values;
    Rng rng(index);
    for (int i = 0; i < 96; i++) values.push_back(static_cast<float>(5 + 0.5 * rng.normal()));
    return data::Sample{Tensor::of(Shape{1, 6, 4, 4}, values)};
  });
  const quant::Config config =
      quant::parse_config({{"activation", "Int16Spec"}, {"weight", "Int8Spec"}, {"algorithms", "adaquant"}});
  const auto seen = stats::collect(model, *samples, quant::observed_values(model), quant::needs_of(config)).at(samples->size());
  quant::Plan plan = quant::resolve(model, seen, config, *quant::targets::table().make("generic"));
  const double nearest = output_error(model, plan, *samples);
  const RoundingReport report = Rounder(model, samples).improve(plan);
  const double rounded = output_error(model, plan, *samples);
  EXPECT_LT(rounded, 0.2 * nearest);
  ASSERT_EQ(report.layers.size(), 1U);
  EXPECT_NEAR(report.layers[0].after / report.layers[0].before, rounded / nearest,
              0.4 * rounded / nearest);  // the output's own type costs as much
}

// On NPUs biases have 8 bits and a scale of their own: they take up what they can hold of the mean error.
TEST(Rounding, BiasesOfEightBitsTakeUpMeans) {
  const graph::Model model = network();
  const auto samples = std::make_shared<Samples>();
  for (const std::string method : {"adaround", "adaquant", "gptq"}) {
    const quant::Config config = quant::parse_config({{"activation", "XInt8Spec"},
                                                      {"weight", "XInt8Spec"},
                                                      {"algorithms", method},
                                                      {method + "_params", {{"damping", 0.05}}}});
    const auto seen = stats::collect(model, *samples, quant::observed_values(model), quant::needs_of(config)).at(samples->size());
    quant::Plan plan = quant::resolve(model, seen, config, *quant::targets::table().make("xint8"));
    const double nearest = output_error(model, plan, *samples);
    const RoundingReport report = Rounder(model, samples).improve(plan);
    EXPECT_LT(output_error(model, plan, *samples), nearest) << method;
    for (const auto& layer : report.layers) EXPECT_LE(layer.after, layer.before) << layer.node;
    EXPECT_EQ(plan.nodes.at("conv").bias->optimized->codes.type(), DataType::int8) << method;
  }
}

// Every twelfth sample is larger; few samples for the codes must not clip what they do not show.
TEST(Rounding, AllSamplesJudgeActivationScales) {
  const graph::Model model = network();
  const Samples usual;
  const auto samples = std::make_shared<GeneratedSamples>(24, [&](size_t index) {
    data::Sample sample = usual.at(index);
    std::vector<float> values(sample[0].as<float>().begin(), sample[0].as<float>().end());
    for (auto& value : values) value *= index % 12 == 11 ? 4 : 1;
    return data::Sample{Tensor::of(sample[0].shape(), values)};
  });
  quant::Plan all = plan_for(model, *samples, "adaquant", Json::object());
  quant::Plan few = plan_for(model, *samples, "adaquant", {{"data_size", 4}});
  Rounder(model, samples).improve(all);
  Rounder(model, samples).improve(few);
  EXPECT_EQ(all.refined, few.refined);
  quant::Plan kept = plan_for(model, *samples, "adaquant", {{"data_size", 4}, {"refine_activations", false}});
  Rounder(model, samples).improve(kept);
  EXPECT_LT(output_error(model, few, *samples), 1.1 * output_error(model, kept, *samples));
}

// Branches that end nowhere: a layer with codes to choose, and one without.
TEST(Rounding, LayersThatNobodyNeedsAreLeftOut) {
  graph::Model model = network();
  const auto samples = std::make_shared<Samples>();
  quant::Plan alone = plan_for(model, *samples, "adaquant", Json::object());
  Rounder(model, samples).improve(alone);
  model.initializers["stack"] = random_tensor({8, 8, 4}, 7, 0.3F);
  model.nodes.push_back({.name = "dead", .op_type = "Conv", .domain = "", .inputs = {"r1", "w3"}, .outputs = {"d"}});
  model.nodes.push_back({.name = "stacked", .op_type = "MatMul", .domain = "", .inputs = {"a", "stack"}, .outputs = {"s"}});
  for (const std::string method : {"adaround", "adaquant", "gptq"}) {
    quant::Plan plan = plan_for(model, *samples, method, Json::object());
    Rounder rounder(model, samples);
    rounder.settle(plan, std::nullopt);
    const RoundingReport report = rounder.improve(plan);
    EXPECT_EQ(report.layers.size(), 5U) << method;
    EXPECT_TRUE(report.kept.empty()) << ::testing::PrintToString(report.kept);
    EXPECT_FALSE(plan.nodes.at("dead").weight->optimized) << method;
    EXPECT_FALSE(rounder.sensitivities(plan).contains("dead"));
    if (method == "adaquant") {
      EXPECT_EQ(plan.refined, alone.refined);
    }
  }
}

TEST(Rounding, OutputsThatDoNotVaryHaveNoRelativeError) {
  const graph::Model model = network();
  const auto samples = std::make_shared<GeneratedSamples>(4, [](size_t) { return data::Sample{random_tensor({1, 3, 8, 8}, 9)}; });
  graph::Model still = model;  // one position per output
  still.initializers["w1"] = random_tensor({8, 3, 8, 8}, 1, 0.1F);
  still.nodes = {model.nodes[0]};
  still.nodes[0].attributes.clear();
  still.outputs = {{"c1", DataType::float32, Shape{1, 8, 1, 1}}};
  quant::Plan plan = plan_for(still, *samples, "adaquant", Json::object());
  const RoundingReport report = Rounder(still, samples).improve(plan);
  ASSERT_EQ(report.layers.size(), 1U);
  EXPECT_TRUE(std::isnan(report.layers[0].before));
  EXPECT_TRUE(errors_by_layer(report).at("conv").at("before").is_null());
  EXPECT_TRUE(to_json(report).at("layers")[0][3].is_null());
  EXPECT_EQ(summary_of("adaquant", report).find("geometric"), std::string::npos) << summary_of("adaquant", report);
}

TEST(Rounding, ConstantsOnTheLeftAreNamed) {
  graph::Model model;
  model.opsets[""] = 13;
  model.inputs = {{"x", DataType::float32, Shape{1, 8, 6}}};
  model.outputs = {{"y", DataType::float32, Shape{1, 5, 4}}};
  model.initializers["left"] = random_tensor({5, 8}, 1);
  model.initializers["right"] = random_tensor({6, 4}, 2);
  model.nodes = {{.name = "l", .op_type = "MatMul", .domain = "", .inputs = {"left", "x"}, .outputs = {"a"}},
                 {.name = "r", .op_type = "MatMul", .domain = "", .inputs = {"a", "right"}, .outputs = {"y"}}};
  const auto samples = std::make_shared<GeneratedSamples>(8, [](size_t index) {
    return data::Sample{random_tensor({1, 8, 6}, 10 + index)};
  });
  quant::Plan plan = plan_for(model, *samples, "adaquant", Json::object());
  const RoundingReport report = Rounder(model, samples).improve(plan);
  ASSERT_EQ(report.kept.size(), 1U);
  EXPECT_TRUE(report.kept[0].starts_with("l: its constant stands on the left")) << report.kept[0];
}

TEST(Rounding, NearestIsLeftAlone) {
  const graph::Model model = network();
  const auto samples = std::make_shared<Samples>();
  quant::Plan plan = plan_for(model, *samples, "adaround", Json::object());
  plan.rounding = {};
  const auto before = plan.nodes;
  EXPECT_TRUE(Rounder(model, samples).improve(plan).layers.empty());
  EXPECT_EQ(plan.nodes, before);
}

}  // namespace
}  // namespace quasar::tune
