// QOperator: the same numbers as the QDQ model, in operators on codes.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "executed.hpp"
#include "made_up_statistics.hpp"
#include "no_overflow.hpp"
#include "quasar/base/error.hpp"
#include "quasar/graph/load.hpp"
#include "sample_models.hpp"

namespace quasar::quant {
namespace {

Config qoperator(Config config) {
  config.format = Format::qoperator;
  return config;
}

struct Pair {
  graph::Model pairs, codes;
  Plan plan;
};

Pair both(const graph::Model& model, const Config& config, const Samples& samples, const std::string& target = "ort_cpu") {
  Pair out;
  out.plan = resolve(model, observe(model, samples), qoperator(config), *targets::table().make(target));
  out.pairs = apply(model, out.plan);
  out.codes = written(model, out.plan);
  return out;
}

// The largest difference between the QOperator model and the float simulation of the QDQ model, in steps of the output's grid
// (in units of its largest value / 127 where the output has no grid).
double steps(const Pair& pair, const Samples& samples, bool simulated = true) {
  const runtime::Session codes(pair.codes), pairs(pair.pairs, {.integer_kernels = !simulated});
  double largest = 0;
  for (const auto& sample : samples) {
    const auto a = pairs.run(sample), b = codes.run(sample);
    for (size_t k = 0; k < a.size(); k++) {
      const auto grid = pair.plan.values.find(pair.pairs.outputs[k].name);
      double step = 1e-9;
      for (const float value : a[k].as<float>()) step = std::max<double>(step, std::abs(value) / 127);
      if (grid != pair.plan.values.end()) step = grid->second.scales[0];
      for (size_t i = 0; i < a[k].count(); i++)
        largest = std::max(largest, std::abs(double{a[k].as<float>()[i]} - b[k].as<float>()[i]) / step);
    }
  }
  return largest;
}

std::vector<Config> configs() {
  std::vector<Config> out;
  for (const DataType type : {DataType::int8, DataType::uint8}) {
    for (const bool symmetric : {true, false}) {
      out.push_back(config_of(type, symmetric, Granularity::channel));
      out.push_back(config_of(type, symmetric, Granularity::tensor, DataType::uint8));
    }
  }
  return out;
}

// One operator between an input and an output, by its name.
std::vector<std::pair<std::string, graph::Model>> single_operators() {
  std::vector<std::pair<std::string, graph::Model>> out;
  const auto image = [](Builder& b) { return b.input("x", {1, 4, 6, 6}); };
  const auto one = [&](const std::string& what, const std::string& type, std::vector<graph::Attribute> attributes) {
    Builder b;
    out.emplace_back(what, b.finish({b.node(type, {image(b)}, std::move(attributes))}));
  };
  const std::vector<int64_t> two{2, 2};
  {
    Builder b;
    out.emplace_back("QLinearConv", b.finish({b.conv(image(b), 4, 6, 3)}));
  }
  {
    Builder b;
    out.emplace_back("QLinearConv", b.finish({b.node("Conv", {image(b), b.weights({6, 2, 3, 3})}, {{"group", int64_t{2}}})}));
  }
  {
    Builder b;
    const auto flat = b.node("Flatten", {image(b)});
    out.emplace_back("QGemm", b.finish({b.node("Gemm", {flat, b.weights({7, 144}), b.weights({7})}, {{"transB", int64_t{1}}})}));
  }
  {
    Builder b;
    out.emplace_back("QLinearMatMul", b.finish({b.node("MatMul", {b.input("x", {2, 5, 6}), b.weights({6, 4})})}));
  }
  {
    Builder b;
    const auto x = b.input("x", {2, 5, 6});
    out.emplace_back("MatMulIntegerToFloat",
                     b.finish({b.node("Add", {b.node("MatMul", {x, b.weights({6, 4})}), b.weights({4})})}));
  }
  {
    Builder b;
    out.emplace_back("QLinearMatMul", b.finish({b.node("MatMul", {b.input("x", {2, 5, 6}), b.input("z", {2, 6, 3})})}));
  }
  for (const char* type : {"Add", "Mul"}) {
    Builder b, c;
    out.emplace_back(std::string("QLinear") + type, b.finish({b.node(type, {image(b), b.input("z", {1, 4, 6, 6})})}));
    out.emplace_back(std::string("QLinear") + type, c.finish({c.node(type, {image(c), c.weights({4, 1, 1})})}));
  }
  one("QLinearSigmoid", "Sigmoid", {});
  one("QLinearLeakyRelu", "LeakyRelu", {{"alpha", 0.1F}});
  one("QLinearGlobalAveragePool", "GlobalAveragePool", {});
  one("QLinearAveragePool", "AveragePool", {{"kernel_shape", two}, {"pads", std::vector<int64_t>{1, 1, 0, 0}}});
  one("QLinearSoftmax", "Softmax", {{"axis", int64_t{-1}}});
  {
    Builder b;
    out.emplace_back(
        "QLinearConcat",
        b.finish({b.node("Concat", {image(b), b.input("z", {1, 3, 6, 6}), b.weights({1, 2, 6, 6})}, {{"axis", int64_t{1}}})}));
  }
  {
    Builder b;
    const auto which = b.input("which", {}, DataType::boolean);
    out.emplace_back("QLinearWhere", b.finish({b.node("Where", {which, image(b), b.weights({1, 4, 6, 6})})}));
  }
  const auto moved = [&](const std::string& type, std::vector<graph::Attribute> attributes,
                         const std::vector<Tensor>& more = {}) {
    Builder b;
    std::vector<std::string> inputs{b.conv(image(b), 4, 4, 1)};
    for (const auto& tensor : more) inputs.push_back(tensor.empty() ? "" : b.constant(tensor));
    out.emplace_back(type, b.finish({b.conv(b.node(type, inputs, std::move(attributes)),
                                            type == "SpaceToDepth"   ? 16
                                            : type == "DepthToSpace" ? 1
                                                                     : 4,
                                            3, 1)}));
  };
  moved("MaxPool", {{"kernel_shape", two}});
  moved("Pad", {}, {Tensor::of<int64_t>({8}, {0, 0, 1, 1, 0, 0, 1, 2})});
  moved("Pad", {{"mode", std::string("reflect")}}, {Tensor::of<int64_t>({8}, {0, 0, 1, 1, 0, 0, 1, 2})});
  moved("Slice", {}, {Tensor::of<int64_t>({1}, {1}), Tensor::of<int64_t>({1}, {5}), Tensor::of<int64_t>({1}, {3})});
  moved("Resize", {{"mode", std::string("nearest")}}, {Tensor(), Tensor::of<float>({4}, {1, 1, 2, 2})});
  moved("Tile", {}, {Tensor::of<int64_t>({4}, {1, 1, 2, 1})});
  moved("Expand", {}, {Tensor::of<int64_t>({4}, {2, 4, 6, 6})});
  moved("Transpose", {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
  moved("DepthToSpace", {{"blocksize", int64_t{2}}});
  moved("SpaceToDepth", {{"blocksize", int64_t{2}}});
  moved("ReduceMax", {{"axes", std::vector<int64_t>{2}}});
  moved("Reshape", {}, {Tensor::of<int64_t>({4}, {1, 4, 4, 9})});
  for (auto& [what, model] : out) model = without_overflow(model);
  return out;
}

TEST(QOperator, EveryOperatorIsWithinAStepOfItsSimulation) {
  for (const auto& [wanted, model] : single_operators()) {
    const Samples samples = random_samples(model, 3);
    for (const char* target : {"ort_cpu", "generic"}) {
      for (const auto& config : configs()) {
        const Pair pair = both(model, config, samples, target);
        const std::string what = wanted + " on " + target + ", " + std::string(name_of(config.activation.type)) +
                                 (config.activation.symmetric ? " symmetric" : "");
        // Signed values are multiplied with signed weights only; target ort_cpu leaves some operators in float, and generic
        // quantizes products by themselves.
        const bool generic = std::string(target) == "generic";
        const bool mixed = config.weight.type == DataType::uint8 && config.activation.type == DataType::int8;
        const bool skipped = !generic && (wanted == "SpaceToDepth" || wanted == "Pad");
        auto found = operators(pair.codes);
        if (!skipped && !(generic && (mixed || wanted == "MatMulIntegerToFloat"))) {
          EXPECT_TRUE(found.contains(wanted)) << what;
          EXPECT_EQ(found["DequantizeLinear"], wanted == "MatMulIntegerToFloat" ? 1 : static_cast<int>(model.outputs.size()))
              << what;
        }
        EXPECT_LT(steps(pair, samples), wanted == "QLinearSoftmax" ? 2.01 : 1.01) << what;
      }
    }
  }
}

// What stays float is no operator on codes: the code of another value than zero is not the zero point.
TEST(QOperator, PadWithAnotherValueStaysInFloat) {
  for (const bool computed : {false, true}) {
    Builder b;
    const auto first = b.conv(b.input("x", {1, 3, 6, 6}), 3, 4, 3);
    const auto value = computed ? b.node("ReduceMax", {first}, {{"keepdims", int64_t{0}}}) : b.constant(Tensor::scalar(3.7F));
    const auto pads = b.constant(Tensor::of<int64_t>({8}, {0, 0, 1, 1, 0, 0, 1, 2}));
    const graph::Model model = without_overflow(b.finish({b.conv(b.node("Pad", {first, pads, value}), 4, 4, 3)}));
    const Samples samples = random_samples(model, 3);
    for (const char* target : {"ort_cpu", "generic"}) {
      for (const auto& config : configs()) EXPECT_LT(steps(both(model, config, samples, target), samples), 1.01);
    }
  }
}

TEST(QOperator, WholeModelsAgreeWithTheirPairs) {
  for (const auto& made : {separable(), residual(), branches(), attention(), recurrent()}) {
    const graph::Model model = runtime::prepare(made);
    const Samples samples = random_samples(model, 4);
    for (const auto& config : configs()) {
      const Pair pair = both(model, config, samples);
      EXPECT_LT(steps(pair, samples, false), 2.01);
      const auto found = operators(pair.codes);
      EXPECT_FALSE(found.contains("Conv") || found.contains("Gemm") || found.contains("Softmax") || found.contains("Relu"));
      EXPECT_EQ(pair.codes.metadata.at("quasar.quant_format"), "QOperator");
      EXPECT_EQ(pair.codes.metadata.at("quasar.plan_hash"), hash_of(pair.plan));
    }
  }
}

// Activations of symmetric grids, which ONNX Runtime computes in float between pairs, clip codes.
TEST(QOperator, SymmetricActivationsClipCodes) {
  const graph::Model model = without_overflow(residual());
  const Samples samples = random_samples(model, 3);
  for (const char* target : {"ort_cpu", "generic"}) {
    const Pair pair = both(model, config_of(DataType::int8, true), samples, target);
    EXPECT_EQ(operators(pair.codes)["Clip"], 3) << target;
    EXPECT_LT(steps(pair, samples), 2.01) << target;
  }
}

// Results that get no pair stay float: integer sums and their scales.
TEST(QOperator, FloatResultsComeFromIntegerSums) {
  Builder b;
  const auto conv = b.node("Tanh", {b.conv(b.input("x", {1, 4, 6, 6}), 4, 6, 3)});
  const auto bare = b.node("Tanh", {b.node("Conv", {conv, b.weights({3, 6, 1, 1})})});
  const graph::Model model = without_overflow(b.finish({b.node("MatMul", {bare, b.weights({6, 2})})}));
  const Samples samples = random_samples(model, 3);
  for (const auto granularity : {Granularity::tensor, Granularity::channel}) {
    Config config = config_of(DataType::uint8, false, granularity);
    config.selection.open_op_types = {"Conv", "MatMul"};
    const Pair pair = both(model, config, samples);
    const auto found = operators(pair.codes);
    EXPECT_TRUE(found.contains("ConvInteger") && found.contains("MatMulIntegerToFloat"));
    EXPECT_LT(steps(pair, samples), 0.01);
  }
}

TEST(QOperator, SharedModelsAgreeWithTheirPairs) {
  const char* folder = std::getenv("QUASAR_SHARED");
  const auto models = std::filesystem::path(folder != nullptr ? folder : QUASAR_SOURCE_DIR "/../shared") / "data" / "models";
  std::vector<std::filesystem::path> paths{QUASAR_SOURCE_DIR "/examples/digits/digits.onnx"};
  for (const char* name : {"mobilenet_v1_025_128.onnx", "resnet8_cifar.onnx"}) {
    if (std::filesystem::exists(models / name)) paths.push_back(models / name);
  }
  for (const auto& path : paths) {
    const graph::Model model = runtime::prepare(graph::load(path));
    const Samples samples = random_samples(model, 4);
    const Pair pair = both(model, config_of(DataType::uint8, false, Granularity::channel), samples);
    EXPECT_LT(steps(pair, samples, false), 1.01) << path;
    const auto found = operators(pair.codes);
    EXPECT_EQ(found.contains("QuantizeLinear") ? found.at("QuantizeLinear") : 0, 1) << path;  // the input
  }
}

TEST(QOperator, WhatHasNoOperatorOnCodesIsAnError) {
  const Json words{{"activation", "UInt8Spec"}, {"weight", "Int8Spec"}, {"quant_format", "QuantFormat.QOperator"}};
  EXPECT_EQ(parse_config(words).format, Format::qoperator);
  EXPECT_EQ(parse_config(to_json(parse_config(words))), parse_config(words));
  const std::vector<std::pair<Json, const char*>> wrong{{{{"activation", "Int16Spec"}}, "8 bits only"},
                                                        {{{"weight", "Int4Spec"}}, "8 bits only"},
                                                        {{{"activation", "DynamicSpec"}}, "MatMulInteger"},
                                                        {{{"activation", nullptr}}, "MatMulNBits"},
                                                        {{{"activation", "BFloat16Spec"}, {"weight", "BFloat16Spec"}}, "casts"},
                                                        {{{"Int32Bias", false}}, "biases"},
                                                        {{{"quant_format", "QOperators"}}, "did you mean"}};
  for (const auto& [more, why] : wrong) {
    Json all = words;
    all.update(more);
    const std::string said = contradiction(all);
    EXPECT_NE(said.find(why), std::string::npos) << all.dump() << ": " << said;
  }
  const graph::Model model = separable();
  for (const char* target : {"xint8", "ort_cuda"}) {
    const Config config = qoperator(power_of_two(config_of(DataType::int8, true)));
    EXPECT_THROW(plan_of(model, config, target), Error) << target;
  }
}

}  // namespace
}  // namespace quasar::quant
