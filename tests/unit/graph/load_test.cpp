#include "quasar/graph/load.hpp"

#include <gtest/gtest.h>

#include "quasar/base/error.hpp"
#include "small_models.hpp"

namespace quasar::graph {
namespace {

TEST(Load, AModelComesBackAsItWent) {
  const Model model = small_model();
  const Model back = from_bytes(to_bytes(model), "test");
  EXPECT_EQ(back.initializers, model.initializers);
  EXPECT_EQ(back.opsets, model.opsets);
  ASSERT_EQ(back.nodes.size(), 2);
  EXPECT_EQ(back.nodes[0].name, "conv");
  EXPECT_EQ(back.nodes[0].integers("kernel_shape"), (std::vector<int64_t>{3, 3}));
  EXPECT_EQ(back.inputs[0].symbols[0], "batch");
  EXPECT_EQ(back.inputs[0].shape, (Shape{-1, 3, 8, 8}));
  EXPECT_EQ(to_bytes(back), to_bytes(model));
}

}  // namespace
}  // namespace quasar::graph
