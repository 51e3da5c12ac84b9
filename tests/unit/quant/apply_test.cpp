#include <gtest/gtest.h>

#include "made_up_statistics.hpp"
#include "quasar/graph/load.hpp"
#include "sample_models.hpp"

namespace quasar::quant {
namespace {

const std::vector<graph::Model>& all_models() {
  static const std::vector<graph::Model> models = {separable(), residual(), branches(), attention(), recurrent()};
  return models;
}

std::vector<Config> all_configs() {
  std::vector<Config> out;
  for (const DataType type : {DataType::int8, DataType::uint8}) {
    for (const bool symmetric : {true, false}) {
      for (const auto granularity : {Granularity::tensor, Granularity::channel})
        out.push_back(config_of(type, symmetric, granularity));
    }
  }
  return out;
}

TEST(Apply, PairsStandWhereThePlanSaysAndNowhereElse) {
  for (const auto& model : all_models()) {
    for (const auto& config : all_configs()) {
      const auto plan = plan_of(model, config);
      const auto quantized = apply(model, plan);
      const graph::Index index(quantized);
      size_t pairs = 0;
      for (const auto& node : quantized.nodes) {
        if (node.is("QuantizeLinear")) {
          pairs++;
          const auto& readers = index.consumers(node.outputs[0]);
          ASSERT_EQ(readers.size(), 1U) << node.name;
          EXPECT_TRUE(readers[0]->is("DequantizeLinear"));
          const auto* producer = index.producer(node.inputs[0]);
          EXPECT_TRUE(producer == nullptr || !producer->is("DequantizeLinear")) << "doubled at " << node.name;
        }
        if (node.is("DequantizeLinear")) {
          EXPECT_FALSE(index.consumers(node.outputs[0]).empty() && !index.is_output(node.outputs[0]))
              << node.name << " is read by nobody";
          EXPECT_TRUE(quantized.initializer(node.inputs[0]) != nullptr || index.producer(node.inputs[0])->is("QuantizeLinear"));
        }
      }
      EXPECT_EQ(pairs, plan.values.size());
      EXPECT_EQ(quantized.inputs.size(), model.inputs.size());
      for (size_t k = 0; k < model.outputs.size(); k++) EXPECT_EQ(quantized.outputs[k].name, model.outputs[k].name);
    }
  }
}

TEST(Apply, QuantizedWeightsReplaceTheFloatOnes) {
  const auto model = separable();
  const auto plan = plan_of(model, config_of(DataType::int8, false, Granularity::channel));
  const auto quantized = apply(model, plan);
  const graph::Index index(quantized);
  for (const auto& [name, node] : plan.nodes) {
    if (!node.weight) continue;
    const auto* original = graph::Index(model).node(name);
    const auto* rewritten = index.node(name);
    for (const auto* constant : {&*node.weight, &*node.bias}) {
      const std::string& value = original->inputs[constant->input];
      EXPECT_EQ(quantized.initializer(value), nullptr) << value;
      const auto* dequantize = index.producer(rewritten->inputs[constant->input]);
      ASSERT_NE(dequantize, nullptr);
      EXPECT_EQ(*quantized.initializer(dequantize->inputs[0]), quantize(*model.initializer(value), constant->params));
      EXPECT_EQ(quantized.initializer(dequantize->inputs[1])->as<float>().size(), constant->params.scales.size());
      EXPECT_EQ(dequantize->integer("axis", -1), constant->params.axis);
    }
  }
}

TEST(Apply, EqualPlansGiveEqualBytes) {
  for (const auto& model : all_models()) {
    const auto config = config_of(DataType::int8, true, Granularity::channel);
    EXPECT_EQ(graph::to_bytes(apply(model, plan_of(model, config))), graph::to_bytes(apply(model, plan_of(model, config))));
  }
}

TEST(Apply, AConstantReadTwiceIsStoredOnce) {
  Builder b;
  const auto x = b.input("x", {3, 4});
  const auto shared = b.weights({4, 4});
  const auto first = b.node("MatMul", {x, shared}), second = b.node("MatMul", {first, shared});
  const auto model = b.finish({second});
  const auto quantized = apply(model, plan_of(model, config_of(DataType::uint8, false)));
  EXPECT_EQ(std::ranges::count_if(quantized.initializers, [](const auto& item) { return item.second.shape().size() == 2; }), 1);

  auto config = config_of(DataType::uint8, false);
  config.exclude = {"MatMul_1"};
  const auto half = apply(model, plan_of(model, config));
  EXPECT_NE(half.initializer(shared), nullptr);  // the float node still reads it
}

TEST(Apply, SixteenBitsBelowOpset21AreOnnxRuntimesOwnOperators) {
  for (const auto& [opset, domain] :
       std::vector<std::pair<int64_t, std::string>>{{13, "com.microsoft"}, {20, "com.microsoft"}, {21, ""}}) {
    auto model = separable();
    model.opsets[""] = opset;
    const auto quantized = apply(model, plan_of(model, config_of(DataType::int16, true, Granularity::channel)));
    EXPECT_EQ(quantized.opsets.contains("com.microsoft"), opset < 21);
    EXPECT_EQ(quantized.opset(), opset);
    for (const auto& node : quantized.nodes) {
      if (node.op_type != "QuantizeLinear" && node.op_type != "DequantizeLinear") continue;
      const auto* zero_point = quantized.initializer(node.inputs[2]);
      EXPECT_EQ(node.domain, zero_point->type() == DataType::int16 ? domain : "") << node.name;
    }
  }
  const auto eight = apply(separable(), plan_of(separable(), config_of(DataType::int8, true)));
  EXPECT_FALSE(eight.opsets.contains("com.microsoft"));
}

TEST(Apply, MetadataTellsVersionAndPlan) {
  const auto plan = plan_of(separable(), config_of(DataType::int8, true));
  const auto metadata = apply(separable(), plan).metadata;
  EXPECT_EQ(metadata.at("quasar.plan_hash"), hash_of(plan));
  EXPECT_FALSE(metadata.at("quasar.version").empty());
  EXPECT_EQ(metadata.at("quasar.quantized_nodes"), std::to_string(plan.nodes.size()));
}

}  // namespace
}  // namespace quasar::quant
