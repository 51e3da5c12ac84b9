#include "quasar/tune/rounding.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <set>

#include "generated_samples.hpp"
#include "quasar/base/rng.hpp"
#include "quasar/data/fixed_batch.hpp"
#include "quasar/runtime/session.hpp"

namespace quasar::tune {
namespace {

Tensor random_tensor(const Shape& shape, uint64_t seed, float scale = 1) {
  Rng rng(seed);
  std::vector<float> values(count_of(shape));
  for (auto& value : values) value = scale * static_cast<float>(rng.normal());
  return Tensor::of(shape, values);
}

// conv → Relu → depthwise → (+ the Relu's value) → pointwise with the same weights twice → Flatten → Gemm
graph::Model network() {
  graph::Model model;
  model.opsets[""] = 13;
  model.inputs = {{"x", DataType::float32, Shape{1, 3, 8, 8}}};
  model.outputs = {{"y", DataType::float32, Shape{1, 10}}};
  model.initializers["w1"] = random_tensor({8, 3, 3, 3}, 1, 0.3F);
  model.initializers["w2"] = random_tensor({8, 1, 3, 3}, 2, 0.3F);
  model.initializers["w3"] = random_tensor({8, 8, 1, 1}, 3, 0.3F);
  model.initializers["w4"] = random_tensor({512, 10}, 4, 0.05F);
  model.initializers["b"] = random_tensor({8}, 5, 0.1F);
  model.initializers["b4"] = random_tensor({10}, 6, 0.1F);
  using V = std::vector<int64_t>;
  const graph::Attribute pads{"pads", V{1, 1, 1, 1}};
  const auto add = [&](std::string name, std::string type, std::vector<std::string> inputs, std::string output,
                       std::vector<graph::Attribute> attributes = {}) {
    model.nodes.push_back({.name = std::move(name),
                           .op_type = std::move(type),
                           .domain = "",
                           .inputs = std::move(inputs),
                           .outputs = {std::move(output)},
                           .attributes = std::move(attributes)});
  };
  add("conv", "Conv", {"x", "w1", "b"}, "c1", {pads});
  add("relu", "Relu", {"c1"}, "r1");
  add("depthwise", "Conv", {"r1", "w2", "b"}, "c2", {pads, {"group", int64_t{8}}});
  add("add", "Add", {"c2", "r1"}, "a");
  add("pointwise", "Conv", {"a", "w3", "b"}, "c3");
  add("again", "Conv", {"c3", "w3"}, "c4");
  add("flatten", "Flatten", {"c4"}, "f");
  add("gemm", "Gemm", {"f", "w4", "b4"}, "y");
  return model;
}

// Smooth images: inputs of neighbouring pixels are correlated.
struct Samples final : GeneratedSamples {
  Samples()
      : GeneratedSamples(24, [](size_t index) {
          Rng rng(100 + index);
          const double a = rng.normal(), b = rng.normal(), c = rng.normal();
          std::vector<float> values;
          for (int i = 0; i < 192; i++)
            values.push_back(static_cast<float>(a * std::sin(i * 0.3 + b) + c * (i % 8) / 8.0 + 0.1 * rng.normal() + 1));
          return data::Sample{Tensor::of(Shape{1, 3, 8, 8}, values)};
        }) {}
};

quant::Plan plan_for(const graph::Model& model, const data::Dataset& samples, const std::string& method, Json params) {
  const quant::Config config =
      quant::parse_config({{"activation_params", {{"symmetric", false}, {"calibration_method", "MinMax"}}},
                           {"algorithms", method},
                           {method + "_params", std::move(params)}});
  const auto seen = stats::collect(model, samples, quant::observed_values(model), quant::needs_of(config)).at(samples.size());
  return quant::resolve(model, seen, config, *quant::targets::table().make("ort_cpu"));
}

// Mean squared error of the model's output over the samples.
double output_error(const graph::Model& model, const quant::Plan& plan, const data::Dataset& samples) {
  const runtime::Session reference(model), quantized(quant::apply(model, plan));
  double sum = 0;
  for (size_t i = 0; i < samples.size(); i++) {
    const Tensor a = reference.run(samples.at(i)).front(), b = quantized.run(samples.at(i)).front();
    for (size_t k = 0; k < a.count(); k++) sum += std::pow(double(a.as<float>()[k]) - double(b.as<float>()[k]), 2);
  }
  return sum / double(samples.size());
}

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

TEST(Rounding, DoesNotDependOnThreadsOrMemory) {
  const graph::Model model = network();
  const auto samples = std::make_shared<Samples>();
  quant::Plan one = plan_for(model, *samples, "adaquant", Json::object()), four = one, tight = one;
  Rounder(model, samples, {.threads = 1}).improve(one);
  Rounder(model, samples, {.threads = 4}).improve(four);
  EXPECT_EQ(one.nodes, four.nodes);
  // Targets of one layer at a time, and the last samples given up on the way.
  const RoundingReport report = Rounder(model, samples, {.memory_limit = 20000}).improve(tight);
  EXPECT_LT(report.samples, samples->size());
  EXPECT_GE(report.samples, 1U);
}

// Samples beyond memory_limit are read again, and targets made again layer by layer: nothing else changes.
TEST(Rounding, WhatIsHeldChangesNothing) {
  const graph::Model model = network();
  const Samples usual;
  std::atomic<size_t> reads{0};
  const auto samples = std::make_shared<GeneratedSamples>(usual.size(), [&](size_t index) {
    reads++;
    return usual.at(index);
  });
  quant::Plan ample = plan_for(model, usual, "adaquant", Json::object()), tight = ample;
  Rounder(model, samples).improve(ample);
  EXPECT_EQ(reads, samples->size());
  EXPECT_EQ(Rounder(model, samples, {.memory_limit = 120000}).improve(tight).samples, samples->size());
  EXPECT_GT(reads, 2 * samples->size());
  EXPECT_EQ(ample.nodes, tight.nodes);
  EXPECT_EQ(ample.refined, tight.refined);
}

// Whatever memory_limit and data_size say.
TEST(Rounding, TheSameSamplesJudgeActivationScalesWithLittleMemory) {
  const graph::Model model = network();
  const Samples usual;
  std::mutex guard;
  std::set<size_t> read;
  const auto samples = std::make_shared<GeneratedSamples>(100, [&](size_t index) {
    const std::lock_guard lock(guard);
    read.insert(index);
    return usual.at(index % usual.size());
  });
  quant::Plan plan = plan_for(model, usual, "adaquant", {{"data_size", 4}});
  Rounder(model, samples, {.memory_limit = 100000}).improve(plan);
  EXPECT_EQ(read.size(), samples->size());
}

TEST(Rounding, TrialsWithOtherDataSizesReadNoSampleAgain) {
  const graph::Model model = network();
  const Samples usual;
  std::atomic<size_t> reads{0};
  const auto samples = std::make_shared<GeneratedSamples>(usual.size(), [&](size_t index) {
    reads++;
    return usual.at(index);
  });
  Rounder rounder(model, samples);
  for (const int size : {24, 5, 11}) {
    quant::Plan plan = plan_for(model, usual, "adaquant", {{"data_size", size}});
    rounder.improve(plan);
    EXPECT_EQ(reads, samples->size()) << size;
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

// A layer that reads its input in a type of its own sees other inputs than one that does not: what is kept of one trial must not
// serve the other.
TEST(Rounding, TrialsWithTypesOfTheirOwnDoNotShareWhatTheyMustNot) {
  const graph::Model model = network();
  const auto samples = std::make_shared<Samples>();
  const auto plan_with = [&](const Json& layers) {
    Json words{{"activation_params", {{"symmetric", false}, {"calibration_method", "MinMax"}}}, {"algorithms", "adaround"}};
    if (!layers.is_null()) words["specific_layer_config"] = layers;
    const quant::Config config = quant::parse_config(words);
    const auto seen = stats::collect(model, *samples, quant::observed_values(model), quant::needs_of(config)).at(samples->size());
    return quant::resolve(model, seen, config, *quant::targets::table().make("generic"));
  };
  const Json wide{{{"spec", "Int16Spec"}, {"nodes", {"depthwise"}}}};
  for (const bool wide_first : {false, true}) {
    Rounder shared(model, samples), fresh(model, samples);
    quant::Plan first = plan_with(wide_first ? wide : Json()), second = plan_with(wide_first ? Json() : wide), alone = second;
    EXPECT_NE(first.conversions.empty(), second.conversions.empty());
    shared.improve(first);
    shared.improve(second);
    fresh.improve(alone);
    EXPECT_EQ(second.nodes, alone.nodes);
  }
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

// The second trial reads no sample again, also where the first found that nothing changes.
TEST(Rounding, ChecksOfActivationScalesAreRemembered) {
  const graph::Model model = network();
  const Samples usual;
  std::atomic<size_t> reads{0};
  const auto samples = std::make_shared<GeneratedSamples>(24, [&](size_t index) {
    reads++;
    return usual.at(index);
  });
  Rounder rounder(model, samples);
  const quant::Plan plan = plan_for(model, usual, "adaquant", {{"damping", 0.05}});
  quant::Plan first = plan, second = plan;
  EXPECT_EQ(rounder.improve(first).refined, 0U);
  const size_t once = reads;
  EXPECT_EQ(once, 24U);
  rounder.improve(second);
  EXPECT_EQ(reads, once);
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

TEST(Rounding, LaterTrialsGiveWhatAFreshStartGives) {
  const graph::Model model = network();
  const auto samples = std::make_shared<Samples>();
  Rounder rounder(model, samples);
  for (const Json& params :
       {Json{{"num_iterations", 1}}, Json{{"num_iterations", 2}}, Json{{"update_bias", false}}, Json::object()}) {
    quant::Plan kept = plan_for(model, *samples, "adaquant", params), fresh = kept;
    rounder.improve(kept);
    Rounder(model, samples).improve(fresh);
    EXPECT_EQ(kept.nodes, fresh.nodes) << params;
    EXPECT_EQ(kept.refined, fresh.refined) << params;
  }
}

TEST(Rounding, SettledPlansOfEqualWorkHaveEqualHashes) {
  const graph::Model model = network();
  const auto samples = std::make_shared<Samples>();
  const Rounder rounder(model, samples);
  quant::Plan all = plan_for(model, *samples, "adaround", {{"num_iterations", 3000}});
  quant::Plan many =
      plan_for(model, *samples, "adaround", {{"data_size", 1000}, {"learning_rate", 0.1}, {"num_iterations", 1000}});
  quant::Plan few = plan_for(model, *samples, "adaround", {{"data_size", 10}});
  for (quant::Plan* plan : {&all, &many, &few}) rounder.settle(*plan, std::nullopt);
  EXPECT_EQ(quant::hash_of(all), quant::hash_of(many));
  EXPECT_NE(quant::hash_of(all), quant::hash_of(few));
}

TEST(Rounding, OptionsWithNothingToActOnMakeNoOtherPlan) {
  const graph::Model model = network();
  const auto samples = std::make_shared<Samples>();
  const Rounder rounder(model, samples);
  Json activation = "Int8Spec";
  const auto settled = [&](const Json& params, const Json& weight_params) {
    const quant::Config config = quant::parse_config({{"activation", activation},
                                                      {"activation_params", {{"calibration_method", "MinMax"}}},
                                                      {"weight_params", weight_params},
                                                      {"algorithms", "adaquant"},
                                                      {"adaquant_params", params}});
    const auto seen = stats::collect(model, *samples, quant::observed_values(model), quant::needs_of(config)).at(samples->size());
    quant::Plan plan = quant::resolve(model, seen, config, *quant::targets::table().make("ort_cpu"));
    rounder.settle(plan, std::nullopt);
    return plan;
  };
  const Json usual = Json::object(), channels{{"quant_granularity", "Channel"}}, tensor{{"quant_granularity", "Tensor"}};
  const auto is_same = [&](const Json& params, const Json& weights) {
    return quant::hash_of(settled(params, weights)) == quant::hash_of(settled(usual, weights));
  };
  EXPECT_TRUE(is_same({{"scale_search", false}}, channels));
  EXPECT_FALSE(is_same({{"scale_search", false}}, tensor));
  EXPECT_FALSE(is_same({{"update_bias", false}}, tensor));
  EXPECT_FALSE(is_same({{"refine_activations", false}}, tensor));
  EXPECT_TRUE(is_same({{"damping", 1}}, tensor));
  activation = "Int16Spec";
  EXPECT_TRUE(is_same({{"refine_activations", false}}, tensor)) << "only scales of 8 bits are chosen again";
  activation = "Int8Spec";
  const auto notes = settled({{"scale_search", false}}, channels).notes;
  EXPECT_TRUE(std::ranges::any_of(notes, [](const std::string& note) {
    return note.starts_with("adaquant_params.scale_search has no effect");
  })) << ::testing::PrintToString(notes);
}

TEST(Rounding, AModelWithoutLayersIsTheSamePlanUnderEveryMethod) {
  graph::Model model = network();
  model.nodes.erase(model.nodes.begin(), model.nodes.end() - 2);
  model.nodes.back() = {.name = "relu2", .op_type = "Relu", .domain = "", .inputs = {"f"}, .outputs = {"y"}};
  model.nodes.front().inputs = {"x"};
  const auto samples = std::make_shared<Samples>();
  const Rounder rounder(model, samples);
  quant::Plan plan = plan_for(model, *samples, "gptq", Json::object()), nearest = plan;
  nearest.rounding = {};
  rounder.settle(plan, std::nullopt);
  EXPECT_EQ(quant::hash_of(plan), quant::hash_of(nearest));
  ASSERT_FALSE(plan.notes.empty());
  EXPECT_EQ(plan.notes.back(), "gptq: no layer of this model has codes that could be chosen");
}

TEST(Rounding, SamplesGivenUpForMemoryAreSaid) {
  const graph::Model model = network();
  const auto samples = std::make_shared<Samples>();
  std::vector<std::string> warnings;
  const Log log = [&](Level level, const std::string& text) {
    if (level == Level::warning) warnings.push_back(text);
  };
  quant::Plan tight = plan_for(model, *samples, "adaquant", Json::object()), enough = tight;
  Rounder(model, samples, {.memory_limit = 20000, .log = log}).improve(tight);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("24 samples do not fit into memory_limit (20000 bytes)"), std::string::npos) << warnings[0];
  Rounder(model, samples, {.log = log}).improve(enough);
  EXPECT_EQ(warnings.size(), 1U);
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
