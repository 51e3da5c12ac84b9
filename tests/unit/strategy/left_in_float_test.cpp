// Operators that recipes leave in float are given up like those that a parameter does.
#include "quasar/strategy/left_in_float.hpp"

#include <gtest/gtest.h>

#include "quasar/job/precision.hpp"

namespace quasar::tune {
namespace {

const std::string first = "first_conv_or_matmul_quantization", last = "last_conv_or_matmul_quantization",
                  ends = "pre_post_process_quantization";

// x ─MatMul a─ ─MatMul b─ ─MatMul c─ ─Softmax d─ y
graph::Model chain() {
  graph::Model model;
  model.opsets[""] = 17;
  model.inputs = {{"x", DataType::float32, Shape{1, 4}}};
  model.outputs = {{"y", DataType::float32, Shape{1, 4}}};
  const auto node = [](const char* name, const char* type, std::vector<std::string> inputs, const char* output) {
    return graph::Node{.name = name, .op_type = type, .domain = "", .inputs = std::move(inputs), .outputs = {output}};
  };
  model.initializers["w"] = Tensor::of({4, 4}, std::vector<float>(16, 0.5F));
  model.nodes = {node("a", "MatMul", {"x", "w"}, "p"), node("b", "MatMul", {"p", "w"}, "q"), node("c", "MatMul", {"q", "w"}, "r"),
                 node("d", "Softmax", {"r"}, "y")};
  return model;
}

struct Left : testing::Test {
  graph::Model model = chain();
  LeftInFloat left{model, {"a", "b", "c", "d"}};
  search::Space space = search::Space::parse(Json{{first, {true, false}},
                                                  {last, {true, false}},
                                                  {ends, {true, false}},
                                                  {"node a", {quantized, float16, in_float}},
                                                  {"node b", {quantized, in_float}},
                                                  {"node c", {quantized, in_float}},
                                                  {"node d", {quantized, in_float}}});
  search::Point at(const Json& words) const { return space.nearest_to(words); }
};

TEST_F(Left, RecipesCountLikeParameters) {
  EXPECT_EQ(left.given_up(space, at(Json::object())), 0);
  EXPECT_EQ(left.given_up(space, at({{first, false}})), 1);
  EXPECT_EQ(left.nodes(space, at({{first, false}})), std::vector<std::string>{"a"});
  EXPECT_EQ(left.given_up(space, at({{first, false}, {last, false}, {ends, false}})), 3);
  EXPECT_EQ(left.by_recipes(space, at({{last, false}, {ends, false}})),
            (std::map<std::string, std::string>{{"c", last}, {"d", ends}}));
}

TEST_F(Left, NoNodeCountsTwice) {
  EXPECT_EQ(left.given_up(space, at({{first, false}, {"node a", float16}})), 1) << "float32, not 16 bits";
  EXPECT_EQ(left.nodes(space, at({{first, false}, {"node a", float16}})), std::vector<std::string>{"a"});
  EXPECT_EQ(left.given_up(space, at({{first, false}, {"node a", in_float}})), 2) << "b is the first one then";
}

// The scheme was the best of all, since it seemed to give up nothing.
TEST_F(Left, ANamedConfigurationMaySwitchRecipesOff) {
  const std::string name = "GPTQ_G32ASYM_DISABLE_LAST_MATMUL";
  space = search::Space::parse(
      Json{{"scheme", {"GPTQ_G32ASYM", name}}, {"node a", {quantized, in_float}}, {"node c", {quantized, in_float}}});
  EXPECT_EQ(left.given_up(space, at({{"scheme", "GPTQ_G32ASYM"}})), 0);
  EXPECT_EQ(left.given_up(space, at({{"scheme", name}})), 1);
  EXPECT_EQ(left.by_recipes(space, at({{"scheme", name}})), (std::map<std::string, std::string>{{"c", last}}));
  space = search::Space::parse(Json{{"scheme", {name}}, {last, {true}}, {"node c", {quantized, in_float}}});
  EXPECT_EQ(left.given_up(space, at(Json::object())), 0) << "what is given beside it comes before";
}

}  // namespace
}  // namespace quasar::tune
