#include "quasar/quant/write/keep_in_float.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <tuple>

#include "made_up_statistics.hpp"
#include "no_overflow.hpp"
#include "quasar/runtime/kernels.hpp"
#include "quasar/runtime/session.hpp"
#include "sample_models.hpp"

namespace quasar::quant {
namespace {

std::vector<float> outputs_of(const graph::Model& model, const runtime::SessionOptions& options) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<Tensor> inputs;
  for (const auto& input : model.inputs) {
    std::vector<float> values(count_of(*input.shape));
    for (auto& value : values) value = normal(random);
    inputs.push_back(Tensor::of(*input.shape, values));
  }
  const auto out = runtime::Session(model, options).run(inputs);
  return {out[0].as<float>().begin(), out[0].as<float>().end()};
}

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0, power = 0;
  for (size_t i = 0; i < a.size(); i++) {
    sum += std::pow(a[i] - b[i], 2);
    power += std::pow(a[i], 2);
  }
  return std::sqrt(sum / power);
}

// Conv (one to eight channels), a Conv left in float with weights that a single scale would ruin, Conv.
graph::Model uneven(int64_t middle) {
  Builder b(3);
  const auto first = b.node("Relu", {b.conv(b.input("x", {1, 2, 9, 9}), 2, middle, 3)});
  const auto second = b.node("Relu", {b.conv(first, middle, 6, 3)});
  auto& weights = b.model().initializers[b.model().nodes[2].inputs[1]];
  std::vector<float> values(weights.as<float>().begin(), weights.as<float>().end());
  for (size_t i = 0; i < values.size() / 6; i++) values[i] *= 300;
  weights = Tensor::of(weights.shape(), values);
  return without_overflow(b.finish({b.conv(second, 6, 4, 1)}));
}

TEST(KeepInFloat, OnnxRuntimeDoesNotQuantizeWhatIsExcluded) {
  for (const int64_t opset : {11, 13, 21}) {
    for (const int64_t middle : {1, 8}) {
      graph::Model model = uneven(middle);
      model.opsets[""] = opset;
      Config config = config_of(DataType::uint8, false);
      config.exclude = {"Conv_1"};
      const graph::Model quantized = apply(model, plan_of(model, config));
      const auto simulated = outputs_of(quantized, {.optimization = runtime::Optimization::none, .integer_kernels = false});
      EXPECT_LT(distance(simulated, outputs_of(quantized, {})), 0.02) << "opset " << opset << ", " << middle << " channels";
      const auto runs = runtime::runs_quantized(quantized, {"Conv_0", "Conv_1", "Conv_2"});
      EXPECT_TRUE(runs.at("Conv_0"));
      EXPECT_FALSE(runs.at("Conv_1"));
      EXPECT_TRUE(runs.at("Conv_2"));
    }
  }
}

TEST(KeepInFloat, NodesWithoutInputsStandBesideCodes) {
  Builder b(3);
  const auto noise = b.node("RandomNormal", {}, {{"shape", std::vector<int64_t>{1, 4, 8, 8}}});
  const graph::Model model = b.finish({b.node("Add", {b.conv(b.input("x", {1, 3, 8, 8}), 3, 4, 3), noise})});
  const graph::Model quantized = apply(model, plan_of(model, config_of(DataType::uint8, false)));
  EXPECT_EQ(outputs_of(quantized, {}).size(), 4U * 8 * 8);
}

TEST(KeepInFloat, LeavesTheRestAlone) {
  for (const auto& model : {separable(), residual(), branches(), attention(), recurrent()}) {
    const Plan plan = plan_of(model, config_of(DataType::uint8, false));
    graph::Model quantized = apply(model, plan);
    const size_t nodes = quantized.nodes.size(), constants = quantized.initializers.size();
    std::set<std::string> in_codes;
    for (const auto& [node, planned] : plan.nodes) in_codes.insert(node);
    keep_in_float(quantized, in_codes);
    EXPECT_EQ(quantized.nodes.size(), nodes);
    EXPECT_EQ(quantized.initializers.size(), constants);
  }
}

TEST(KeepInFloat, GemmAndTransposedConvolutionToo) {
  Builder b(4);
  const auto image = b.node("Relu", {b.conv(b.input("x", {1, 3, 6, 6}), 3, 4, 3)});
  const auto larger =
      b.node("Relu", {b.node("ConvTranspose", {image, b.weights({4, 5, 2, 2})}, {{"strides", std::vector<int64_t>{2, 2}}})});
  const auto pooled = b.node("GlobalAveragePool", {b.conv(larger, 5, 6, 1)});
  const auto flat = b.node("Reshape", {pooled, b.constant(Tensor::of<int64_t>({2}, {1, 6}))});
  const auto hidden = b.node("Relu", {b.node("Gemm", {flat, b.weights({7, 6}), b.weights({7})}, {{"transB", int64_t{1}}})});
  const auto model = without_overflow(b.finish({b.node("Gemm", {hidden, b.weights({7, 3})})}));
  Config config = config_of(DataType::uint8, false);
  config.exclude = {"ConvTranspose_0", "Gemm_0"};
  const graph::Model quantized = apply(model, plan_of(model, config));
  const auto runs = runtime::runs_quantized(quantized, {"Conv_0", "ConvTranspose_0", "Gemm_0", "Gemm_1"});
  EXPECT_FALSE(runs.at("ConvTranspose_0"));
  EXPECT_FALSE(runs.at("Gemm_0"));
  const auto simulated = outputs_of(quantized, {.optimization = runtime::Optimization::none, .integer_kernels = false});
  EXPECT_LT(distance(simulated, outputs_of(quantized, {})), 0.02);
}

TEST(KeepInFloat, Behind4BitsToo) {
  for (const int64_t opset : {13, 21}) {
    graph::Model model = uneven(7);
    model.opsets[""] = opset;
    for (auto& node : model.nodes) node.op_type = node.is("Relu") ? "Sigmoid" : node.op_type;
    Config config = config_of(DataType::uint4, false, Granularity::channel, DataType::int4);
    config.exclude = {"Conv_1"};
    const graph::Model quantized = apply(model, plan_of(model, config));
    const auto simulated = outputs_of(quantized, {.optimization = runtime::Optimization::none, .integer_kernels = false});
    EXPECT_LT(distance(simulated, outputs_of(quantized, {})), 0.2) << opset;
  }
}

// Two Convs, an operator that reads one or both, and a Conv behind it. `moved`: a Transpose on either side of the operator.
graph::Model between(const std::string& type, size_t inputs, std::vector<graph::Attribute> attributes = {}, bool moved = false) {
  Builder b(5);
  const auto x = b.input("x", {1, 3, 6, 6});
  std::vector<std::string> read;
  if (type == "Where") read.push_back(b.constant(Tensor::copy(DataType::boolean, {1, 4, 1, 1}, "\1\0\0\1", 4)));
  for (size_t i = 0; i < inputs; i++) read.push_back(b.conv(x, 3, 4, 3));
  const auto turned = [&](const std::string& value) {
    return b.node("Transpose", {value}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
  };
  if (moved) read.back() = turned(read.back());
  std::string result = b.node(type, read, std::move(attributes));
  if (moved) result = turned(result);
  graph::Model model = b.finish({b.conv(result, type == "Concat" ? 8 : 4, 5, 1)});
  model.opsets[""] = 19;
  return without_overflow(model);
}

TEST(KeepInFloat, OperatorsWithoutWeightsToo) {
  const std::vector<int64_t> two{2, 2};
  const std::vector<std::tuple<std::string, size_t, std::vector<graph::Attribute>>> all{
      {"Softmax", 1, {{"axis", int64_t{1}}}},
      {"Sigmoid", 1, {}},
      {"LeakyRelu", 1, {{"alpha", 0.2F}}},
      {"AveragePool", 1, {{"kernel_shape", two}}},
      {"GlobalAveragePool", 1, {}},
      {"Add", 2, {}},
      {"Mul", 2, {}},
      {"Concat", 2, {{"axis", int64_t{1}}}},
      {"Where", 2, {}},
      {"MatMul", 2, {}}};
  for (const auto& [type, inputs, attributes] : all) {
    for (const auto format : {Format::qdq, Format::qoperator}) {
      for (const auto activation : {DataType::uint8, DataType::int8}) {
        for (const bool moved : {false, true}) {
          const graph::Model model = between(type, inputs, attributes, moved);
          Config config = config_of(activation, false);
          config.format = format;
          const std::string last = "Conv_" + std::to_string(inputs), name = type + "_0";
          const std::vector<std::string> names{"Conv_0", name, last};
          const std::string what = type + " " + std::string(name_of(activation)) + " " + std::string(name_of(format));
          if (!moved) {
            EXPECT_TRUE(runtime::runs_quantized(written(model, plan_of(model, config)), names).at(name)) << what;
          }
          config.exclude = {name};
          if (moved) config.exclude = {name, "Transpose_0", "Transpose_1"};
          const graph::Model quantized = written(model, plan_of(model, config));
          const auto runs = runtime::runs_quantized(quantized, names);
          EXPECT_TRUE(runs.at("Conv_0") && runs.at(last)) << what;
          EXPECT_FALSE(runs.at(name)) << what << (moved ? " moved" : "");
          const auto simulated = outputs_of(quantized, {.optimization = runtime::Optimization::none, .integer_kernels = false});
          EXPECT_LT(distance(simulated, outputs_of(quantized, {})), 0.02) << what;
        }
      }
    }
  }
}

// Its kernel on codes is slow unless a convolution on codes stands before it.
TEST(KeepInFloat, MaxPoolBehindAConvolutionInFloat) {
  const std::vector<int64_t> two{2, 2};
  const auto model = between("MaxPool", 1, {{"kernel_shape", two}}, false);
  Config config = config_of(DataType::uint8, false);
  const auto pools_codes = [](const graph::Model& quantized) {
    const graph::Model optimized = runtime::optimized(quantized);
    const graph::Index index(optimized);
    const auto pool = std::ranges::find(optimized.nodes, "MaxPool", &graph::Node::op_type);
    const graph::Node* producer = index.producer(pool->inputs.front());
    return producer != nullptr && (producer->op_type == "QuantizeLinear" || producer->op_type.starts_with("QLinear"));
  };
  EXPECT_TRUE(pools_codes(apply(model, plan_of(model, config))));
  config.exclude = {"Conv_0"};
  const graph::Model quantized = apply(model, plan_of(model, config));
  EXPECT_FALSE(pools_codes(quantized));
  EXPECT_TRUE(runtime::runs_quantized(quantized, {"Conv_1"}).at("Conv_1"));
}

TEST(KeepInFloat, WhereWithAConstant) {
  Builder b(5);
  const auto x = b.conv(b.input("x", {1, 3, 6, 6}), 3, 4, 3);
  const auto which = b.constant(Tensor::copy(DataType::boolean, {1, 4, 1, 1}, "\1\0\0\1", 4));
  const auto model = b.finish({b.conv(b.node("Where", {which, b.constant(Tensor::scalar(0.5F)), x}), 4, 5, 1)});
  Config config = config_of(DataType::uint8, false);
  config.exclude = {"Where_0"};
  const graph::Model quantized = apply(model, plan_of(model, config));
  const auto runs = runtime::runs_quantized(quantized, {"Conv_0", "Where_0", "Conv_1"});
  EXPECT_TRUE(runs.at("Conv_0") && runs.at("Conv_1"));
  EXPECT_FALSE(runs.at("Where_0"));
}

// Nobody excludes it: no integer kernel computes it.
TEST(KeepInFloat, DilatedAveragesAndSoftmaxOverOneElement) {
  Builder b(6);
  const auto pooled = b.node("GlobalAveragePool", {b.conv(b.input("x", {1, 3, 6, 6}), 3, 4, 3)});
  const auto one =
      without_overflow(b.finish({b.conv(b.node("Softmax", {b.conv(pooled, 4, 1, 1)}, {{"axis", int64_t{1}}}), 1, 3, 1)}));
  const std::vector<int64_t> two{2, 2};
  const auto dilated = between("AveragePool", 1, {{"kernel_shape", two}, {"dilations", two}});
  for (const auto& [name, model] : {std::pair<std::string, graph::Model>{"Softmax_0", one}, {"AveragePool_0", dilated}}) {
    for (const char* target : {"ort_cpu", "generic"}) {
      for (const auto format : {Format::qdq, Format::qoperator}) {
        Config config = config_of(DataType::uint8, false);
        config.format = format;
        const Plan plan = plan_of(model, config, target);
        if (std::string(target) == "ort_cpu") {
          EXPECT_TRUE(plan.skipped.contains(name));
        }
        const graph::Model quantized = written(model, plan);
        EXPECT_FALSE(runtime::runs_quantized(quantized, {name}).at(name)) << name << " " << target;
        const auto simulated = outputs_of(quantized, {.optimization = runtime::Optimization::none, .integer_kernels = false});
        EXPECT_LT(distance(simulated, outputs_of(quantized, {})), 0.02) << name << " " << target;
      }
    }
  }
}

// ONNX Runtime folds them, and would give them 8 bits.
TEST(KeepInFloat, WeightsThatOtherNodesCompute) {
  Builder b(3);
  const auto weights = b.node("Transpose", {b.weights({3, 3, 8, 6})}, {{"perm", std::vector<int64_t>{3, 2, 0, 1}}});
  const auto first = b.node("Relu", {b.conv(b.input("x", {1, 2, 9, 9}), 2, 8, 3)});
  const auto model = without_overflow(b.finish({b.conv(b.node("Conv", {first, weights}), 6, 4, 1)}));
  for (const auto type : {DataType::uint8, DataType::int16}) {
    const bool wide = type == DataType::int16;
    const Config config = config_of(type, wide, Granularity::tensor, wide ? DataType::int16 : DataType::int8);
    const Plan plan = plan_of(model, config, "generic");
    ASSERT_TRUE(plan.skipped.contains("Conv_1"));
    const graph::Model quantized = apply(model, plan);
    EXPECT_FALSE(runtime::runs_quantized(quantized, {"Conv_1"}).at("Conv_1"));
    const auto simulated = outputs_of(quantized, {.optimization = runtime::Optimization::none, .integer_kernels = false});
    EXPECT_LT(distance(simulated, outputs_of(quantized, {})), 0.001);
  }
}

// The file is for another runtime. Opened here, its pairs stay as they are.
TEST(KeepInFloat, FilesForOthersSayThatTheirPairsStay) {
  Builder b;
  const auto first = b.conv(b.input("x", {1, 16, 8, 8}), 16, 16, 3);
  const auto second = b.conv(first, 16, 16, 3), beside = b.conv(first, 16, 16, 3);
  const auto model = b.finish({b.conv(second, 16, 16, 3), beside});
  Config config = config_of(DataType::int8, true);
  config.switches["QuantizeBias"] = false;
  EXPECT_FALSE(apply(model, plan_of(model, config, "tensorrt")).metadata.contains("quasar.pairs_stay"));
  config.exclude = {"Conv_1"};
  graph::Model made = apply(model, plan_of(model, config, "tensorrt"));
  ASSERT_TRUE(made.metadata.contains("quasar.pairs_stay"));
  const auto as_meant = outputs_of(made, {.integer_kernels = false});
  EXPECT_EQ(distance(as_meant, outputs_of(made, {})), 0);
  made.metadata.erase("quasar.pairs_stay");
  EXPECT_GT(distance(as_meant, outputs_of(made, {})), 0);
}

}  // namespace
}  // namespace quasar::quant
