// Models whose subgraphs read values of the outer graph: their pieces open, and what stands inside is told.
#include <gtest/gtest.h>

#include <cmath>

#include "quasar/graph/bodies.hpp"
#include "quasar/trial/nothing_quantized.hpp"
#include "quasar/trial/variants.hpp"
#include "unit/error_of.hpp"
#include "unit/rounding/branch_models.hpp"
#include "unit/runtime/models.hpp"

namespace quasar::tune {
namespace {

using test::error_of;
using test::node_bytes;
using test::value_bytes;

graph::Node chosen(const std::string& name, const std::string& condition, const std::string& value, Shape shape) {
  graph::Node node = test::node("If", name, {condition}, {name + "_out"});
  const std::string out = value_bytes("o_" + name, DataType::float32, shape);
  node.captures = {value};
  node.attributes = {test::subgraph("then_branch", {node_bytes("Transpose", {value}, "o_" + name)}, {}, {out}),
                     test::subgraph("else_branch", {node_bytes("Identity", {value}, "o_" + name)}, {}, {out})};
  return node;
}

// The rows of x are not fixed, so the first condition is open in the model and decided in a piece, whose samples all have four:
//   x [N, 8] ─▶ Gemm ─▶ Relu ─▶ If (N = 4: transposed) ─▶ read by the branches of another If ─▶ Gemm
graph::Model two_choices() {
  graph::Model model;
  model.opsets[""] = 13;
  model.inputs = {{"x", DataType::float32, Shape{-1, 8}, {"N", ""}}, {"chooses", DataType::boolean, Shape{}}};
  model.outputs = {{"y", DataType::float32, Shape{-1, 4}, {"M", ""}}};
  model.initializers["w1"] = random_tensor({8, 4}, 1, 0.3F);
  model.initializers["w2"] = random_tensor({4, 4}, 2, 0.3F);
  model.initializers["w3"] = random_tensor({4, 4}, 3, 0.3F);
  model.initializers["first"] = Tensor::scalar<int64_t>(0);
  model.initializers["four"] = Tensor::scalar<int64_t>(4);
  model.nodes = {test::node("Gemm", "gemm1", {"x", "w1"}, {"g1"}),
                 test::node("Relu", "relu", {"g1"}, {"r"}),
                 test::node("Gemm", "gemm2", {"r", "w2"}, {"g2"}),
                 test::node("Shape", "shape", {"r"}, {"s"}),
                 test::node("Gather", "rows", {"s", "first"}, {"n"}),
                 test::node("Equal", "four_rows", {"n", "four"}, {"is_four"}),
                 chosen("inner", "is_four", "r", {4, 4}),
                 chosen("outer", "chooses", "inner_out", {4, 4}),
                 test::node("Add", "add", {"outer_out", "g2"}, {"a"}),
                 test::node("Gemm", "gemm3", {"a", "w3"}, {"y"})};
  return model;
}

std::shared_ptr<GeneratedSamples> samples() {
  return std::make_shared<GeneratedSamples>(8, [](size_t index) {
    return data::Sample{random_tensor({4, 8}, index + 1, 1), Tensor::scalar(index % 2 == 0)};
  });
}

// state ← state · w, three times; the state is smoothed by a product that stands in the loop's body.
TEST(Subgraphs, StatesOfLoopsAreSmoothed) {
  graph::Model model;
  model.opsets[""] = 13;
  model.inputs = {{"x", DataType::float32, Shape{4, 8}}};
  model.outputs = {{"y", DataType::float32, Shape{4, 8}}};
  model.initializers["w"] = random_tensor({8, 8}, 1, 0.3F);
  model.initializers["rounds"] = Tensor::scalar<int64_t>(3);
  model.initializers["yes"] = Tensor::scalar(true);
  graph::Node loop = test::node("Loop", "loop", {"rounds", "yes", "x"}, {"y"});
  loop.captures = {"w"};
  loop.attributes = {
      test::subgraph("body", {node_bytes("Identity", {"go"}, "go_on"), node_bytes("MatMul", {"state", "w"}, "next")},
                     {value_bytes("round", DataType::int64, {}), value_bytes("go", DataType::boolean, {}),
                      value_bytes("state", DataType::float32, {4, 8})},
                     {value_bytes("go_on", DataType::boolean, {}), value_bytes("next", DataType::float32, {4, 8})})};
  model.nodes = {loop};
  const auto rows = std::make_shared<GeneratedSamples>(8, [](size_t index) {
    return data::Sample{random_tensor({4, 8}, index, 1)};
  });
  const quant::Config config = quant::parse_config({{"activation", "UInt8Spec"},
                                                    {"activation_params", {{"calibration_method", "MinMax"}}},
                                                    {"weight", "Int8Spec"},
                                                    {"include_sq", true},
                                                    {"BiasCorrection", true}});
  CalibrationNeeds needs;
  needs.add(config);
  const graph::Model prepared = runtime::prepare(model);
  Variants variants(model, prepared, rows, needs);
  const auto smoothed = variants.graph_of(config);
  const auto found = std::ranges::find_if(smoothed->model.nodes, [](const auto& node) { return node.is("Mul"); });
  ASSERT_NE(found, smoothed->model.nodes.end());
  EXPECT_EQ(found->inside, "loop/body");
}

TEST(Subgraphs, PiecesOfTheModelOpen) {
  const graph::Model model = two_choices();
  const auto data = samples();
  Rounder rounder(model, data);
  for (const std::string method : {"adaround", "adaquant", "gptq"}) {
    quant::Plan plan = plan_for(model, *data, method, Json::object());
    const RoundingReport report = rounder.improve(plan);
    ASSERT_EQ(report.layers.size(), 3U) << method;
    for (const auto& layer : report.layers) EXPECT_LE(layer.after, layer.before) << layer.node;
  }
}

// What transforms add to branches stands there, and is observed there.
TEST(Subgraphs, TransformsReachIntoBranches) {
  const graph::Model model = two_ways();
  const auto data = chosen_by([](size_t i) { return i % 2 == 0; });
  for (const char* scheme : {"awq_g32asym", "gptq_g32asym"}) {
    const quant::Config config = quant::parse_config(quant::schemes::table().make(scheme)->words());
    CalibrationNeeds needs;
    needs.add(config);
    Variants variants(model, model, data, needs);
    quant::Plan plan = variants.plan(config, *quant::targets::table().make("ort_cpu"));
    EXPECT_EQ(plan.nodes.size(), 5U) << scheme;
    const graph::Model built = variants.build(config, plan).model;
    const runtime::Session exact(model), quantized(built);
    for (const size_t sample : {size_t{0}, size_t{1}}) {
      const auto y = exact.run(data->at(sample)), q = quantized.run(data->at(sample));
      double error = 0, size = 0;
      for (size_t i = 0; i < y[0].count(); i++) {
        error += std::pow(y[0].as<float>()[i] - q[0].as<float>()[i], 2);
        size += std::pow(y[0].as<float>()[i], 2);
      }
      EXPECT_LT(error, 0.1 * size) << scheme;
    }
  }
}

std::string refusal(const graph::Model& model, const std::string& scheme) {
  const quant::Config config = quant::parse_config(quant::schemes::table().make(scheme)->words());
  return error_of([&] { require_quantized({}, {model, config}); });
}

TEST(Subgraphs, WhatStandsInsideIsTold) {
  graph::Model model = two_choices();
  std::erase_if(model.nodes, [](const auto& node) { return node.name != "inner"; });
  const std::string text = refusal(model, "u8s8_channel");
  EXPECT_NE(text.find("all of this model's operators that could be quantized stand inside If 'inner' (1 Transpose)"),
            std::string::npos)
      << text;
  EXPECT_NE(refusal(model, "dynamic").find("this model has no MatMul, Gemm or LSTM"), std::string::npos);
}

TEST(Subgraphs, WhatEnableSubgraphLeavesIsTold) {
  graph::Model model = graph::opened(two_choices());
  std::erase_if(model.nodes,
                [](const auto& node) { return node.inside.empty() && node.name != "inner" && node.name != "outer"; });
  quant::Config config = quant::parse_config(quant::schemes::table().make("u8s8_channel")->words());
  config.switches["EnableSubgraph"] = false;
  const std::string text = error_of([&] { require_quantized({}, {model, config}); });
  EXPECT_NE(text.find("inside 'inner/then_branch' and 1 more (2 Transpose), which EnableSubgraph: false leaves in float"),
            std::string::npos)
      << text;
}

TEST(Subgraphs, SchemesSayWhatTheyQuantize) {
  graph::Model model = network();
  std::erase_if(model.nodes, [](const auto& node) { return node.op_type == "Gemm"; });
  EXPECT_EQ(
      refusal(model, "dynamic"),
      "nothing in this model is quantized under this configuration: this model has no MatMul, Gemm or LSTM; its 4 Conv need "
      "a scheme with calibration samples, such as U8S8_CHANNEL, or DYNAMIC_CONV, which makes them smaller and seldom faster");
  EXPECT_NE(refusal(model, "w4").find("this model has no MatMul, Gemm, LSTM or GRU;"), std::string::npos);
  model.nodes.clear();
  EXPECT_NE(refusal(model, "u8s8_channel").find("no operator that Quasar quantizes"), std::string::npos);
}

}  // namespace
}  // namespace quasar::tune
