#include "quasar/runtime/weights_apart.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "models.hpp"
#include "quasar/graph/bodies.hpp"
#include "quasar/runtime/prepare.hpp"

namespace quasar::runtime {
namespace {
using namespace quasar::test;

constexpr int64_t wide = 256;  // 256 KiB of weights

std::vector<std::string> names_of(const WeightsApart& apart) {
  std::vector<std::string> out;
  for (const auto& [name, tensor] : apart.weights) out.push_back(name);
  return out;
}

// x [2,256] -> MatMul with w -> y.
graph::Model product() {
  graph::Model m = empty_model();
  m.inputs = {float_value("x", {2, wide})};
  m.outputs = {float_value("y", {2, wide})};
  m.initializers["w"] = random_tensor({wide, wide}, 1);
  m.nodes = {node("MatMul", "product", {"x", "w"}, {"y"})};
  return m;
}

// ids [2] -> rows of a table -> MatMul with w -> y.
graph::Model rows() {
  graph::Model m = product();
  m.inputs = {{"ids", DataType::int64, Shape{2}}};
  m.initializers["table"] = random_tensor({100, wide}, 2);
  m.nodes.insert(m.nodes.begin(), node("Gather", "rows", {"table", "ids"}, {"x"}));
  return m;
}

// The rows are the same for all inputs: they are folded, and x is added to them.
graph::Model constant_rows() {
  graph::Model m = product();
  m.initializers["table"] = random_tensor({100, wide}, 2);
  m.initializers["first"] = longs({0, 1});
  m.nodes = {node("Gather", "rows", {"table", "first"}, {"r"}), node("MatMul", "folds", {"r", "w"}, {"s"}),
             node("Add", "sum", {"x", "s"}, {"y"})};
  return m;
}

// As many rows as x has, which is two: known without an input.
graph::Model rows_by_shape() {
  graph::Model m = constant_rows();
  m.initializers["zero"] = Tensor::scalar<int64_t>(0);
  m.initializers["one"] = Tensor::scalar<int64_t>(1);
  m.initializers["at"] = Tensor::scalar<int64_t>(0);
  m.nodes.insert(m.nodes.begin(), {node("Shape", "shape", {"x"}, {"sizes"}), node("Gather", "batch", {"sizes", "at"}, {"n"}),
                                   node("Range", "count", {"zero", "n", "one"}, {"first"})});
  m.initializers.erase("first");
  return m;
}

graph::Model with(graph::Model m, const std::function<void(graph::Model&)>& change) {
  change(m);
  return m;
}

TEST(WeightsApart, WhatCleanUpDoesNotLookInto) {
  struct {
    const char* what;
    graph::Model model;
    std::vector<std::string> apart;
  } const table[] = {
      {"a product", product(), {"w"}},
      {"rows of a table", rows(), {"table", "w"}},
      {"weights on the left",
       with(product(),
            [](auto& m) {
              m.inputs = {float_value("x", {wide, 2})};
              m.outputs = {float_value("y", {wide, 2})};
              m.nodes[0].inputs = {"w", "x"};
            }),
       {"w"}},
      {"folded rows", constant_rows(), {}},
      {"rows that the shape decides", rows_by_shape(), {}},
      {"few weights",
       with(product(),
            [](auto& m) {
              m.outputs = {float_value("y", {2, 4})};
              m.initializers["w"] = random_tensor({wide, 4}, 1);
            }),
       {}},
      {"an output too",
       with(product(),
            [](auto& m) {
              m.outputs.push_back(float_value("w", {wide, wide}));
            }),
       {}},
      {"read by another operator",
       with(product(),
            [](auto& m) {
              m.nodes.push_back(node("Transpose", "turned", {"w"}, {"t"}));
              m.outputs.push_back(float_value("t", {wide, wide}));
            }),
       {}},
      {"BatchNormalization, which is folded into a product",
       with(product(),
            [](auto& m) {
              for (const char* name : {"scale", "shift", "mean"}) m.initializers[name] = random_tensor({wide}, 3);
              m.initializers["var"] = random_tensor({wide}, 5, 0.5, 2);
              m.nodes[0].outputs = {"p"};
              m.nodes.push_back(node("BatchNormalization", "norm", {"p", "scale", "shift", "mean", "var"}, {"y"}));
            }),
       {}},
  };
  for (const auto& row : table) {
    SCOPED_TRACE(row.what);
    const WeightsApart apart = apart_for_clean_up(row.model);
    EXPECT_EQ(names_of(apart), row.apart);
    graph::Model back = apart.model;
    EXPECT_EQ(back.inputs.size(), row.model.inputs.size() + row.apart.size());
    apart.put_back(back);
    EXPECT_EQ(back.inputs.size(), row.model.inputs.size());
    EXPECT_EQ(back.initializers, row.model.initializers);
    const graph::Model prepared = prepare(row.model);
    EXPECT_LT(difference(row.model, prepared, inputs_for(row.model, 1, 0, 2)), 1e-5);
    for (const auto& name : row.apart)
      EXPECT_EQ(prepared.initializers.at(name).bytes().data(), row.model.initializers.at(name).bytes().data());
  }
  EXPECT_EQ(prepare(constant_rows()).nodes.size(), 1U);
  EXPECT_EQ(prepare(rows_by_shape()).nodes.size(), 1U);
}

// What only nodes that are no more have read does not come back.
TEST(WeightsApart, UnreadOnesAreGone) {
  graph::Model m = product();
  m.initializers["v"] = random_tensor({wide, wide}, 2);
  m.nodes.push_back(node("MatMul", "idle", {"x", "v"}, {"unread"}));
  const WeightsApart apart = apart_for_clean_up(m);
  EXPECT_EQ(names_of(apart), (std::vector<std::string>{"v", "w"}));
  graph::Model shorter = apart.model;
  shorter.nodes.pop_back();
  apart.put_back(shorter);
  EXPECT_FALSE(shorter.initializers.contains("v"));
  EXPECT_TRUE(shorter.initializers.contains("w"));
}

// Types and shapes of all values, with the weights away or not.
TEST(WeightsApart, TypesNeedNone) {
  const graph::Model model = constant_rows();
  EXPECT_EQ(names_of(apart_for_types(model)), (std::vector<std::string>{"table", "w"}));
  const auto types = value_types(model);
  EXPECT_EQ(types.at("s").shape, (Shape{2, wide}));
  EXPECT_EQ(types.at("y").type, DataType::float32);
}

}  // namespace
}  // namespace quasar::runtime
