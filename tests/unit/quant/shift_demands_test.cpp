// What processors that shift cannot do is refused where a user asks for it, and found in finished models whoever made them.
#include <gtest/gtest.h>

#include <algorithm>

#include "npu_models.hpp"
#include "quasar/quant/given_ranges.hpp"
#include "quasar/quant/npu/npu.hpp"

namespace quasar::quant {
namespace {

template <class Act>
std::string error_of(Act act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

Config scheme(const std::string& name, const Json& more = Json::object()) {
  Json words = schemes::table().make(name)->words();
  words.update(more);
  return parse_config(words);
}

std::string error_on(const std::string& target, const Config& config) {
  const graph::Model model = separable();
  return error_of([&] { resolve(model, made_up_statistics(model), config, *targets::table().make(target)); });
}

TEST(ShiftDemands, TypesWithoutCodesAreRefusedWithTheReason) {
  const std::vector<std::pair<const char*, const char*>> cases{{"BF16", "16-bit floating point"},
                                                               {"FP16", "16-bit floating point"},
                                                               {"W4", "values in float"},
                                                               {"DYNAMIC", "found at run time"}};
  for (const auto& [name, reason] : cases) {
    const std::string error = error_on("xint8", scheme(name));
    EXPECT_NE(error.find(reason), std::string::npos) << name << ": " << error;
    EXPECT_NE(error.find("XInt8Spec"), std::string::npos) << name;
    EXPECT_EQ(error_on("ort_cpu", scheme(name)), "") << name;
  }
  const auto with_rule = [](const char* spec) {
    return scheme("XINT8", {{"layer_type_config", Json::array({{{"spec", spec}, {"op_types", {"Gemm"}}}})}});
  };
  EXPECT_NE(error_on("xint8", with_rule("DynamicSpec")).find("layer_type_config: activation is DynamicSpec"), std::string::npos);
  EXPECT_EQ(error_on("xint8", with_rule("XInt8Spec")), "");
}

TEST(ShiftDemands, GivenScalesMustBePowersOfTwo) {
  const graph::Model model = separable();
  const auto error = [&](const char* target, const Json& entry) {
    return error_of([&] {
      const Config config = scheme("XINT8");
      stats::Statistics seen = made_up_statistics(model);
      for (const auto& [value, given] : parse_ranges({{"tensors", {{"x", entry}}}}, model, config.activation))
        seen[value].given = given;
      resolve(model, seen, config, *targets::table().make(target));
    });
  };
  EXPECT_NE(error("xint8", {{"scale", 0.3}}).find("ranges: tensor 'x': scale is 0.3, but the target shifts"), std::string::npos);
  EXPECT_NE(error("xint8", {{"scale", 0.25}, {"zero_point", 5}}).find("zero_point is 5"), std::string::npos);
  EXPECT_EQ(error("xint8", {{"scale", 0.25}, {"zero_point", 0}}), "");
  EXPECT_EQ(error("xint8", {{"min", -1}, {"max", 0.3}}), "");
  EXPECT_EQ(error("ort_cpu", {{"scale", 0.3}}), "");
}

// Layers in 16 bits run in float on ONNX Runtime's CPU: said for rules as for whole configurations.
TEST(ShiftDemands, TargetsRemarkOnTheTypesOfRulesToo) {
  const graph::Model model = separable();
  const auto notes = [&](const char* key, const Json& rule) {
    const Config config = scheme("U8S8_CHANNEL", {{key, Json::array({rule})}});
    const Plan plan = resolve(model, made_up_statistics(model), config, *targets::table().make("ort_cpu"));
    return std::ranges::count_if(plan.notes, [&](const std::string& note) {
      return note.starts_with(std::string(key) + " (") && note.find("in float between Q and DQ") != std::string::npos;
    });
  };
  EXPECT_EQ(notes("layer_type_config", {{"spec", "Int16Spec"}, {"op_types", {"Conv"}}}), 1);
  EXPECT_EQ(notes("specific_layer_config", {{"spec", "Int16Spec"}, {"nodes", {"Conv_1"}}}), 1);
  EXPECT_EQ(notes("layer_type_config", {{"spec", "Int8Spec"}, {"op_types", {"Conv"}}}), 0);
  const Config mixed = scheme("U8S8_CHANNEL", {{"include_auto_mp", true}});
  const Plan plan = resolve(model, made_up_statistics(model), mixed, *targets::table().make("ort_cpu"));
  EXPECT_TRUE(std::ranges::any_of(plan.notes, [](const auto& note) { return note.starts_with("include_auto_mp (Int16Spec"); }));
}

TEST(ShiftDemands, TargetsRemarkOnTheTypesOfSingleTensorsToo) {
  const graph::Model model = separable();
  const auto remarked = [&](const char* tensor, const char* type) {
    const Config config = scheme("U8S8_CHANNEL", {{"TensorQuantOverrides", {{tensor, {{"quant_type", type}}}}}});
    const Plan plan = resolve(model, made_up_statistics(model), config, *targets::table().make("ort_cpu"));
    return std::ranges::count_if(plan.notes, [&](const std::string& note) {
      return note.starts_with(std::string("TensorQuantOverrides.") + tensor + " (") &&
             note.find("in float between Q and DQ") != std::string::npos;
    });
  };
  EXPECT_EQ(remarked("x", "QInt16"), 1);
  EXPECT_EQ(remarked("constant_0", "QInt16"), 1);
  EXPECT_EQ(remarked("x", "QInt8"), 0);
}

TEST(ShiftDemands, TheCheckerReadsModelsWithoutPairs) {
  Builder b;
  const auto x = b.input("x", {1, 64});
  const graph::Model model = b.finish({b.node("MatMul", {b.node("Relu", {x}), b.weights({64, 32})})});
  for (const char* name : {"DYNAMIC", "W4"}) {
    const auto plan = resolve(model, made_up_statistics(model), scheme(name), *targets::table().make("ort_cpu"));
    const auto quantized = written(model, plan);
    EXPECT_TRUE(is_quantized(quantized)) << name;
    const auto found = violations(quantized);
    ASSERT_FALSE(found.empty()) << name;
    for (const auto& violation : found) EXPECT_EQ(violation.rule, "pairs") << name << " " << violation.what;
  }
  const auto config = scheme("A8W8", {{"quant_format", "QOperator"}});
  const auto plan = resolve(separable(), made_up_statistics(separable()), config, *targets::table().make("ort_cpu"));
  const auto found = violations(written(separable(), plan));
  EXPECT_TRUE(std::ranges::any_of(found, [](const auto& violation) { return violation.what.starts_with("QLinearConv"); }));
}

}  // namespace
}  // namespace quasar::quant
