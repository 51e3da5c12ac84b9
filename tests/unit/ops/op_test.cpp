#include "quasar/ops/op.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace quasar::ops {
namespace {

// One node with input "x" and constants.
struct Single {
  graph::Model model;
  explicit Single(graph::Node node, std::map<std::string, Tensor> constants = {}) {
    node.name = "node";
    if (node.inputs.empty()) node.inputs = {"x"};
    if (node.outputs.empty()) node.outputs = {"y"};
    model.opsets = {{"", 13}};
    model.inputs = {{"x", DataType::float32, Shape{1, 4, 8, 8}, {}}};
    model.nodes = {std::move(node)};
    model.initializers = std::move(constants);
  }
  std::optional<Roles> roles(std::string& why) const { return roles_of(model.nodes[0], model, why); }
};

Tensor floats(const Shape& shape, float value = 1) {
  return Tensor::of(shape, std::vector<float>(count_of(shape), value));
}

graph::Node node_of(const std::string& type, std::vector<std::string> inputs = {}) {
  return {.name = "", .op_type = type, .domain = "", .inputs = std::move(inputs), .outputs = {}};
}

TEST(Roles, LayersKnowTheirChannels) {
  std::string why;
  const auto conv = Single(node_of("Conv", {"x", "w", "b"}), {{"w", floats({6, 4, 3, 3})}, {"b", floats({6})}}).roles(why);
  ASSERT_TRUE(conv);
  EXPECT_EQ(conv->kind, Kind::compute);
  EXPECT_EQ(conv->activations, std::vector<size_t>{0});
  EXPECT_EQ(conv->weight->axis, 0);
  EXPECT_EQ(conv->bias, 2U);

  auto transposed = node_of("ConvTranspose", {"x", "w"});
  EXPECT_EQ(Single(transposed, {{"w", floats({4, 6, 3, 3})}}).roles(why)->weight->axis, 1);
  transposed.set({"group", int64_t{2}});
  EXPECT_EQ(Single(transposed, {{"w", floats({4, 3, 3, 3})}}).roles(why)->weight->axis, std::nullopt);

  auto gemm = node_of("Gemm", {"x", "w", "b"});
  EXPECT_EQ(Single(gemm, {{"w", floats({4, 5})}, {"b", floats({1, 5})}}).roles(why)->weight->axis, 1);
  gemm.set({"transB", int64_t{1}});
  EXPECT_EQ(Single(gemm, {{"w", floats({5, 4})}, {"b", floats({5})}}).roles(why)->weight->axis, 0);

  EXPECT_EQ(Single(node_of("MatMul", {"x", "w"}), {{"w", floats({8, 5})}}).roles(why)->weight->axis, 1);
  EXPECT_EQ(Single(node_of("MatMul", {"x", "w"}), {{"w", floats({4, 8, 5})}}).roles(why)->weight->axis, std::nullopt);
  EXPECT_EQ(Single(node_of("MatMul", {"w", "x"}), {{"w", floats({5, 8})}}).roles(why)->activations, (std::vector<size_t>{0, 1}));
}

TEST(Roles, DeclinedWithAReason) {
  auto scaled = node_of("Gemm", {"x", "w"});
  scaled.set({"alpha", 0.5F});
  auto crop = node_of("Resize");
  crop.set({"coordinate_transformation_mode", std::string("tf_crop_and_resize")});
  auto indexed = node_of("MaxPool");
  indexed.outputs = {"y", "indices"};
  const std::vector<std::tuple<Single, std::string>> cases = {
      {Single(node_of("Conv", {"x", "w"})), "weights not constant"},
      {Single(node_of("Conv", {"x", "w", "b"}), {{"w", floats({6, 4, 3, 3})}}), "bias not constant"},
      {Single(node_of("Conv", {"x", "w"}), {{"w", floats({6, 4, 3, 3}, INFINITY)}}), "weights with infinite values or NaN"},
      {Single(scaled, {{"w", floats({4, 5})}}), "alpha or beta is not 1"},
      {Single(node_of("Gemm", {"x", "w", "b"}), {{"w", floats({4, 5})}, {"b", floats({})}}), "bias is not one value per output"},
      {Single(node_of("Add", {"x", "c"}), {{"c", Tensor::of<int64_t>({1}, {3})}}), "a constant input of type int64, not float32"},
      {Single(node_of("Clip", {"x", "low"})), "bounds are not constant"},
      {Single(crop), "it extrapolates"},
      {Single(indexed), "its indices are used"},
      {Single(node_of("Pad", {"x", "pads", "value"}), {{"value", floats({}, 3)}}), "it pads with another value than zero"},
      {Single(node_of("LSTM", {"x", "w", "r"}), {{"w", floats({1, 8, 4})}}), "weights not constant"},
      {Single(node_of("RNN")), "operator RNN has no quantized form"},
  };
  for (const auto& [single, expected] : cases) {
    std::string why;
    EXPECT_FALSE(single.roles(why)) << expected;
    EXPECT_EQ(why, expected);
  }
}

TEST(Roles, ActivationsKnowTheirBounds) {
  std::string why;
  const auto relu = Single(node_of("Relu")).roles(why);
  EXPECT_EQ(relu->bounds->low, 0);
  EXPECT_EQ(relu->bounds->high, INFINITY);
  const auto clip = Single(node_of("Clip", {"x", "", "high"}), {{"high", floats({}, 6)}}).roles(why);
  EXPECT_EQ(clip->bounds->low, -INFINITY);
  EXPECT_EQ(clip->bounds->high, 6);
}

TEST(FloatValues, FollowTypesThroughTheGraph) {
  graph::Model model;
  model.inputs = {{"x", DataType::float32, Shape{2, 3}, {}},
                  {"ids", DataType::int64, Shape{2}, {}},
                  {"mask", DataType::boolean, Shape{2}, {}}};
  model.initializers = {{"table", floats({9, 4})}, {"w", floats({4, 4})}, {"one", Tensor::of<int64_t>({1}, {1})}};
  const auto add = [&](const std::string& type, std::vector<std::string> inputs,
                       std::vector<std::string> outputs) -> graph::Node& {
    model.nodes.push_back(
        {.name = type + outputs[0], .op_type = type, .domain = "", .inputs = std::move(inputs), .outputs = std::move(outputs)});
    return model.nodes.back();
  };
  add("Gather", {"table", "ids"}, {"embedded"});
  add("Shape", {"x"}, {"shape"});
  add("Add", {"shape", "one"}, {"larger"});
  add("Cast", {"ids"}, {"cast"}).set({"to", int64_t{1}});
  add("Where", {"mask", "x", "x"}, {"chosen"});
  add("TopK", {"x", "one"}, {"top", "indices"});
  add("Split", {"x"}, {"left", "right"});
  add("If", {"mask"}, {"branch"});
  add("MatMul", {"branch", "w"}, {"product"});
  add("Relu", {"product"}, {"positive"});
  add("Greater", {"x", "x"}, {"compared"});
  add("EyeLike", {"x"}, {"eye"});
  add("EyeLike", {"ids"}, {"whole"});
  EXPECT_EQ(float_values(model), (std::set<std::string>{"x", "embedded", "cast", "chosen", "top", "left", "right", "branch",
                                                        "product", "positive", "eye"}));
}

TEST(Survey, TellsWhatCanBeQuantizedAndWhyNot) {
  graph::Model model;
  model.inputs = {{"x", DataType::float32, Shape{2, 3}, {}}};
  model.initializers = {{"c", floats({3})}};
  model.nodes = {{.name = "a", .op_type = "Add", .domain = "", .inputs = {"x", "c"}, .outputs = {"y"}},
                 {.name = "b", .op_type = "Shape", .domain = "", .inputs = {"y"}, .outputs = {"s"}},
                 {.name = "c", .op_type = "Mul", .domain = "", .inputs = {"s", "s"}, .outputs = {"t"}},
                 {.name = "d", .op_type = "Add", .domain = "", .inputs = {"c", "c"}, .outputs = {"u"}}};
  const auto found = survey(model);
  EXPECT_EQ(found.quantizable.size(), 1U);
  EXPECT_TRUE(found.quantizable.contains("a"));
  EXPECT_EQ(found.declined, (std::map<std::string, std::string>{{"c", "its data is not known to be float32"},
                                                                {"d", "all its inputs are constant"}}));
}

}  // namespace
}  // namespace quasar::ops
