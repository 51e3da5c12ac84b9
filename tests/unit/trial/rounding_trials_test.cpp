// What trials of rounding share, and what makes them the same trial.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>

#include "unit/rounding/rounding_models.hpp"

namespace quasar::tune {
namespace {

TEST(RoundingTrials, DoesNotDependOnThreadsOrMemory) {
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
TEST(RoundingTrials, WhatIsHeldChangesNothing) {
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
TEST(RoundingTrials, TheSameSamplesJudgeActivationScalesWithLittleMemory) {
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

TEST(RoundingTrials, CodesAreTakenOverWhereAnotherPlanAsksTheSame) {
  const graph::Model model = network();
  const auto samples = std::make_shared<Samples>();
  quant::Plan rounded = plan_for(model, *samples, "adaquant", {{"refine_activations", false}}), same = rounded, less = rounded;
  quant::Plan other = rounded;
  Rounder rounder(model, samples);
  rounder.improve(rounded);
  rounder.take_over(same, rounded);
  EXPECT_EQ(same.nodes, rounded.nodes);
  // An activation scale that was refined, one layer fewer, and one whose weights are to have other scales.
  quant::Plan refined = rounded;
  auto& [value, params] = *refined.values.begin();
  refined.refined[value] = params;
  refined.refined[value].scales.front() *= 0.9F;
  quant::Plan with_refined = less;
  rounder.take_over(with_refined, refined);
  EXPECT_EQ(with_refined.refined, refined.refined);
  const std::string changed = std::ranges::find_if(rounded.nodes, [](const auto& node) {
                                return node.second.weight && node.second.weight->optimized;
                              })->first;
  less.nodes.erase(std::prev(less.nodes.end()));
  rounder.take_over(less, rounded);
  for (const auto& [name, node] : less.nodes) EXPECT_EQ(node, rounded.nodes.at(name)) << name;
  for (float& scale : other.nodes.at(changed).weight->params.scales) scale *= 2;
  rounder.take_over(other, rounded);
  EXPECT_FALSE(other.nodes.at(changed).weight->optimized);
}

TEST(RoundingTrials, TrialsWithOtherDataSizesReadNoSampleAgain) {
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

// A layer that reads its input in a type of its own sees other inputs than one that does not: what is kept of one trial must not
// serve the other.
TEST(RoundingTrials, TrialsWithTypesOfTheirOwnDoNotShareWhatTheyMustNot) {
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

// The second trial reads no sample again, also where the first found that nothing changes.
TEST(RoundingTrials, ChecksOfActivationScalesAreRemembered) {
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

TEST(RoundingTrials, LaterTrialsGiveWhatAFreshStartGives) {
  const graph::Model model = network();
  const auto samples = std::make_shared<Samples>();
  Rounder rounder(model, samples);
  for (const Json& params : {Json{{"num_iterations", 1}}, Json{{"num_iterations", 2}}, Json{{"damping", 0.01}},
                             Json{{"update_bias", false}}, Json{{"scale_search", false}}, Json::object(), Json::object()}) {
    quant::Plan kept = plan_for(model, *samples, "adaquant", params), fresh = kept;
    const Json report = errors_by_layer(rounder.improve(kept));
    EXPECT_EQ(report, errors_by_layer(Rounder(model, samples).improve(fresh)));
    EXPECT_EQ(kept.nodes, fresh.nodes) << params;
    EXPECT_EQ(kept.refined, fresh.refined) << params;
  }
}

// Of a layer with other scales, those before it are taken as they were, those behind it see other inputs.
TEST(RoundingTrials, LayersBeforeWhatChangedAreTakenAsTheyWere) {
  const graph::Model model = network();
  const auto samples = std::make_shared<Samples>();
  Rounder rounder(model, samples);
  const quant::Plan whole = plan_for(model, *samples, "adaquant", {{"refine_activations", false}});
  for (const auto& [changed, node] : whole.nodes) {
    if (!node.weight) continue;
    quant::Plan kept = whole;
    quant::NodePlan& other = kept.nodes.at(changed);
    for (float& scale : other.weight->params.scales) scale *= 1.5F;
    if (other.bias) {
      for (float& scale : other.bias->params.scales) scale *= 1.5F;
    }
    quant::Plan fresh = kept, again = whole;
    rounder.improve(kept);
    rounder.improve(again);
    Rounder(model, samples).improve(fresh);
    EXPECT_EQ(kept.nodes, fresh.nodes) << changed;
    EXPECT_NE(kept.nodes, again.nodes) << changed;
  }
}

TEST(RoundingTrials, SettledPlansOfEqualWorkHaveEqualHashes) {
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

TEST(RoundingTrials, OptionsWithNothingToActOnMakeNoOtherPlan) {
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

TEST(RoundingTrials, AModelWithoutLayersIsTheSamePlanUnderEveryMethod) {
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

TEST(RoundingTrials, SamplesGivenUpForMemoryAreSaid) {
  const graph::Model model = network();
  const auto samples = std::make_shared<Samples>();
  std::vector<std::string> warnings;
  const Log log = [&](Level level, const std::string& text) {
    if (level == Level::warning) warnings.push_back(text);
  };
  quant::Plan tight = plan_for(model, *samples, "adaquant", Json::object()), enough = tight;
  Rounder(model, samples, {.memory_limit = 20000, .log = log}).improve(tight);
  ASSERT_EQ(warnings.size(), 2U) << "before the first layer, and in the end";
  EXPECT_NE(warnings[0].find("memory_limit (20000 bytes) is too little"), std::string::npos) << warnings[0];
  EXPECT_NE(warnings[0].find("a data_size of "), std::string::npos) << warnings[0];
  EXPECT_NE(warnings[1].find("24 samples do not fit into memory_limit (20000 bytes)"), std::string::npos) << warnings[1];
  Rounder(model, samples, {.log = log}).improve(enough);
  EXPECT_EQ(warnings.size(), 2U);
}

TEST(RoundingTrials, FewSamplesAreSaidOnce) {
  const graph::Model model = network();
  const auto samples = std::make_shared<Samples>();
  std::vector<std::string> warnings;
  const Log log = [&](Level level, const std::string& text) {
    if (level == Level::warning) warnings.push_back(text);
  };
  Rounder rounder(model, samples, {.log = log});
  for (const int size : {15, 15, 16}) {
    quant::Plan plan = plan_for(model, *samples, "adaquant", {{"data_size", size}});
    rounder.improve(plan);
  }
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("chosen for 15 samples, which is few"), std::string::npos) << warnings[0];
}

}  // namespace
}  // namespace quasar::tune
