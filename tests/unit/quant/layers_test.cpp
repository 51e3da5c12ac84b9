// Layers and tensors of their own: rules, promotion, recipes, overrides, and the names by which they are called.
#include <gtest/gtest.h>

#include <cmath>

#include "made_up_statistics.hpp"
#include "quasar/base/error.hpp"
#include "quasar/graph/rewrites/plain_gemm.hpp"
#include "quasar/quant/node_names.hpp"
#include "quasar/quant/promotion.hpp"
#include "quasar/runtime/session.hpp"
#include "sample_models.hpp"

namespace quasar::quant {
namespace {

Config parsed(const std::string& words) {
  return parse_config(parse_json(words, "test"));
}

std::string error_of(const std::string& words) {
  try {
    parsed(words);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(LayerRules, RoundTrip) {
  for (const std::string words :
       {R"({"specific_layer_config": [{"spec": "Int16Spec", "params": {"symmetric": false}, "nodes": ["a"]}]})",
        R"({"layer_type_config": {"spec": null, "op_types": ["MatMul"]}, "Percentile": 99.0})",
        R"({"layer_type_config": [{"activation": "UInt8Spec", "op_types": "Conv"}], "cle_algo": "cle"})",
        R"({"include_auto_mp": true, "AutoMixprecision": {"NumTarget": 2}, "include_sq": true, "SmoothAlpha": 0.7})",
        R"({"TensorQuantOverrides": {"x": [{"rmin": -1, "rmax": 1}]}, "first_conv_or_matmul_quantization": false})",
        R"({"include_cle": true, "cle_steps": -1, "BiasCorrection": true, "ReplaceClip6Relu": true})"}) {
    const Config config = parsed(words);
    EXPECT_EQ(parse_config(to_json(config)), config) << words << "\n" << to_json(config).dump();
  }
}

TEST(LayerRules, QuarksFormStandsForRules) {
  const Config config = parsed(R"({"specific_layer_config": {"Int16Spec": ["a", "b"], "None": "c"},
                                   "layer_type_config": [{"QInt16": ["MatMul"]}]})");
  EXPECT_EQ(config,
            parsed(R"({"specific_layer_config": [{"spec": "Int16Spec", "nodes": ["a", "b"]}, {"spec": null, "nodes": "c"}],
                               "layer_type_config": [{"spec": "QInt16", "op_types": ["MatMul"]}]})"));
  EXPECT_NE(error_of(R"({"specific_layer_config": {"Int17Spec": ["a"]}})").find("unknown key 'specific_layer_config.Int17Spec'"),
            std::string::npos);
}

TEST(LayerRules, MistakesAreNamed) {
  const auto contains = [](const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; };
  EXPECT_TRUE(contains(error_of(R"({"layer_type_config": [{"op_types": ["Conv"]}]})"), "nothing of types"));
  EXPECT_TRUE(contains(error_of(R"({"layer_type_config": [{"spec": "Int16Spec"}]})"), "op_types"));
  EXPECT_TRUE(contains(error_of(R"({"layer_type_config": [{"spec": "Int16Spec", "optypes": ["Conv"]}]})"), "unknown key"));
  EXPECT_TRUE(contains(error_of(R"({"specific_layer_config": [{"spec": null, "nodes": ["a", "a"]}]})"), "named twice"));
  EXPECT_TRUE(contains(error_of(R"({"cle_algo": "cle", "include_cle": false})"), "include_cle is false"));
  EXPECT_TRUE(contains(error_of(R"({"cle_params": {"cle_stepps": 1}})"), "cle_steps"));
  EXPECT_TRUE(contains(error_of(R"({"SmoothAlpha": 2})"), "alpha"));
  EXPECT_TRUE(contains(error_of(R"({"activation": "Int16Spec", "weight": "Int16Spec", "include_auto_mp": true})"), "no wider"));
  EXPECT_TRUE(contains(error_of(R"({"TensorQuantOverrides": {"x": {"rmin": 1}}})"), "belong together"));
  EXPECT_TRUE(contains(error_of(R"({"recipes": {"first_conv": false}})"), "unknown recipe"));
}

TEST(LayerRules, FloatByTypeAndName) {
  Config config = config_of(DataType::uint8, false);
  config.layers = {{.words = {}, .nodes = {"Conv_1"}, .op_types = {}, .in_float = true},
                   {.words = {}, .nodes = {}, .op_types = {"Gemm"}, .in_float = true}};
  const Plan plan = plan_of(separable(), config);
  EXPECT_FALSE(plan.nodes.contains("Conv_1"));
  EXPECT_FALSE(plan.nodes.contains("Gemm_0"));
  EXPECT_TRUE(plan.nodes.contains("Conv_0"));
  EXPECT_NE(plan.skipped.at("Gemm_0").find("layer_type_config"), std::string::npos);
}

// A wider layer in the middle reads through a pair of its own, and the next one goes back.
TEST(LayerRules, NeighboursConvert) {
  Config config = config_of(DataType::uint8, false);
  const Scheme wide{.type = DataType::int16};
  config.layers = {{.words = {}, .nodes = {"Conv_1"}, .op_types = {}, .activation = wide, .weight = wide}};
  const graph::Model model = separable();
  const Plan plan = plan_of(model, config);
  EXPECT_EQ(plan.nodes.at("Conv_1").weight->params.type, DataType::int16);
  EXPECT_EQ(plan.values.at("Clip_0_out").type, DataType::uint8);
  EXPECT_EQ(plan.conversions.at("Clip_0_out").at("Conv_1").type, DataType::int16);
  EXPECT_EQ(plan.values.at("Relu_0_out").type, DataType::int16);
  EXPECT_EQ(plan.conversions.at("Relu_0_out").at("Conv_2").type, DataType::uint8);
  EXPECT_EQ(plan.conversions.size(), 2U);
  EXPECT_NE(hash_of(plan), hash_of(plan_of(model, config_of(DataType::uint8, false))));
  const graph::Model quantized = apply(model, plan);
  const runtime::Session before(model), after(quantized);
  std::vector<float> values(432, 0.4F);
  const std::vector<Tensor> sample{Tensor::of({1, 3, 12, 12}, values)};
  EXPECT_EQ(before.run(sample)[0].shape(), after.run(sample)[0].shape());
}

TEST(MixedPrecisionTest, PromotesUntilLittleNoiseIsLeft) {
  Config config = config_of(DataType::uint8, false);
  config.mixed = MixedPrecision{.words = {},
                                .activation = {.type = DataType::int16},
                                .weight = {.type = DataType::int16},
                                .op_types = {"Conv", "Gemm"},
                                .most = 1,
                                .noise_share = 0};
  const graph::Model model = separable();
  const Plan plain = plan_of(model, config_of(DataType::uint8, false)), one = plan_of(model, config);
  const auto ranking = sensitivities(model, made_up_statistics(model), plain);
  const auto promoted = [](const Plan& plan) {
    std::set<std::string> out;
    for (const auto& [name, node] : plan.nodes) {
      if (node.weight && node.weight->params.type == DataType::int16) out.insert(name);
    }
    return out;
  };
  EXPECT_EQ(promoted(one), std::set<std::string>{ranking.front().node});
  config.mixed->most.reset();
  EXPECT_EQ(promoted(plan_of(model, config)).size(), ranking.size());
  config.mixed->noise_share = 1;
  EXPECT_EQ(hash_of(plan_of(model, config)), hash_of(plain));
}

TEST(Recipes, FirstLastAndEnds) {
  Config config = config_of(DataType::uint8, false);
  config.recipes_off = {"first_conv_or_matmul_quantization", "last_conv_or_matmul_quantization"};
  const Plan layers = plan_of(separable(), config);
  EXPECT_FALSE(layers.nodes.contains("Conv_0"));
  EXPECT_FALSE(layers.nodes.contains("Gemm_0"));
  EXPECT_TRUE(layers.nodes.contains("Conv_1"));
  config.recipes_off = {"pre_post_process_quantization"};
  const Plan ends = plan_of(separable(), config);
  EXPECT_FALSE(ends.nodes.contains("Softmax_0"));
  EXPECT_TRUE(ends.nodes.contains("GlobalAveragePool_0"));
  EXPECT_TRUE(ends.nodes.contains("Gemm_0"));
}

// Symmetric codes have the type's middle as zero point.
TEST(TensorOverrides, SymmetryContradictsOtherZeroPoints) {
  const auto with = [](const char* words) {
    return parsed(std::string(R"({"activation": "UInt8Spec", "TensorQuantOverrides": {"x": )") + words + "}}");
  };
  EXPECT_THROW(plan_of(separable(), with(R"({"symmetric": true, "scale": 0.1, "zero_point": 5})")), Error);
  EXPECT_EQ(plan_of(separable(), with(R"({"symmetric": true, "scale": 0.1, "zero_point": 128})")).values.at("x").zero_points[0],
            128);
  EXPECT_EQ(plan_of(separable(), with(R"({"scale": 0.1, "zero_point": 5})")).values.at("x").zero_points[0], 5);
}

TEST(TensorOverrides, RangeTypeAndScale) {
  const Config config = parsed(R"({"activation": "UInt8Spec", "TensorQuantOverrides":
      {"x": {"rmin": 0, "rmax": 2.55}, "Relu_0_out": {"scale": 0.5, "zero_point": 3}, "constant_0": [{"rmin": -12.7, "rmax": 1}]}})");
  const Plan plan = plan_of(separable(), config);
  EXPECT_FLOAT_EQ(plan.values.at("x").scales[0], 0.01F);
  EXPECT_EQ(plan.values.at("Relu_0_out").zero_points[0], 3);
  EXPECT_FLOAT_EQ(plan.nodes.at("Conv_0").weight->params.scales[0], 0.1F);
  EXPECT_THROW(plan_of(separable(), parsed(R"({"TensorQuantOverrides": {"nobody": {"rmin": 0, "rmax": 1}}})")), Error);
}

TEST(NodeNamesTest, FoldedNodesStandForTheirSurvivors) {
  Builder b;
  const auto conv = b.conv(b.input("x", {1, 3, 6, 6}), 3, 4, 3);
  const auto normal = b.node("BatchNormalization", {conv, b.weights({4}), b.weights({4}), b.weights({4}), b.weights({4})});
  const auto same = b.node("Identity", {normal});
  const graph::Model original = b.finish({b.node("Relu", {same})});
  graph::Model prepared = original;
  prepared.nodes[0].outputs = {normal};
  prepared.nodes[3].inputs = {normal};
  prepared.nodes.erase(prepared.nodes.begin() + 1, prepared.nodes.begin() + 3);
  const NodeNames names(original, prepared);
  EXPECT_EQ(names.survivors("BatchNormalization_0"), std::set<std::string>{"Conv_0"});
  EXPECT_EQ(names.survivors("Identity_0"), std::set<std::string>{});
  Config config;
  config.exclude = {Json::object({{"op_type", "BatchNormalization"}}), "Identity_0"};
  EXPECT_EQ(names.resolved(config).exclude, std::vector<Json>{"Conv_0"});
  config.exclude = {"BatchNormalisation_0"};
  EXPECT_THROW(names.resolved(config), Error);
}

std::string message_of(const NodeNames& names, const Config& config) {
  try {
    names.resolved(config);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Conv_0, BatchNormalization_0, Identity_0, Relu_0 -> Conv_0, Relu_0, as clean-up leaves them.
TEST(NodeNamesTest, SelectionsTakeTheNamesOfTheModelAsItCame) {
  Builder b;
  const auto conv = b.conv(b.input("x", {1, 3, 6, 6}), 3, 4, 3);
  const auto normal = b.node("BatchNormalization", {conv, b.weights({4}), b.weights({4}), b.weights({4}), b.weights({4})});
  const auto same = b.node("Identity", {normal});
  graph::Model original = b.finish({b.node("Relu", {same})});
  original.nodes[3].name = "block/Relu";
  graph::Model prepared = original;
  prepared.nodes[0].outputs = {normal};
  prepared.nodes[3].inputs = {normal};
  prepared.nodes.erase(prepared.nodes.begin() + 1, prepared.nodes.begin() + 3);
  const NodeNames names(original, prepared);
  Config config;
  config.selection.nodes = {"BatchNormalization_0", "block"};
  config.selection.input_nodes = config.selection.output_nodes = config.selection.open_nodes = {"Identity_0"};
  const Selection selection = names.resolved(config).selection;
  EXPECT_EQ(selection.nodes, (std::set<std::string>{"Conv_0", "block/Relu"}));
  EXPECT_EQ(selection.input_nodes, std::set<std::string>{"block/Relu"});
  EXPECT_EQ(selection.output_nodes, std::set<std::string>{"Conv_0"});
  EXPECT_EQ(selection.open_nodes, std::set<std::string>{"Conv_0"});
  config.selection.nodes = {"Identity_0"};
  EXPECT_TRUE(message_of(names, config).starts_with("NodesToQuantize: clean-up removed all nodes"));
  config.selection.nodes = {"Identity_1"};
  EXPECT_NE(message_of(names, config).find("did you mean 'Identity_0'?"), std::string::npos) << message_of(names, config);
  config = parsed(R"({"TensorQuantOverrides": {"Identity_0_out": {"rmin": 0, "rmax": 1}}})");
  EXPECT_TRUE(message_of(names, config).starts_with("TensorQuantOverrides: clean-up removed the value 'Identity_0_out'"));
}

TEST(NodeNamesTest, ATypeTakesAlongWhatItsNodesWereWrittenAs) {
  Builder b;
  const auto added = b.input("c", {2, 4});
  const auto product = b.node("Gemm", {b.input("x", {2, 6}), b.weights({6, 4}), added}, {{"beta", 0.5F}});
  const graph::Model original = b.finish({product});
  graph::Model prepared = original;
  graph::write_plain_gemm(prepared);
  const NodeNames names(original, prepared);
  const std::set<std::string> all{"Gemm_0", "Gemm_0_Mul", "Gemm_0_Add"};
  EXPECT_EQ(names.survivors("Gemm_0"), all);
  const graph::Index index(prepared);
  for (const std::string words : {R"({"OpTypesToQuantize": ["Gemm"]})", R"({"NodesToQuantize": ["Gemm_0"]})"})
    EXPECT_TRUE(left_out(names.resolved(parsed(words)).selection, index).empty()) << words;
  const Config rules = names.resolved(parsed(R"({"layer_type_config": [{"spec": null, "op_types": ["Gemm"]}]})"));
  for (const auto& name : all) EXPECT_NE(rule_for(*index.node(name), rules.layers), nullptr) << name;
  EXPECT_EQ(parse_config(to_json(rules)).layers.front().op_types, std::vector<std::string>{"Gemm"});
}

// Clean-up writes an Upsample as a Resize, and a BatchNormalization into its Conv: the types that users know act on these.
TEST(NodeNamesTest, ATypeThatCleanUpReplacesStandsForWhatReplacedIt) {
  Builder b;
  const auto x = b.input("x", {1, 3, 4, 4});
  const auto normal = b.node("BatchNormalization", {b.conv(x, 3, 4, 1), "", "", "", ""});
  const auto large = b.node("Upsample", {normal, b.constant(Tensor::of<float>({4}, {1, 1, 2, 2}))});
  const graph::Model original = b.finish({b.conv(large, 4, 2, 1)});
  graph::Model prepared = original;
  std::erase_if(prepared.nodes, [](const graph::Node& node) { return node.is("BatchNormalization"); });
  prepared.nodes[0].outputs = {normal};
  prepared.nodes[1].op_type = "Resize";
  const NodeNames names(original, prepared);
  const graph::Index index(prepared);
  const auto rules_of = [&](const std::string& rules) {
    return names.resolved(parsed(R"({"layer_type_config": )" + rules + "}"));
  };
  const auto rule_of = [&](const std::string& node, const Config& config) { return rule_for(*index.node(node), config.layers); };
  const Config floats =
      rules_of(R"([{"spec": null, "op_types": ["Upsample"]}, {"spec": null, "op_types": ["BatchNormalization"]}])");
  EXPECT_NE(rule_of("Upsample_0", floats), nullptr);
  EXPECT_NE(rule_of("Conv_0", floats), nullptr);
  EXPECT_EQ(rule_of("Conv_1", floats), nullptr);
  const Config own =
      rules_of(R"([{"spec": null, "op_types": ["BatchNormalization"]}, {"spec": "Int16Spec", "op_types": ["Conv"]}])");
  EXPECT_FALSE(rule_of("Conv_0", own)->in_float) << "the rule for its own type holds";
  for (const auto& [types, left] :
       std::vector<std::pair<std::string, std::vector<std::string>>>{{R"(["Conv", "Upsample"])", {}},
                                                                     {R"(["Conv"])", {"Upsample_0"}},
                                                                     {R"(["batchnormalization"])", {"Conv_1", "Upsample_0"}}}) {
    std::vector<std::string> found;
    const Config config = names.resolved(parsed(R"({"OpTypesToQuantize": )" + types + "}"));
    for (const auto& [node, why] : left_out(config.selection, index)) found.push_back(node);
    EXPECT_EQ(found, left) << types;
  }
  const Config open = names.resolved(parsed(R"({"OpTypesToExcludeOutputQuantization": ["Upsample"]})"));
  EXPECT_EQ(open.selection.open_nodes, std::set<std::string>{"Upsample_0"});
  EXPECT_NE(error_of(R"({"OpTypesToQuantize": ["Upsampel"]})").find("have no quantized form"), std::string::npos);
}

TEST(PlainGemm, AConstantTermTakesBetaAlready) {
  Builder b;
  const auto product = b.node("Gemm", {b.input("x", {2, 6}), b.weights({6, 4}), b.weights({2, 4})}, {{"beta", 0.5F}});
  graph::Model model = b.finish({product});
  const std::vector<Tensor> sample{Tensor::of<float>({2, 6}, {1, 2, 3, 4, 5, 6, -6, -5, 4, 3, 2, 1})};
  const Tensor before = runtime::Session(model).run(sample)[0];
  graph::write_plain_gemm(model);
  ASSERT_EQ(model.nodes.size(), 2U);
  EXPECT_TRUE(model.nodes[1].is("Add"));
  const Tensor after = runtime::Session(model).run(sample)[0];
  for (size_t i = 0; i < before.count(); i++) EXPECT_NEAR(after.as<float>()[i], before.as<float>()[i], 1e-5);
}

TEST(NodeNamesTest, WhatIsWrittenAsSeveralNodesStandsForAllAndAScopeForTheNodesBelow) {
  Builder b;
  const auto product = b.node("Gemm", {b.input("x", {2, 6}), b.weights({6, 4}), b.weights({2, 4})});
  graph::Model original = b.finish({product});
  original.nodes[0].name = "head/fc";
  graph::Model prepared = original;
  graph::write_plain_gemm(prepared);
  const NodeNames names(original, prepared);
  EXPECT_EQ(names.survivors("head/fc"), (std::set<std::string>{"head/fc", "head/fc_Add"}));
  Config config;
  config.exclude = {"head"};
  EXPECT_EQ(names.resolved(config).exclude, (std::vector<Json>{"head/fc", "head/fc_Add"}));
  config =
      parsed(R"({"activation": "Int8Spec", "weight": "Int8Spec", "specific_layer_config": [{"spec": null, "nodes": ["head"]}]})");
  EXPECT_EQ(names.resolved(config).layers.front().nodes, (std::vector<std::string>{"head/fc", "head/fc_Add"}));
}

TEST(Masks, StayInFloat) {
  Builder b(4);
  const auto scores = b.node("MatMul", {b.input("x", {1, 4, 6}), b.weights({6, 4})});
  const auto masked = b.node("Add", {scores, b.input("mask", {1, 1, 4})});
  const graph::Model model = b.finish({b.node("MatMul", {b.node("Softmax", {masked}), b.weights({4, 3})})});
  stats::Statistics seen = made_up_statistics(model);
  seen[masked] = stats::of_values(std::vector<float>{-3.4e38F, 2}, {.histogram = true});
  const Plan plan = resolve(model, seen, config_of(DataType::uint8, false), *targets::table().make("ort_cpu"));
  EXPECT_FALSE(plan.nodes.contains("Add_0"));
  EXPECT_FALSE(plan.nodes.contains("Softmax_0"));
  EXPECT_TRUE(plan.nodes.contains("MatMul_0"));
  EXPECT_TRUE(plan.nodes.contains("MatMul_1"));
  seen[masked] = stats::of_values(std::vector<float>{-INFINITY, 2}, {.histogram = true});
  EXPECT_EQ(resolve(model, seen, config_of(DataType::uint8, false), *targets::table().make("ort_cpu")).skipped, plan.skipped);
}

// ONNX Runtime makes a Gemm of product and sum and quantizes the vector to int32.
TEST(Biases, VectorsBehindAMatMulFitInt32) {
  for (const DataType type : {DataType::int8, DataType::int16}) {
    Builder b(8);
    const auto product = b.node("MatMul", {b.input("x", {2, 6}), b.weights({6, 4})});
    const auto vector = b.constant(Tensor::of<float>({4}, {0.5F, -900, 0, 3}));
    const graph::Model model = b.finish({b.node("Add", {product, vector})});
    const Plan plan = plan_of(model, config_of(type, true, Granularity::channel, type));
    const QuantParams& weight = plan.nodes.at("MatMul_0").weight->params;
    const float input = plan.values.at("x").scales[0];
    for (size_t k = 0; k < 4; k++) {
      const double codes =
          std::abs(model.initializers.at(vector).as<float>()[k]) / (static_cast<double>(input) * weight.scales[k]);
      EXPECT_LE(codes, 1.0001 * (1 << 30)) << k;
    }
    EXPECT_EQ(plan.notes.empty(), type == DataType::int8);
  }
}

TEST(Embeddings, AreStoredAsCodes) {
  Builder b(6);
  const auto row = b.node("Gather", {b.weights({20, 8}), b.input("ids", {1, 5}, DataType::int64)});
  const graph::Model model = b.finish({b.node("MatMul", {row, b.weights({8, 3})})});
  const Plan plan = plan_of(model, config_of(DataType::uint8, false));
  ASSERT_TRUE(plan.nodes.contains("Gather_0"));
  EXPECT_EQ(plan.nodes.at("Gather_0").weight->params.scales, plan.values.at("Gather_0_out").scales);
  const std::vector<Tensor> sample{Tensor::of<int64_t>({1, 5}, {0, 3, 7, 19, 1})};
  EXPECT_EQ(runtime::Session(apply(model, plan)).run(sample)[0].shape(), (Shape{1, 5, 3}));
}

}  // namespace
}  // namespace quasar::quant
