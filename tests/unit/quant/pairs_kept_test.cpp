// Models that come with pairs of their own: what is in codes stays, and the rest is quantized beside it.
#include <gtest/gtest.h>

#include "executed.hpp"
#include "made_up_statistics.hpp"
#include "quasar/quant/pairs.hpp"
#include "sample_models.hpp"

namespace quasar::quant {
namespace {

// Conv, Relu, Conv, Relu, MaxPool, Conv, Add, Gemm.
graph::Model network() {
  Builder b(5);
  const auto first = b.node("Relu", {b.conv(b.input("x", {1, 3, 12, 12}), 3, 8, 3)});
  const auto second = b.node("Relu", {b.conv(first, 8, 8, 3)});
  const auto pooled = b.node("MaxPool", {second}, {{"kernel_shape", std::vector<int64_t>{2, 2}}});
  const auto sum = b.node("Add", {b.conv(pooled, 8, 8, 1), pooled});
  const auto flat = b.node("Flatten", {sum});
  return b.finish({b.node("Gemm", {flat, b.weights({10, 8 * 121}), b.weights({10})}, {{"transB", int64_t{1}}})});
}

graph::Model quantized(const graph::Model& model, const Config& config, const Samples& samples) {
  return apply(model, resolve(model, observe(model, samples), config, *targets::table().make("ort_cpu")));
}

TEST(PairsKept, TheRestOfAModelComesOutAsTheWhole) {
  const graph::Model model = network();
  const Samples samples = random_samples(model, 4);
  for (const DataType type : {DataType::uint8, DataType::int8}) {
    Config config = config_of(type, type == DataType::int8);
    const auto expected = runtime::Session(quantized(model, config, samples)).run(samples[0])[0];
    for (const auto& left : std::vector<std::vector<std::string>>{{"Conv_0", "Relu_0"}, {"Conv_1", "Relu_1"}, {"Conv_2"}}) {
      Config part = config;
      part.exclude.assign(left.begin(), left.end());
      const graph::Model partly = runtime::prepare(quantized(model, part, samples));
      const auto before = quantized_before(graph::Index(partly));
      EXPECT_FALSE(before.contains(left.front())) << left.front();
      EXPECT_FALSE(before.empty());
      const Plan plan = resolve(partly, observe(partly, samples), config, *targets::table().make("ort_cpu"));
      EXPECT_TRUE(plan.nodes.contains(left.front())) << left.front();
      for (const auto& name : before) EXPECT_FALSE(plan.nodes.contains(name)) << name;
      const auto found = runtime::Session(apply(partly, plan)).run(samples[0])[0];
      for (size_t i = 0; i < expected.count(); i++)
        EXPECT_EQ(expected.as<float>()[i], found.as<float>()[i]) << left.front() << " " << i;
    }
  }
}

// What a foreign pair stands behind is written as it is: a sum would want a pair of two scales there.
TEST(PairsKept, AHardSigmoidBeforeAForeignPairIsNoSum) {
  Builder b(6);
  const auto gate = b.node("HardSigmoid", {b.conv(b.input("x", {1, 3, 8, 8}), 3, 8, 3)});
  const graph::Model model = b.finish({b.conv(gate, 8, 4, 1)});
  const Samples samples = random_samples(model, 4);
  const Config config = config_of(DataType::uint8, false);
  Config part = config;
  part.exclude = {"Conv_0", "HardSigmoid_0"};
  const graph::Model partly = runtime::prepare(quantized(model, part, samples));
  const auto expected = runtime::Session(model).run(samples[0])[0];
  const auto found = runtime::Session(quantized(partly, config, samples)).run(samples[0])[0];
  double error = 0, power = 0;
  for (size_t i = 0; i < expected.count(); i++) {
    error += std::pow(expected.as<float>()[i] - found.as<float>()[i], 2);
    power += std::pow(expected.as<float>()[i], 2);
  }
  EXPECT_LT(std::sqrt(error / power), 0.03);
}

TEST(PairsKept, FloatModelsHaveNone) {
  const graph::Model model = network();
  EXPECT_TRUE(quantized_before(graph::Index(model)).empty());
  EXPECT_EQ(note_on_codes(model), "");
  EXPECT_FALSE(pair_of("x", graph::Index(model)));
}

}  // namespace
}  // namespace quasar::quant
