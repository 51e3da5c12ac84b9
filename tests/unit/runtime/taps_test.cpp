#include <gtest/gtest.h>

#include "models.hpp"
#include "quasar/base/error.hpp"
#include "quasar/runtime/prepare.hpp"
#include "quasar/runtime/session.hpp"

namespace quasar::runtime {
namespace {
using namespace quasar::test;

TEST(Tapped, GivesTheNamedValuesInOrder) {
  const graph::Model model = tapped(relu_times_two(), {"r", "x", "two"});
  EXPECT_EQ(model.nodes.size(), 1U);  // Mul fed only the dropped output
  const std::vector<Tensor> in{Tensor::of<float>({1, 3}, std::vector<float>{-1, 2, 3})};
  for (const auto optimization : {Optimization::none, Optimization::basic, Optimization::all}) {
    const auto out = Session(model, {.optimization = optimization}).run(in);
    ASSERT_EQ(out.size(), 3U);
    EXPECT_EQ(out[0], Tensor::of<float>({1, 3}, std::vector<float>{0, 2, 3}));
    EXPECT_EQ(out[1], in[0]);
    EXPECT_EQ(out[2], Tensor::scalar(2.0F));
  }
}

TEST(Tapped, KeepsOutputsThatAreNamed) {
  const graph::Model model = tapped(relu_times_two(), {"y", "r"});
  EXPECT_EQ(model.nodes.size(), 2U);
  EXPECT_EQ(model.outputs[0].shape, (Shape{-1, 3}));
}

TEST(Tapped, RefusesUnknownAndRepeatedNames) {
  EXPECT_THROW(tapped(relu_times_two(), {"nothing"}), Error);
  EXPECT_THROW(tapped(relu_times_two(), {"r", "r"}), Error);
  EXPECT_THROW(tapped(relu_times_two(), {}), Error);
}

TEST(ValueTypes, TypesAndShapesOfAllValues) {
  graph::Model model = empty_model();
  model.inputs = {float_value("x", {-1, 4, 8}, {"batch", "", ""})};
  model.outputs = {float_value("y", {-1, 32})};
  model.initializers["zero"] = Tensor::scalar<int64_t>(0);
  model.initializers["rest"] = longs({-1});
  model.initializers["axes"] = longs({0});
  model.nodes = {node("Shape", "shape", {"x"}, {"s"}),
                 node("Gather", "gather", {"s", "zero"}, {"n"}),
                 node("Unsqueeze", "unsqueeze", {"n", "axes"}, {"n1"}),
                 node("Concat", "concat", {"n1", "rest"}, {"to"}, {{"axis", int64_t{0}}}),
                 node("Reshape", "reshape", {"x", "to"}, {"y"}),
                 node("SequenceConstruct", "sequence", {"x", "x"}, {"list"}),
                 node("SequenceAt", "at", {"list", "zero"}, {"first"}),
                 node("Split", "split", {"x", "halves"}, {"a", "m", "b"}, {{"axis", int64_t{1}}})};
  model.initializers["halves"] = longs({1, 1, 2});
  const auto types = value_types(model);
  EXPECT_EQ(types.at("x").symbols, (std::vector<std::string>{"batch", "", ""}));
  EXPECT_EQ(types.at("s").type, DataType::int64);
  EXPECT_EQ(types.at("s").shape, Shape{3});
  EXPECT_EQ(types.at("n").shape, Shape{});  // a scalar, not an unknown rank
  EXPECT_EQ(types.at("to").shape, Shape{2});
  EXPECT_EQ(types.at("y").type, DataType::float32);
  EXPECT_EQ(types.at("y").shape->size(), 2U);
  EXPECT_EQ(types.at("b").shape, (Shape{-1, 2, 8}));
  EXPECT_EQ(types.at("b").symbols[0], "batch");
  EXPECT_EQ(types.at("list").type, DataType::undefined);
  EXPECT_FALSE(types.contains("zero"));
}

TEST(ValueTypes, UnknownRankStaysUnknown) {
  graph::Model model = empty_model();
  model.inputs = {float_value("x", {6}), {"shape", DataType::int64, Shape{-1}}};
  model.outputs = {{"y", DataType::float32}};
  model.nodes = {node("Reshape", "reshape", {"x", "shape"}, {"r"}), node("Relu", "relu", {"r"}, {"y"})};
  EXPECT_FALSE(value_types(model).at("r").shape.has_value());
  EXPECT_FALSE(value_types(model).at("y").shape.has_value());
}

}  // namespace
}  // namespace quasar::runtime
