// Target qnn_htp: what it quantizes, where pairs stand, what it refuses, and what its checker says of finished models. That the
// simulator runs them so is tried by python/tests/test_qnn.py.
#include <gtest/gtest.h>

#include "made_up_statistics.hpp"
#include "quasar/base/error.hpp"
#include "quasar/quant/pairs.hpp"
#include "sample_models.hpp"
#include "unit/error_of.hpp"

namespace quasar::quant {
namespace {

using test::error_of;

constexpr const char* qnn_htp = "qnn_htp";

Config usual_of_htp(DataType type = DataType::uint16) {
  Config config = config_of(type, false, Granularity::channel);
  config.weight.type = DataType::int8;
  config.weight.symmetric = true;
  return config;
}

// {node: rule}
std::map<std::string, std::string> htp_faults_of(const graph::Model& model,
                                                 const std::map<std::string, graph::Value>& values = {}) {
  std::map<std::string, std::string> out;
  for (const auto& [node, fault] : targets::table().make(qnn_htp)->faults(model, values)) {
    EXPECT_FALSE(fault.what.empty());
    out[node] = fault.rule;
  }
  return out;
}

graph::Model with_function_for_htp(const std::string& type) {
  Builder b;
  const auto first = b.conv(b.input("x", {1, 4, 8, 8}), 4, 4, 3);
  return b.finish({b.conv(b.node(type, {first}), 4, 4, 3)});
}

TEST(QnnHtpTarget, CurvesOfSixteenBitsHaveTheScaleOfItsKernels) {
  const Plan sigmoid = plan_of(with_function_for_htp("Sigmoid"), usual_of_htp(), qnn_htp),
             tanh = plan_of(with_function_for_htp("Tanh"), usual_of_htp(), qnn_htp);
  EXPECT_EQ(sigmoid.values.at("Sigmoid_0_out"), (QuantParams{DataType::uint16, {1.0F / 65536}, {0}}));
  EXPECT_EQ(tanh.values.at("Tanh_0_out"), (QuantParams{DataType::uint16, {1.0F / 32768}, {32768}}));
  const Plan byte = plan_of(with_function_for_htp("Sigmoid"), usual_of_htp(DataType::uint8), qnn_htp);
  EXPECT_NE(byte.values.at("Sigmoid_0_out").scales.front(), 1.0F / 65536);
  EXPECT_TRUE(sigmoid.values.contains("Conv_0_out"));
}

TEST(QnnHtpTarget, ActivationsAreAbsorbedWhereThePairBehindClipsAlike) {
  const Plan plan = plan_of(separable(), usual_of_htp(), qnn_htp);
  EXPECT_FALSE(plan.values.contains("Conv_0_out"));
  EXPECT_TRUE(plan.values.contains("Clip_0_out"));
  const auto target = targets::table().make(qnn_htp);
  const QuantParams middle{DataType::uint8, {0.1F}, {128}}, low{DataType::uint8, {6.0F / 255}, {0}};
  EXPECT_TRUE(target->absorbs({0, 6}, low));
  EXPECT_FALSE(target->absorbs({0, 6}, middle));
}

TEST(QnnHtpTarget, ConstantsOfASumHaveTheTypeOfItsValues) {
  Builder b;
  const auto x = b.conv(b.input("x", {1, 4, 8, 8}), 4, 4, 3);
  const auto model = b.finish({b.node("Add", {x, b.weights({1, 4, 1, 1})})});
  const Plan plan = plan_of(model, usual_of_htp(), qnn_htp);
  EXPECT_EQ(plan.nodes.at("Add_0").constants.front().params.type, DataType::uint16);
}

TEST(QnnHtpTarget, TypesThatItDoesNotRunAreErrorsThatNameTheNearest) {
  const auto said = [](const Config& config) { return error_of([&] { plan_of(separable(), config, qnn_htp); }); };
  for (const DataType type : {DataType::int8, DataType::int16, DataType::uint4}) {
    const std::string message = said(usual_of_htp(type));
    EXPECT_NE(message.find("schemes w8a16"), std::string::npos) << message;
  }
  Config symmetric = usual_of_htp();
  symmetric.activation.symmetric = true;
  EXPECT_NE(said(symmetric).find("symmetric"), std::string::npos);
  Config wide = usual_of_htp();
  wide.weight.type = DataType::int16;
  EXPECT_NE(said(wide).find("weight is Int16Spec"), std::string::npos) << said(wide);
  Config dynamic = usual_of_htp(DataType::uint8);
  dynamic.activation.dynamic = true;
  EXPECT_NE(said(dynamic).find("known before the run"), std::string::npos) << said(dynamic);
  Config codes = usual_of_htp();
  codes.format = Format::qoperator;
  EXPECT_NE(said(codes).find("quant_format"), std::string::npos);
}

TEST(QnnHtpTarget, OpenShapesAreErrorsThatSayHowToFixThem) {
  graph::Model model = separable();
  model.inputs.front().shape->front() = -1;
  model.inputs.front().symbols = {"N"};
  const std::string message = error_of([&] { plan_of(model, usual_of_htp(), qnn_htp); });
  EXPECT_NE(message.find("[N,"), std::string::npos) << message;
  EXPECT_NE(message.find("FixShapes: \"" + model.inputs.front().name + ":[1,"), std::string::npos) << message;
  Config fixed = usual_of_htp();
  Shape shape = *model.inputs.front().shape;
  shape.front() = 1;
  fixed.fixed_shapes = {{model.inputs.front().name, shape}};
  const graph::Model made = apply(model, plan_of(model, fixed, qnn_htp));
  EXPECT_EQ(made.inputs.front().shape, shape);
  EXPECT_TRUE(htp_faults_of(made).empty());
}

TEST(QnnHtpTarget, ItsOwnModelsBreakNoRule) {
  for (const auto& model :
       {separable(), residual(), attention(), with_function_for_htp("Sigmoid"), with_function_for_htp("Tanh")}) {
    for (const DataType type : {DataType::uint8, DataType::uint16}) {
      const auto faults = htp_faults_of(apply(model, plan_of(model, usual_of_htp(type), qnn_htp)));
      EXPECT_TRUE(faults.empty()) << faults.begin()->first << " " << faults.begin()->second;
    }
  }
}

TEST(QnnHtpTarget, TheCheckerNamesWhatFallsOutOrComesOutWrong) {
  const auto made = [](const graph::Model& model, Config config, const char* target) {
    return apply(model, plan_of(model, config, target));
  };
  EXPECT_EQ(htp_faults_of(made(separable(), config_of(DataType::int8, true), "generic")).at("Conv_0"), "types");
  EXPECT_EQ(htp_faults_of(made(with_function_for_htp("Sigmoid"), usual_of_htp(), "generic")).at("Sigmoid_0"), "scale");
  EXPECT_EQ(htp_faults_of(made(with_function_for_htp("Tanh"), usual_of_htp(), "generic")).at("Tanh_0"), "scale");
  EXPECT_EQ(htp_faults_of(made(with_function_for_htp("Erf"), usual_of_htp(), "qnn_htp")).at("Erf_0"), "operator");
  Config wide = usual_of_htp();
  wide.weight.type = DataType::int16;
  EXPECT_EQ(htp_faults_of(made(separable(), wide, "generic")).at("Conv_0"), "weights");
  Config symmetric = usual_of_htp(DataType::uint8);
  symmetric.activation.symmetric = true;
  EXPECT_EQ(htp_faults_of(made(separable(), symmetric, "generic")).at("Conv_0"), "values");  // nothing between it and the Clip
  EXPECT_EQ(htp_faults_of(made(separable(), symmetric, "ort_cpu")).at("Clip_0"), "clip");
  graph::Model open = made(separable(), usual_of_htp(), "qnn_htp");
  open.inputs.front().shape->front() = -1;
  EXPECT_EQ(htp_faults_of(open).at(open.inputs.front().name), "shapes");
  const graph::Model good = made(residual(), usual_of_htp(), "qnn_htp");
  std::map<std::string, graph::Value> values;
  for (const auto& node : good.nodes) values[node.outputs.front()] = {node.outputs.front(), DataType::float32, Shape(6, 1)};
  EXPECT_EQ(htp_faults_of(good, values).at("Add_0"), "axes");
}

TEST(QnnHtpTarget, TheCheckerNamesAPadBetweenAMaxPoolInFloatAndAPair) {
  Builder b;
  const auto pooled = b.node("MaxPool", {b.input("x", {1, 4, 8, 8})}, {{"kernel_shape", std::vector<int64_t>{2, 2}}});
  const auto padded = b.node("Pad", {pooled, b.constant(Tensor::of<int64_t>({8}, {0, 0, 1, 1, 0, 0, 1, 1}))});
  const graph::Model model = b.finish({b.conv(padded, 4, 4, 3)});
  const Plan plan = plan_of(model, usual_of_htp(), qnn_htp);
  ASSERT_FALSE(plan.nodes.contains("MaxPool_0"));
  EXPECT_EQ(htp_faults_of(apply(model, plan)), (std::map<std::string, std::string>{{"Pad_0", "float"}}));
}

}  // namespace
}  // namespace quasar::quant
