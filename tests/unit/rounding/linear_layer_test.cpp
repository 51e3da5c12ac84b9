#include "quasar/rounding/linear_layer.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "quasar/quant/codes/scheme.hpp"
#include "quasar/runtime/session.hpp"
#include "unit/rounding/random_tensor.hpp"

namespace quasar::tune {
namespace {

struct Case {
  std::string type;
  Shape input, weights;
  std::vector<graph::Attribute> attributes;
};

graph::Model model_of(const Case& c) {
  graph::Model model;
  model.opsets[""] = 13;
  model.inputs = {{"x", DataType::float32, c.input}};
  model.outputs = {{"y", DataType::float32}};
  model.initializers["w"] = random_tensor(c.weights, 2);
  model.nodes = {
      {.name = "layer", .op_type = c.type, .domain = "", .inputs = {"x", "w"}, .outputs = {"y"}, .attributes = c.attributes}};
  return model;
}

// W times the gathered inputs must be what ONNX Runtime computes, at every position.
TEST(LinearLayer, GatheredInputsGiveTheLayersOutput) {
  using V = std::vector<int64_t>;
  const std::vector<Case> cases{
      {"Conv", {1, 3, 7, 8}, {4, 3, 3, 3}, {}},
      {"Conv",
       {2, 4, 9, 7},
       {6, 2, 3, 2},
       {{"group", int64_t{2}}, {"strides", V{2, 1}}, {"pads", V{1, 0, 2, 1}}, {"dilations", V{1, 2}}}},
      {"Conv",
       {1, 5, 6, 6},
       {5, 1, 3, 3},
       {{"group", int64_t{5}}, {"auto_pad", std::string("SAME_UPPER")}, {"strides", V{2, 2}}}},
      {"Conv", {1, 2, 6, 5}, {3, 2, 2, 2}, {{"auto_pad", std::string("SAME_LOWER")}}},
      {"Conv", {1, 2, 11}, {3, 2, 4}, {{"pads", V{2, 1}}, {"auto_pad", std::string("VALID")}}},
      {"Conv", {1, 2, 4, 5, 6}, {2, 2, 2, 2, 2}, {{"pads", V{1, 0, 1, 0, 1, 0}}}},
      {"ConvTranspose", {1, 3, 5, 4}, {3, 4, 3, 3}, {}},
      {"ConvTranspose",
       {2, 4, 5, 6},
       {4, 3, 3, 2},
       {{"group", int64_t{2}},
        {"strides", V{2, 3}},
        {"pads", V{1, 0, 2, 1}},
        {"dilations", V{1, 2}},
        {"output_padding", V{1, 0}}}},
      {"ConvTranspose", {1, 6, 4, 4}, {6, 1, 2, 2}, {{"group", int64_t{6}}, {"strides", V{2, 2}}}},
      {"ConvTranspose", {1, 2, 5, 5}, {2, 3, 4, 3}, {{"strides", V{2, 2}}, {"auto_pad", std::string("SAME_UPPER")}}},
      {"ConvTranspose", {1, 2, 5, 5}, {2, 3, 4, 5}, {{"strides", V{3, 2}}, {"auto_pad", std::string("SAME_LOWER")}}},
      {"ConvTranspose", {1, 2, 5, 5}, {2, 3, 4, 4}, {{"strides", V{2, 2}}, {"output_shape", V{9, 11}}}},
      {"ConvTranspose", {1, 2, 7}, {2, 3, 4}, {{"strides", V{3}}, {"pads", V{2, 1}}}},
      {"Gemm", {3, 5}, {5, 4}, {}},
      {"Gemm", {3, 5}, {4, 5}, {{"transB", int64_t{1}}}},
      {"MatMul", {2, 3, 5}, {5, 4}, {}},
      {"MatMul", {2, 3, 5}, {1, 5, 4}, {}},
      {"MatMul", {3, 5}, {1, 1, 5, 4}, {}},
  };
  for (size_t number = 0; number < cases.size(); number++) {
    graph::Model model = model_of(cases[number]);
    if (number == 4) model.nodes[0].attributes.erase(model.nodes[0].attributes.begin());
    std::string why;
    const auto layer = linear_layer(model.nodes[0], model, why);
    ASSERT_TRUE(layer) << number << why;
    const Tensor x = random_tensor(cases[number].input, 3);
    const Tensor y = runtime::Session(model).run(std::vector<Tensor>{x}).front();
    const auto positions = choose_positions(*layer, y.shape(), 1000000, 0);
    const size_t n = positions.size();
    ASSERT_EQ(n * layer->outputs, y.count());
    std::vector<float> inputs(layer->groups * layer->inputs * n), outputs(layer->outputs * n);
    gather_inputs(*layer, x, {}, y.shape(), positions, inputs.data(), n);
    gather_outputs(*layer, y, positions, outputs.data(), n);
    const auto rows = as_rows<float>(*layer, model.initializers["w"].as<float>());
    EXPECT_EQ(as_stored<float>(*layer, rows),
              std::vector<float>(model.initializers["w"].as<float>().begin(), model.initializers["w"].as<float>().end()));
    for (size_t o = 0; o < layer->outputs; o++) {
      const size_t first = o / layer->group_outputs() * layer->inputs;
      for (size_t p = 0; p < n; p++) {
        float sum = 0;
        for (size_t i = 0; i < layer->inputs; i++) sum += rows[o * layer->inputs + i] * inputs[(first + i) * n + p];
        ASSERT_NEAR(sum, outputs[o * n + p], 1e-4) << "case " << number << " output " << o << " position " << p;
      }
    }
  }
}

TEST(LinearLayer, CodesAreDecoded) {
  const Case c{"MatMul", {2, 3}, {3, 2}, {}};
  const graph::Model model = model_of(c);
  std::string why;
  const auto layer = linear_layer(model.nodes[0], model, why);
  const std::vector<uint32_t> positions{1};
  std::vector<float> values(3);
  gather_inputs(*layer, Tensor::of(Shape{2, 3}, std::vector<uint8_t>{0, 0, 0, 10, 128, 255}), {0.5F, 128}, {2, 2}, positions,
                values.data(), 1);
  EXPECT_EQ(values, (std::vector<float>{-59, 0, 63.5}));
  const std::vector<int32_t> codes{0, 0, 0, 1, 8, 15};
  gather_inputs(*layer, quant::codes_tensor(DataType::uint4, {2, 3}, codes), {0.5F, 8}, {2, 2}, positions, values.data(), 1);
  EXPECT_EQ(values, (std::vector<float>{-3.5, 0, 3.5}));
}

TEST(LinearLayer, PositionsAreSpreadAndRepeatable) {
  const LinearLayer layer{.node = "n", .input = "x", .output = "y", .outputs = 2};
  const auto chosen = choose_positions(layer, {1, 2, 30, 30}, 10, 5);
  ASSERT_EQ(chosen.size(), 10U);
  for (size_t i = 0; i < 10; i++) EXPECT_EQ(chosen[i] / 90, i);
  EXPECT_EQ(chosen, choose_positions(layer, {1, 2, 30, 30}, 10, 5));
  EXPECT_NE(chosen, choose_positions(layer, {1, 2, 30, 30}, 10, 6));
  EXPECT_EQ(choose_positions(layer, {1, 2, 3, 1}, 10, 5), (std::vector<uint32_t>{0, 1, 2}));
}

TEST(LinearLayer, OthersSayWhy) {
  graph::Model model = model_of({"Gemm", {3, 5}, {5, 4}, {{"transA", int64_t{1}}}});
  std::string why;
  EXPECT_FALSE(linear_layer(model.nodes[0], model, why));
  EXPECT_FALSE(why.empty());
}

}  // namespace
}  // namespace quasar::tune
