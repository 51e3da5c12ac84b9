// Quantized models in ONNX Runtime: integer kernels where they are promised, and the same results as simulation in float.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "executed.hpp"
#include "made_up_statistics.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/runtime/kernels.hpp"
#include "quasar/runtime/prepare.hpp"
#include "quasar/runtime/session.hpp"
#include "sample_models.hpp"

namespace quasar::quant {
namespace {

struct Agreement {
  // The largest difference between integer kernels and float simulation, in units of the output's largest value.
  double largest = 0;
  // Root mean squares of differences, in units of the float output's.
  double kernels_to_simulation = 0, kernels_to_float = 0, simulation_to_float = 0;
  std::map<std::string, bool> integer;
};

Agreement compare(const graph::Model& model, const Config& config, const Samples& samples) {
  const auto plan = resolve(model, observe(model, samples), config, *targets::table().make("ort_cpu"));
  const auto quantized = apply(model, plan);
  const runtime::Session original(model), kernels(quantized), simulation(quantized, {.integer_kernels = false});
  Agreement out;
  double squares = 0;
  for (const auto& sample : samples) {
    const auto a = original.run(sample), b = kernels.run(sample), c = simulation.run(sample);
    for (size_t k = 0; k < a.size(); k++) {
      float greatest = 1e-6F;
      for (const float value : c[k].as<float>()) greatest = std::max(greatest, std::abs(value));
      for (size_t i = 0; i < a[k].count(); i++) {
        const float x = a[k].as<float>()[i], y = b[k].as<float>()[i], z = c[k].as<float>()[i];
        out.largest = std::max<double>(out.largest, std::abs(y - z) / greatest);
        squares += x * x;
        out.kernels_to_simulation += (y - z) * (y - z);
        out.kernels_to_float += (y - x) * (y - x);
        out.simulation_to_float += (z - x) * (z - x);
      }
    }
  }
  for (double* sum : {&out.kernels_to_simulation, &out.kernels_to_float, &out.simulation_to_float})
    *sum = std::sqrt(*sum / squares);
  std::vector<std::string> names;
  for (const auto& [name, node] : plan.nodes) names.push_back(name);
  out.integer = runtime::runs_quantized(quantized, names);
  return out;
}

// Protobuf's wire format, as far as a subgraph of one node needs it.
std::string field(int number, const std::string& payload) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(payload.size())} + payload;
}

// An attribute of `If`: the graph that computes `result` from a value of the outer graph by one operator.
graph::Attribute branch(const std::string& name, const std::string& type, const std::string& value) {
  const std::string float32 = {1 << 3, 1};
  const std::string node = field(1, value) + field(2, "result") + field(4, type);
  const std::string body = field(1, node) + field(2, name) + field(12, field(1, "result") + field(2, field(1, float32)));
  const std::string graph_type = {static_cast<char>(0xA0), 0x01, 5};
  return {name, graph::Opaque{std::make_shared<const std::string>(field(1, name) + field(6, body) + graph_type)}};
}

// A branch chosen at run time that reads a quantized value of the outer graph, and a Conv behind it.
graph::Model branching(uint32_t seed) {
  Builder b(seed);
  const auto condition = b.input("condition", {}, DataType::boolean);
  const auto stem = b.conv(b.input("x", {1, 3, 8, 8}), 3, 4, 3);
  const auto chosen = b.node("If", {condition}, {branch("then_branch", "Abs", stem), branch("else_branch", "Neg", stem)});
  b.model().nodes.back().captures = {stem};
  return b.finish({b.conv(chosen, 4, 5, 1), b.conv(stem, 4, 2, 1)});
}

struct Case {
  const char* name;
  graph::Model (*model)(uint32_t);
  uint32_t seed;
};

class Execution : public testing::TestWithParam<Case> {};

TEST_P(Execution, IntegerKernelsRunAndAgreeWithSimulation) {
  const graph::Model model = runtime::prepare(GetParam().model(GetParam().seed));
  const Samples samples = random_samples(model, 4);
  for (const DataType type : {DataType::int8, DataType::uint8}) {
    for (const bool symmetric : {true, false}) {
      for (const DataType weight : {DataType::int8, DataType::uint8}) {
        const auto config =
            config_of(type, symmetric, weight == DataType::int8 ? Granularity::channel : Granularity::tensor, weight);
        const auto found = compare(model, config, samples);
        const std::string what = std::string(name_of(type)) + (symmetric ? " symmetric, weights " : " asymmetric, weights ") +
                                 std::string(name_of(weight));
        EXPECT_LT(found.largest, 0.04) << what;
        EXPECT_LT(found.kernels_to_float, 0.1) << what;
        for (const auto& [name, integer] : found.integer) {
          const bool clips = name.starts_with("Relu") || name.starts_with("Clip");  // run in float behind symmetric pairs
          EXPECT_TRUE(integer || (symmetric && clips)) << name << ", " << what;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Samples, Execution,
                         testing::Values(Case{"separable", separable, 1}, Case{"residual", residual, 2},
                                         Case{"branches", branches, 3}, Case{"attention", attention, 4},
                                         Case{"recurrent", recurrent, 5}, Case{"branching", branching, 6}),
                         [](const auto& test) { return std::string(test.param.name); });

class WideExecution : public testing::TestWithParam<Case> {};

// In every mix of types: ONNX Runtime's optimizer changes nothing but rounding in the last bits, both opsets give the same, and
// nothing claims to run in integers but what only moves codes.
TEST_P(WideExecution, SixteenBitsAgreeWithSimulationInBothOpsets) {
  graph::Model model = runtime::prepare(GetParam().model(GetParam().seed));
  const Samples samples = random_samples(model, 3);
  for (const DataType activation : {DataType::int16, DataType::uint16, DataType::uint8}) {
    for (const DataType weight : {DataType::int8, DataType::int16, DataType::uint16}) {
      if (bits_of(activation) == 8 && bits_of(weight) == 8) continue;
      for (const bool symmetric : {true, false}) {
        const auto config = config_of(activation, symmetric, Granularity::channel, weight);
        std::vector<double> errors;
        for (const int64_t opset : {13, 21}) {
          model.opsets[""] = opset;
          model.ir_version = opset == 21 ? 10 : 8;
          const auto found = compare(model, config, samples);
          const std::string what =
              std::string(name_of(activation)) + " " + std::string(name_of(weight)) + " opset " + std::to_string(opset);
          // A value that falls on the other side of a tie moves by one step, nothing else may differ.
          EXPECT_LT(found.kernels_to_simulation, bits_of(activation) == 16 ? 1e-4 : 0.02) << what;
          const bool fine = bits_of(activation) == 16 && bits_of(weight) == 16;
          EXPECT_LT(found.kernels_to_float, fine ? 1e-3 : 0.1) << what;
          errors.push_back(found.kernels_to_float);
          for (const auto& [name, integer] : found.integer) {
            const bool computes = name.starts_with("Conv") || name.starts_with("Gemm");
            EXPECT_FALSE(integer && computes) << name << ", " << what;
          }
        }
        EXPECT_NEAR(errors[0], errors[1], 1e-4);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Samples, WideExecution,
                         testing::Values(Case{"separable", separable, 1}, Case{"residual", residual, 2},
                                         Case{"attention", attention, 4}),
                         [](const auto& test) { return std::string(test.param.name); });

// XINT8's types on ONNX Runtime's CPU: the same integer kernels as with float scales.
TEST(PowersOfTwo, RunInIntegerKernels) {
  for (const auto& made : {separable(), residual(), branches(), attention()}) {
    const graph::Model model = runtime::prepare(made);
    const auto found = compare(model, power_of_two(config_of(DataType::int8, true)), random_samples(model, 4));
    EXPECT_LT(found.largest, 0.06);
    EXPECT_LT(found.kernels_to_float, 0.2);
    for (const auto& [name, integer] : found.integer)
      EXPECT_TRUE(integer || name.starts_with("Relu") || name.starts_with("Clip")) << name;
  }
}

class SharedModels : public testing::TestWithParam<const char*> {};

TEST_P(SharedModels, RunInIntegerKernels) {
  const char* folder = std::getenv("QUASAR_SHARED");
  const auto path =
      std::filesystem::path(folder != nullptr ? folder : QUASAR_SOURCE_DIR "/../shared") / "data" / "models" / GetParam();
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  const graph::Model model = runtime::prepare(graph::load(path));
  const Samples samples = random_samples(model, 1);
  for (const bool symmetric : {false, true}) {
    const auto found = compare(model, config_of(DataType::int8, symmetric, Granularity::channel), samples);
    // Ties that round differently spread from layer to layer, but stay a part of the quantization error and do not add to it.
    EXPECT_LT(found.kernels_to_simulation, 0.7 * found.simulation_to_float);
    EXPECT_NEAR(found.kernels_to_float, found.simulation_to_float, 0.2 * found.simulation_to_float);
    for (const auto& [name, integer] : found.integer) {
      const auto* node = graph::Index(model).node(name);
      EXPECT_TRUE(integer || node->is("Relu") || node->is("Clip")) << name << " (" << node->op_type << ") runs in float";
      EXPECT_TRUE(integer || symmetric) << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Data, SharedModels,
                         testing::Values("mobilenet_v1_025_128.onnx", "resnet8_cifar.onnx", "fastestdet.onnx"),
                         [](const auto& test) {
                           return std::string(test.param).substr(0, std::string(test.param).find_first_of("_."));
                         });

}  // namespace
}  // namespace quasar::quant
