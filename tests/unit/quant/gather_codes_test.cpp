#include "quasar/quant/write/gather_codes.hpp"

#include <gtest/gtest.h>

#include "made_up_statistics.hpp"
#include "quasar/runtime/kernels.hpp"
#include "quasar/runtime/session.hpp"
#include "sample_models.hpp"

namespace quasar::quant {
namespace {

// A table [5, 3, 4] of codes, with one scale or one per entry of an axis, and rows of it. Opset 21.
struct CodesTable {
  int64_t scales;  // the axis of the scales; -1: one scale
  int64_t gathered;
  DataType type = DataType::uint8;
};

graph::Model rows_of(const CodesTable& table, bool read_by_others = false) {
  Builder b;
  const Shape shape{5, 3, 4};
  const Shape scales = table.scales < 0 ? Shape{} : Shape{shape[static_cast<size_t>(table.scales)]};
  std::vector<int32_t> codes, zero_points(count_of(scales), 3);
  for (int32_t i = 0; i < 60; i++) codes.push_back(i * 7 % 100);
  std::vector<float> steps;
  for (size_t i = 0; i < zero_points.size(); i++) steps.push_back(0.25F * static_cast<float>(i + 1));
  std::vector<std::string> read{b.constant(codes_tensor(table.type, shape, codes)), b.constant(Tensor::of(scales, steps)),
                                b.constant(codes_tensor(table.type, scales, zero_points))};
  const auto values = b.node("DequantizeLinear", read, {{"axis", std::max<int64_t>(table.scales, 0)}});
  const auto indices = b.input("indices", {2, 2}, DataType::int64);
  std::vector<std::string> outputs{b.node("Gather", {values, indices}, {{"axis", table.gathered}})};
  if (read_by_others) outputs.push_back(b.node("Relu", {values}));
  graph::Model model = b.finish(outputs);
  model.opsets[""] = 21;
  return model;
}

size_t dequantized_values(const graph::Model& model) {
  size_t out = 0;
  for (const auto& node : model.nodes) {
    const Tensor* codes = node.is("DequantizeLinear") ? model.initializer(node.inputs[0]) : nullptr;
    if (codes != nullptr) out += codes->count();
  }
  return out;
}

const std::vector<Tensor> indices{Tensor::of<int64_t>({2, 2}, {1, 0, -1, 2})};

void expect_same_rows(const graph::Model& model, const graph::Model& changed) {
  EXPECT_NO_THROW(graph::verify(changed, "the test"));
  const runtime::SessionOptions plain{.optimization = runtime::Optimization::none, .integer_kernels = false};
  const auto before = runtime::Session(model, plain).run(indices);
  EXPECT_EQ(runtime::Session(changed, plain).run(indices), before);
  EXPECT_EQ(runtime::Session(changed).run(indices), before);
}

TEST(GatherCodes, OnlyRowsThatAreReadAreDequantized) {
  for (const int64_t scales : {-1, 0, 1, 2}) {
    for (const int64_t gathered : {0, 1, -1}) {
      for (const DataType type : {DataType::uint8, DataType::int8, DataType::uint16}) {
        SCOPED_TRACE(testing::Message() << "scales along " << scales << ", gathered along " << gathered);
        const graph::Model model = rows_of({scales, gathered, type});
        graph::Model changed = model;
        gather_codes_first(changed);
        const bool along_scales = scales == (gathered + 3) % 3;
        EXPECT_EQ(dequantized_values(changed), along_scales ? 60U : 0U);
        expect_same_rows(model, changed);
      }
    }
  }
}

TEST(GatherCodes, OthersStillReadTheTable) {
  const graph::Model model = rows_of({.scales = -1, .gathered = 0}, true);
  graph::Model changed = model;
  gather_codes_first(changed);
  EXPECT_EQ(changed.nodes.size(), 4U);
  expect_same_rows(model, changed);
}

// An embedding before a product: the table stays codes in what ONNX Runtime runs, and the Gather counts as quantized.
TEST(GatherCodes, EmbeddingsRunOnCodes) {
  Builder b;
  const auto rows = b.node("Gather", {b.weights({50, 8}), b.input("indices", {2, 2}, DataType::int64)});
  const graph::Model model = b.finish({b.node("MatMul", {rows, b.weights({8, 4})})});
  for (const auto granularity : {Granularity::tensor, Granularity::channel}) {
    Config config = config_of(DataType::uint8, false);
    config.weight.granularity = granularity;
    const graph::Model quantized = apply(model, plan_of(model, config));
    EXPECT_LT(dequantized_values(runtime::optimized(quantized)), 400U);
    EXPECT_TRUE(runtime::runs_quantized(quantized, {"Gather_0"}).at("Gather_0"));
  }
}

}  // namespace
}  // namespace quasar::quant
