// Operators that no configuration quantizes are not in a tuning space.
#include <gtest/gtest.h>

#include <set>

#include "quasar/job/precision.hpp"
#include "quasar/strategy/repair_space.hpp"
#include "quasar/strategy/tuning_space.hpp"
#include "unit/sensitivity/model_of_sums.hpp"

namespace quasar::tune {
namespace {

std::set<std::string> tuned(const graph::Model& model, const std::string& target) {
  const auto made = quant::targets::table().make(target);
  const auto keys = parse_tuning_keys(Options(tuning_key_specs(), Json::object(), "configuration"));
  std::set<std::string> names;
  for (const auto& node : tuning_space(keys, model, *made).nodes) names.insert(node.name);
  return names;
}

TEST(StaysInFloat, WhatOnlyNodesInFloatRead) {
  EXPECT_EQ(tuned(model_of_sums(), "ort_cpu"), (std::set<std::string>{"first", "scaled", "second"}));
  const auto everywhere = tuned(model_of_sums(), "generic");
  EXPECT_TRUE(everywhere.contains("late") && everywhere.contains("later")) << "that target gains from it";
}

TEST(StaysInFloat, ASoftmaxOverOneElement) {
  graph::Model model = model_of_sums();
  EXPECT_FALSE(tuned(model, "generic").contains("softmax"));
  EXPECT_TRUE(tuned(model, "xint8").contains("softmax")) << "no integer kernel of ONNX Runtime's";
  model.nodes[3].set({"axis", int64_t{0}});
  EXPECT_FALSE(tuned(model, "ort_cpu").contains("softmax"));
  model.inputs = {{"x", DataType::float32, Shape{-1, 8}}};
  model.outputs = {{"p", DataType::float32, Shape{-1, 1}}, {"s", DataType::float32, Shape{-1, 1}}};
  EXPECT_TRUE(tuned(model, "ort_cpu").contains("softmax")) << "samples tell how long it is";
}

TEST(StaysInFloat, IsNotGivenUpByRepairEither) {
  const auto target = quant::targets::table().make("ort_cpu");
  Job job;
  job.target = "ort_cpu";
  const auto nodes = [&](const Json& space) {
    return repairable_nodes(Approach::static_ranges, space, model_of_sums(), *target);
  };
  EXPECT_EQ(nodes(repairs_for(job.target, job.tuning.approach)), (std::vector<std::string>{"first", "scaled", "second"}));
  EXPECT_EQ(nodes({{"activation", {"UInt8Spec", "Int16Spec"}}}).size(), 6U) << "16 bits are simulated for every operator";
}

// A space that quantizes its model in one form is repaired in that form.
TEST(StaysInFloat, NotWhatAFormQuantizesAtRunTime) {
  const auto target = quant::targets::table().make("ort_cpu");
  const auto nodes = [&](const Json& forms) {
    return repairable_nodes(Approach::static_ranges, {{"activation", {"UInt8Spec"}}, {"form", forms}}, model_of_sums(), *target);
  };
  const std::set<std::string> products = dynamic_nodes(model_of_sums(), *target);
  ASSERT_FALSE(products.empty());
  const auto of_dynamic = nodes({"dynamic"});
  EXPECT_EQ(std::set<std::string>(of_dynamic.begin(), of_dynamic.end()), products);
  EXPECT_EQ(nodes({"all", "dynamic"}), nodes({"all"}));
  EXPECT_GE(nodes({"dynamic_products"}).size(), nodes({"all"}).size());
  for (const auto& rung :
       rungs_of(Approach::static_ranges, {{"activation", {"UInt8Spec"}}, {"form", {"dynamic"}}}, model_of_sums(), *target))
    EXPECT_EQ(rung.name, in_float);
}

}  // namespace
}  // namespace quasar::tune
