// Target openvino_npu: one grid for what operators join, and what its checker says of finished models.
#include <gtest/gtest.h>

#include "made_up_statistics.hpp"
#include "quasar/base/error.hpp"
#include "quasar/quant/pairs.hpp"
#include "sample_models.hpp"
#include "unit/error_of.hpp"

namespace quasar::quant {
namespace {

constexpr const char* npu_name = "openvino_npu";

Config npu_config() {
  return config_of(DataType::uint8, false, Granularity::channel);
}

// {node or input: rule}
std::map<std::string, std::string> broken_on_npu(const graph::Model& model) {
  std::map<std::string, std::string> out;
  for (const auto& [node, fault] : targets::table().make(npu_name)->faults(model, {})) out[node] = fault.rule;
  return out;
}

// Two convolutions whose outputs are added, joined, or multiplied.
graph::Model joined_by(const std::string& type) {
  Builder b;
  const auto x = b.input("x", {1, 4, 8, 8});
  const auto left = b.conv(x, 4, 4, 3), right = b.conv(x, 4, 4, 3);
  std::vector<graph::Attribute> attributes;
  if (type == "Concat") attributes.push_back({"axis", int64_t{1}});
  const auto both = b.node(type, {left, right}, attributes);
  return b.finish({b.conv(both, type == "Concat" ? 8 : 4, 4, 3)});
}

TEST(OpenVinoNpuTarget, ValuesThatAreJoinedHaveOneGrid) {
  for (const char* type : {"Add", "Sub", "Mul", "Div", "Min", "Max", "Concat"}) {
    const graph::Model model = joined_by(type);
    const Plan plan = plan_of(model, npu_config(), npu_name);
    ASSERT_TRUE(plan.values.contains("Conv_0_out") && plan.values.contains("Conv_1_out")) << type;
    EXPECT_EQ(plan.values.at("Conv_0_out"), plan.values.at("Conv_1_out")) << type;
    EXPECT_TRUE(plan.aligned.contains("Conv_0_out")) << type;
    EXPECT_TRUE(broken_on_npu(apply(model, plan)).empty()) << type;
    const Plan on_cpu = plan_of(model, npu_config(), "openvino");
    const bool apart = on_cpu.values.contains("Conv_0_out") && on_cpu.values.contains("Conv_1_out") &&
                       on_cpu.values.at("Conv_0_out") != on_cpu.values.at("Conv_1_out");
    EXPECT_EQ(broken_on_npu(apply(model, on_cpu)).count(std::string(type) + "_0"), apart ? 1U : 0U) << type;
    EXPECT_TRUE(apart || std::string(type) == "Mul" || std::string(type) == "Div") << type;
  }
}

TEST(OpenVinoNpuTarget, FunctionsRunInFloat) {
  Builder b;
  const auto first = b.conv(b.input("x", {1, 4, 8, 8}), 4, 4, 3);
  const graph::Model model = b.finish({b.conv(b.node("Sigmoid", {first}), 4, 4, 3)});
  const Plan plan = plan_of(model, npu_config(), npu_name);
  EXPECT_FALSE(plan.values.contains("Conv_0_out"));
  EXPECT_TRUE(plan.skipped.contains("Sigmoid_0"));
  EXPECT_EQ(broken_on_npu(apply(model, plan_of(model, npu_config(), "generic"))).at("Sigmoid_0"), "float");
}

TEST(OpenVinoNpuTarget, ItTakesEightAndSixteenBitsOfValuesAndEightOfWeights) {
  EXPECT_TRUE(plan_of(residual(), config_of(DataType::uint16, false, Granularity::channel), npu_name).values.size() > 1);
  const auto refused = [](const Config& config) { return test::error_of([&] { plan_of(residual(), config, npu_name); }); };
  EXPECT_NE(refused(config_of(DataType::uint4, false)).find("values of 8 and 16 bits"), std::string::npos);
  EXPECT_NE(refused(config_of(DataType::uint8, false, Granularity::tensor, DataType::int4)).find("weights of 8 bits"),
            std::string::npos);
  Config codes = npu_config();
  codes.format = Format::qoperator;
  EXPECT_NE(refused(codes).find("reads Q/DQ pairs"), std::string::npos);
}

TEST(OpenVinoNpuTarget, ShapesMustBeFixed) {
  const auto target = targets::table().make(npu_name);
  graph::Model model = residual();
  model.inputs.front().shape = Shape{-1, 4, 8, 8};
  EXPECT_NE(test::error_of([&] { check_shapes(*target, npu_config(), model.inputs); }).find("fixed shapes only"),
            std::string::npos);
  EXPECT_EQ(broken_on_npu(model).at(model.inputs.front().name), "shapes");
}

// NNCF leaves them out: the gate would have a few steps on the grid of what it multiplies.
TEST(OpenVinoNpuTarget, ProductsWithGatesStayInFloat) {
  Builder b;
  const auto first = b.conv(b.input("x", {1, 8, 8, 8}), 8, 8, 3);
  const auto second = b.conv(b.node("Mul", {first, b.node("Sigmoid", {first})}), 8, 8, 3);
  const auto gate = b.node("HardSigmoid", {b.conv(b.node("GlobalAveragePool", {second}), 8, 8, 1)});
  const auto shape = b.constant(Tensor::of<int64_t>({4}, {1, 8, 1, 1}));
  const graph::Model model = b.finish({b.conv(b.node("Mul", {second, b.node("Reshape", {gate, shape})}), 8, 8, 3)});
  const Plan plan = plan_of(model, npu_config(), npu_name);
  for (const char* mul : {"Mul_0", "Mul_1"}) EXPECT_NE(plan.skipped.at(mul).find("gate"), std::string::npos) << mul;
  EXPECT_TRUE(broken_on_npu(apply(model, plan)).empty());
}

TEST(OpenVinoNpuTarget, TheProductThatEndsAnAttentionStaysInFloat) {
  const Plan plan = plan_of(attention(), npu_config(), npu_name);
  EXPECT_TRUE(plan.nodes.contains("MatMul_3")) << "queries by keys";
  EXPECT_TRUE(plan.skipped.contains("MatMul_4"));
}

TEST(OpenVinoNpuTarget, WeightsOfSixteenBitsAreNamed) {
  const Config wide = config_of(DataType::uint8, false, Granularity::tensor, DataType::int16);
  EXPECT_EQ(broken_on_npu(apply(residual(), plan_of(residual(), wide, "generic"))).at("Conv_0"), "types");
}

}  // namespace
}  // namespace quasar::quant
