#include "quasar/runtime/prepare.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <set>

#include "models.hpp"
#include "quasar/base/error.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/runtime/session.hpp"
#include "unit/error_of.hpp"

namespace quasar::runtime {
namespace {
using namespace quasar::test;

// x [N,3,6,6] -> Identity -> Conv -> BatchNormalization -> Dropout -> Relu -> y.
graph::Model conv_batchnorm() {
  graph::Model m = empty_model();
  m.inputs = {float_value("x", {-1, 3, 6, 6}, {"batch", "", "", ""})};
  m.outputs = {float_value("y", {-1, 4, 6, 6}, {"batch", "", "", ""})};
  m.initializers["w"] = random_tensor({4, 3, 3, 3}, 1);
  m.initializers["scale"] = random_tensor({4}, 2, 0.5, 2);
  m.initializers["shift"] = random_tensor({4}, 3);
  m.initializers["mean"] = random_tensor({4}, 4);
  m.initializers["var"] = random_tensor({4}, 5, 0.5, 2);
  m.nodes = {node("Identity", "same", {"x"}, {"x1"}),
             node("Conv", "conv", {"x1", "w"}, {"c"}, {{"pads", std::vector<int64_t>{1, 1, 1, 1}}}),
             node("BatchNormalization", "norm", {"c", "scale", "shift", "mean", "var"}, {"b"}),
             node("Dropout", "drop", {"b"}, {"d"}), node("Relu", "relu", {"d"}, {"y"})};
  return m;
}

// Flattens by a shape that is computed from the input's: [N,4,8] -> Shape, Gather, Concat, Reshape -> [N,32] -> Gemm.
graph::Model shape_chain() {
  graph::Model m = empty_model();
  m.inputs = {float_value("x", {-1, 4, 8}, {"N", "", ""})};
  m.outputs = {float_value("y", {-1, 5}, {"N", ""})};
  m.initializers["zero"] = longs({0});
  m.initializers["rest"] = longs({-1});
  m.initializers["w"] = random_tensor({32, 5}, 1);
  m.initializers["b"] = random_tensor({5}, 2);
  m.nodes = {node("Shape", "shape", {"x"}, {"s"}),
             node("Gather", "batch", {"s", "zero"}, {"n"}),
             node("Concat", "concat", {"n", "rest"}, {"to"}, {{"axis", int64_t{0}}}),
             node("Reshape", "flat", {"x", "to"}, {"f"}),
             node("MatMul", "product", {"f", "w"}, {"p"}),
             node("Add", "bias", {"p", "b"}, {"y"})};
  return m;
}

// Opset 12: Squeeze's axes and Dropout's ratio as attributes, Softmax with the old axis meaning.
graph::Model old_opset() {
  graph::Model m = empty_model(11);
  m.ir_version = 6;
  m.inputs = {float_value("x", {2, 1, 3})};
  m.outputs = {float_value("y", {2, 3})};
  m.nodes = {node("Squeeze", "squeeze", {"x"}, {"s"}, {{"axes", std::vector<int64_t>{1}}}),
             node("Softmax", "softmax", {"s"}, {"y"}, {{"axis", int64_t{1}}})};
  return m;
}

// If sum(x) > 0 then r + x else r - x, where r = Relu(x) is a value outside of both branches.
graph::Model branches() {
  graph::Model m = empty_model();
  m.inputs = {float_value("x", {3})};
  m.outputs = {float_value("y", {3})};
  m.initializers["zero"] = Tensor::scalar(0.0F);
  graph::Node choose = node("If", "choose", {"positive"}, {"y"});
  choose.captures = {"r", "x"};
  const std::string out = value_bytes("o", DataType::float32, {3});
  choose.attributes = {subgraph("then_branch", {node_bytes("Add", {"r", "x"}, "o")}, {}, {out}),
                       subgraph("else_branch", {node_bytes("Sub", {"r", "x"}, "o")}, {}, {out})};
  m.nodes = {node("Relu", "relu", {"x"}, {"r"}), node("ReduceSum", "sum", {"x"}, {"t"}, {{"keepdims", int64_t{0}}}),
             node("Greater", "greater", {"t", "zero"}, {"positive"}), choose};
  return m;
}

// Three times: state = state * r, with r = Relu(x) from outside; starts with x.
graph::Model loop() {
  graph::Model m = empty_model();
  m.inputs = {float_value("x", {3})};
  m.outputs = {float_value("y", {3})};
  m.initializers["trips"] = Tensor::scalar<int64_t>(3);
  m.initializers["yes"] = Tensor::scalar(true);
  graph::Node repeat = node("Loop", "repeat", {"trips", "yes", "x"}, {"y"});
  repeat.captures = {"r"};
  repeat.attributes = {subgraph("body", {node_bytes("Identity", {"go"}, "go_on"), node_bytes("Mul", {"state", "r"}, "next")},
                                {value_bytes("i", DataType::int64, {}), value_bytes("go", DataType::boolean, {}),
                                 value_bytes("state", DataType::float32, {3})},
                                {value_bytes("go_on", DataType::boolean, {}), value_bytes("next", DataType::float32, {3})})};
  m.nodes = {node("Relu", "relu", {"x"}, {"r"}), repeat};
  return m;
}

// Zeros around values below zero, then the greatest of each window.
graph::Model zeros_before_max_pool() {
  graph::Model m = empty_model();
  m.inputs = {float_value("x", {1, 1, 4, 4})};
  m.outputs = {float_value("y", {1, 1, 3, 3})};
  m.initializers["pads"] = longs({0, 0, 1, 1, 0, 0, 1, 1});
  m.nodes = {node("Pad", "pad", {"x", "pads"}, {"p"}), node("Identity", "same", {"p"}, {"q"}),
             node("MaxPool", "pool", {"q"}, {"y"},
                  {{"kernel_shape", std::vector<int64_t>{2, 2}}, {"strides", std::vector<int64_t>{2, 2}}})};
  return m;
}

std::vector<std::string> node_names(const graph::Model& model) {
  std::vector<std::string> out;
  for (const auto& n : model.nodes) out.push_back(n.name);
  return out;
}

// One of the operators that opset 10 dropped, between others.
graph::Model dropped(const std::string& type, std::vector<graph::Attribute> attributes, int64_t opset = 7) {
  graph::Model m = empty_model(opset);
  m.ir_version = 3;
  m.inputs = {float_value("x", {1, 3, 6, 5})};
  m.outputs = {{"y", DataType::float32}};
  m.nodes = {node("Abs", "abs", {"x"}, {"a"}), node(type, "old", {"a"}, {"o"}, std::move(attributes)),
             node("Relu", "relu", {"o"}, {"y"})};
  return m;
}

TEST(Prepare, OperatorsThatNewerSetsDropped) {
  using Longs = std::vector<int64_t>;
  const std::vector<graph::Attribute> scaled{{"scale", 2.0F}, {"bias", std::vector<float>{0.1F, -0.2F, 0.3F}}};
  const std::vector<graph::Attribute> both{{"alpha", 2.0F}, {"beta", 0.5F}};
  const graph::Model models[] = {dropped("ImageScaler", scaled),
                                 dropped("ImageScaler", scaled, 9),
                                 dropped("Affine", both),
                                 dropped("Scale", {{"scale", 3.0F}}),
                                 dropped("ScaledTanh", both),
                                 dropped("ParametricSoftplus", both),
                                 dropped("ThresholdedRelu", {{"alpha", 0.5F}}),
                                 dropped("Crop", {{"border", Longs{1, 2, 1, 0}}}),
                                 dropped("Crop", {{"border", Longs{1, 2, 0, 0}}, {"scale", Longs{3, 2}}}),
                                 dropped("MeanVarianceNormalization", {{"across_channels", int64_t{0}}}, 8),
                                 dropped("MeanVarianceNormalization", {{"across_channels", int64_t{1}}}, 8)};
  for (const auto& model : models) {
    const graph::Model prepared = prepare(model);
    EXPECT_GE(prepared.opset(), 13);
    EXPECT_LT(difference(model, prepared, inputs_for(model, 1)), 1e-6) << model.nodes[1].op_type;
  }
  const std::string text = error_of([] { prepare(dropped("GRUUnit", {})); });
  for (const char* part : {"node 'old'", "GRUUnit", "newer operator sets dropped it", "export the model with opset 13"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(Prepare, ComputesTheSame) {
  struct {
    std::string what;
    graph::Model model;
  } const table[] = {{"conv_batchnorm", conv_batchnorm()},
                     {"shape_chain", shape_chain()},
                     {"old_opset", old_opset()},
                     {"branches", branches()},
                     {"loop", loop()},
                     {"zeros_before_max_pool", zeros_before_max_pool()},
                     {"relu_times_two", relu_times_two()}};
  for (const auto& row : table) {
    const graph::Model prepared = prepare(row.model);
    EXPECT_GE(prepared.opset(), 13) << row.what;
    for (uint64_t seed : {1U, 2U, 3U}) {
      EXPECT_LT(difference(row.model, prepared, inputs_for(row.model, seed, -1, 1)), 1e-6) << row.what;
      EXPECT_LT(difference(row.model, prepared, inputs_for(row.model, seed, -2, 0.5)), 1e-6) << row.what;
      EXPECT_LT(difference(row.model, prepared, inputs_for(row.model, seed, -2, -1)), 1e-6) << row.what;
    }
  }
}

TEST(Prepare, FoldsAndKeepsNames) {
  struct {
    graph::Model model;
    std::vector<std::string> nodes;
  } const table[] = {
      {conv_batchnorm(), {"conv", "relu"}},
      {shape_chain(), {"shape", "batch", "concat", "flat", "product", "bias"}},
      {old_opset(), {"squeeze", "softmax"}},
      {branches(), {"relu", "sum", "greater", "choose/then_branch/Add_0", "choose/else_branch/Sub_0", "choose"}},
      {loop(), {"relu", "repeat/body/entry", "repeat/body/Identity_0", "repeat/body/Mul_1", "repeat"}},
  };
  for (const auto& row : table) {
    const graph::Model prepared = prepare(row.model);
    EXPECT_EQ(node_names(prepared), row.nodes);
    EXPECT_EQ(prepared.inputs.size(), row.model.inputs.size());
    EXPECT_EQ(prepared.inputs[0].name, row.model.inputs[0].name);
    EXPECT_EQ(prepared.inputs[0].symbols, row.model.inputs[0].symbols);
    EXPECT_EQ(prepared.outputs[0].name, row.model.outputs[0].name);
  }
}

// x [2,4] -> Gemm with this α, β and C -> y [2,3]; `bias` empty: C is the second input.
graph::Model gemm(float alpha, float beta, const Shape& bias, int64_t transposed = 0) {
  graph::Model m = empty_model();
  m.inputs = {float_value("x", {2, 4})};
  m.outputs = {float_value("y", {2, 3})};
  m.initializers["w"] = random_tensor(transposed != 0 ? Shape{3, 4} : Shape{4, 3}, 1);
  if (bias.empty()) {
    m.inputs.push_back(float_value("c", {2, 3}));
  } else {
    m.initializers["c"] = random_tensor(bias, 2);
  }
  m.nodes = {node("Gemm", "fc", {"x", "w", "c"}, {"y"}, {{"alpha", alpha}, {"beta", beta}, {"transB", transposed}})};
  return m;
}

TEST(Prepare, WritesGemmPlainly) {
  struct {
    graph::Model model;
    std::vector<std::string> nodes;
  } const table[] = {
      {gemm(1, 1, {3}), {"fc"}},
      {gemm(1, 1, {1, 3}), {"fc"}},
      {gemm(0.5, 1, {3}, 1), {"fc"}},
      {gemm(2, 0.25, {1, 3}), {"fc"}},
      {gemm(2, 3, {1}, 1), {"fc"}},
      {gemm(-1, 0, {3}), {"fc"}},
      {gemm(1, 1, {2, 1}), {"fc", "fc_Add"}},
      {gemm(3, 2, {2, 3}), {"fc", "fc_Add"}},
      {gemm(1, 0.5, {}, 1), {"fc", "fc_Mul", "fc_Add"}},
  };
  for (const auto& row : table) {
    const graph::Model prepared = prepare(row.model);
    EXPECT_EQ(node_names(prepared), row.nodes);
    EXPECT_LT(difference(row.model, prepared, inputs_for(row.model, 1, -1, 1)), 1e-6) << prepared.nodes.size();
    const graph::Node& plain = prepared.nodes.front();
    EXPECT_EQ(plain.real("alpha", 1), 1);
    EXPECT_EQ(plain.real("beta", 1), 1);
    if (plain.inputs.size() > 2) {
      EXPECT_EQ(prepared.initializer(plain.inputs[2])->shape().back(), 3);
    }
  }
}

// The branches of an If have a Gemm each, whose bias is one of rows.
TEST(Prepare, WhatIsWrittenApartInABranchStaysThere) {
  graph::Model m = branches();
  m.inputs[0] = float_value("x", {2, 4});
  m.outputs[0] = float_value("y", {2, 3});
  m.initializers["w"] = random_tensor({4, 3}, 1);
  m.initializers["c"] = random_tensor({2, 1}, 2);
  const std::string out = value_bytes("o", DataType::float32, {2, 3});
  const auto branch = [&](const std::string& name, const std::string& value) {
    return subgraph(name, {node_bytes("Gemm", {value, "w", "c"}, "o")}, {}, {out});
  };
  m.nodes.back().attributes = {branch("then_branch", "r"), branch("else_branch", "x")};
  m.nodes.back().captures = {"r", "x", "w", "c"};
  const graph::Model prepared = prepare(m);
  const auto is_sum = [](const graph::Node& node) { return node.is("Add"); };
  EXPECT_EQ(std::ranges::count_if(prepared.nodes, is_sum), 2);
  for (const auto& node : prepared.nodes) EXPECT_TRUE(!is_sum(node) || !node.inside.empty()) << node.name;
  EXPECT_LT(difference(m, prepared, inputs_for(m, 1, -1, 1)), 1e-6);
}

// x -> Relu -> one operator -> Neg -> y; `shape` is x's, `constants` are the operator's other inputs.
graph::Model moving(const std::string& op, const Shape& shape, const std::vector<std::vector<int64_t>>& constants,
                    std::vector<graph::Attribute> attributes = {}) {
  graph::Model m = empty_model();
  m.inputs = {float_value("x", shape)};
  m.outputs = {{.name = "y", .type = DataType::float32}};
  std::vector<std::string> inputs{"r"};
  for (const auto& values : constants) {
    inputs.push_back("k" + std::to_string(inputs.size()));
    m.initializers[inputs.back()] = longs(values);
  }
  m.nodes = {node("Relu", "relu", {"x"}, {"r"}), node(op, "move", inputs, {"m"}, std::move(attributes)),
             node("Neg", "neg", {"m"}, {"y"})};
  return m;
}

TEST(Prepare, WhatMovesNothingGoes) {
  struct {
    graph::Model model;
    bool goes;
  } const table[] = {
      {moving("Slice", {-1, 3, 4}, {{0}, {3}, {1}, {1}}), true},
      {moving("Slice", {-1, 3, 4}, {{0, 0}, {9, 4}, {-2, 2}}), true},
      {moving("Slice", {-1, 3, 4}, {{0}, {2}, {1}, {1}}), false},
      {moving("Slice", {-1, 3, 4}, {{0}, {3}, {1}, {2}}), false},
      {moving("Slice", {-1, 3, 4}, {{1}, {3}, {1}, {1}}), false},
      {moving("Slice", {-1, 3, 4}, {{0}, {3}, {0}, {1}}), false},  // how many there are, nobody knows
      {moving("Slice", {2, 3, 4}, {{-1}, {-4}, {1}, {-1}}), false},
      {moving("Reshape", {2, 3, 4}, {{2, -1, 4}}), true},
      {moving("Reshape", {2, 3, 3}, {{3, 2, 3}}), false},
      {moving("Expand", {2, 3, 4}, {{3, 1}}), true},
      {moving("Expand", {2, 1, 4}, {{3, 1}}), false},
      {moving("Tile", {2, 3, 4}, {{1, 1, 1}}), true},
      {moving("Transpose", {-1, 3, 4}, {}, {{"perm", std::vector<int64_t>{0, 1, 2}}}), true},
      {moving("Transpose", {3, 3, 3}, {}, {{"perm", std::vector<int64_t>{0, 2, 1}}}), false},
      {moving("Concat", {-1, 3, 4}, {}, {{"axis", int64_t{1}}}), true},
  };
  for (const auto& row : table) {
    const graph::Model prepared = prepare(row.model);
    const auto names = node_names(prepared);
    EXPECT_EQ(std::ranges::count(names, "move"), row.goes ? 0 : 1) << row.model.nodes[1].op_type;
    EXPECT_LT(difference(row.model, prepared, inputs_for(row.model, 1, -1, 1)), 1e-7) << row.model.nodes[1].op_type;
  }
}

// Two in a row, a branch that reads what one gives, and one whose result is the model's.
TEST(Prepare, WhatMovesNothingGoesInARowOnly) {
  graph::Model row = moving("Slice", {1, 3, 4}, {{0}, {3}, {1}});
  row.nodes.insert(row.nodes.begin() + 2, node("Concat", "join", {"m"}, {"j"}, {{"axis", int64_t{1}}}));
  row.nodes.back().inputs = {"j"};
  EXPECT_EQ(node_names(prepare(row)), (std::vector<std::string>{"relu", "neg"}));
  graph::Model last = moving("Slice", {1, 3, 4}, {{0}, {3}, {1}});
  last.nodes.pop_back();
  last.nodes.back().outputs = {"y"};
  const graph::Model prepared = prepare(last);
  EXPECT_EQ(prepared.outputs[0].name, "y");
  EXPECT_LT(difference(last, prepared, inputs_for(last, 1, -1, 1)), 1e-7);
}

TEST(Prepare, ImportsOnlyWhatIsUsed) {
  graph::Model model = conv_batchnorm();
  model.metadata["author"] = "somebody";
  const graph::Model prepared = prepare(model);
  EXPECT_EQ(prepared.opsets, (std::map<std::string, int64_t>{{"", 17}}));
  EXPECT_EQ(prepared.metadata, model.metadata);
}

// Weights that ONNX Runtime writes to a file of their own come back into the places where they were.
TEST(Prepare, LargeWeightsStayWhereTheyAre) {
  graph::Model model;
  model.opsets[""] = 13;
  model.inputs = {float_value("x", {1, 2048})};
  model.outputs = {float_value("y", {1, 2048})};
  model.initializers = {
      {"w", random_tensor({2048, 2048}, 1)}, {"v", random_tensor({2048, 1024}, 2)}, {"b", random_tensor({1024}, 3)}};
  model.nodes = {node("MatMul", "right", {"x", "v"}, {"r"}), node("Add", "shift", {"r", "b"}, {"s"}),
                 node("MatMul", "left", {"x", "w"}, {"l"}), node("Concat", "join", {"s", "s"}, {"j"}, {{"axis", int64_t{1}}}),
                 node("Add", "sum", {"l", "j"}, {"y"})};
  const graph::Model out = prepare(model);
  ASSERT_EQ(out.nodes.size(), model.nodes.size());
  for (size_t i = 0; i < out.nodes.size(); i++) EXPECT_EQ(out.nodes[i].name, model.nodes[i].name);
  for (const auto& [name, weight] : model.initializers)
    EXPECT_EQ(out.initializers.at(name).bytes().data(), weight.bytes().data()) << name;
}

// x -> pair -> Conv with float weights -> pair -> y.
graph::Model between_pairs() {
  graph::Model m = empty_model();
  m.inputs = {float_value("x", {1, 3, 6, 6})};
  m.outputs = {float_value("y", {1, 4, 4, 4})};
  m.initializers = {{"w", random_tensor({4, 3, 3, 3}, 1)},
                    {"b", random_tensor({4}, 2)},
                    {"scale", Tensor::scalar(0.02F)},
                    {"zero", Tensor::scalar<uint8_t>(128)}};
  m.nodes = {node("QuantizeLinear", "q", {"x", "scale", "zero"}, {"x8"}),
             node("DequantizeLinear", "d", {"x8", "scale", "zero"}, {"xd"}), node("Conv", "conv", {"xd", "w", "b"}, {"p"}),
             node("QuantizeLinear", "q2", {"p", "scale", "zero"}, {"y8"}),
             node("DequantizeLinear", "d2", {"y8", "scale", "zero"}, {"y"})};
  return m;
}

// ONNX Runtime would, from 1.21 on; how that is done is chosen by a configuration.
TEST(Prepare, WeightsBetweenPairsThatAModelCameWithStayInFloat) {
  const graph::Model prepared = prepare(between_pairs());
  EXPECT_EQ(node_names(prepared), (std::vector<std::string>{"q", "d", "conv", "q2", "d2"}));
  ASSERT_NE(prepared.initializer("w"), nullptr);
  EXPECT_EQ(prepared.initializer("w")->type(), DataType::float32);
}

TEST(Prepare, Twice) {
  const graph::Model once = prepare(conv_batchnorm());
  EXPECT_EQ(graph::to_bytes(prepare(once)), graph::to_bytes(once));
}

TEST(Prepare, RefusesWhatCannotBeTreated) {
  graph::Model foreign = relu_times_two();
  foreign.nodes[0].domain = "org.example";
  foreign.opsets["org.example"] = 1;
  EXPECT_THROW(prepare(foreign), Error);
}

TEST(Prepare, SharedModels) {
  const char* set = std::getenv("QUASAR_SHARED");
  const std::filesystem::path shared = set != nullptr ? set : QUASAR_SOURCE_DIR "/../shared";
  if (!std::filesystem::exists(shared / "data/models")) GTEST_SKIP() << "no shared data";
  // FastestDet's Pad goes into the pooling behind it.
  const std::map<std::string, std::set<std::string>> gone{
      {"fastestdet", {"Pad_228"}}, {"mobilenet_v1_025_128", {}}, {"resnet8_cifar", {}}};
  for (const auto& [name, expected] : gone) {
    const graph::Model model = graph::load(shared / "data/models" / (name + ".onnx"));
    const graph::Model prepared = prepare(model);
    EXPECT_LT(difference(model, prepared, inputs_for(model, 1)), 1e-6) << name;
    const auto before = node_names(model), after = node_names(prepared);
    std::set<std::string> missing(before.begin(), before.end());
    for (const auto& kept : after) missing.erase(kept);
    EXPECT_EQ(missing, expected) << name;
    EXPECT_EQ(prepared.opsets.size(), 1U) << name;
  }
}

// x [5,N,4] -> LSTM whose state is made of zeros, as many as samples -> y. `filling`: of the state.
graph::Model lstm_with_state(float filling) {
  graph::Model m = empty_model();
  m.inputs = {float_value("x", {5, -1, 4}, {"", "N", ""})};
  m.outputs = {float_value("y", {5, 1, -1, 3}, {"", "", "N", ""})};
  m.initializers["one"] = longs({1});
  m.initializers["units"] = longs({3});
  m.initializers["w"] = random_tensor({1, 12, 4}, 1);
  m.initializers["r"] = random_tensor({1, 12, 3}, 2);
  m.nodes = {
      node("Shape", "shape", {"x"}, {"s"}),
      node("Gather", "batch", {"s", "one"}, {"n"}),
      node("Concat", "concat", {"one", "n", "units"}, {"of_state"}, {{"axis", int64_t{0}}}),
      node("ConstantOfShape", "fill", {"of_state"}, {"zeros"}, {{"value", Tensor::of(Shape{1}, std::vector<float>{filling})}}),
      node("Identity", "same", {"zeros"}, {"cell"}),
      node("LSTM", "lstm", {"x", "w", "r", "", "", "zeros", "cell"}, {"y"}, {{"hidden_size", int64_t{3}}})};
  return m;
}

TEST(Prepare, StatesOfZerosAreLeftOut) {
  const graph::Model model = lstm_with_state(0), ready = prepare(model);
  ASSERT_EQ(ready.nodes.size(), 1U);
  EXPECT_EQ(ready.nodes.front().inputs, (std::vector<std::string>{"x", "w", "r"}));
  const Tensor x = random_tensor({5, 2, 4}, 3);
  const std::vector<Tensor> given{x};
  const auto before = Session(model).run(given), after = Session(ready).run(given);
  ASSERT_EQ(before[0].count(), after[0].count());
  EXPECT_TRUE(std::ranges::equal(before[0].as<float>(), after[0].as<float>()));
  const graph::Model other = prepare(lstm_with_state(0.5F));
  EXPECT_GT(other.nodes.size(), 1U);
  EXPECT_EQ(other.nodes.back().inputs.size(), 7U);
}

}  // namespace
}  // namespace quasar::runtime
