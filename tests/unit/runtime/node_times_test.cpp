#include "quasar/runtime/node_times.hpp"

#include <gtest/gtest.h>

#include <array>

#include "models.hpp"
#include "quasar/base/error.hpp"
#include "quasar/data/dataset.hpp"

namespace quasar::runtime {
namespace {
using namespace quasar::test;

graph::Model conv_and_relu() {
  graph::Model model = empty_model();
  model.inputs = {float_value("x", {1, 8, 16, 16})};
  model.outputs = {float_value("y", {1, 8, 16, 16})};
  model.initializers["w"] = random_tensor({8, 8, 3, 3}, 1);
  const std::vector<graph::Attribute> around{{"pads", std::vector<int64_t>{1, 1, 1, 1}}};
  model.nodes = {node("Conv", "first", {"x", "w"}, {"a"}, around), node("Relu", "relu", {"a"}, {"b"}),
                 node("Conv", "second", {"b", "w"}, {"c"}, around), node("Softmax", "softmax", {"c"}, {"y"})};
  return model;
}

// Whatever ONNX Runtime fuses and moves, the time of the kernels is that of the nodes.
TEST(NodeTimes, FusionsCountForTheNodeThatTheyHaveTheirTypeFrom) {
  const graph::Model model = conv_and_relu();
  const auto samples = data::open({{"reader", "random"}, {"count", 2}}, model.inputs);
  const std::array models{&model, &model};
  const auto times = node_times(models, *samples, {.turns = 3});
  ASSERT_EQ(times.size(), 2U);
  for (const NodeTimes& one : times) {
    for (const char* name : {"first", "second", "softmax"}) EXPECT_TRUE(one.nodes.contains(name)) << name;
    EXPECT_FALSE(one.nodes.contains("relu"));
    double sum = 0;
    for (const auto& [name, time] : one.nodes) sum += time;
    EXPECT_NEAR(sum, one.run, 1e-9 * (1 + one.run));
  }
}

TEST(NodeTimes, WithoutSamplesNothingIsMeasured) {
  const graph::Model model = conv_and_relu();
  const std::array models{&model};
  EXPECT_THROW(node_times(models, *data::first(data::open({{"reader", "random"}, {"count", 2}}, model.inputs), 0)), Error);
}

}  // namespace
}  // namespace quasar::runtime
