// Graphs as they come: old opsets, control flow, recurrent layers, shared and listed constants, inputs left out, outputs that are
// read on. Each is cleaned up, quantized and run; what ONNX Runtime makes of the float model as it came is the truth.
#include <gtest/gtest.h>

#include <cmath>

#include "executed.hpp"
#include "made_up_statistics.hpp"
#include "no_overflow.hpp"
#include "quasar/base/file.hpp"
#include "quasar/graph/bodies.hpp"
#include "quasar/graph/inner_operators.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/quant/config/named_schemes.hpp"
#include "quasar/runtime/kernels.hpp"
#include "sample_models.hpp"
#include "unit/runtime/models.hpp"

namespace quasar::quant {
namespace {

using Ints = std::vector<int64_t>;

// The root mean square of all outputs' differences, over that of the first model's outputs.
double distance(const graph::Model& a, const graph::Model& b, const Samples& samples) {
  const runtime::Session first(a), second(b);
  double squares = 1e-30, errors = 0;
  for (const auto& sample : samples) {
    const auto x = first.run(sample), y = second.run(sample);
    EXPECT_EQ(x.size(), y.size());
    for (size_t k = 0; k < x.size(); k++) {
      EXPECT_EQ(x[k].shape(), y[k].shape());
      for (size_t i = 0; i < std::min(x[k].count(), y[k].count()); i++) {
        const double p = x[k].as<float>()[i], q = y[k].as<float>()[i];
        squares += p * p;
        errors += (p - q) * (p - q);
      }
    }
  }
  return std::sqrt(errors / squares);
}

struct Outcome {
  graph::Model prepared, quantized;
  Plan plan;
};

// Quantized under a configuration, with all that must hold checked on the way.
Outcome quantized(const graph::Model& given, const Config& config, const std::string& target = "ort_cpu") {
  const graph::Model model = without_overflow(given);
  Outcome out;
  out.prepared = runtime::prepare(model);
  const Samples samples = random_samples(model, 4);
  EXPECT_LT(distance(model, out.prepared, samples), 1e-5);
  out.plan = resolve(out.prepared, observe(out.prepared, samples), config, *targets::table().make(target));
  out.quantized = written(out.prepared, out.plan);
  EXPECT_FALSE(out.plan.nodes.empty());
  EXPECT_LT(distance(model, out.quantized, samples), 0.12) << target << " " << name_of(config.format);
  for (size_t k = 0; k < model.outputs.size(); k++) EXPECT_EQ(out.quantized.outputs[k].name, model.outputs[k].name);
  return out;
}

// Under pairs on two targets, and with operators on codes; the first of them comes back.
Outcome quantized_everywhere(const graph::Model& model) {
  Config config = config_of(DataType::uint8, false, Granularity::channel);
  const Outcome out = quantized(model, config);
  quantized(model, config_of(DataType::int8, true, Granularity::channel), "generic");
  config.format = Format::qoperator;
  quantized(model, config);
  return out;
}

bool is_quantized(const Outcome& out, const std::string& node) {
  return out.plan.nodes.contains(node);
}

// Attributes as opset 7 has them: Clip's bounds, Dropout's ratio, Softmax over all but the first axis.
graph::Model opset_7() {
  Builder b;
  b.model().opsets[""] = 7;
  b.model().ir_version = 3;
  const auto conv = b.node("Conv", {b.input("x", {2, 3, 8, 8}), b.weights({6, 3, 3, 3})}, {{"pads", Ints{1, 1, 1, 1}}});
  const auto normal = b.node("BatchNormalization", {conv, b.weights({6}, 0.2F, 1), b.weights({6}), b.weights({6}),
                                                    b.constant(Tensor::of({6}, std::vector<float>(6, 1.3F)))});
  const auto clipped = b.node("Clip", {normal}, {{"min", 0.0F}, {"max", 6.0F}});
  const auto pooled = b.node("AveragePool", {b.node("Dropout", {clipped}, {{"ratio", 0.5F}})},
                             {{"kernel_shape", Ints{4, 4}}, {"strides", Ints{4, 4}}});
  const auto flat = b.node("Reshape", {pooled, b.constant(Tensor::of<int64_t>({2}, {2, 24}))});
  const auto logits = b.node("Gemm", {flat, b.weights({24, 5}), b.weights({5})});
  return b.finish({b.node("Softmax", {logits}, {{"axis", int64_t{1}}}), pooled});
}

graph::Model opset_9() {
  Builder b;
  b.model().opsets[""] = 9;
  b.model().ir_version = 4;
  const auto conv = b.node("LeakyRelu", {b.conv(b.input("x", {1, 4, 6, 6}), 4, 6, 3)}, {{"alpha", 0.1F}});
  const auto large =
      b.node("Upsample", {conv, b.constant(Tensor::of<float>({4}, {1, 1, 2, 2}))}, {{"mode", std::string("nearest")}});
  const auto padded = b.node("Pad", {large}, {{"pads", Ints{0, 0, 1, 1, 0, 0, 1, 1}}});
  const auto part = b.node("Slice", {padded}, {{"axes", Ints{2}}, {"starts", Ints{1}}, {"ends", Ints{9}}});
  return b.finish({b.node("Conv", {part, b.weights({3, 6, 1, 1})})});
}

graph::Model opset_11() {
  Builder b;
  b.model().opsets[""] = 11;
  b.model().ir_version = 6;
  const auto conv = b.node("Relu", {b.conv(b.input("x", {1, 4, 6, 6}), 4, 6, 3)});
  b.node("Split", {conv}, {{"axis", int64_t{1}}, {"split", Ints{2, 4}}}, 2);
  const auto resized = b.node("Resize",
                              {"Split_0_out1", b.constant(Tensor::of<float>({0}, std::vector<float>())),
                               b.constant(Tensor::of<float>({4}, {1, 1, 2, 2}))},
                              {{"mode", std::string("nearest")}});
  const auto mean = b.node("ReduceMean", {b.conv(resized, 4, 5, 1)}, {{"axes", Ints{2, 3}}});
  const auto flat = b.node("Squeeze", {mean}, {{"axes", Ints{2, 3}}});
  return b.finish({b.node("Gemm", {flat, b.weights({5, 3})}), "Split_0_out"});
}

TEST(Graphs, OldOpsets) {
  for (const auto& model : {opset_7(), opset_9(), opset_11()}) {
    const Outcome out = quantized_everywhere(model);
    EXPECT_EQ(out.quantized.opset(), 13) << "from " << model.opset();
    for (const auto& [name, plan] : out.plan.nodes) EXPECT_NE(graph::Index(out.prepared).node(name), nullptr) << name;
  }
}

// What the plan needs is there from 13 on; 16 and 4 bits have operators of their own below 21.
TEST(Graphs, TheOpsetStaysWhereItServes) {
  for (const int64_t opset : {13, 15, 17, 19, 21}) {
    graph::Model model = separable();
    model.opsets[""] = opset;
    model.ir_version = opset >= 21 ? 10 : 8;
    for (const auto& config : {config_of(DataType::uint8, false), config_of(DataType::int16, true),
                               config_of(DataType::int8, true, Granularity::channel, DataType::int4)}) {
      const Plan plan = plan_of(model, config);
      const graph::Model out = apply(model, plan);
      EXPECT_EQ(out.opset(), opset);
      EXPECT_NO_THROW(runtime::Session{out}) << opset << " " << name_of(config.activation.type);
    }
  }
}

TEST(Graphs, InstanceNormalization) {
  Builder b;
  const auto conv = b.conv(b.input("x", {2, 3, 8, 8}), 3, 6, 3);
  const auto normal = b.node("InstanceNormalization", {conv, b.weights({6}, 0.2F, 1), b.weights({6})}, {{"epsilon", 1e-4F}});
  const graph::Model model = b.finish({b.conv(b.node("Relu", {normal}), 6, 4, 3)});
  EXPECT_FALSE(is_quantized(quantized_everywhere(model), "InstanceNormalization_0"));
  EXPECT_TRUE(is_quantized(quantized(model, config_of(DataType::int8, false), "generic"), "InstanceNormalization_0"));
}

TEST(Graphs, ConvTransposeWithGroups) {
  for (const int64_t group : {1, 2, 4}) {
    Builder b;
    const auto conv = b.node("Relu", {b.conv(b.input("x", {1, 3, 6, 6}), 3, 4, 3)});
    const auto up =
        b.node("ConvTranspose", {conv, b.weights({4, 6 / group == 6 ? 6 : 3, 2, 2}), b.weights({group == 1 ? 6 : 3 * group})},
               {{"group", group}, {"strides", Ints{2, 2}}});
    const graph::Model model = b.finish({b.node("Sigmoid", {up})});
    quantized_everywhere(model);
    const Outcome out = quantized(model, config_of(DataType::uint8, false, Granularity::channel), "generic");
    ASSERT_TRUE(is_quantized(out, "ConvTranspose_0"));
    EXPECT_EQ(out.plan.nodes.at("ConvTranspose_0").weight->params.scales.size(), group == 1 ? 6U : 1U);
  }
}

// Recurrent layers, with optional inputs left out in the middle, stay float between layers that do not.
TEST(Graphs, RecurrentLayersStayInFloat) {
  Builder b;
  const auto before = b.node("MatMul", {b.input("x", {5, 2, 6}), b.weights({6, 4})});
  const auto gru =
      b.node("GRU", {before, b.weights({1, 9, 4}), b.weights({1, 9, 3}), b.weights({1, 18}), "", b.weights({1, 2, 3})},
             {{"hidden_size", int64_t{3}}, {"linear_before_reset", int64_t{1}}}, 2);
  const auto flat = b.node("Reshape", {gru, b.constant(Tensor::of<int64_t>({3}, {5, 2, 3}))});
  const auto lstm =
      b.node("LSTM", {flat, b.weights({2, 8, 3}), b.weights({2, 8, 2}), "", "", b.weights({2, 2, 2}), b.weights({2, 2, 2})},
             {{"hidden_size", int64_t{2}}, {"direction", std::string("bidirectional")}}, 3);
  const auto rows = b.node("Reshape", {lstm, b.constant(Tensor::of<int64_t>({2}, {20, 2}))});
  const graph::Model model = b.finish({b.node("Gemm", {rows, b.weights({2, 7}), b.weights({7})}), "GRU_0_out1", "LSTM_0_out2"});
  const Outcome out = quantized_everywhere(model);
  EXPECT_FALSE(is_quantized(out, "GRU_0") || is_quantized(out, "LSTM_0"));
  EXPECT_TRUE(is_quantized(out, "MatMul_0") && is_quantized(out, "Gemm_0"));
}

// A loop that sums up a quantized value of the outer graph, between layers.
TEST(Graphs, SumsInLoops) {
  Builder b;
  const auto stem = b.conv(b.input("x", {1, 3, 6, 6}), 3, 4, 3);
  const auto body = test::subgraph(
      "body", {test::node_bytes("Identity", {"go_on"}, "goes_on"), test::node_bytes("Add", {"sum", stem}, "next_sum")},
      {test::value_bytes("round", DataType::int64, {}), test::value_bytes("go_on", DataType::boolean, {}),
       test::value_bytes("sum", DataType::float32, {1, 4, 6, 6})},
      {test::value_bytes("goes_on", DataType::boolean, {}), test::value_bytes("next_sum", DataType::float32, {1, 4, 6, 6})});
  const auto rounds = b.constant(Tensor::scalar(int64_t{3})), first = b.constant(Tensor::scalar(true));
  const auto sum = b.node("Loop", {rounds, first, stem}, {body});
  b.model().nodes.back().captures = {stem};
  const graph::Model model = b.finish({b.conv(sum, 4, 5, 1), stem});
  const Outcome out = quantized_everywhere(model);
  EXPECT_FALSE(is_quantized(out, "Loop_0"));
  EXPECT_TRUE(is_quantized(out, "Conv_0") && is_quantized(out, "Conv_1"));
}

// How many nodes of the type ONNX Runtime runs in the node's bodies.
size_t run_inside(const graph::Model& model, const std::string& node, const std::string& type) {
  const graph::Model run = runtime::optimized(model);
  const auto found = graph::inner_operators(*graph::Index(run).node(node));
  const auto count = found.find(type);
  return count == found.end() ? 0 : count->second;
}

// state ← state · W, three times.
TEST(Graphs, LayersInLoopsAreQuantized) {
  Builder b;
  const auto first = b.node("MatMul", {b.input("x", {5, 4}), b.weights({4, 4})}), weights = b.weights({4, 4});
  const auto body = test::subgraph(
      "body", {test::node_bytes("Identity", {"go_on"}, "goes_on"), test::node_bytes("MatMul", {"state", weights}, "next")},
      {test::value_bytes("round", DataType::int64, {}), test::value_bytes("go_on", DataType::boolean, {}),
       test::value_bytes("state", DataType::float32, {5, 4})},
      {test::value_bytes("goes_on", DataType::boolean, {}), test::value_bytes("next", DataType::float32, {5, 4})});
  const auto rounds = b.constant(Tensor::scalar(int64_t{3})), go = b.constant(Tensor::scalar(true));
  const auto last = b.node("Loop", {rounds, go, first}, {body});
  b.model().nodes.back().captures = {weights};
  const Outcome out = quantized_everywhere(b.finish({b.node("MatMul", {last, b.weights({4, 3})})}));
  EXPECT_TRUE(is_quantized(out, "Loop_0/body/MatMul_1"));
  EXPECT_EQ(run_inside(out.quantized, "Loop_0", "MatMul"), 0U);
}

// state ← state · W, three times; W is handed in, and is large enough to be stored in 16 bits.
TEST(Graphs, LoopsAreHandedConstantsIn16Bits) {
  Builder b;
  const auto first = b.node("MatMul", {b.input("x", {5, 40}), b.weights({40, 40})}), weights = b.weights({40, 40}, 0.1F);
  const auto body = test::subgraph(
      "body",
      {test::node_bytes("Identity", {"go_on"}, "goes_on"), test::node_bytes("MatMul", {"state", "w"}, "next"),
       test::node_bytes("Identity", {"w"}, "next_w")},
      {test::value_bytes("round", DataType::int64, {}), test::value_bytes("go_on", DataType::boolean, {}),
       test::value_bytes("state", DataType::float32, {5, 40}), test::value_bytes("w", DataType::float32, {40, 40})},
      {test::value_bytes("goes_on", DataType::boolean, {}), test::value_bytes("next", DataType::float32, {5, 40}),
       test::value_bytes("next_w", DataType::float32, {40, 40})});
  const auto rounds = b.constant(Tensor::scalar(int64_t{3})), go = b.constant(Tensor::scalar(true));
  const auto last = b.node("Loop", {rounds, go, first, weights}, {body}, 2);
  const graph::Model model = b.finish({b.node("MatMul", {last, b.weights({40, 3})})});
  const Config half = config_of(DataType::bfloat16, true, Granularity::tensor, DataType::bfloat16);
  const graph::Model made = apply(model, plan_of(model, half));
  const auto samples = random_samples(model, 1);
  const Tensor wanted = runtime::Session(model).run(samples[0])[0], found = runtime::Session(made).run(samples[0])[0];
  for (size_t i = 0; i < wanted.count(); ++i) EXPECT_NEAR(found.as<float>()[i], wanted.as<float>()[i], 0.05) << i;
}

TEST(Graphs, LayersInScansAreQuantized) {
  Builder b;
  const auto rows = b.node("MatMul", {b.input("x", {5, 4}), b.weights({4, 3})});
  const auto square = b.weights({3, 3});
  const auto body = test::subgraph(
      "body", {test::node_bytes("Add", {"sum", "row"}, "next_sum"), test::node_bytes("MatMul", {"next_sum", square}, "written")},
      {test::value_bytes("sum", DataType::float32, {1, 3}), test::value_bytes("row", DataType::float32, {3})},
      {test::value_bytes("next_sum", DataType::float32, {1, 3}), test::value_bytes("written", DataType::float32, {1, 3})});
  b.node("Scan", {b.weights({1, 3}), rows}, {body, {"num_scan_inputs", int64_t{1}}}, 2);
  b.model().nodes.back().captures = {square};
  const Outcome out = quantized_everywhere(b.finish({b.node("MatMul", {"Scan_0_out1", b.weights({3, 4})}), "Scan_0_out"}));
  EXPECT_FALSE(is_quantized(out, "Scan_0"));
  EXPECT_TRUE(is_quantized(out, "Scan_0/body/MatMul_1"));
}

// Branches of Conv and Relu on a quantized value of the outer graph; samples enter the first one only.
graph::Model two_branches() {
  Builder b;
  const auto condition = b.input("condition", {}, DataType::boolean);
  const auto stem = b.conv(b.input("x", {1, 3, 8, 8}), 3, 4, 3), weights = b.weights({4, 4, 1, 1});
  const auto result = test::value_bytes("result", DataType::float32, {1, 4, 8, 8});
  const auto branch = [&](const std::string& name, const std::string& type) {
    return test::subgraph(name, {test::node_bytes("Conv", {stem, weights}, "c"), test::node_bytes(type, {"c"}, "result")}, {},
                          {result});
  };
  const auto chosen = b.node("If", {condition}, {branch("then_branch", "Relu"), branch("else_branch", "Neg")});
  b.model().nodes.back().captures = {stem, weights};
  return b.finish({b.conv(chosen, 4, 5, 1), stem});
}

TEST(Graphs, BranchesThatSamplesEnterAreQuantized) {
  const Outcome out = quantized_everywhere(two_branches());
  EXPECT_TRUE(is_quantized(out, "If_0/then_branch/Conv_0"));
  EXPECT_FALSE(is_quantized(out, "If_0/else_branch/Conv_0"));
  EXPECT_NE(out.plan.skipped.at("If_0/else_branch/Conv_0").find("no calibration sample comes into its branch"),
            std::string::npos);
  EXPECT_EQ(run_inside(out.quantized, "If_0", "QLinearConv"), 1U);
  const auto runs = runtime::runs_quantized(out.quantized, {"Conv_0", "If_0/then_branch/Conv_0", "If_0/else_branch/Conv_0"});
  EXPECT_TRUE(runs.at("Conv_0") && runs.at("If_0/then_branch/Conv_0"));
  EXPECT_FALSE(runs.at("If_0/else_branch/Conv_0"));
}

TEST(Graphs, BodiesStayInFloatWhereTheConfigurationSaysSo) {
  Config config = config_of(DataType::uint8, false, Granularity::channel);
  config.switches["EnableSubgraph"] = false;
  const Outcome out = quantized(two_branches(), config);
  EXPECT_FALSE(is_quantized(out, "If_0/then_branch/Conv_0"));
  EXPECT_TRUE(is_quantized(out, "Conv_0") && is_quantized(out, "Conv_1"));
}

// Without samples every branch is quantized, however deep; two branches that read a value share its codes.
TEST(Graphs, ProductsInBranchesHaveTheirScalesAtRunTime) {
  Builder b;
  const auto condition = b.input("condition", {}, DataType::boolean), x = b.input("x", {3, 8}), weights = b.weights({8, 8});
  const auto result = test::value_bytes("result", DataType::float32, {3, 8});
  const auto branch = [&](const std::string& name, const std::string& type) {
    return test::subgraph(name, {test::node_bytes("MatMul", {x, weights}, "c"), test::node_bytes(type, {"c"}, "result")}, {},
                          {result});
  };
  const auto chosen = b.node("If", {condition}, {branch("then_branch", "Relu"), branch("else_branch", "Neg")});
  b.model().nodes.back().captures = {x, weights};
  const graph::Model model = b.finish({chosen});
  for (const std::string scheme : {"dynamic", "w4", "w8"}) {
    const Outcome out = quantized(model, parse_config(schemes::table().make(scheme)->words()));
    EXPECT_TRUE(is_quantized(out, "If_0/then_branch/MatMul_0") && is_quantized(out, "If_0/else_branch/MatMul_0")) << scheme;
    EXPECT_EQ(graph::closed(out.quantized).nodes.size(), scheme == "dynamic" ? 2U : 1U) << scheme;
    EXPECT_EQ(out.quantized.initializers.contains(weights), false) << scheme;
  }
}

// One constant as weights of two layers with inputs of different scales, as their bias, and as one side of a sum.
TEST(Graphs, SharedConstants) {
  Builder b;
  const auto weights = b.weights({4, 4, 1, 1}), bias = b.weights({4});
  const auto x = b.input("x", {1, 4, 4, 4});
  const auto first = b.node("Conv", {x, weights, bias}), wide = b.node("Mul", {first, b.constant(Tensor::scalar(7.0F))});
  const auto second = b.node("Conv", {wide, weights, bias});
  const auto sum = b.node("Add", {second, weights});
  const auto last = b.node("Add", {sum, b.node("Reshape", {bias, b.constant(Tensor::of<int64_t>({4}, {1, 4, 1, 1}))})});
  const Outcome out = quantized_everywhere(b.finish({last, first}));
  EXPECT_TRUE(is_quantized(out, "Conv_0") && is_quantized(out, "Conv_1"));
  EXPECT_NE(out.plan.nodes.at("Conv_0").bias->params, out.plan.nodes.at("Conv_1").bias->params);
}

// Files of IR 3 list every constant among the inputs.
TEST(Graphs, ConstantsListedAsInputs) {
  graph::Model model = opset_7();
  const std::vector<graph::Value> inputs = model.inputs;
  for (const auto& [name, tensor] : model.initializers) {
    model.inputs.push_back({name, tensor.type(), tensor.shape(), std::vector<std::string>(tensor.shape().size())});
  }
  const TemporaryFolder folder;
  graph::save(model, folder.path() / "model.onnx");
  const graph::Model loaded = graph::load(folder.path() / "model.onnx");
  ASSERT_EQ(loaded.inputs.size(), 1U);
  EXPECT_EQ(loaded.inputs[0].name, inputs[0].name);
  const Outcome out = quantized_everywhere(loaded);
  EXPECT_EQ(out.quantized.inputs.size(), 1U);
  EXPECT_TRUE(is_quantized(out, "Conv_0")) << "BatchNormalization is folded, its constants are constant";
  EXPECT_EQ(graph::Index(out.prepared).node("BatchNormalization_0"), nullptr);
}

// Bounds and sizes that are left out, first ones included.
TEST(Graphs, OptionalInputsLeftOut) {
  Builder b;
  const auto conv = b.conv(b.input("x", {1, 3, 6, 6}), 3, 4, 3);
  const auto below = b.node("Clip", {conv, "", b.constant(Tensor::scalar(1.5F))});
  const auto above = b.node("Clip", {b.conv(below, 4, 4, 1), b.constant(Tensor::scalar(-1.0F))});
  const auto large =
      b.node("Resize", {above, "", "", b.constant(Tensor::of<int64_t>({4}, {1, 4, 12, 12}))}, {{"mode", std::string("nearest")}});
  const graph::Model model = b.finish({b.node("Conv", {large, b.weights({2, 4, 3, 3}), ""})});
  const Outcome out = quantized_everywhere(model);
  EXPECT_TRUE(is_quantized(out, "Conv_2") && is_quantized(out, "Clip_0"));
}

// From opset 21 on ONNX Runtime's own change of int8 to uint8 broke products with a bias.
TEST(Graphs, ProductsWithABiasAtOpset21) {
  Builder b;
  const auto product = b.node("MatMul", {b.input("x", {1, 6, 8}), b.weights({8, 8})});
  graph::Model model = b.finish({b.node("Relu", {b.node("Add", {product, b.weights({8})})})});
  model.opsets[""] = 21;
  model.ir_version = 10;
  const Outcome out = quantized(model, config_of(DataType::int8, true, Granularity::channel));
  EXPECT_TRUE(is_quantized(out, "MatMul_0"));
}

// A table of embeddings has no activations that a rule could look at.
TEST(Graphs, TablesKeepTheRulesOfNpus) {
  Builder b;
  const auto rows = b.node("Gather", {b.weights({20, 8}), b.constant(Tensor::of<int64_t>({1, 6}, {0, 3, 7, 7, 19, 2}))});
  const auto sum = b.node("Add", {rows, b.input("x", {1, 6, 8})});
  const graph::Model model = b.finish({b.node("MatMul", {sum, b.weights({8, 4})})});
  Json words = schemes::table().make("xint8")->words();
  words["activation_params"]["calibration_method"] = "MinMax";
  quantized(model, parse_config(words), "xint8");
}

// ONNX Runtime 1.30 refuses them when no pair stands between.
TEST(Graphs, ActivationsInARow) {
  Builder b;
  const auto conv = b.conv(b.input("x", {1, 3, 6, 6}), 3, 4, 3);
  const auto below = b.node("Clip", {conv, "", b.constant(Tensor::scalar(1.5F))});
  const auto both = b.node("Clip", {below, b.constant(Tensor::scalar(-1.0F))});
  const auto active = b.node("Relu", {b.conv(both, 4, 4, 1)});
  const auto clipped = b.node("Clip", {active, "", b.constant(Tensor::scalar(0.5F))});
  const graph::Model model = b.finish({b.conv(clipped, 4, 2, 1)});
  const Outcome out = quantized_everywhere(model);
  EXPECT_TRUE(is_quantized(out, "Conv_1") && is_quantized(out, "Clip_0"));
}

// Outputs at every stage: behind a layer, between a layer and its activation, behind the activation, twice read.
TEST(Graphs, OutputsThatAreReadOn) {
  Builder b;
  const auto first = b.conv(b.input("x", {1, 3, 6, 6}), 3, 4, 3);
  const auto active = b.node("Relu", {first});
  const auto second = b.conv(active, 4, 4, 3);
  const auto sum = b.node("Add", {second, active});
  const auto pooled = b.node("MaxPool", {sum}, {{"kernel_shape", Ints{2, 2}}});
  const graph::Model model = b.finish({sum, first, active, pooled, b.node("Flatten", {pooled}), second});
  const Outcome out = quantized_everywhere(model);
  EXPECT_EQ(out.quantized.outputs.size(), 6U);
}

}  // namespace
}  // namespace quasar::quant
