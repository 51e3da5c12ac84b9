#include "quasar/rounding/scale_window.hpp"

#include <gtest/gtest.h>

namespace quasar::tune {
namespace {

quant::QuantParams params(DataType type) {
  return {.type = type, .scales = {type == DataType::float16 ? 1.0F : 0.05F}, .zero_points = {0}};
}

// x ─MatMul─ m ─Transpose─ t ─MatMul─ y: values in 16-bit floats are cast and have no scale to refine, nor a grid to share.
TEST(ScaleWindow, ValuesIn16BitFloatsBelongToNoGroup) {
  graph::Model model;
  model.opsets[""] = 17;
  model.inputs = {{"x", DataType::float32, Shape{2, 2}}};
  model.outputs = {{"y", DataType::float32, Shape{2, 2}}};
  model.initializers["w"] = Tensor::of(Shape{2, 2}, std::vector<float>{1, 2, 3, 4});
  model.nodes = {{.name = "first", .op_type = "MatMul", .domain = "", .inputs = {"x", "w"}, .outputs = {"m"}},
                 {.name = "turn", .op_type = "Transpose", .domain = "", .inputs = {"m"}, .outputs = {"t"}},
                 {.name = "second", .op_type = "MatMul", .domain = "", .inputs = {"t", "x"}, .outputs = {"y"}}};
  quant::Plan plan;
  for (const auto& node : model.nodes) plan.nodes[node.name] = {};
  plan.values = {{"x", params(DataType::int8)},
                 {"m", params(DataType::float16)},
                 {"t", params(DataType::float16)},
                 {"y", params(DataType::int8)}};
  EXPECT_EQ(shared_scales(model, plan), (std::vector<SharedScale>{{"x"}, {"y"}}));
  plan.values["t"] = params(DataType::int8);
  EXPECT_EQ(shared_scales(model, plan), (std::vector<SharedScale>{{"x"}, {"t"}, {"y"}}));
}

}  // namespace
}  // namespace quasar::tune
