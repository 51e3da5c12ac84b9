// What cannot be had is refused and what does nothing is said, by whichever door it comes.
#include <gtest/gtest.h>

#include <algorithm>

#include "executed.hpp"
#include "npu_models.hpp"
#include "quasar/quant/config/idle_keys.hpp"

namespace quasar::quant {
namespace {

const Json usual{{"activation", "Int8Spec"}, {"weight", "Int8Spec"}};

Json with(const Json& more) {
  Json words = usual;
  words.update(more);
  return words;
}

std::string refusal(const Json& more) {
  return contradiction(with(more));
}

TEST(Refusals, WordsThatMakeNoSense) {
  const std::vector<std::pair<Json, std::string>> cases{
      {{{"include_auto_mp", true}, {"AutoMixprecision", {{"ActTargetQuantType", "Int4Spec"}}}}, "no wider"},
      {{{"include_auto_mp", true}, {"AutoMixprecision", {{"ActTargetQuantType", "DynamicSpec"}}}}, "wider type"},
      {{{"include_auto_mp", true}, {"AutoMixprecision", {{"WeightTargetQuantType", "Int4Spec"}}}}, "no wider"},
      {{{"activation", "DynamicSpec"}, {"include_auto_mp", true}},
       "activation is DynamicSpec, but only layers between Q/DQ pairs"},
      {{{"activation", nullptr}, {"weight", "Int4Spec"}, {"include_auto_mp", true}},
       "activation is Float32Spec, but only layers"},
      {{{"TensorQuantOverrides", {{"x", {{"rmin", -3}, {"rmax", 1e300}}}}}}, "rmax is 1e+300, but must be a number that float32"},
      {{{"weight_params", {{"group_size", 64}}}}, "quant_granularity is not Group"},
      {{{"activation", "BFloat16Spec"}, {"weight", "BFloat16Spec"}, {"activation_params", {{"symmetric", true}}}},
       "only_if: {activation: <another type>}"},
      {{{"include_auto_mp", true}, {"AutoMixprecision", {{"TargetOpType", {"Konv"}}}}}, "AutoMixprecision.TargetOpType"},
      {{{"exclude", Json::array({Json::array({"a", "b"})})}}, "did you mean {from: a, to: b}?"},
      {{{"NumBins", "many"}}, "NumBins is \"many\", but must be a whole number"},
      {{{"DebugMode", 7}}, "DebugMode is 7, but must be true or false"},
      {{{"activation", "Float8E4M3FN"}}, "8-bit floating point"},
      {{{"TensorQuantOverrides", {{"x", {{"quant_type", "DynamicSpec"}}}}}}, "integer type"},
      {{{"TensorQuantOverrides", {{"x", {{"quant_type", "Float32Spec"}}}}}}, "integer type"}};
  for (const auto& [more, message] : cases) EXPECT_NE(refusal(more).find(message), std::string::npos) << more << refusal(more);
  EXPECT_EQ(refusal({{"activation", "QuantType.QUInt8"}}), "");
  EXPECT_EQ(refusal({{"include_auto_mp", true},
                     {"AutoMixprecision", {{"ActTargetQuantType", "BFloat16Spec"}, {"WeightTargetQuantType", "BFloat16Spec"}}}}),
            "");
  const std::string unknown = refusal({{"activation_params", {{"group_size", 32}}}});
  EXPECT_TRUE(unknown.ends_with("quant_granularity, data_type")) << unknown;
}

TEST(Refusals, FourBitsForAValueByItsName) {
  const graph::Model model = separable();
  const Config config = parse_config(with({{"TensorQuantOverrides", {{"x", {{"quant_type", "Int4"}}}}}}));
  EXPECT_THROW(resolve(model, made_up_statistics(model), config, *targets::table().make("ort_cpu")), Error);
}

TEST(Refusals, TwoBitsAreForWeightsInBlocks) {
  EXPECT_NE(refusal({{"activation", "UInt8Spec"}, {"weight", "UInt2Spec"}}).find("weights of 2 bits are MatMulNBits'"),
            std::string::npos);
  EXPECT_NE(refusal({{"activation", "UInt2Spec"}}).find("2 bits are for weights"), std::string::npos);
  EXPECT_EQ(refusal({{"activation", "Float32Spec"}, {"weight", "UInt2Spec"}}), "");
}

TEST(Refusals, OverridesThatAProcessorCannotShift) {
  const graph::Model model = separable();
  const auto refusal = [&](const Json& own) -> std::string {
    try {
      npu_plan(model, {{"TensorQuantOverrides", {{"x", own}}}});
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_NE(refusal({{"scale", 0.3}, {"zero_point", 0}}).find("scale is 0.3, but the target shifts"), std::string::npos);
  EXPECT_NE(refusal({{"scale", 0.25}, {"zero_point", 7}}).find("zero_point is 7"), std::string::npos);
  EXPECT_NE(refusal({{"symmetric", false}}).find("it must be true"), std::string::npos);
  EXPECT_NE(refusal({{"quant_type", "QInt16"}}).find("quant_type"), std::string::npos);
  EXPECT_EQ(refusal({{"scale", 0.25}, {"zero_point", 0}}), "");
  EXPECT_EQ(refusal({{"rmin", -3}, {"rmax", 5}}), "");
}

TEST(Refusals, HardSigmoidOfOtherParametersStaysInFloatOnNpus) {
  Builder b;
  const auto gate = b.node("HardSigmoid", {b.conv(b.input("x", {1, 2, 4, 4}), 2, 2, 1)}, {{"alpha", 0.2F}});
  const Plan plan = npu_plan(b.finish({b.conv(gate, 2, 2, 1)}));
  ASSERT_TRUE(plan.skipped.contains("HardSigmoid_0"));
  EXPECT_NE(plan.skipped.at("HardSigmoid_0").find("1/6"), std::string::npos) << plan.skipped.at("HardSigmoid_0");
}

TEST(Refusals, KeysThatWaitForOthersAreNamed) {
  const auto notes = [](const Json& more) { return notes_on_idle_keys(with(more), parse_config(with(more))); };
  for (const char* key : {"SmoothAlpha", "cle_steps", "PercentileCandidates", "adaround_params"}) {
    const Json value = std::string(key) == "PercentileCandidates" ? Json::array({99.9})
                       : std::string(key) == "adaround_params"    ? Json{{"num_iterations", 4}}
                       : std::string(key) == "cle_steps"          ? Json(1)
                                                                  : Json(0.5);
    ASSERT_EQ(notes({{key, value}}).size(), 1U) << key;
    EXPECT_TRUE(notes({{key, value}}).front().starts_with(std::string(key) + " has no effect: "));
  }
  EXPECT_TRUE(notes({{"SmoothAlpha", 0.5}, {"include_sq", true}}).empty());
  EXPECT_TRUE(notes({{"cle_steps", 2}, {"CLEScaleAppendBias", true}, {"include_cle", true}}).empty());
  EXPECT_TRUE(notes({{"adaround_params", {{"num_iterations", 4}}}, {"algorithms", "adaround"}}).empty());
}

// Weights have no samples to average over.
TEST(Refusals, MovingAveragesNeedActivationsByMinMax) {
  const auto notes = [](const char* method, const Json& more) {
    Json words = with(more);
    words["activation_params"] = {{"calibration_method", method}};
    return notes_on_idle_keys(words, parse_config(words));
  };
  ASSERT_EQ(notes("Entropy", {{"CalibMovingAverage", true}}).size(), 1U);
  EXPECT_NE(notes("Entropy", {{"CalibMovingAverage", true}}).front().find("activations is not MinMax"), std::string::npos);
  ASSERT_EQ(notes("MinMax", {{"CalibMovingAverageConstant", 0.5}}).size(), 1U);
  EXPECT_NE(notes("MinMax", {{"CalibMovingAverageConstant", 0.5}}).front().find("CalibMovingAverage is not true"),
            std::string::npos);
  EXPECT_TRUE(notes("MinMax", {{"CalibMovingAverage", true}, {"CalibMovingAverageConstant", 0.5}}).empty());
  ASSERT_EQ(notes("MinMax", {{"RangeMargin", 0.25}}).size(), 1U);
  EXPECT_NE(notes("MinMax", {{"RangeMargin", 0.25}}).front().find("no values have 16 bits"), std::string::npos);
  const Json wide{{"scheme", "w8a16"}};
  EXPECT_TRUE(notes_on_idle_keys(wide, parse_config(wide)).empty());
}

// As best_config.yaml has them.
TEST(Refusals, WhatIsSoAnywayNeedsNoNote) {
  for (const char* method : {"MinMax", "Entropy"}) {
    Json words = with(Json::object());
    words["activation_params"] = {{"calibration_method", method}};
    const Json whole = to_json(parse_config(words));
    EXPECT_TRUE(whole.contains("CalibMovingAverageConstant")) << method << " (of weights)";
    const auto notes = notes_on_idle_keys(whole, parse_config(whole));
    EXPECT_TRUE(notes.empty()) << method << ": " << notes.front();
  }
}

TEST(Refusals, KeysThatMakeNoDifferenceSaySo) {
  const Json words = with({{"NumBins", 7}, {"DebugMode", true}});
  const auto notes = notes_on_idle_keys(words, parse_config(words));
  ASSERT_EQ(notes.size(), 2U);
  for (const auto& note : notes) EXPECT_NE(note.find(" makes no difference: "), std::string::npos) << note;
}

TEST(Refusals, OverridesOfScalesNeedATypeThatHasThem) {
  const graph::Model model = separable();
  const Config config = parse_config({{"activation", "BFloat16Spec"},
                                      {"weight", "BFloat16Spec"},
                                      {"TensorQuantOverrides", {{"x", {{"rmin", -1}, {"rmax", 1}}}}}});
  try {
    resolve(model, made_up_statistics(model), config, *targets::table().make("ort_cpu"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("TensorQuantOverrides.x is "), std::string::npos) << error.what();
  }
}

TEST(Refusals, SamplesThatSayNothingAreNoted) {
  const graph::Model model = separable();
  stats::Statistics seen = made_up_statistics(model);
  const auto noted = [&] {
    const Plan plan = resolve(model, seen, parse_config(usual), *targets::table().make("ort_cpu"));
    return std::ranges::any_of(plan.notes, [](const auto& note) { return note.starts_with("input 'x' is 0.0 everywhere"); });
  };
  EXPECT_FALSE(noted());
  seen.at("x") = stats::of_values(std::vector<float>{0, 0, 0}, {.histogram = true});
  EXPECT_TRUE(noted());
}

TEST(Refusals, NodesThatAFormIsNotForSayWhy) {
  const graph::Model model = separable();
  const Config config = parse_config({{"activation", "DynamicSpec"}, {"weight", "Int8Spec"}});
  const Plan plan = resolve(model, {}, config, *targets::table().make("ort_cpu"));
  ASSERT_TRUE(plan.skipped.contains("Conv_0"));
  EXPECT_NE(plan.skipped.at("Conv_0").find("at run time"), std::string::npos);
}

}  // namespace
}  // namespace quasar::quant
