// A model at which ONNX Runtime fails an assertion of its own is refused in words.
#include <gtest/gtest.h>

#include "quasar/base/error.hpp"
#include "quasar/runtime/session.hpp"
#include "unit/error_of.hpp"
#include "unit/runtime/models.hpp"

namespace quasar::runtime {
namespace {

using namespace quasar::test;

// DequantizeLinear ─▶ Transpose ─▶ read by both branches of an If (quant/write/pair_before_subgraphs.hpp).
graph::Model moved_into_branches() {
  graph::Model m = empty_model(13);
  m.inputs = {float_value("x", {2, 3}), {"chooses", DataType::boolean, Shape{}}};
  m.outputs = {float_value("y", {3, 2})};
  m.initializers["scale"] = Tensor::scalar(0.1F);
  m.initializers["zero"] = Tensor::scalar<uint8_t>(0);
  graph::Node choose = node("If", "choose", {"chooses"}, {"y"});
  const std::string out = value_bytes("o", DataType::float32, {3, 2});
  choose.captures = {"t"};
  choose.attributes = {subgraph("then_branch", {node_bytes("Sigmoid", {"t"}, "o")}, {}, {out}),
                       subgraph("else_branch", {node_bytes("Abs", {"t"}, "o")}, {}, {out})};
  m.nodes = {node("QuantizeLinear", "q", {"x", "scale", "zero"}, {"codes"}),
             node("DequantizeLinear", "dq", {"codes", "scale", "zero"}, {"v"}), node("Transpose", "turn", {"v"}, {"t"}), choose};
  return m;
}

// Releases of ONNX Runtime that have mended it open the model; none ends this program.
TEST(AssertionInsideOnnxRuntime, IsAnError) {
  const auto sample = std::vector<Tensor>{random_tensor({2, 3}, 1), Tensor::scalar(true)};
  for (int again = 0; again < 2; ++again) {
    try {
      const Session session(moved_into_branches());
      EXPECT_EQ(session.run(sample).size(), 1U);
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("an assertion inside of it failed"), std::string::npos) << e.what();
    }
  }
  const Session without(moved_into_branches(), {.disabled_optimizers = "QDQPropagationTransformer"});
  EXPECT_EQ(without.run(sample).size(), 1U);
}

// What else was open goes on, and so do sessions that are opened later.
TEST(AssertionInsideOnnxRuntime, LeavesOthersAlone) {
  const auto sample = std::vector<Tensor>{random_tensor({2, 3}, 1)};
  const Session before(relu_times_two());
  const Tensor expected = before.run(sample).front();
  (void)error_of([] { const Session session(moved_into_branches()); });
  const Session after(relu_times_two());
  EXPECT_EQ(relative_difference(before.run(sample).front(), expected), 0);
  EXPECT_EQ(relative_difference(after.run(sample).front(), expected), 0);
}

}  // namespace
}  // namespace quasar::runtime
