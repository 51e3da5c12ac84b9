// What a configuration's words mean, and which are refused with what reason.
#include "quasar/quant/config/config.hpp"

#include <gtest/gtest.h>

namespace quasar::quant {
namespace {

Json words(const std::string& text) {
  return parse_json(text, "test");
}

TEST(Config, SpecificationsAndTheirDefaults) {
  struct Case {
    const char* name;
    DataType type;
    bool symmetric;
    ScaleType scale_type;
    const char *activation_method, *weight_method;
  };
  const Case cases[]{{"Int8Spec", DataType::int8, true, ScaleType::float32, "percentile", "min_max"},
                     {"UInt8Spec", DataType::uint8, false, ScaleType::float32, "percentile", "min_max"},
                     {"Int16Spec", DataType::int16, true, ScaleType::float32, "percentile", "min_max"},
                     {"QUInt16", DataType::uint16, false, ScaleType::float32, "percentile", "min_max"},
                     {"XInt8Spec", DataType::int8, true, ScaleType::power_of_two, "min_mse", "min_mse"}};
  for (const auto& c : cases) {
    const Config config = parse_config({{"activation", c.name}, {"weight", c.name}});
    EXPECT_EQ(config.activation.range_method, c.activation_method) << c.name;
    EXPECT_EQ(config.weight.range_method, c.weight_method) << c.name;
    for (const Scheme& scheme : {config.activation, config.weight}) {
      EXPECT_EQ(scheme.type, c.type) << c.name;
      EXPECT_EQ(scheme.symmetric, c.symmetric) << c.name;
      EXPECT_EQ(scheme.scale_type, c.scale_type) << c.name;
      EXPECT_EQ(scheme.granularity, Granularity::tensor) << c.name;
    }
  }
}

TEST(Config, ItsWordsGiveItBack) {
  for (const char* activation : {"Int8Spec", "UInt8Spec", "Int16Spec", "UInt16Spec"}) {
    for (const char* weight : {"Int8Spec", "UInt8Spec", "Int16Spec", "UInt16Spec"}) {
      for (const bool symmetric : {true, false}) {
        for (const char* scale_type : {"Float32", "PowerOf2"}) {
          for (const char* method : {"MinMax", "NonOverflow", "MinMSE", "Percentile", "Entropy", "LayerwisePercentile"}) {
            for (const char* granularity : {"Tensor", "Channel"}) {
              const Json side{{"symmetric", symmetric}, {"scale_type", scale_type}, {"calibration_method", method}};
              Json weights = side;
              weights["quant_granularity"] = granularity;
              const Config config = parse_config(
                  {{"activation", activation}, {"activation_params", side}, {"weight", weight}, {"weight_params", weights}});
              EXPECT_EQ(parse_config(to_json(config)), config) << to_json(config).dump();
            }
          }
        }
      }
    }
  }
}

TEST(Config, TypesHaveShortNames) {
  const auto both = [](const char* name) { return parse_config({{"activation", name}, {"weight", name}}); };
  EXPECT_EQ(both("BF16"), both("BFloat16Spec"));
  EXPECT_EQ(both("fp16"), both("Float16Spec"));
  EXPECT_EQ(both("QInt16"), both("Int16Spec"));
}

TEST(Config, FormsGiveThemselvesBack) {
  for (const char* form : {"all", "products", "dynamic_products", "dynamic"}) {
    const Config config = parse_config({{"activation", "UInt8Spec"},
                                        {"activation_params", {{"symmetric", false}, {"calibration_method", "Entropy"}}},
                                        {"weight_params", {{"quant_granularity", "Channel"}}},
                                        {"form", form}});
    EXPECT_EQ(parse_config(to_json(config)), config) << to_json(config).dump();
    EXPECT_EQ(config.activation.dynamic, form == std::string("dynamic"));
    EXPECT_EQ(config.products.has_value(), form == std::string("dynamic_products"));
  }
  EXPECT_EQ(parse_config({{"form", "dynamic"}, {"weight_params", {{"quant_granularity", "Channel"}}}}),
            parse_config({{"activation", "DynamicSpec"}, {"weight_params", {{"quant_granularity", "Channel"}}}}));
}

TEST(Config, SchemesGiveThemselvesBack) {
  for (const auto& [name, entry] : schemes::table().items()) {
    const Config config = parse_config(entry.make({})->words());
    EXPECT_EQ(parse_config(to_json(config)), config) << name;
    EXPECT_EQ(to_json(config)["activation"], entry.make({})->words()["activation"]) << name;
  }
}

TEST(Config, XInt8IsInt8WithPowersOfTwo) {
  const Config written = parse_config({{"activation", "XInt8Spec"}, {"weight", "XInt8Spec"}});
  const Json params{{"scale_type", "PowerOf2"}, {"calibration_method", "PowerOf2Method.MinMSE"}};
  const Config spelt = parse_config(
      {{"activation", "Int8Spec"}, {"activation_params", params}, {"weight", "Int8Spec"}, {"weight_params", params}});
  EXPECT_EQ(written, spelt);
  EXPECT_EQ(to_json(spelt)["activation"], "XInt8Spec");
}

TEST(Config, WhatChangesAfterRoundingIsNotThereBefore) {
  const Json words{{"activation", "UInt8Spec"},
                   {"weight", "Int8Spec"},
                   {"exclude", {"a", {{"op_type", "Softmax"}}}},
                   {"specific_layer_config", {{{"spec", "Int16Spec"}, {"nodes", {"b"}}}}}};
  Json more = words;
  more["after_rounding"] = {{"exclude", {"c"}}, {"specific_layer_config", {{{"spec", "Float16Spec"}, {"nodes", {"d", "e"}}}}}};
  const Config config = parse_config(more);
  EXPECT_EQ(config.exclude, (std::vector<Json>{"a", {{"op_type", "Softmax"}}, "c"}));
  ASSERT_EQ(config.layers.size(), 2U);
  EXPECT_EQ(config.layers.front().nodes, (std::vector<std::string>{"d", "e"}));
  EXPECT_EQ(while_rounding(config), parse_config(words));
  EXPECT_EQ(parse_config(to_json(config)), config);
  for (const auto& [after, complaint] : {std::pair<Json, std::string>{{{"exclud", {"c"}}}, "did you mean 'exclude'"},
                                         {Json::array({"c"}), "must be a mapping"},
                                         {{{"exclude", 3}}, "exclude: 3 is not"}}) {
    more["after_rounding"] = after;
    EXPECT_NE(contradiction(more).find(complaint), std::string::npos) << contradiction(more);
  }
}

TEST(Config, ContradictionsHaveReasons) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {R"({"activation": "XInt8Spec", "activation_params": {"scale_type": "Float32"}})", "power-of-two scales, not Float32"},
      {R"({"activation": "XInt8Spec", "activation_params": {"symmetric": false}})", "no zero points"},
      {R"({"activation": "XInt8Spec", "activation_params": {"data_type": "Int16"}})", "XInt8Spec is int8"},
      {R"({"weight": "XInt8Spec", "weight_params": {"quant_granularity": "Channel"}})", "one scale per tensor"},
      {R"({"activation": "Int16Spec", "activation_params": {"quant_granularity": "Channel"}})", "one scale per tensor"},
      {R"({"activation_params": {"quant_granularity": "Group"}})", "one scale per tensor"},
      {R"({"weight_params": {"quant_granularity": "Group", "group_size": 48}})", "16, 32, 64, 128 or 256"},
      {R"({"activation": null, "weight": "Int16Spec"})", "4 or 8 bits"},
      {R"({"activation": null, "weight": null})", "nothing would be quantized"},
      {R"({"activation": "Int8Spec", "weight": null})", "only multiplied with quantized weights"},
      {R"({"activation": null, "activation_params": {"symmetric": true}, "weight": "Int4Spec"})", "has no parameters"},
      {R"({"weight_params": {"scale_type": "Int16"}, "algorithms": "adaround"})", "would leave scale_type Int16"},
      {R"({"activation": "BFloat16Spec", "weight": "Int8Spec"})", "both sides or none"},
      {R"({"activation": "BFloat16Spec", "weight": "BFloat16Spec", "algorithms": "gptq"})", "chooses integer codes"},
      {R"({"activation": "BFloat16Spec", "activation_params": {"symmetric": true}, "weight": "BFloat16Spec"})", "no scales"},
      {R"({"activation": "DynamicSpec", "activation_params": {"calibration_method": "MinMax"}})", "at run time"},
      {R"({"activation": "DynamicSpec", "weight": "Int16Spec"})", "4 or 8 bits"},
      {R"({"weight": "DynamicSpec"})", "for activations"},
      {R"({"weight_params": {"scale_type": "PowerOf3"}})", "did you mean 'PowerOf2'?"},
      {R"({"activation": "FP8E4M3Spec"})", "8-bit floating point"},
      {R"({"activation": "BFP16Spec"})", "block floating point"},
      {R"({"weight": "MX9Spec"})", "microscaling"},
      {R"({"weight": "MXFP4E2M1Spec"})", "microscaling"},
      {R"({"AdjustShiftCut": true})", "needs power-of-two scales"},
      {R"({"UseUnsignedReLU": true})", "UInt8Spec"},
      {R"({"form": "product"})", "did you mean 'products'?"},
      {R"({"form": 1})", "must be one of all, products, dynamic_products, dynamic"},
      {R"({"form": "products", "activation": null, "weight": "Int4Spec"})", "known before the run"},
      {R"({"form": "dynamic", "algorithms": "adaround"})", "not DynamicSpec"},
      {R"({"activation": "Int17Spec"})", "did you mean 'Int16Spec'?"},
      {R"({"activation": "QInt9"})", "did you mean 'Int8Spec'?"}};
  for (const auto& [text, reason] : cases)
    EXPECT_NE(contradiction(words(text)).find(reason), std::string::npos) << contradiction(words(text));
  EXPECT_EQ(contradiction(words(R"({"activation": "Int8Spec", "activation_params": {"scale_type": "PowerOf2"}})")), "");
  EXPECT_EQ(contradiction(words(R"({"activation": "UInt8Spec", "activation_params": {"scale_type": "PowerOf2"}})")), "");
}

}  // namespace
}  // namespace quasar::quant
