// How many scales a pair has, and along which axis: what checkers of other runtimes name.
#include <gtest/gtest.h>

#include "made_up_statistics.hpp"
#include "quasar/quant/config/named_schemes.hpp"
#include "quasar/quant/pairs.hpp"
#include "sample_models.hpp"

namespace quasar::quant {
namespace {

constexpr std::array checked_targets{"openvino", "openvino_npu", "qnn_htp", "tensorrt"};

graph::Model two_layers() {
  Builder b;
  return b.finish({b.conv(b.conv(b.input("x", {1, 16, 8, 8}), 16, 16, 3), 16, 16, 3)});
}

graph::Model made_for(const std::string& target, const graph::Model& model) {
  return apply(model, plan_of(model, parse_config(words_of_scheme(targets::table().make(target)->usual_scheme())), target));
}

// Gives what dequantizes the node's input as many scales along the axis as it has channels there, or blocks of four.
void give_scales(graph::Model& model, const std::string& node, size_t input, int64_t axis, bool blocks = false) {
  const std::string value = std::ranges::find(model.nodes, node, &graph::Node::name)->inputs[input];
  auto& pair = *std::ranges::find_if(model.nodes, [&](const graph::Node& one) { return one.outputs.front() == value; });
  ASSERT_TRUE(dequantizes(&pair));
  constexpr int64_t channels = 16;
  const Shape shape = blocks ? Shape{channels, channels / 4, 3, 3} : Shape{channels};
  const DataType type = model.initializers.at(pair.inputs[2]).type();
  const std::vector<int32_t> zeros(count_of(shape), plain_codes(model.initializers.at(pair.inputs[2])).front());
  model.initializers["more_scales"] = Tensor::of(shape, std::vector<float>(count_of(shape), 0.1F));
  model.initializers["more_zeros"] = codes_tensor(type, shape, zeros);
  pair.inputs[1] = "more_scales", pair.inputs[2] = "more_zeros";
  pair.set({"axis", axis});
  if (blocks) pair.set({"block_size", int64_t{4}});
}

std::string rule_of(const graph::Model& model, const std::string& target) {
  for (const auto& [node, fault] : targets::table().make(target)->faults(model, {})) {
    if (node == "Conv_1") return fault.rule;
  }
  return "";
}

TEST(PairScales, OfValuesAreNamed) {
  for (const std::string target : checked_targets) {
    graph::Model made = made_for(target, two_layers());
    EXPECT_EQ(rule_of(made, target), "") << target;
    give_scales(made, "Conv_1", 0, 1);
    EXPECT_EQ(rule_of(made, target), "values") << target;
  }
}

TEST(PairScales, OfWeightsAreThoseOfOutputs) {
  for (const std::string target : checked_targets) {
    graph::Model made = made_for(target, two_layers());
    give_scales(made, "Conv_1", 1, 0);
    EXPECT_EQ(rule_of(made, target), "") << target;
    give_scales(made, "Conv_1", 1, 1);
    EXPECT_EQ(rule_of(made, target), "weights") << target << ": scales of inputs";
    give_scales(made, "Conv_1", 1, 1, true);
    EXPECT_EQ(rule_of(made, target), "weights") << target << ": blocks";
  }
}

TEST(PairScales, OfProductsStandAlongTheLastAxisOrTransposed) {
  for (const bool transposed : {false, true}) {
    Builder b;
    const auto x = b.node("Gemm", {b.input("x", {4, 16}), b.weights({16, 16})});
    const graph::Model model = b.finish({b.node("Gemm", {x, b.weights({16, 16})}, {{"transB", int64_t{transposed ? 1 : 0}}})});
    for (const int64_t axis : {0, 1, -1}) {
      graph::Model made = made_for("openvino", model);
      give_scales(made, "Gemm_1", 1, axis);
      const auto faults = targets::table().make("openvino")->faults(made, {});
      EXPECT_EQ(faults.empty(), (axis == 0) == transposed) << axis;
    }
  }
}

}  // namespace
}  // namespace quasar::quant
