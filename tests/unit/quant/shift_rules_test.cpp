// Plans for NPUs keep every rule, and the checker finds every rule that is broken.
#include <gtest/gtest.h>

#include <algorithm>

#include "npu_models.hpp"
#include "quasar/quant/npu/npu.hpp"

namespace quasar::quant {
namespace {

std::vector<std::string> broken(const graph::Model& model) {
  std::vector<std::string> out;
  for (const auto& violation : violations(model)) out.push_back(violation.rule + " at " + violation.node + ": " + violation.what);
  return out;
}

std::set<std::string> rules_broken(const graph::Model& model) {
  std::set<std::string> out;
  for (const auto& violation : violations(model)) out.insert(violation.rule);
  return out;
}

TEST(ShiftRules, OwnModelsKeepThem) {
  for (const auto& model : {separable(), residual(), branches(), patchwork()}) {
    const Plan plan = npu_plan(model);
    const auto quantized = apply(model, plan);
    EXPECT_GT(network_of(quantized).layers.size(), 5U);
    const auto found = broken(quantized);
    EXPECT_EQ(found, std::vector<std::string>{});
  }
}

// Concat has one scale for all that it joins: a Sigmoid's own limit must not clip the others, so that it keeps a scale of its
// own, also where Transpose and its kin stand between.
TEST(ShiftRules, ASigmoidKeepsItsScaleAndClipsNothingThatItIsJoinedWith) {
  for (const bool moved : {false, true}) {
    Builder b;
    const auto x = b.input("x", {1, 4, 6, 6});
    auto gate = b.node("Sigmoid", {b.conv(x, 4, 2, 1)});
    if (moved) gate = b.node("Transpose", {gate}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
    const graph::Model model = b.finish({b.node("Concat", {b.conv(x, 4, 2, 1), gate}, {{"axis", int64_t{1}}})});
    stats::Statistics seen = made_up_statistics(model);
    for (auto& [value, stats] : seen) stats = stats::of_values(std::vector<float>{-20, 1, 20}, {.histogram = true});
    seen.at("Sigmoid_0_out") = stats::of_values(std::vector<float>{0, 0.5F, 1}, {.histogram = true});
    const Plan plan = resolve(model, seen, xint8_config(), *targets::table().make("xint8"));
    EXPECT_GE(127 * plan.values.at("Concat_0_out").scales.front(), 15.0F);
    EXPECT_EQ(plan.values.at("Sigmoid_0_out").scales.front(), 1.0F / 128);
    EXPECT_EQ(plan.conversions.at(gate).at("Concat_0"), plan.values.at("Concat_0_out"));
    EXPECT_EQ(broken(apply(model, plan)), std::vector<std::string>{});
    const auto says = [](const auto& note) { return note.find("a second pair before a Concat") != std::string::npos; };
    EXPECT_TRUE(std::ranges::any_of(plan.notes, says));
  }
}

// Gates that are joined with gates only need no second pair.
TEST(ShiftRules, SigmoidsThatAreJoinedShareTheirScale) {
  Builder b;
  const auto x = b.input("x", {1, 4, 6, 6});
  const auto gate = [&] { return b.node("Sigmoid", {b.conv(x, 4, 2, 1)}); };
  const graph::Model model = b.finish({b.node("Concat", {gate(), gate()}, {{"axis", int64_t{1}}})});
  const Plan plan = npu_plan(model);
  EXPECT_TRUE(plan.conversions.empty());
  EXPECT_EQ(plan.values.at("Sigmoid_0_out"), plan.values.at("Concat_0_out"));
  EXPECT_EQ(broken(apply(model, plan)), std::vector<std::string>{});
}

// Whatever was observed: what cannot be kept is said.
TEST(ShiftRules, WildRangesKeepThemToo) {
  for (uint32_t seed = 1; seed <= 60; seed++) {
    for (const auto& model : {residual(), branches(), separable()}) {
      const Plan plan = npu_plan(model, Json::object(), seed);
      const auto found = broken(apply(model, plan));
      const auto said = std::ranges::count_if(plan.notes, [](const auto& note) { return note.starts_with("rule "); });
      if (said == 0) {
        EXPECT_EQ(found, std::vector<std::string>{}) << seed;
      }
    }
  }
}

TEST(ShiftRules, EveryScaleIsAPowerOfTwo) {
  const Plan plan = npu_plan(patchwork(), Json::object(), 5);
  for (const auto& [value, params] : plan.values) EXPECT_TRUE(position_of(params.scales.at(0))) << value;
  for (const auto& [name, node] : plan.nodes) {
    if (!node.weight || !node.bias) continue;
    EXPECT_TRUE(position_of(node.weight->params.scales.at(0))) << name;
    EXPECT_TRUE(position_of(node.bias->params.scales.at(0))) << name;
    EXPECT_EQ(node.bias->params.type, DataType::int8) << name;
  }
}

TEST(ShiftRules, OtherTargetsLetThemBe) {
  const auto model = residual();
  const auto plan = resolve(model, made_up_statistics(model), xint8_config(), *targets::table().make("ort_cpu"));
  EXPECT_TRUE(rules_broken(apply(model, plan)).contains("bias"));
  const auto asked =
      resolve(model, made_up_statistics(model), xint8_config({{"EnableNPUCnn", true}}), *targets::table().make("ort_cpu"));
  EXPECT_EQ(hash_of(asked), hash_of(npu_plan(model)));
}

TEST(ShiftRules, OtherTypesStayInFloatWithTheReason) {
  const auto model = separable();
  const auto plan = plan_of(model, config_of(DataType::int8, true), "xint8");
  EXPECT_TRUE(plan.nodes.empty());
  EXPECT_NE(plan.skipped.at("Conv_0").find("power-of-two"), std::string::npos);
}

// The parameters of a value's pair, or of a constant, in a finished model.
struct Place {
  std::string scale, zero_point;
};

Place place_of(const graph::Model& model, const std::string& node, size_t input) {
  const graph::Index index(model);
  const graph::Node* pair = index.producer(index.node(node)->inputs.at(input));
  return {pair->inputs[1], pair->inputs[2]};
}

void rescale(graph::Model& model, const std::string& node, size_t input, int shift) {
  Tensor& scale = model.initializers.at(place_of(model, node, input).scale);
  scale = Tensor::scalar(std::ldexp(scale.as<float>()[0], shift));
}

struct Mutation {
  const char* rule;
  std::function<void(graph::Model&)> change;
};

// Each breaks one rule of a model that keeps all.
TEST(ShiftRules, TheCheckerFindsEveryMutation) {
  const auto rescaled = [](const char* node, size_t input, int shift) {
    return [=](graph::Model& model) { rescale(model, node, input, shift); };
  };
  const auto node = [](graph::Model& model, const std::string& name) -> graph::Node& {
    return *std::ranges::find(model.nodes, name, &graph::Node::name);
  };
  const std::vector<Mutation> mutations{
      {"shift_cut", rescaled("Conv_0", 1, -20)},
      {"shift_bias", rescaled("Conv_0", 2, 20)},
      {"shift_read", rescaled("Add_1", 1, -12)},
      {"shift_write", rescaled("Add_1", 1, 20)},
      {"shift_swish", rescaled("Mul_0", 0, -20)},
      {"hard_sigmoid", rescaled("Mul_0", 1, 3)},
      {"align_concat", rescaled("Concat_0", 0, 1)},
      {"align_pool", rescaled("AveragePool_0", 0, 1)},
      {"align_slice", rescaled("Slice_0", 0, 1)},
      {"align_movement", rescaled("Reshape_1", 0, 1)},
      {"grid", [&](graph::Model& model) { model.initializers.at(place_of(model, "Conv_0", 1).scale) = Tensor::scalar(0.3F); }},
      {"grid",
       [&](graph::Model& model) { model.initializers.at(place_of(model, "Conv_0", 0).zero_point) = Tensor::scalar<int8_t>(3); }},
      {"bias",
       [&](graph::Model& model) { model.initializers.at(place_of(model, "Conv_0", 2).zero_point) = Tensor::scalar<int32_t>(0); }},
      {"leaky_relu",
       [&](graph::Model& model) {
         node(model, "LeakyRelu_0").set({"alpha", 0.1F});
       }},
      {"sigmoid", [&](graph::Model& model) { node(model, "HardSigmoid_0").op_type = "Sigmoid"; }},
      {"complete", [&](graph::Model& model) {
         const graph::Index index(model);
         const std::string pair = index.producer(node(model, "Conv_0").inputs[0])->name;
         node(model, "Conv_0").inputs[0] = "x";
         EXPECT_FALSE(pair.empty());
       }}};
  const auto whole = apply(patchwork(), npu_plan(patchwork()));
  for (const auto& [rule, change] : mutations) {
    graph::Model mutated = whole;
    change(mutated);
    EXPECT_TRUE(rules_broken(mutated).contains(rule)) << rule;
  }
}

// A Resize to the nearest value moves values; a linear one may have a position of its own.
TEST(ShiftRules, MovementsOfAllKindsKeepThePosition) {
  for (const std::string mode : {"nearest", "linear"}) {
    Builder b;
    const auto x = b.conv(b.input("x", {1, 3, 4, 4}), 3, 4, 1);
    const auto large = b.node("Resize", {x, "", b.constant(Tensor::of<float>({4}, {1, 1, 2, 2}))}, {{"mode", mode}});
    const auto tiled = b.node("Tile", {large, b.constant(Tensor::of<int64_t>({4}, {1, 1, 2, 2}))});
    const graph::Model model = b.finish({b.conv(tiled, 4, 2, 1)});
    const graph::Model whole = apply(model, npu_plan(model));
    EXPECT_FALSE(rules_broken(whole).contains("align_movement")) << mode;
    for (const char* name : {"Resize_0", "Tile_0"}) {
      graph::Model mutated = whole;
      rescale(mutated, name, 0, 1);
      EXPECT_EQ(rules_broken(mutated).contains("align_movement"), mode == "nearest" || name == std::string("Tile_0"))
          << name << mode;
    }
  }
}

// Also of a processor's Concat with a constant, whose scale moves with the others'.
TEST(ShiftRules, ConcatsAreAlignedWithTheirConstants) {
  Builder b;
  const auto x = b.input("x", {1, 4, 6, 6});
  const auto big = b.constant(Tensor::of(Shape{1, 2, 6, 6}, std::vector<float>(72, 40)));
  const graph::Model model = b.finish({b.node("Concat", {b.conv(x, 4, 2, 1), big}, {{"axis", int64_t{1}}})});
  for (const uint32_t seed : {0, 3, 5}) {
    const Plan plan = npu_plan(model, Json::object(), seed);
    EXPECT_EQ(plan.nodes.at("Concat_0").constants.at(0).params, plan.values.at("Concat_0_out"));
    EXPECT_FALSE(rules_broken(apply(model, plan)).contains("align_concat"));
  }
  const Config config = parse_config({{"scheme", "A8W8"}, {"AlignConcat", true}});
  const Plan plan = resolve(model, made_up_statistics(model), config, *targets::table().make("ort_cpu"));
  EXPECT_EQ(plan.nodes.at("Concat_0").constants.at(0).params.scales, plan.values.at("Concat_0_out").scales);
}

// The usual HardSigmoid of ONNX runs in float: no rule asks for its parameters.
TEST(ShiftRules, OtherHardSigmoidsAreNoViolation) {
  Builder b;
  const auto x = b.input("x", {1, 4, 6, 6});
  const auto sum = b.conv(x, 4, 4, 1);
  const graph::Model model = b.finish({b.node("Mul", {b.node("HardSigmoid", {sum}), sum})});
  EXPECT_TRUE(npu_plan(model).skipped.contains("HardSigmoid_0"));
  EXPECT_EQ(broken(apply(model, npu_plan(model))), std::vector<std::string>{});
}

TEST(ShiftRules, AMissingPairBetweenTwoLayersIsFound) {
  Builder b;
  const auto x = b.input("x", {1, 4, 6, 6});
  const auto both = b.node("Concat", {b.conv(x, 4, 2, 1), b.conv(x, 4, 2, 1)}, {{"axis", int64_t{1}}});
  const graph::Model model = b.finish({b.node("GlobalAveragePool", {both})});
  graph::Model quantized = apply(model, npu_plan(model));
  EXPECT_EQ(broken(quantized), std::vector<std::string>{});
  const graph::Index index(quantized);
  const std::string written = index.node("Concat_0")->outputs.front();
  std::ranges::find(quantized.nodes, "GlobalAveragePool_0", &graph::Node::name)->inputs.front() = written;
  std::erase_if(quantized.nodes, [&](const graph::Node& node) {
    return node.outputs.front() == both || (node.op_type == "QuantizeLinear" && node.inputs.front() == written);
  });
  EXPECT_EQ(rules_broken(quantized), std::set<std::string>{"complete"});
}

// As exclude leaves it, or as someone who forgot its weights does: said, but no violation.
TEST(ShiftRules, WeightsInFloatBetweenPairsAreNamed) {
  const graph::Model quantized = apply(separable(), npu_plan(separable(), {{"exclude", {"Conv_1"}}}));
  EXPECT_EQ(network_of(quantized).in_float, std::vector<std::string>{"Conv_1"});
  EXPECT_TRUE(network_of(apply(separable(), npu_plan(separable()))).in_float.empty());
}

TEST(ShiftRules, ThePairsOfOtherTargetsAreFound) {
  const auto with_pairs = apply(separable(), npu_plan(separable(), {{"RemoveQDQConvRelu", false}}));
  EXPECT_EQ(rules_broken(with_pairs), std::set<std::string>{"fusion"});
  Builder b;
  const auto padded = b.node(
      "Pad", {b.conv(b.input("x", {1, 2, 4, 4}), 2, 2, 1), b.constant(Tensor::of<int64_t>({8}, {0, 0, 1, 1, 0, 0, 1, 1}))});
  auto model = b.finish({b.conv(padded, 2, 2, 3)});
  auto quantized = apply(model, npu_plan(model));
  EXPECT_TRUE(violations(quantized).empty());
  rescale(quantized, "Conv_1", 0, 1);
  EXPECT_TRUE(rules_broken(quantized).contains("align_pad"));
}

// One activation runs with its layer; a second one behind it has a pair before it, as it must.
TEST(ShiftRules, OfSeveralActivationsTheFirstIsFused) {
  for (const auto& [first, second] : std::vector<std::pair<const char*, const char*>>{
           {"Relu", "Relu"}, {"Relu", "LeakyRelu"}, {"LeakyRelu", "Relu"}, {"LeakyRelu", "LeakyRelu"}}) {
    Builder b;
    const auto conv = b.conv(b.input("x", {1, 2, 4, 4}), 2, 2, 3);
    const auto model = b.finish({b.conv(b.node(second, {b.node(first, {conv})}), 2, 2, 1)});
    EXPECT_EQ(rules_broken(apply(model, npu_plan(model))), std::set<std::string>{}) << first << " " << second;
  }
}

// Pooling has no shift, nor has it one with the activation that runs with it.
TEST(ShiftRules, PoolsAreAlignedWithWhatIsBehindTheirActivation) {
  for (const char* type : {"Relu", "LeakyRelu", "Clip"}) {
    for (uint32_t seed = 1; seed < 6; seed++) {
      Builder b;
      const auto conv = b.conv(b.input("x", {1, 2, 8, 8}), 2, 2, 3);
      const auto pooled = b.node("AveragePool", {conv}, {{"kernel_shape", std::vector<int64_t>{2, 2}}});
      const auto curve = std::string(type) == "Clip" ? b.clip(pooled, 0, 6) : b.node(type, {pooled}, {});
      const auto model = b.finish({b.conv(b.node("GlobalAveragePool", {curve}), 2, 2, 1)});
      const Plan plan = npu_plan(model, Json::object(), seed);
      EXPECT_EQ(plan.values.at(conv).scales, plan.values.at(curve).scales) << type;
      EXPECT_FALSE(rules_broken(apply(model, plan)).contains("align_pool")) << type;
    }
  }
}

// A convolution of computed weights stays in float, though they are another node's quantized output.
TEST(ShiftRules, ComputedWeightsMakeNoLayer) {
  Builder b;
  const auto x = b.input("x", {1, 2, 4, 4});
  const auto scale = b.node("ReduceMean", {b.node("GlobalAveragePool", {x})}, {{"axes", std::vector<int64_t>{1, 2, 3}}});
  const auto weights = b.node("Mul", {b.weights({2, 2, 1, 1}), scale});
  const auto conv = b.node("Conv", {x, weights, b.weights({2})});
  const auto model = b.finish({b.conv(b.node("Relu", {conv}), 2, 2, 1)});
  EXPECT_EQ(rules_broken(apply(model, npu_plan(model))), std::set<std::string>{});
}

// The rule's own choice: a weight is never made finer, so that nothing is clipped.
TEST(ShiftRules, ScalesOnlyGrow) {
  const auto model = residual();
  Json off{{"NPULimitationCheck", false}};
  for (const char* key : {"AlignConcat", "AlignPool"}) off[key] = true;
  for (uint32_t seed = 1; seed < 20; seed++) {
    const Plan free = npu_plan(model, off, seed), kept = npu_plan(model, Json::object(), seed);
    for (const auto& [value, params] : kept.values) EXPECT_GE(params.scales[0], free.values.at(value).scales[0]) << value;
    for (const auto& [name, node] : kept.nodes) {
      if (!node.weight) continue;
      EXPECT_GE(node.weight->params.scales[0], free.nodes.at(name).weight->params.scales[0]) << name;
      EXPECT_GE(node.bias->params.scales[0], free.nodes.at(name).bias->params.scales[0]) << name;
    }
  }
}

TEST(Simulation, FactorsOfAverages) {
  EXPECT_DOUBLE_EQ(average_factor(3, 3), 63.0 / 64);
  EXPECT_DOUBLE_EQ(average_factor(5, 5), 250.0 / 256);
  EXPECT_DOUBLE_EQ(average_factor(6, 6), 252.0 / 256);
  EXPECT_DOUBLE_EQ(average_factor(7, 7), 1029.0 / 1024);
  EXPECT_DOUBLE_EQ(average_factor(14, 14), 4116.0 / 4096);
  for (const int64_t size : {1, 2, 4, 8, 16}) EXPECT_DOUBLE_EQ(average_factor(size, size), 1);
  EXPECT_DOUBLE_EQ(average_factor(300, 300), 1);
  for (int64_t count = 2; count < 500; count++) EXPECT_NEAR(average_factor(count), 1, 0.008) << count;
}

TEST(Simulation, TheQuantizedModelComputesWhatTheProcessorDoes) {
  const auto model = patchwork();
  const auto quantized = apply(model, resolve(model, wild_statistics(model), xint8_config(), *targets::table().make("xint8")));
  const graph::Index index(quantized);
  EXPECT_EQ(index.node("LeakyRelu_0")->real("alpha", 0), 26.0F / 256);
  EXPECT_EQ(index.node("Sigmoid_0")->op_type, "HardSigmoid");
  const auto factor = [&](const char* node) {
    const auto& readers = index.consumers(index.node(node)->outputs[0]);
    return readers.front()->is("Mul") ? quantized.initializer(readers.front()->inputs[1])->as<float>()[0] : 1.0F;
  };
  EXPECT_EQ(factor("AveragePool_0"), 63.0F / 64);
  EXPECT_EQ(factor("Sigmoid_0"), 6 * 2731.0F / 16384);
  EXPECT_EQ(factor("GlobalAveragePool_0"), static_cast<float>(average_factor(81)));
}

}  // namespace
}  // namespace quasar::quant
