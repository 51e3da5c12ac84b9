#include "quasar/quant/config/exclude.hpp"

#include <gtest/gtest.h>

#include "quasar/base/error.hpp"
#include "sample_models.hpp"

namespace quasar::quant {
namespace {

using Names = std::set<std::string>;

TEST(Exclude, SelectsByNamePatternTypeAndPath) {
  const auto model = residual();
  const graph::Index index(model);
  const std::vector<std::tuple<Json, Names>> cases = {
      {"Conv_1", {"Conv_1"}},
      {Json{{"name", "Mul_0"}}, {"Mul_0"}},
      {Json{{"regex", "Conv_[01]"}}, {"Conv_0", "Conv_1"}},
      {Json{{"op_type", "Relu"}}, {"Relu_0", "Relu_1", "Relu_2"}},
      {Json{{"from", "Conv_1"}, {"to", "Add_0"}}, {"Conv_1", "Relu_1", "Conv_2", "Add_0"}},
      {Json{{"from", "Relu_0"}, {"to", "Add_0"}}, {"Relu_0", "Conv_1", "Relu_1", "Conv_2", "Add_0"}},
  };
  for (const auto& [element, expected] : cases) EXPECT_EQ(excluded_nodes({element}, index), expected) << element;
  EXPECT_EQ(excluded_nodes({"Conv_0", Json{{"op_type", "Add"}}}, index), (Names{"Conv_0", "Add_0"}));
  EXPECT_EQ(excluded_nodes({}, index), Names{});
}

TEST(Exclude, AScopeStandsForTheNodesBelowIt) {
  auto model = residual();
  model.nodes[0].name = "/stem/Conv";
  model.nodes[1].name = "/stem/act/Relu";
  const graph::Index index(model);
  EXPECT_EQ(excluded_nodes({"/stem"}, index), (Names{"/stem/Conv", "/stem/act/Relu"}));
  EXPECT_EQ(excluded_nodes({Json{{"name", "/stem/act"}}}, index), Names{"/stem/act/Relu"});
  EXPECT_EQ(excluded_nodes({Json{{"from", "/stem"}, {"to", "Conv_1"}}}, index),
            (Names{"/stem/Conv", "/stem/act/Relu", "Conv_1"}));
  EXPECT_THROW(excluded_nodes({Json{{"from", "Conv_1"}, {"to", "/stem"}}}, index), Error);
  EXPECT_THROW(excluded_nodes({"/ste"}, index), Error);
  EXPECT_THROW(excluded_nodes({""}, index), Error);
}

TEST(Exclude, OneListServesModelsWithoutSomeTypes) {
  const auto model = residual();
  EXPECT_EQ(excluded_nodes({Json{{"op_type", "Gemm"}}, Json{{"op_type", "LSTM"}}, "Conv_0"}, graph::Index(model)),
            Names{"Conv_0"});
}

TEST(Exclude, SaysWhatIsWrong) {
  const auto model = residual();
  const graph::Index index(model);
  const std::vector<std::tuple<Json, std::string>> cases = {
      {"conv-1x", "did you mean 'Conv_1'?"},
      {"^Conv.*", "a regular expression is written {regex: '^Conv.*'}"},
      {Json{{"regex", "Dense.*"}}, "no node of the model matches regex 'Dense.*'"},
      {Json{{"regex", "("}}, "not a regular expression"},
      {Json{{"op_type", "Gem"}}, "did you mean 'Gemm'?"},
      {Json{{"op_type", "Inner"}}, "form; if 'Inner' is a function that the model defines, give the name of its call"},
      {Json{{"op_type", "Softplus"}}, "did you mean 'Softmax'? If 'Softplus' is a function that the model defines"},
      {Json{{"op_type", "conv"}}, "did you mean 'Conv'?"},
      {Json{{"from", "Add_0"}, {"to", "Conv_0"}}, "no path"},
      {Json{{"type", "Conv"}}, "is not a name"},
      {3, "is not a name"},
  };
  for (const auto& [element, message] : cases) {
    try {
      excluded_nodes({element}, index);
      FAIL() << element;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace quasar::quant
