#include "quasar/strategy/tuning_space.hpp"

#include <gtest/gtest.h>

#include <set>

#include "quasar/graph/load.hpp"
#include "quasar/job/precision.hpp"
#include "quasar/strategy/fallback.hpp"

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
  EXPECT_THROW(space_of({{"approach", "weight_only"}, {"op_type_dict", {{"Conv", Json::object()}}}}), Error);
}

TEST(TuningSpace, NpusHaveTheirOwnTypes) {
  const auto npu = quant::targets::table().make("xint8");
  const TuningSpace space =
      tuning_space(parse_tuning_keys(Options(tuning_key_specs(), Json::object(), "configuration")), digits(), *npu);
  EXPECT_EQ(space.base["weight"], "XInt8Spec");
  EXPECT_EQ(node(space, "stem/conv").options.size(), 4u);  // two ways for either side
}

TEST(TuningSpace, DynamicIsForProductsAndTables) {
  const TuningSpace space = space_of({{"approach", "dynamic"}});
  ASSERT_EQ(space.nodes.size(), 1u);
  EXPECT_EQ(space.nodes.front().name, "classifier");
  EXPECT_EQ(space.base["activation"], "DynamicSpec");
  EXPECT_EQ(space.nodes.front().options.size(), 2u);  // per channel, per tensor
  const auto keys = parse_tuning_keys(Options(tuning_key_specs(), {{"approach", "dynamic"}}, "configuration"));
  for (const char* without : {"xint8", "openvino", "openvino_npu", "qnn_htp", "tensorrt", "ort_cuda"}) {
    EXPECT_THROW(tuning_space(keys, digits(), *quant::targets::table().make(without)), Error) << "has no ranges at run time";
  }
}

TEST(TuningSpace, AutoHoldsStaticOptionsFirst) {
  const TuningSpace space = space_of({{"approach", "auto"}});
  EXPECT_EQ(space.base, space_of(Json::object()).base);
  EXPECT_EQ(node(space, "classifier").options.size(), 6u);
  EXPECT_EQ(node(space, "classifier").dynamic.size(), 2u);
  EXPECT_TRUE(node(space, "stem/conv").dynamic.empty());
  const Json choices = search_space_of(space, {}, true).at(precision_of("classifier"));
  EXPECT_EQ(choices.front(), quantized);
  EXPECT_EQ(choices.back(), in_float);
  EXPECT_EQ(choices.size(), 9u);
  const auto tried = with_dynamic({}, space);
  ASSERT_EQ(tried.size(), 2u);
  EXPECT_EQ(tried.front().nodes.size(), 1u);
  EXPECT_EQ(tried.front().nodes.at("classifier")["activation"], "DynamicSpec");
}

// What only moves values goes with its producer, and what has no integer kernel is not tuned at all.
TEST(TuningSpace, PassThroughOperatorsAreNotTuned) {
  for (const auto& tuned : space_of(Json::object()).nodes) {
    for (const char* type : {"Relu", "Clip", "Flatten", "Reshape", "Transpose", "MaxPool", "Identity"})
      EXPECT_NE(tuned.op_type, type) << tuned.name;
  }
}

TEST(TuningSpace, FloatTypesThatAreNamedAreTriedInTheirOrder) {
  const TuningSpace space =
      space_of({{"op_type_dict", {{"Conv", {{"activation", {{"dtype", {"uint8", "fp32", "bf16", "fp16"}}}}}}}}});
  EXPECT_EQ(node(space, "stem/conv").floats, (std::vector<std::string>{"bfloat16", "float16", "float32"}));
  EXPECT_EQ(space.floats(), (std::vector<std::string>{"bfloat16", "float16", "float32"}));
  EXPECT_EQ(node(space, "stem/conv").options.size(), 6u);
  EXPECT_TRUE(space.ignored.empty());
  const Json choices = search_space_of(space, {}, true).at(precision_of("stem/conv"));
  EXPECT_EQ(std::count(choices.begin(), choices.end(), Json("bfloat16")), 1);
  const TuneConfig config = with_float({}, space, {"stem/conv", "classifier"}, bfloat16);
  EXPECT_EQ(config.nodes.at("stem/conv"), bfloat16);
  EXPECT_EQ(config.nodes.at("classifier"), in_float) << "the cheapest that it may be left in";
  EXPECT_EQ(fallible_nodes(config, space, bfloat16).size() + 2, fallible_nodes({}, space, bfloat16).size());
  EXPECT_EQ(fallible_nodes(config, space, in_float).size() + 1, fallible_nodes({}, space, in_float).size()) << "the Conv again";
  EXPECT_EQ(with_float(config, space, {"stem/conv"}, in_float).nodes.at("stem/conv"), in_float);
  EXPECT_EQ(with_float(with_float(config, space, {"stem/conv"}, in_float), space, {"stem/conv"}, float16).nodes.at("stem/conv"),
            in_float)
      << "what is in a dearer type stays";
}

// Convolutions in float16 and all else in float32 fall back together: one way, not one for each type.
TEST(TuningSpace, OperatorsThatLackAFloatTypeFallBackToTheirOwn) {
  const TuningSpace space = space_of({{"op_type_dict", {{"Conv", {{"activation", {{"dtype", {"uint8", "fp16"}}}}}}}}});
  EXPECT_EQ(space.floats(), (std::vector<std::string>{"float16", "float32"}));
  EXPECT_EQ(fallback_types(space), (std::vector<std::string>{"float16"}));
  const TuneConfig config = with_float({}, space, {"stem/conv", "classifier"}, float16);
  EXPECT_EQ(config.nodes.at("stem/conv"), float16);
  EXPECT_EQ(config.nodes.at("classifier"), in_float);
  EXPECT_TRUE(with_float(config, space, {"stem/conv"}, in_float).nodes == config.nodes);
}

TEST(TuningSpace, DictionariesNarrowIt) {
  const TuningSpace space = space_of({{"op_type_dict", {{"Conv", {{"weight", {{"granularity", {"per_tensor"}}}}}}}},
                                      {"op_name_dict", {{"block1/.*", {{"activation", {{"dtype", {"fp32"}}}}}}}}});
  EXPECT_EQ(node(space, "stem/conv").options.size(), 3u);
  EXPECT_TRUE(node(space, "block1/depthwise/conv").options.empty());
  EXPECT_EQ(node(space, "classifier").options.size(), 6u);
}

// As in INC: each dictionary is held against the target's capability, types first, names in the order of the file.
TEST(TuningSpace, NamesGoBeforeTypesAndLaterPatternsBeforeEarlierOnes) {
  const auto granularity = [](const char* word) { return Json{{"weight", {{"granularity", {word}}}}}; };
  const auto type = [](const char* word) { return Json{{"activation", {{"dtype", {word}}}}}; };
  const auto granularities_of = [](const TuningSpace& space, const std::string& name) {
    std::set<std::string> out;
    for (const auto& option : node(space, name).options)
      out.insert(option["weight_params"]["quant_granularity"].get<std::string>());
    return out;
  };
  const TuningSpace exception = space_of(
      {{"op_type_dict", {{"Conv", granularity("per_tensor")}}}, {"op_name_dict", {{"stem/conv", granularity("per_channel")}}}});
  EXPECT_EQ(granularities_of(exception, "stem/conv"), std::set<std::string>{"Channel"});
  EXPECT_EQ(granularities_of(exception, "block1/depthwise/conv"), std::set<std::string>{"Tensor"});
  EXPECT_TRUE(exception.ignored.empty());
  const TuningSpace quantized_again =
      space_of({{"op_type_dict", {{"Conv", type("fp32")}}}, {"op_name_dict", {{"stem/conv", type("uint8")}}}});
  EXPECT_EQ(node(quantized_again, "stem/conv").options.size(), 6u);
  EXPECT_TRUE(node(quantized_again, "stem/conv").floats.empty());
  EXPECT_TRUE(node(quantized_again, "block1/depthwise/conv").options.empty());
  const TuningSpace ordered =
      space_of({{"op_name_dict", Json{{".*", granularity("per_tensor")}, {"stem/conv", granularity("per_channel")}}}});
  EXPECT_EQ(granularities_of(ordered, "stem/conv"), std::set<std::string>{"Channel"});
  const TuningSpace turned =
      space_of({{"op_name_dict", Json{{"stem/conv", granularity("per_channel")}, {".*", granularity("per_tensor")}}}});
  EXPECT_EQ(granularities_of(turned, "stem/conv"), std::set<std::string>{"Tensor"});
}

TEST(TuningSpace, TypesAreRegularExpressionsToo) {
  const TuningSpace space = space_of({{"op_type_dict", {{"Conv|Gemm", {{"activation", {{"dtype", {"fp32"}}}}}}}}});
  EXPECT_TRUE(node(space, "stem/conv").options.empty());
  EXPECT_TRUE(node(space, "classifier").options.empty());
  EXPECT_FALSE(node(space, "softmax").options.empty());
  EXPECT_THROW(space_of({{"op_type_dict", {{"(", {{"weight", {{"dtype", {"int8"}}}}}}}}}), Error);
}

TEST(TuningSpace, TypesWithoutFp32MayNotFallBack) {
  const TuningSpace space = space_of({{"op_type_dict", {{"Conv", {{"activation", {{"dtype", {"uint8"}}}}}}}}});
  EXPECT_TRUE(node(space, "stem/conv").floats.empty());
  EXPECT_EQ(node(space, "classifier").floats, std::vector<std::string>{in_float});
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

// The default is what it is without; uint8 and asymmetric weights are for those who ask.
TEST(TuningSpace, DictionariesMayAskForMoreThanIsTriedByItself) {
  const Json wish{{"weight", {{"dtype", {"uint8", "int8"}}, {"scheme", {"asym", "sym"}}, {"granularity", {"per_tensor"}}}},
                  {"activation", {{"algorithm", {"minmax"}}}}};
  const TuningSpace space = space_of({{"op_type_dict", {{"Conv", wish}}}});
  EXPECT_TRUE(space.ignored.empty());
  std::set<std::string> weights;
  for (const auto& option : node(space, "stem/conv").options)
    weights.insert(option["weight"].get<std::string>() + (option["weight_params"]["symmetric"] == true ? " sym" : " asym"));
  EXPECT_EQ(weights, (std::set<std::string>{"UInt8Spec asym", "UInt8Spec sym", "Int8Spec asym", "Int8Spec sym"}));
  EXPECT_EQ(node(space, "classifier").options.size(), 6u);
  for (const auto& option : node(space, "classifier").options) EXPECT_EQ(option["weight"], "Int8Spec");
  const auto npu = quant::targets::table().make("xint8");
  const auto keys = parse_tuning_keys(Options(tuning_key_specs(), {{"op_type_dict", {{"Conv", wish}}}}, "configuration"));
  EXPECT_EQ(tuning_space(keys, digits(), *npu).ignored.size(), 3u) << "uint8, int8 and asym";
}

TEST(TuningSpace, SaturationIsOneForTheWholeSpace) {
  std::vector<OptionSpec> specs = tuning_key_specs();
  specs.push_back({.name = "saturation", .fallback = nullptr, .help = ""});
  const TuningKeys keys = parse_tuning_keys(Options(specs, {{"saturation", "Reduce_Range"}}, "configuration"));
  EXPECT_EQ(search_space_of(space_of(Json::object()), keys, true).at("saturation"), Json({"reduce_range"}));
  EXPECT_FALSE(search_space_of(space_of(Json::object()), {}, true).contains("saturation"));
  EXPECT_THROW(parse_tuning_keys(Options(specs, {{"saturation", "avoidd"}}, "configuration")), Error);
  EXPECT_THROW(parse_tuning_keys(Options(specs, {{"saturation", "avoid"}, {"approach", "weight_only"}}, "configuration")), Error);
}

TEST(TuningSpace, MisspeltWordsGetTheNearest) {
  const auto told = [](const Json& words) {
    try {
      const auto ignored = space_of(words).ignored;
      return ignored.empty() ? std::string() : ignored.front();
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  const auto conv = [](const char* side, const char* item, const char* word) {
    return Json{{"op_type_dict", {{"Conv", {{side, {{item, {word}}}}}}}}};
  };
  EXPECT_NE(told(conv("weight", "dtype", "itn8")).find("ignored; did you mean 'int8'?"), std::string::npos);
  EXPECT_NE(told(conv("weight", "granularity", "per_chanel")).find("did you mean 'per_channel'?"), std::string::npos);
  EXPECT_NE(told(conv("activation", "algorithm", "minmx")).find("did you mean 'minmax'?"), std::string::npos);
  EXPECT_NE(told(conv("activation", "schem", "asym")).find("did you mean 'scheme'?"), std::string::npos);
  EXPECT_NE(told(conv("wieght", "scheme", "sym")).find("did you mean 'weight'?"), std::string::npos);
  EXPECT_NE(told({{"op_type_dict", {{"Cnov", Json::object()}}}}).find("did you mean 'Conv'?"), std::string::npos);
  EXPECT_NE(told({{"op_name_dict", {{"stem/con", Json::object()}}}}).find("did you mean 'stem/conv'?"), std::string::npos);
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

// They would leave operators in float.
TEST(TuningSpace, RecipesAreNoOptionsOfStrategiesThatNeverFallBack) {
  const TuningKeys none = parse_tuning_keys(Options(tuning_key_specs(), Json::object(), "configuration"));
  const Json words = search_space_of(space_of(Json::object()), none, false);
  for (const auto& recipe : tuned_recipes()) EXPECT_EQ(words.at(recipe), Json({true})) << recipe;
  const TuningKeys fixed = parse_tuning_keys(
      Options(tuning_key_specs(), {{"recipes", {{"last_conv_or_matmul_quantization", false}}}}, "configuration"));
  EXPECT_EQ(search_space_of(space_of(Json::object()), fixed, false).at("last_conv_or_matmul_quantization"), Json({false}));
}

// The same by a dictionary: what may only be in integers is left in float by no recipe.
TEST(TuningSpace, RecipesDoNotLeaveInFloatWhatMayNotBe) {
  const Json integers{{"activation", {{"dtype", {"uint8"}}}}};
  const auto open_recipes = [](const TuningSpace& space) {
    std::vector<std::string> out;
    const Json words = search_space_of(space, {}, true);
    for (const auto& recipe : tuned_recipes()) {
      if (words.at(recipe).size() == 2) out.push_back(recipe);
    }
    return out;
  };
  EXPECT_EQ(open_recipes(space_of(Json::object())), tuned_recipes());
  EXPECT_TRUE(open_recipes(space_of({{"op_name_dict", {{".*", integers}}}})).empty());
  const auto rest = open_recipes(space_of({{"op_name_dict", {{"stem/conv", integers}}}}));
  EXPECT_EQ(std::ranges::count(rest, "first_conv_or_matmul_quantization"), 0);
  EXPECT_EQ(std::ranges::count(rest, "last_conv_or_matmul_quantization"), 1);
}

TEST(TuningSpace, SamplingSizesAreAParameterOfIt) {
  auto specs = tuning_key_specs();
  specs.push_back({.name = "calibration_sampling_size", .fallback = nullptr, .help = "a job's key"});
  const auto keys_of = [&](const Json& sizes) {
    return parse_tuning_keys(Options(specs, {{"calibration_sampling_size", sizes}}, "configuration"));
  };
  EXPECT_EQ(search_space_of(space_of(Json::object()), keys_of({100, 20}), true).at(sampling_size), (Json{100, 20}));
  EXPECT_EQ(search_space_of(space_of(Json::object()), keys_of(50), true).at(sampling_size), Json({50}));
  EXPECT_FALSE(search_space_of(space_of(Json::object()), {}, true).contains(sampling_size));
  for (const Json& wrong : {Json(0), Json("a"), Json({10, "a"}), Json(2.5), Json::array()})
    EXPECT_THROW(keys_of(wrong), Error) << wrong;
}

TEST(TuningSpace, LevelsThatUseNoNamedStrategyRefuseOne) {
  const auto strategy_of = [](const Json& level, const char* named) {
    const Json words{{"quant_level", level}, {"tuning_criterion", {{"strategy", named}}}};
    return parse_tuning_keys(Options(tuning_key_specs(), words, "configuration")).strategy;
  };
  EXPECT_EQ(strategy_of(1, "mse"), "mse");
  EXPECT_EQ(strategy_of(0, "basic"), "conservative") << "their default, which says nothing";
  EXPECT_EQ(strategy_of("auto", "basic"), "automatic");
  EXPECT_THROW(strategy_of(0, "mse"), Error);
  EXPECT_THROW(strategy_of("auto", "mse"), Error);
}

TEST(TuningSpace, SecretsAreNotKept) {
  const TuningKeys keys = parse_tuning_keys(Options(
      tuning_key_specs(), {{"tuning_criterion", {{"strategy_kwargs", {{"sigopt_api_token", "secret"}}}}}}, "configuration"));
  EXPECT_EQ(keys.kwargs.dump().find("secret"), std::string::npos);
}

// Keyed by name: the order in which costs are known does not matter (they were once written under their neighbours' names).
TEST(Fallback, RanksByNameWhateverTheOrder) {
  std::vector<std::pair<std::string, double>> costs{{"a", 0.1}, {"b", 3}, {"c", -1}, {"d", 2}, {"e", 0}};
  const std::vector<std::string> expected{"b", "d", "a", "e", "c"};
  std::sort(costs.begin(), costs.end());
  do {
    EXPECT_EQ(ranked(costs), expected);
  } while (std::next_permutation(costs.begin(), costs.end()));
}

TEST(Fallback, OptionsByTypeAreTheProductWithoutTheDefault) {
  const TuningSpace space = space_of(Json::object());
  const auto configs = by_op_type(space, 1000);
  EXPECT_EQ(configs.size(), 6u * 6u - 1u);  // Conv and Gemm
  EXPECT_EQ(by_op_type(space, 7).size(), 7u);
  EXPECT_EQ(configs.front().nodes.size(), 1u);  // the last type, Gemm, varies fastest: there is one
}

// What is there, and taken away, is not said to be missing.
TEST(TuningSpace, ADictionaryThatLeavesNothingIsNamed) {
  const auto only = [](const Json& types) { return Json{{"activation", {{"dtype", types}}}}; };
  const Json names{{".*", only({"fp32"})}, {"classifier", only({"int8", "fp32"})}};
  for (const char* approach : {"dynamic", "static"}) {
    try {
      space_of({{"approach", approach}, {"op_name_dict", names}});
      FAIL() << approach;
    } catch (const Error& e) {
      const std::string what = e.what();
      EXPECT_NE(what.find("op_name_dict leave no operator an integer type"), std::string::npos) << what;
    }
  }
}

// Nobody knows the type of what a foreign operator gives: the quantizer leaves alone what reads it.
TEST(TuningSpace, WhatReadsValuesOfUnknownTypeIsNotTuned) {
  graph::Model model;
  model.opsets = {{"", 17}, {"foreign", 1}};
  model.inputs = {{"x", DataType::float32, Shape{1, 4}}};
  model.outputs = {{"y", DataType::float32, Shape{1, 4}}};
  model.initializers["w"] = Tensor::of({4, 4}, std::vector<float>(16, 0.5F));
  model.initializers["u"] = Tensor::of({1, 16, 4}, std::vector<float>(64, 0.5F));
  const auto node = [](const char* name, const char* type, const char* domain, std::vector<std::string> inputs,
                       const char* output) {
    return graph::Node{.name = name, .op_type = type, .domain = domain, .inputs = std::move(inputs), .outputs = {output}};
  };
  model.nodes = {node("first", "MatMul", "", {"x", "w"}, "a"), node("odd", "Odd", "foreign", {"a"}, "b"),
                 node("second", "LSTM", "", {"b", "u", "u"}, "y")};
  const auto target = quant::targets::table().make("ort_cpu");
  for (const char* approach : {"dynamic", "auto"}) {
    const auto keys = parse_tuning_keys(Options(tuning_key_specs(), {{"approach", approach}}, "configuration"));
    const TuningSpace space = tuning_space(keys, model, *target);
    ASSERT_EQ(space.nodes.size(), 1U) << approach;
    EXPECT_EQ(space.nodes.front().name, "first");
  }
}

}  // namespace
}  // namespace quasar::tune
