#include "quasar/runtime/rewrites/fused_operators.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "models.hpp"
#include "quasar/runtime/prepare.hpp"
#include "quasar/runtime/session.hpp"

namespace quasar::runtime {
namespace {
using namespace quasar::test;
using Reals = std::vector<float>;

graph::Node fused(const std::string& type, const std::string& name, std::vector<std::string> inputs, const std::string& output,
                  std::vector<graph::Attribute> attributes) {
  graph::Node out = node(type, name, std::move(inputs), {output}, std::move(attributes));
  out.domain = "com.microsoft";
  return out;
}

// x [1,3,6,6] -> FusedConv with the activation -> y; with_sum: the second one adds the first one's result.
graph::Model convolutions(std::vector<graph::Attribute> activation, bool with_sum = false) {
  graph::Model m = empty_model();
  m.opsets["com.microsoft"] = 1;
  m.inputs = {float_value("x", {1, 3, 6, 6})};
  m.outputs = {float_value("y", {1, 3, 6, 6})};
  m.initializers["w"] = random_tensor({3, 3, 3, 3}, 1);
  m.initializers["b"] = random_tensor({3}, 2);
  activation.push_back({"pads", std::vector<int64_t>{1, 1, 1, 1}});
  m.nodes = {
      fused("FusedConv", "first", {"x", "w", "b"}, "c", activation),
      fused("FusedConv", "second", with_sum ? std::vector<std::string>{"c", "w", "b", "c"} : std::vector<std::string>{"c", "w"},
            "y", activation)};
  return m;
}

graph::Model dense(std::vector<graph::Attribute> activation) {
  graph::Model m = empty_model();
  m.opsets["com.microsoft"] = 1;
  m.inputs = {float_value("x", {2, 8})};
  m.outputs = {float_value("y", {2, 4})};
  m.initializers["w"] = random_tensor({4, 8}, 1);
  m.initializers["b"] = random_tensor({4}, 2);
  activation.push_back({"transB", int64_t{1}});
  m.nodes = {fused("FusedGemm", "dense", {"x", "w", "b"}, "y", activation)};
  return m;
}

// Scores of two computed values, scaled, and a product with constant weights.
graph::Model products() {
  graph::Model m = empty_model();
  m.opsets["com.microsoft"] = 1;
  m.inputs = {float_value("x", {1, 2, 4, 8})};
  m.outputs = {float_value("y", {1, 2, 4, 5})};
  m.initializers["w"] = random_tensor({5, 4}, 1);
  m.nodes = {node("Relu", "relu", {"x"}, {"r"}),
             fused("FusedMatMul", "scores", {"x", "r"}, "s", {{"transB", int64_t{1}}, {"alpha", 0.25F}}),
             fused("FusedMatMul", "dense", {"s", "w"}, "y", {{"transA", int64_t{1}}, {"transB", int64_t{1}}})};
  return m;
}

// Tokens of two sentences, the second one shorter -> tables, attention with the mask (2 axes), attention with the lengths (1
// axis).
graph::Model attention(bool with_positions) {
  graph::Model m = empty_model(14);
  m.opsets["com.microsoft"] = 1;
  m.inputs = {{"tokens", DataType::int32, Shape{2, 5}}};
  m.outputs = {float_value("y", {2, 5, 8})};
  m.initializers["words"] = random_tensor({11, 8}, 1);
  m.initializers["places"] = random_tensor({7, 8}, 2);
  m.initializers["kinds"] = random_tensor({2, 8}, 3);
  m.initializers["segments"] = Tensor::of({2, 5}, std::vector<int32_t>{0, 0, 1, 1, 1, 0, 1, 1, 1, 1});
  m.initializers["positions"] = Tensor::of({2, 5}, std::vector<int32_t>{2, 3, 4, 5, 6, 0, 1, 2, 3, 4});
  m.initializers["mask"] = Tensor::of({2, 5}, std::vector<int32_t>{1, 1, 1, 1, 1, 1, 1, 1, 0, 0});
  m.initializers["gamma"] = random_tensor({8}, 4, 0.5, 2);
  m.initializers["beta"] = random_tensor({8}, 5);
  m.initializers["w"] = random_tensor({8, 24}, 6);
  m.initializers["b"] = random_tensor({24}, 7);
  graph::Node embed =
      fused("EmbedLayerNormalization", "embed", {"tokens", "segments", "words", "places", "kinds", "gamma", "beta", "mask"}, "e",
            {{"epsilon", 1e-6F}});
  embed.outputs.push_back("lengths");
  if (with_positions) embed.inputs.push_back("positions");
  m.nodes = {embed, fused("Attention", "first", {"e", "w", "b", "mask"}, "f", {{"num_heads", int64_t{2}}}),
             fused("Attention", "second", {"f", "w", "b", "lengths"}, "y", {{"num_heads", int64_t{4}}, {"scale", 0.3F}})};
  return m;
}

bool has_fused(const graph::Model& model) {
  return std::ranges::any_of(model.nodes, [](const graph::Node& one) {
    return one.op_type.starts_with("Fused") || one.op_type == "Attention" || one.op_type == "EmbedLayerNormalization";
  });
}

TEST(FusedOperators, AreWrittenApartAndComputeTheSame) {
  const graph::Model models[] = {convolutions({}),
                                 convolutions({{"activation", "Relu"}}),
                                 convolutions({{"activation", "Relu"}}, true),
                                 convolutions({{"activation", "Sigmoid"}}),
                                 convolutions({{"activation", "Tanh"}}, true),
                                 convolutions({{"activation", "LeakyRelu"}, {"activation_params", Reals{0.3F}}}),
                                 convolutions({{"activation", "HardSigmoid"}, {"activation_params", Reals{0.3F, 0.4F}}}),
                                 convolutions({{"activation", "Clip"}, {"activation_params", Reals{-0.5F, 0.6F}}}),
                                 dense({{"activation", "Relu"}}),
                                 dense({{"activation", "LeakyRelu"}, {"activation_alpha", 0.3F}}),
                                 dense({{"activation", "Elu"}, {"activation_alpha", 0.7F}, {"alpha", 0.5F}}),
                                 products()};
  for (const auto& model : models) {
    const graph::Model prepared = prepare(model);
    EXPECT_FALSE(has_fused(prepared)) << model.nodes.back().name;
    for (const uint64_t seed : {1U, 2U})
      EXPECT_LT(difference(model, prepared, inputs_for(model, seed, -2, 2)), 1e-5) << model.nodes.back().name;
  }
}

TEST(FusedOperators, AttentionIsProductsAndHeads) {
  for (const bool with_positions : {false, true}) {
    const graph::Model model = attention(with_positions), prepared = prepare(model);
    EXPECT_FALSE(has_fused(prepared));
    EXPECT_EQ(std::ranges::count(prepared.nodes, "MatMul", &graph::Node::op_type), 2);
    EXPECT_EQ(std::ranges::count(prepared.nodes, "MultiHeadAttention", &graph::Node::op_type), 2);
    const std::vector<Tensor> tokens{Tensor::of({2, 5}, std::vector<int32_t>{1, 2, 3, 4, 5, 10, 9, 8, 0, 0})};
    const Session before(model), after(prepared);
    EXPECT_LT(relative_difference(before.run(tokens)[0], after.run(tokens)[0]), 1e-5) << with_positions;
  }
}

TEST(FusedOperators, MasksThatOnlyAttentionTakesLeaveItAsItIs) {
  const auto types_of = [](const graph::Model& one) { return value_types(one); };
  for (const Tensor& mask : {Tensor::of({4}, std::vector<int32_t>{5, 3, 0, 1}), Tensor::of({2, 1}, std::vector<int32_t>{1, 1})}) {
    graph::Model model = attention(false);
    model.initializers["mask_of_its_own"] = mask;
    model.nodes[1].inputs[3] = "mask_of_its_own";
    write_fused_apart(model, types_of);
    EXPECT_EQ(std::ranges::count(model.nodes, "Attention", &graph::Node::op_type), 1);
  }
}

// A past would need to be joined with what attention computes.
TEST(FusedOperators, AttentionWithAPastStays) {
  graph::Model model = attention(false);
  model.nodes[1].outputs.push_back("present");
  write_fused_apart(model, [](const graph::Model& one) { return value_types(one); });
  EXPECT_EQ(std::ranges::count(model.nodes, "Attention", &graph::Node::op_type), 1);
}

TEST(FusedOperators, StayWhereTheyAreNotKnown) {
  graph::Model model = convolutions({{"activation", "Mystery"}});
  const TypesOf none = [](const graph::Model&) { return std::map<std::string, graph::Value>(); };
  write_fused_apart(model, none);
  EXPECT_EQ(std::ranges::count(model.nodes, "FusedConv", &graph::Node::op_type), 2);
  model = products();
  write_fused_apart(model, none);
  EXPECT_EQ(std::ranges::count(model.nodes, "FusedMatMul", &graph::Node::op_type), 2) << "no rank is known";
}

// ONNX Runtime (1.30) opens no model that has both constants of this name and sums behind products to fuse.
TEST(FusedOperators, ConstantsOfAnEarlierFusionGetOtherNames) {
  graph::Model model = empty_model();
  model.inputs = {float_value("x", {2, 3, 8})};
  model.outputs = {float_value("y", {2, 3, 4})};
  model.initializers["gemm_input_shape"] = longs({6, 8});
  model.initializers["gemm_output_shape_token_1"] = longs({2, 3, 8});
  for (const char* weights : {"v", "w"}) model.initializers[weights] = random_tensor({8, weights[0] == 'v' ? 8 : 4}, 1);
  model.initializers["b"] = random_tensor({8}, 2);
  model.initializers["c"] = random_tensor({4}, 3);
  model.nodes = {node("Reshape", "flat", {"x", "gemm_input_shape"}, {"f"}), node("Gemm", "gemm", {"f", "v", "b"}, {"g"}),
                 node("Reshape", "back", {"g", "gemm_output_shape_token_1"}, {"h"}), node("MatMul", "product", {"h", "w"}, {"p"}),
                 node("Add", "sum", {"p", "c"}, {"y"})};
  const graph::Model prepared = prepare(model);
  for (const auto& [name, tensor] : prepared.initializers) EXPECT_FALSE(name.starts_with("gemm_")) << name;
  const auto inputs = inputs_for(model, 1);
  Session session(prepared);
  EXPECT_EQ(session.run(inputs).size(), 1U);
}

}  // namespace
}  // namespace quasar::runtime
