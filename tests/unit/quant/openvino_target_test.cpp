// Target openvino: what it quantizes, where pairs stand, and what its checker says of finished models. That OpenVINO runs them so
// is tried by python/tests/test_openvino.py.
#include <gtest/gtest.h>

#include <tuple>

#include "made_up_statistics.hpp"
#include "quasar/base/error.hpp"
#include "quasar/ops/overflow.hpp"
#include "quasar/quant/pairs.hpp"
#include "sample_models.hpp"
#include "unit/error_of.hpp"

namespace quasar::quant {
namespace {

constexpr const char* openvino = "openvino";

Config usual() {
  Config config = config_of(DataType::uint8, false, Granularity::channel);
  config.weight.symmetric = true;
  return config;
}

// {node: rule}
std::map<std::string, std::string> faults_of(const graph::Model& model) {
  const auto target = targets::table().make(openvino);
  std::map<std::string, std::string> out;
  for (const auto& node : nodes_in_pairs(model)) {
    const PairFault fault = target->fault(node);
    if (!fault.rule.empty()) out[node.node.name] = fault.rule;
    EXPECT_EQ(fault.rule.empty(), fault.what.empty());
  }
  return out;
}

// Conv, function, Conv.
graph::Model with_function(const std::string& type) {
  Builder b;
  const auto first = b.conv(b.input("x", {1, 4, 8, 8}), 4, 4, 3);
  return b.finish({b.conv(b.node(type, {first}), 4, 4, 3)});
}

TEST(OpenVinoTarget, FunctionsRunOnTheFloatSumsOfTheLayerBefore) {
  for (const char* type : {"Sigmoid", "Tanh", "HardSwish", "LeakyRelu"}) {
    const Plan plan = plan_of(with_function(type), usual(), openvino);
    EXPECT_FALSE(plan.values.contains("Conv_0_out")) << type;
    EXPECT_TRUE(plan.values.contains(std::string(type) + "_0_out")) << type;
    EXPECT_TRUE(plan.nodes.contains("Conv_0")) << type;
    EXPECT_TRUE(plan.skipped.contains(std::string(type) + "_0")) << type;
  }
}

TEST(OpenVinoTarget, ActivationsAreFusedWhateverTheirGrid) {
  for (const bool symmetric : {true, false}) {
    Config config = usual();
    config.activation.type = symmetric ? DataType::int8 : DataType::uint8;
    config.activation.symmetric = symmetric;
    const Plan plan = plan_of(separable(), config, openvino);
    EXPECT_FALSE(plan.values.contains("Conv_0_out"));
    EXPECT_TRUE(plan.values.contains("Clip_0_out"));
  }
}

// ONNX Runtime's clean-up takes it apart; OpenVINO computes it with the layer before it.
TEST(OpenVinoTarget, HardSwishIsPutTogetherAgain) {
  for (const auto& [opset, alpha, together] :
       {std::tuple{int64_t{15}, 1.0F / 6, true}, {int64_t{13}, 1.0F / 6, false}, {int64_t{15}, 0.2F, false}}) {
    Builder b;
    const auto x = b.conv(b.input("x", {1, 4, 8, 8}), 4, 4, 3);
    const auto gate = b.node("HardSigmoid", {x}, {{"alpha", alpha}, {"beta", 0.5F}});
    auto model = b.finish({b.conv(b.node("Mul", {gate, x}), 4, 4, 3)});
    model.opsets[""] = opset;
    const auto counts = operators(written(model, plan_of(model, usual(), openvino)));
    EXPECT_EQ(counts.contains("HardSwish"), together);
    EXPECT_EQ(counts.contains("HardSigmoid"), !together);
    EXPECT_FALSE(operators(written(model, plan_of(model, usual(), "generic"))).contains("HardSwish"));
  }
}

// Scales are raised, since uint8 weights run in float there; pairs are those of its kernels.
TEST(OpenVinoTarget, NoSumOverflowsInItsKernels) {
  Builder b(7);
  const auto first = b.node("Relu", {b.conv(b.input("x", {1, 3, 8, 8}), 3, 7, 3)});
  const auto model = b.finish({b.conv(first, 7, 8, 3)});
  for (const auto& [saturation, overflowing] : {std::pair<std::optional<Saturation>, bool>{std::nullopt, false},
                                                {Saturation::reduce_range, false},
                                                {Saturation::ignore, true}}) {
    Config config = usual();
    config.saturation = saturation;
    const Plan plan = plan_of(model, config, openvino);
    for (const char* node : {"Conv_0", "Conv_1"}) EXPECT_EQ(plan.nodes.at(node).weight->params.type, DataType::int8);
    EXPECT_EQ(!ops::overflows(apply(model, plan), ops::Kernels::onednn).empty(), overflowing);
  }
  EXPECT_NE(hash_of(plan_of(model, usual(), openvino)), hash_of(plan_of(model, usual(), "ort_cpu")));
}

TEST(OpenVinoTarget, WeightsOfUint8AreRefused) {
  for (const auto saturation : {Saturation::avoid, Saturation::unsigned_weights}) {
    Config config = usual();
    config.saturation = saturation;
    try {
      plan_of(separable(), config, openvino);
      ADD_FAILURE() << name_of(saturation);
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("use raise_scales"), std::string::npos) << e.what();
    }
  }
}

// Before samples are looked at: no layer would run in integers.
TEST(OpenVinoTarget, TypesThatItDoesNotRunAreErrorsThatNameTheNearest) {
  const auto said = [](const Config& config) { return test::error_of([&] { plan_of(separable(), config, openvino); }); };
  Config asymmetric = usual(), bytes = usual();
  asymmetric.weight.symmetric = false;
  bytes.weight.type = DataType::uint8;
  for (const auto& [config, what] :
       {std::pair{asymmetric, "weight is Int8Spec with symmetric: false, but target openvino"},
        {bytes, "weight is UInt8Spec, but target openvino"},
        {config_of(DataType::int16, true), "activation is Int16Spec, but target openvino"},
        {config_of(DataType::uint8, false, Granularity::channel, DataType::int4), "weight is Int4Spec"},
        {parse_config({{"scheme", "DYNAMIC"}}), "scales that are found at run time"}}) {
    EXPECT_NE(said(config).find(what), std::string::npos) << said(config);
    EXPECT_NE(said(config).find("the scheme u8s8_channel"), std::string::npos) << said(config);
  }
  const Config products = parse_config({{"scheme", "U8S8_CHANNEL"}, {"form", "dynamic_products"}});
  EXPECT_NE(said(products).find("form is dynamic_products, but"), std::string::npos) << said(products);
}

// Layers of other types beside those that run: a simulation, of which a note tells.
TEST(OpenVinoTarget, OtherTypesOfSomeLayersAreASimulationAndSaidToBe) {
  const Json wide{{"spec", "Int16Spec"}, {"op_types", {"Gemm"}}}, narrow{{"spec", "Int8Spec"}, {"op_types", {"Conv"}}};
  for (const Json& words : {Json{{"scheme", "U8S8_CHANNEL"}, {"layer_type_config", {wide}}},
                            Json{{"scheme", "A16W8"}, {"layer_type_config", {narrow}}}}) {
    const Plan plan = plan_of(separable(), parse_config(words), openvino);
    EXPECT_TRUE(plan.nodes.contains("Conv_0"));
    EXPECT_TRUE(std::ranges::any_of(plan.notes,
                                    [](const std::string& note) { return note.find("as a simulation") != std::string::npos; }));
  }
}

// Products of two values need int8 without zero points.
TEST(OpenVinoTarget, AttentionRunsInIntegersWithSymmetricValuesOnly) {
  Config symmetric = config_of(DataType::int8, true, Granularity::channel);
  EXPECT_TRUE(plan_of(attention(), symmetric, openvino).nodes.contains("MatMul_3"));
  EXPECT_TRUE(plan_of(attention(), usual(), openvino).skipped.contains("MatMul_3"));
}

TEST(OpenVinoTarget, OperatorsOnCodesAreRefused) {
  Config codes = usual();
  codes.format = Format::qoperator;
  EXPECT_THROW(plan_of(separable(), codes, openvino), Error);
}

TEST(OpenVinoTarget, ItsOwnModelsBreakNoRule) {
  for (const auto& model : {separable(), residual(), attention(), with_function("Sigmoid")}) {
    for (const bool symmetric : {true, false}) {
      Config config = usual();
      config.activation.type = symmetric ? DataType::int8 : DataType::uint8;
      config.activation.symmetric = symmetric;
      const auto faults = faults_of(apply(model, plan_of(model, config, openvino)));
      EXPECT_TRUE(faults.empty()) << faults.begin()->first << " " << faults.begin()->second;
    }
  }
}

TEST(OpenVinoTarget, TheCheckerNamesWhatFallsOutOfIntegers) {
  Config config = usual();
  EXPECT_EQ(faults_of(apply(with_function("Sigmoid"), plan_of(with_function("Sigmoid"), config, "generic"))).at("Sigmoid_0"),
            "float");
  config.saturation = Saturation::unsigned_weights;
  EXPECT_EQ(faults_of(apply(separable(), plan_of(separable(), config, "ort_cpu"))).at("Conv_0"), "weights");
  config = config_of(DataType::uint16, false);
  EXPECT_EQ(faults_of(apply(separable(), plan_of(separable(), config, "generic"))).at("Conv_0"), "types");
  config = usual();
  EXPECT_EQ(faults_of(apply(attention(), plan_of(attention(), config, "generic"))).at("MatMul_3"), "two_values");
  Config codes = usual();
  codes.format = Format::qoperator;
  EXPECT_EQ(faults_of(written(separable(), plan_of(separable(), codes, "ort_cpu"))).at("Conv_0"), "pairs");
}

// Conv, Relu if it is asked for, AveragePool, Conv.
graph::Model with_padded_pool(bool rectified, const std::vector<graph::Attribute>& border) {
  Builder b;
  auto x = b.conv(b.input("x", {1, 4, 8, 8}), 4, 4, 3);
  if (rectified) x = b.node("Relu", {x});
  std::vector<graph::Attribute> attributes{{"kernel_shape", std::vector<int64_t>{3, 3}}};
  attributes.insert(attributes.end(), border.begin(), border.end());
  return b.finish({b.conv(b.node("AveragePool", {x}, attributes), 4, 4, 3)});
}

TEST(OpenVinoTarget, APoolThatCountsItsBorderWantsCodeZeroToBeZero) {
  const graph::Attribute ones{"pads", std::vector<int64_t>{1, 1, 1, 1}}, none{"pads", std::vector<int64_t>{0, 0, 0, 0}},
      same{"auto_pad", std::string("SAME_UPPER")}, counts{"count_include_pad", int64_t{1}};
  Config centred = usual();
  centred.activation.type = DataType::int8;
  centred.activation.symmetric = true;
  Config joined = usual();
  joined.switches["AlignConcat"] = true;
  for (const char* target : {"openvino", "openvino_npu"}) {
    const auto in_codes = [&](const graph::Model& model, const Config& config) {
      const graph::Model made = apply(model, plan_of(model, config, target));
      EXPECT_TRUE(targets::table().make(target)->faults(made, {}).empty()) << target;
      return plan_of(model, config, target).nodes.contains("AveragePool_0");
    };
    for (const auto& padding : {ones, same}) {
      EXPECT_FALSE(in_codes(with_padded_pool(false, {padding, counts}), usual())) << target;
      EXPECT_TRUE(in_codes(with_padded_pool(false, {padding, counts}), centred)) << target;
      EXPECT_TRUE(in_codes(with_padded_pool(true, {padding, counts}), usual())) << target;
      EXPECT_FALSE(in_codes(with_padded_pool(true, {padding, counts}), joined)) << target;
      EXPECT_TRUE(in_codes(with_padded_pool(false, {padding}), usual())) << target;
    }
    EXPECT_TRUE(in_codes(with_padded_pool(false, {none, counts}), usual())) << target;
    const graph::Model model = with_padded_pool(false, {ones, counts});
    const auto faults = targets::table().make(target)->faults(apply(model, plan_of(model, usual(), "generic")), {});
    const bool named =
        std::ranges::any_of(faults, [](const NodeFault& one) { return one.node == "AveragePool_0" && one.fault.rule == "pad"; });
    EXPECT_TRUE(named) << target;
  }
}

TEST(OpenVinoTarget, TheCheckerNamesASliceThatTakesEverything) {
  Builder b;
  const auto x = b.conv(b.input("x", {1, 4, 8, 8}), 4, 4, 3);
  const auto numbers = [&](int64_t value) { return b.constant(Tensor::of<int64_t>({1}, {value})); };
  const auto cut = b.node("Slice", {x, numbers(0), numbers(4), numbers(1)});
  const graph::Model model = b.finish({b.conv(cut, 4, 4, 3)});
  const graph::Model made = apply(model, plan_of(model, usual(), openvino));
  const auto target = targets::table().make(openvino);
  for (const int64_t channels : {4, 3}) {
    std::map<std::string, graph::Value> values;
    for (const auto& node : made.nodes)
      values[node.outputs.front()] = {node.outputs.front(), DataType::float32, Shape{1, node.is("Slice") ? channels : 4, 8, 8}};
    const auto faults = target->faults(made, values);
    ASSERT_EQ(faults.size(), channels == 4 ? 1U : 0U);
    for (const auto& one : faults) EXPECT_EQ(one.fault.rule, "slice");
    graph::Model reversed = made;
    graph::Node& slice = *std::ranges::find(reversed.nodes, "Slice", &graph::Node::op_type);
    slice.inputs.push_back("steps");
    reversed.initializers["steps"] = Tensor::of<int64_t>({1}, {-1});
    EXPECT_TRUE(target->faults(reversed, values).empty()) << "it takes everything, the last first";
  }
}

}  // namespace
}  // namespace quasar::quant
