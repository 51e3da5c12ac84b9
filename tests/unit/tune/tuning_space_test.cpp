#include "quasar/tune/tuning_space.hpp"

#include <gtest/gtest.h>

#include "quasar/graph/load.hpp"
#include "quasar/tune/fallback.hpp"
#include "quasar/tune/precision.hpp"

namespace quasar::tune {
namespace {

const graph::Model& digits() {
  static const graph::Model model = graph::load(QUASAR_SOURCE_DIR "/examples/digits/digits.onnx");
  return model;
}

TuningSpace space_of(const Json& words) {
  const auto target = quant::targets::table().make("ort_cpu");
  return tuning_space(parse_tuning_keys(Options(tuning_key_specs(), words, "configuration")), digits(), *target);
}

const TunedNode& node(const TuningSpace& space, const std::string& name) {
  for (const auto& node : space.nodes) {
    if (node.name == name) return node;
  }
  throw Error("no node " + name);
}

TEST(TuningSpace, HoldsTheTargetsCapability) {
  const TuningSpace space = space_of(Json::object());
  EXPECT_EQ(node(space, "stem/conv").options.size(), 6u);  // three ways to calibrate, channel or tensor
  EXPECT_EQ(node(space, "stem/conv").options.front(), space.base);
  EXPECT_EQ(node(space, "softmax").options.size(), 1u);
  EXPECT_TRUE(space.ignored.empty());
}

TEST(TuningSpace, WeightOnlyHoldsTheNamedConfigurations) {
  const TuningSpace space = space_of({{"approach", "weight_only"}});
  ASSERT_EQ(space.nodes.size(), 1u);
  EXPECT_EQ(space.nodes.front().name, "classifier");
  const Json words = search_space_of(space, {}, true);
  EXPECT_EQ(words.at("scheme").size(), 5u);
  EXPECT_EQ(words.at("scheme").front(), "RTN_G32ASYM");
  EXPECT_FALSE(words.contains("last_conv_or_matmul_quantization"));
  EXPECT_EQ(words.at(precision_of("classifier")), (Json{quantized, in_float}));
  EXPECT_THROW(space_of({{"approach", "dynamic"}}), Error);
  EXPECT_THROW(space_of({{"approach", "weight_only"}, {"op_type_dict", {{"Conv", Json::object()}}}}), Error);
}

TEST(TuningSpace, DictionariesNarrowIt) {
  const TuningSpace space = space_of({{"op_type_dict", {{"Conv", {{"weight", {{"granularity", {"per_tensor"}}}}}}}},
                                      {"op_name_dict", {{"block1/.*", {{"activation", {{"dtype", {"fp32"}}}}}}}}});
  EXPECT_EQ(node(space, "stem/conv").options.size(), 3u);
  EXPECT_TRUE(node(space, "block1/depthwise/conv").options.empty());
  EXPECT_EQ(node(space, "classifier").options.size(), 6u);
}

TEST(TuningSpace, TypesWithoutFp32MayNotFallBack) {
  const TuningSpace space = space_of({{"op_type_dict", {{"Conv", {{"activation", {{"dtype", {"uint8"}}}}}}}}});
  EXPECT_FALSE(node(space, "stem/conv").may_fall_back);
  EXPECT_TRUE(node(space, "classifier").may_fall_back);
  const Json words = search_space_of(space, {}, true);
  const Json& choices = words.at(precision_of("stem/conv"));
  EXPECT_EQ(std::count(choices.begin(), choices.end(), Json(in_float)), 0);
}

TEST(TuningSpace, WhatTheTargetLacksIsIgnoredAndTold) {
  const TuningSpace space = space_of(
      {{"op_type_dict", {{"Conv", {{"weight", {{"dtype", {"int4", "int8"}}}}}}, {"LSTM", {{"weight", {{"dtype", {"int8"}}}}}}}}});
  EXPECT_EQ(space.ignored.size(), 2u);
  EXPECT_EQ(node(space, "stem/conv").options.size(), 6u);
}

TEST(TuningSpace, MistakesAreErrors) {
  EXPECT_THROW(space_of({{"op_name_dict", {{"nothing.*", {{"weight", {{"dtype", {"int8"}}}}}}}}}), Error);
  EXPECT_THROW(space_of({{"op_name_dict", {{"(", {{"weight", {{"dtype", {"int8"}}}}}}}}}), Error);
  EXPECT_THROW(space_of({{"op_type_dict", {{"Conv", {{"weights", {{"dtype", {"int8"}}}}}}}}}), Error);
  EXPECT_THROW(space_of({{"op_type_dict", {{"Conv", {{"weight", {{"types", {"int8"}}}}}}}}}), Error);
  EXPECT_THROW(space_of({{"recipes", {{"first_conv_quantization", false}}}}), Error);
  EXPECT_THROW(space_of({{"quant_level", 2}}), Error);
  EXPECT_THROW(space_of({{"tuning_criterion", {{"max_trial", 3}}}}), Error);
}

TEST(TuningSpace, AFixedRecipeIsNotTuned) {
  const TuningKeys keys = parse_tuning_keys(
      Options(tuning_key_specs(), {{"recipes", {{"last_conv_or_matmul_quantization", false}}}}, "configuration"));
  const Json words = search_space_of(space_of(Json::object()), keys, true);
  EXPECT_EQ(words.at("last_conv_or_matmul_quantization"), Json({false}));
  EXPECT_EQ(words.at("first_conv_or_matmul_quantization"), Json({true, false}));
}

TEST(TuningSpace, SecretsAreNotKept) {
  const TuningKeys keys = parse_tuning_keys(Options(
      tuning_key_specs(), {{"tuning_criterion", {{"strategy_kwargs", {{"sigopt_api_token", "secret"}}}}}}, "configuration"));
  EXPECT_EQ(keys.kwargs.dump().find("secret"), std::string::npos);
}

TEST(Fallback, OptionsByTypeAreTheProductWithoutTheDefault) {
  const TuningSpace space = space_of(Json::object());
  const auto configs = by_op_type(space, 1000);
  EXPECT_EQ(configs.size(), 6u * 6u - 1u);  // Conv and Gemm
  EXPECT_EQ(by_op_type(space, 7).size(), 7u);
  EXPECT_EQ(configs.front().nodes.size(), 1u);  // the last type, Gemm, varies fastest: there is one
}

}  // namespace
}  // namespace quasar::tune
