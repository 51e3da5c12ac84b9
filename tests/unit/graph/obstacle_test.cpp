#include <gtest/gtest.h>

#include "quasar/graph/load.hpp"
#include "small_models.hpp"
#include "wire.hpp"

namespace quasar::graph {
namespace {

TEST(Obstacle, NamesTheReason) {
  struct Case {
    void (*spoil)(Model&);
    std::vector<std::string> says;
  };
  const std::vector<Case> cases{
      {[](Model& m) { m.nodes[1].domain = "my.domain"; }, {"'relu'", "Relu", "'my.domain'", "custom_op_library"}},
      {[](Model& m) { m.nodes[1].domain = "com.ms.internal.nhwc"; }, {"com.ms.internal.nhwc"}},
      {[](Model& m) { m.nodes[1].domain = "com.microsoft.nchwc"; }, {"'relu'", "all its optimizations", "ORT_ENABLE_EXTENDED"}},
      {[](Model& m) { m.nodes[0].op_type = "QLinearConv"; }, {"'conv'", "already quantized"}},
      {[](Model& m) { m.nodes[0].op_type = "ConvInteger"; }, {"already quantized"}},
      {[](Model& m) {
         m.nodes[0] = {"conv", "MatMulNBits", "com.microsoft", {"x"}, {"c"}};
       },
       {"already quantized"}},
      {[](Model& m) { m.initializers["w"] = converted(m.initializers["w"], DataType::int4); },
       {"'w'", "int4", "already quantized"}},
  };
  EXPECT_EQ(obstacle(small_model()), "");
  for (const auto& [spoil, says] : cases) {
    Model model = small_model();
    spoil(model);
    for (const auto& part : says) EXPECT_NE(obstacle(model).find(part), std::string::npos) << part << " | " << obstacle(model);
  }
}

TEST(Obstacle, WhatIsQuantizedInPartIsNone) {
  Model model = small_model();
  model.nodes[1].op_type = "QuantizeLinear";
  EXPECT_EQ(obstacle(model), "") << "the convolution has its weights in float";
  model.nodes[0].inputs[1] = "x";
  EXPECT_NE(obstacle(model).find("'relu' is QuantizeLinear"), std::string::npos) << obstacle(model);
}

TEST(Obstacle, LooksIntoSubgraphs) {
  using namespace wire;
  const std::string inner = wire::node({"Odd", {"x"}, {"b"}, wire::node_name("deep") + bytes(7, "odd.domain")});
  const std::string branch = wire::attribute("then_branch", 5, bytes(6, inner + wire::output("b")));
  const Model model =
      from_bytes(wire::model(wire::input("x") + wire::output("y") + wire::node({"If", {"x"}, {"y"}, branch})), "test");
  EXPECT_NE(obstacle(model).find("'deep'"), std::string::npos);
}

}  // namespace
}  // namespace quasar::graph
