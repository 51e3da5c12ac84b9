// LSTM and GRU: weights as codes with values in float, and between pairs where a target's kernels are meant.
#include <gtest/gtest.h>

#include <cmath>

#include "executed.hpp"
#include "made_up_statistics.hpp"
#include "quasar/quant/pairs.hpp"
#include "sample_models.hpp"

namespace quasar::quant {
namespace {

constexpr int64_t units = 6, moments = 5;

// x -> Gemm -> LSTM or GRU of two directions -> y. `batch`: below 0, it is open.
graph::Model network(const std::string& type, int64_t batch = 2, std::vector<graph::Attribute> attributes = {},
                     bool with_state = false) {
  const int64_t gates = type == "LSTM" ? 4 : 3;
  Builder b(3);
  const auto x = b.input("x", {moments, batch, 4});
  const auto rows = b.node("MatMul", {x, b.weights({4, 4})});
  std::vector<std::string> inputs{rows, b.weights({2, gates * units, 4}), b.weights({2, gates * units, units}),
                                  b.weights({2, 2 * gates * units})};
  if (with_state) inputs.insert(inputs.end(), {"", b.weights({2, 2, units})});
  attributes.push_back({"hidden_size", units});
  attributes.push_back({"direction", std::string("bidirectional")});
  return b.finish({b.node(type, inputs, attributes)});
}

double relative_error(const graph::Model& model, const Plan& plan, const Samples& samples) {
  const runtime::Session before(model), after(apply(model, plan));
  double error = 0, all = 0;
  for (const auto& sample : samples) {
    const auto a = before.run(sample), b = after.run(sample);
    for (size_t i = 0; i < a[0].count(); ++i) {
      const double x = a[0].as<float>()[i], y = b[0].as<float>()[i];
      error += (x - y) * (x - y), all += x * x;
    }
  }
  return std::sqrt(error / all);
}

Config weights_only(DataType type) {
  Config config = config_of(DataType::float32, true, Granularity::channel, type);
  return config;
}

TEST(Recurrent, WeightsOnlyAreCodesPerGateAndUnit) {
  for (const std::string type : {"LSTM", "GRU"}) {
    const auto model = network(type);
    const auto samples = random_samples(model, 8);
    const Plan plan = plan_of(model, weights_only(DataType::int8));
    ASSERT_EQ(plan.nodes.at(type + "_0").constants.size(), 2U);
    EXPECT_EQ(plan.nodes.at(type + "_0").constants.front().params.scales.size(),
              static_cast<size_t>(units * (type == "LSTM" ? 4 : 3)));
    EXPECT_TRUE(plan.values.empty());
    const auto made = apply(model, plan);
    size_t bytes = 0;
    for (const auto& [name, tensor] : made.initializers) bytes += tensor.type() == DataType::int8 ? tensor.count() : 0;
    EXPECT_GE(bytes, static_cast<size_t>(2 * units * (type == "LSTM" ? 4 : 3) * (4 + units)));
    const double rel = relative_error(model, plan, samples);
    EXPECT_GT(rel, 0);
    EXPECT_LT(rel, 0.02) << type;
  }
}

// Few inputs or units ask for uint8 where sums of int8 could saturate, many do not: DynamicQuantizeLSTM has one type for both.
TEST(Recurrent, BothWeightsThatAnLstmRoundsAtRunTimeHaveOneType) {
  Config config = weights_only(DataType::int8);
  config.activation.dynamic = true;
  config.saturation = Saturation::avoid;
  for (const int64_t inputs : {1, 8, 160}) {
    for (const int64_t hidden : {1, 6, 32, 48}) {
      Builder b(3);
      const auto x = b.input("x", {moments, 1, inputs});
      const auto model = b.finish({b.node("LSTM", {x, b.weights({1, 4 * hidden, inputs}), b.weights({1, 4 * hidden, hidden})},
                                          {{"hidden_size", hidden}})});
      const Plan plan = plan_of(model, config);
      const NodePlan& lstm = plan.nodes.at("LSTM_0");
      EXPECT_EQ(lstm.weight->params.type, lstm.constants.at(0).params.type) << inputs << " " << hidden;
      EXPECT_LT(relative_error(model, plan, random_samples(model, 4)), 0.05) << inputs << " " << hidden;
    }
  }
}

TEST(Recurrent, FourBitsLeaveThemInFloat) {
  const Plan plan = plan_of(network("GRU"), weights_only(DataType::int4));
  EXPECT_FALSE(plan.nodes.contains("GRU_0"));
  EXPECT_NE(plan.skipped.at("GRU_0").find("8 bits only"), std::string::npos) << plan.skipped.at("GRU_0");
}

TEST(Recurrent, OnnxRuntimeHasNoIntegerFormForKnownScales) {
  const Plan plan = plan_of(network("LSTM"), config_of(DataType::uint8, false));
  EXPECT_EQ(plan.skipped.at("LSTM_0"), "ONNX Runtime's CPU has no integer kernel for it");
}

TEST(Recurrent, BetweenPairsWhereTheTargetTakesAll) {
  const auto model = network("LSTM");
  const auto samples = random_samples(model, 8);
  const Plan plan = resolve(model, observe(model, samples), config_of(DataType::uint8, false), *targets::table().make("generic"));
  for (const char* value : {"MatMul_0_out", "LSTM_0_out"}) EXPECT_TRUE(plan.values.contains(value)) << value;
  ASSERT_EQ(plan.nodes.at("LSTM_0").constants.size(), 2U);
  for (const auto& weights : plan.nodes.at("LSTM_0").constants) EXPECT_EQ(weights.params.type, DataType::int8);
  const Plan channels = plan_of(model, config_of(DataType::uint8, false, Granularity::channel), "generic");
  EXPECT_EQ(channels.nodes.at("LSTM_0").constants.front().params.scales.size(), static_cast<size_t>(4 * units));
  EXPECT_TRUE(plan_of(model, config_of(DataType::uint8, false), "ort_cuda").skipped.contains("LSTM_0"));
  EXPECT_LT(relative_error(model, plan, samples), 0.05);
}

// A rule for its type: what it reads in int8 around 0, as far as its state goes.
Config with_rule() {
  return parse_config(
      {{"scheme", "U8S8_CHANNEL"}, {"layer_type_config", {{{"spec", "Int8Spec"}, {"op_types", {"LSTM", "GRU"}}}}}});
}

TEST(Recurrent, OpenVinoTakesThemByARuleOnly) {
  Config usual = config_of(DataType::uint8, false, Granularity::channel);
  EXPECT_NE(plan_of(network("LSTM"), usual, "openvino").skipped.at("LSTM_0").find("symmetric int8"), std::string::npos);
  const auto model = network("LSTM");
  auto seen = made_up_statistics(model);
  seen["MatMul_0_out"] = stats::of_values(std::vector<float>{-0.25F, 0.1F, 0.2F}, {.histogram = true});
  const Plan plan = resolve(model, seen, with_rule(), *targets::table().make("openvino"));
  ASSERT_TRUE(plan.nodes.contains("LSTM_0"));
  for (const auto& weights : plan.nodes.at("LSTM_0").constants) EXPECT_EQ(weights.params.scales.size(), 1U);
  const QuantParams& read = plan.conversions.at("MatMul_0_out").at("LSTM_0");
  EXPECT_EQ(read.type, DataType::int8);
  EXPECT_EQ(read.zero_points.front(), 0);
  EXPECT_GE(read.scales.front() * 127, 1.0F);
  EXPECT_LT(read.scales.front() * 127, 1.02F);
  const graph::Model quantized = apply(model, plan);  // the nodes are its own
  for (const auto& node : nodes_in_pairs(quantized))
    EXPECT_EQ(targets::table().make("openvino")->fault(node).rule, "") << node.node.name;
}

TEST(Recurrent, WhatOpenVinoDoesNotCompileStaysInFloat) {
  const std::vector<std::tuple<graph::Model, std::string, std::string>> cases{
      {network("GRU", 2, {{"linear_before_reset", int64_t{1}}}), "GRU_0", "linear_before_reset"},
      {network("LSTM", -1), "LSTM_0", "number of its samples open"},
      {network("LSTM", 2, {}, true), "LSTM_0", "states"},
      {network("LSTM", 2, {{"clip", 3.0F}}), "LSTM_0", "clip"}};
  for (const auto& [model, node, why] : cases) {
    const Plan plan = plan_of(model, with_rule(), "openvino");
    ASSERT_TRUE(plan.skipped.contains(node)) << why;
    EXPECT_NE(plan.skipped.at(node).find(why), std::string::npos) << plan.skipped.at(node);
  }
  Config fixed = with_rule();
  fixed.fixed_shapes = {{"x", {moments, 2, 4}}};
  EXPECT_TRUE(plan_of(network("LSTM", -1), fixed, "openvino").nodes.contains("LSTM_0"));
}

TEST(Recurrent, OpenVinosCheckerSaysWhatWouldNotCompile) {
  const auto faults = [](const graph::Model& model) {
    std::map<std::string, std::string> out;
    for (const auto& node : nodes_in_pairs(model)) out[node.node.name] = targets::table().make("openvino")->fault(node).rule;
    return out;
  };
  const auto model = network("LSTM");
  const auto generic = [](const graph::Model& one, const Config& config) { return apply(one, plan_of(one, config, "generic")); };
  EXPECT_EQ(faults(generic(model, config_of(DataType::uint8, false))).at("LSTM_0"), "zero_points");
  EXPECT_EQ(faults(generic(model, config_of(DataType::int8, true))).at("LSTM_0"), "");
  const auto reset = network("GRU", 2, {{"linear_before_reset", int64_t{1}}});
  EXPECT_EQ(faults(generic(reset, config_of(DataType::int8, true))).at("GRU_0"), "recurrent");
}

}  // namespace
}  // namespace quasar::quant
