// Which operators a strategy may leave in float.
#include "quasar/job/precision.hpp"

#include <gtest/gtest.h>

#include "unit/quant/sample_models.hpp"

namespace quasar::tune {
namespace {

// An operator that the target computes in float anyway says nothing of those behind it.
TEST(TunableNodes, AreThoseOfTheWholeModel) {
  quant::Builder b;
  const auto first = b.node("Sigmoid", {b.conv(b.input("x", {1, 16, 8, 8}), 16, 16, 3)});
  const graph::Model model = b.finish({b.conv(first, 16, 16, 3)});
  for (const char* name : {"openvino", "openvino_npu", "tensorrt", "ort_cpu"}) {
    const auto nodes = tunable_nodes(model, *quant::targets::table().make(name), Activations::eight_bits);
    for (const char* node : {"Conv_0", "Conv_1"})
      EXPECT_TRUE(std::ranges::find(nodes, node) != nodes.end()) << name << " " << node;
  }
}

}  // namespace
}  // namespace quasar::tune
