// Equalization, smoothing and bias correction: what they are for.
#include <gtest/gtest.h>

#include <cmath>

#include "made_up_statistics.hpp"
#include "quasar/quant/channels/equalization.hpp"
#include "quasar/quant/config/transform.hpp"
#include "sample_models.hpp"

namespace quasar::quant {
namespace {

using V = std::vector<int64_t>;

Transformed run(const std::string& name, const graph::Model& model, const Json& options = Json::object(),
                const stats::ChannelStatistics& seen = {}) {
  return transforms::table().make(name, options)->rewrite(model, seen);
}

std::vector<double> output_ranges(const graph::Model& model, const std::string& node) {
  const graph::Index index(model);
  const auto layer = channel_layer(*index.node(node), model);
  std::vector<double> out(layer->outputs);
  const auto weights = model.initializer(index.node(node)->inputs[1])->as<float>();
  layer->for_weights([&](size_t i, size_t output, size_t) { out[output] = std::max<double>(out[output], std::abs(weights[i])); });
  return out;
}

std::vector<double> input_ranges(const graph::Model& model, const std::string& node) {
  const graph::Index index(model);
  const auto layer = channel_layer(*index.node(node), model);
  std::vector<double> out(layer->inputs);
  const auto weights = model.initializer(index.node(node)->inputs[1])->as<float>();
  layer->for_weights([&](size_t i, size_t, size_t input) { out[input] = std::max<double>(out[input], std::abs(weights[i])); });
  return out;
}

graph::Model triple() {
  Builder b(3);
  const auto dense = b.node("Relu", {b.conv(b.input("x", {1, 3, 8, 8}), 3, 6, 3)});
  const auto depthwise = b.node("Relu", {b.conv(dense, 6, 6, 3, 6)});
  return b.finish({b.conv(depthwise, 6, 4, 1)});
}

TEST(Equalization, ATripleBecomesEqualInOneStep) {
  const Transformed result = run("cle", triple());
  EXPECT_EQ(result.changes, 2U);
  const auto first = output_ranges(result.model, "Conv_0"), middle = output_ranges(result.model, "Conv_1"),
             last = input_ranges(result.model, "Conv_2");
  for (size_t c = 0; c < 6; c++) {
    EXPECT_NEAR(first[c] / middle[c], 1, 1e-5);
    EXPECT_NEAR(middle[c] / last[c], 1, 1e-5);
  }
}

// [2, 4, 1, 1] as one row: the channels of one picture after those of the other, and not each channel twice.
TEST(Equalization, PicturesInARowAreNoChannels) {
  const auto rows = [](int64_t pictures) {
    Builder b(3);
    const auto pooled = b.node("GlobalAveragePool", {b.node("Relu", {b.conv(b.input("x", {pictures, 3, 8, 8}), 3, 4, 3)})});
    const auto row = b.node("Reshape", {pooled, b.constant(Tensor::of<int64_t>({2}, {1, -1}))});
    return b.finish({b.node("Gemm", {row, b.weights({4 * pictures, 5}), b.weights({5})})});
  };
  EXPECT_EQ(run("cle", rows(1)).changes, 1U);
  EXPECT_EQ(run("cle", rows(2)).changes, 0U);
}

TEST(Equalization, UntilConvergedIsAFixedPoint) {
  const Transformed once = run("cle", separable(7), {{"cle_steps", -1}});
  const Transformed twice = run("cle", once.model, {{"cle_steps", 1}});
  for (const auto& [name, tensor] : once.model.initializers) {
    if (tensor.type() != DataType::float32) continue;
    for (size_t i = 0; i < tensor.count(); i++)
      EXPECT_NEAR(tensor.as<float>()[i], twice.model.initializers.at(name).as<float>()[i], 1e-4) << name;
  }
}

TEST(Equalization, AChannelThatNobodyReadsIsScaledAsTheOthersAre) {
  graph::Model model = triple();
  const std::string last = graph::Index(model).node("Conv_2")->inputs[1];
  std::vector<float> weights(model.initializers.at(last).as<float>().begin(), model.initializers.at(last).as<float>().end());
  for (size_t i = 0; i < weights.size(); i++) weights[i] = i % 6 == 2 ? 0 : weights[i] * 1e6F;
  model.initializers[last] = Tensor::of<float>(model.initializers.at(last).shape(), weights);
  const Transformed result = run("cle", model);
  const auto first = output_ranges(result.model, "Conv_0");
  EXPECT_GT(first[0], 10 * output_ranges(model, "Conv_0")[0]);
  EXPECT_GT(first[2], first[0] / 10);
}

TEST(Equalization, SeveralReadersAndClipEndAChain) {
  Builder b;
  const auto stem = b.node("Relu", {b.conv(b.input("x", {1, 3, 6, 6}), 3, 4, 3)});
  const auto left = b.conv(stem, 4, 4, 3), right = b.conv(stem, 4, 4, 3);
  const auto clipped = b.conv(b.clip(left, 0, 6), 4, 4, 1);
  const graph::Model model = b.finish({b.node("Add", {clipped, right})});
  EXPECT_TRUE(find_chains(model).empty());
  const Transformed replaced = run("clip6_to_relu", model);
  EXPECT_EQ(replaced.changes, 1U);
  EXPECT_EQ(find_chains(replaced.model).size(), 1U);
}

TEST(FitPowerOfTwo, ClipsMoveToTheEndOfTheirGrid) {
  Builder b;
  const auto first = b.clip(b.conv(b.input("x", {1, 3, 6, 6}), 3, 4, 3), 0, 6);
  const auto second = b.clip(b.conv(first, 4, 4, 3), 0, 3);
  const graph::Model model = b.finish({b.conv(second, 4, 2, 1)});
  const Transformed result = run("fit_power_of_two", model);
  EXPECT_EQ(result.changes, 2U);
  EXPECT_EQ(result.values.size(), 4U);
  std::vector<float> highest;
  for (const auto& node : result.model.nodes) {
    if (node.is("Clip")) highest.push_back(result.model.initializer(node.inputs[2])->as<float>()[0]);
  }
  EXPECT_EQ(highest, (std::vector<float>{7.9375F, 3.96875F}));
  EXPECT_EQ(run("fit_power_of_two", result.model).changes, 0U);
}

TEST(FitPowerOfTwo, WhatOthersReadStays) {
  Builder b;
  const auto clipped = b.clip(b.conv(b.input("x", {1, 3, 6, 6}), 3, 4, 3), 0, 6);
  const auto left = b.conv(clipped, 4, 4, 1);
  EXPECT_EQ(run("fit_power_of_two", b.finish({b.node("Add", {clipped, left})})).changes, 0U);
}

TEST(Equalization, DeadChannelsStay) {
  graph::Model model = triple();
  std::vector<float> zeros(54);
  model.initializers.at(model.nodes[2].inputs[1]) = Tensor::of({6, 1, 3, 3}, zeros);
  const Transformed result = run("cle", model, {{"cle_steps", -1}});
  for (const auto& [name, tensor] : result.model.initializers) {
    for (const float value : tensor.as<float>()) EXPECT_TRUE(std::isfinite(value)) << name;
  }
  EXPECT_EQ(output_ranges(result.model, "Conv_0"), output_ranges(model, "Conv_0"));
}

// Channel 2 says next to nothing but its bias: were it made as large as the others, the bias would set the scale of all.
TEST(Equalization, ABiasIsNotMadeLargerThanWhatTheOthersSay) {
  graph::Model model = triple();
  const graph::Node& first = model.nodes[0];
  const auto scaled = [&](const std::string& name, size_t from, size_t to, float by) {
    std::vector<float> values(model.initializers.at(name).as<float>().begin(), model.initializers.at(name).as<float>().end());
    for (size_t i = from; i < to; i++) values[i] *= by;
    model.initializers[name] = Tensor::of<float>(model.initializers.at(name).shape(), values);
  };
  scaled(first.inputs[1], 54, 81, 1e-8F);
  std::vector<float> biases(6, 0.1F);
  biases[2] = 1;
  model.initializers[first.inputs[2]] = Tensor::of<float>({6}, biases);
  const Transformed result = run("cle", model);
  const auto after = result.model.initializer(result.model.nodes[0].inputs[2])->as<float>();
  EXPECT_LT(after[2], 10);
  const auto middle = output_ranges(result.model, "Conv_1"), before = output_ranges(model, "Conv_1");
  EXPECT_LT(middle[2], 30 * before[2]) << "the rest of the chain shares what is left";
  biases[2] = -1;
  model.initializers[first.inputs[2]] = Tensor::of<float>({6}, biases);
  const Transformed cut = run("cle", model);
  EXPECT_LT(cut.model.initializer(cut.model.nodes[0].inputs[2])->as<float>()[2], -100) << "a Relu cuts it";
}

// A copy of the weights for each reader would make the model larger.
TEST(Equalization, WeightsThatSeveralLayersReadStay) {
  Builder b(3);
  const std::string weights = b.weights({6, 6});
  const auto first = b.node("Relu", {b.node("MatMul", {b.input("x", {4, 6}), weights})});
  const auto second = b.node("Relu", {b.node("MatMul", {first, weights})});
  const graph::Model model = b.finish({b.node("MatMul", {second, b.weights({6, 3})})});
  EXPECT_TRUE(find_chains(model).empty());
  const stats::ChannelStats wide{{-1, -1, -64, -1, -1, -1}, {1, 1, 50, 1, 1, 1}, std::vector<double>(6)};
  const Transformed smooth = run("smooth_quant", model, {}, {{"x", wide}, {first, wide}, {second, wide}});
  EXPECT_EQ(smooth.model.initializer(smooth.model.nodes[0].inputs[1])->as<float>()[0],
            model.initializer(weights)->as<float>()[0]);
  EXPECT_TRUE(smooth.notes[0].ends_with("; 2 left since other layers read their weights too")) << smooth.notes[0];
}

TEST(Equalization, AGemmWithFactorsAbsorbsNoBias) {
  const auto model = [](float beta) {
    Builder b(9);
    const auto first = b.node("Gemm", {b.input("x", {1, 6}), b.weights({6, 6}), b.weights({6})}, {{"beta", beta}});
    return b.finish({b.node("Gemm", {b.node("Relu", {first}), b.weights({6, 3}), b.weights({3})})});
  };
  EXPECT_TRUE(find_chains(model(1)).at(0).links[0].shiftable);
  EXPECT_FALSE(find_chains(model(2)).at(0).links[0].shiftable);
}

TEST(Equalization, ABiasThatNoReluCutsMovesOn) {
  Builder b(9);
  const auto first = b.node("Relu", {b.conv(b.input("x", {1, 3, 5, 5}), 3, 4, 1)});
  const graph::Model model = b.finish({b.conv(first, 4, 2, 1)});
  const stats::ChannelStatistics seen{{"Conv_0_out", {{2, -1, 0.5F, -3}, {3, 1, 1, 1}, {2.5, 0, 0.7, 0}}}};
  const auto bias = [](const graph::Model& m, size_t node) { return m.initializer(m.nodes[node].inputs[2])->as<float>(); };
  const Transformed plain = run("cle", model), absorbed = run("cle", model, {{"bias_absorption", true}}, seen);
  EXPECT_LT(bias(absorbed.model, 0)[0], bias(plain.model, 0)[0]);
  EXPECT_LT(bias(absorbed.model, 0)[2], bias(plain.model, 0)[2]);
  EXPECT_EQ(bias(absorbed.model, 0)[1], bias(plain.model, 0)[1]);
  EXPECT_NE(bias(absorbed.model, 2)[0], bias(plain.model, 2)[0]);
}

// A number of steps beyond the fixed point ends there, before rounding adds up.
TEST(Equalization, ManyStepsEndAtTheFixedPoint) {
  const Transformed many = run("cle", separable(7), {{"cle_steps", 1000000}});
  ASSERT_EQ(many.notes.size(), 1U);
  EXPECT_EQ(many.notes.front().find("1000000 steps"), std::string::npos) << many.notes.front();
  const Transformed converged = run("cle", separable(7), {{"cle_steps", -1}});
  for (const auto& [name, tensor] : converged.model.initializers) {
    if (tensor.type() != DataType::float32) continue;
    for (size_t i = 0; i < tensor.count(); i++)
      EXPECT_NEAR(many.model.initializers.at(name).as<float>()[i], tensor.as<float>()[i],
                  1e-4F * std::abs(tensor.as<float>()[i]) + 1e-6F);
  }
}

graph::Model normalized_product() {
  Builder b(5);
  b.model().opsets[""] = 17;
  const auto x = b.node("LayerNormalization", {b.input("x", {4, 6}), b.weights({6}, 0.1F, 1), b.weights({6})});
  return b.finish({b.node("MatMul", {x, b.weights({6, 3})})});
}

TEST(SmoothQuant, SharesAnOutlierOut) {
  const graph::Model model = normalized_product();
  const stats::ChannelStatistics seen{
      {"LayerNormalization_0_out", {{-1, -1, -64, -1, -1, -1}, {1, 1, 50, 1, 1, 1}, std::vector<double>(6)}}};
  const Transformed result = run("smooth_quant", model, {{"alpha", 0.5}}, seen);
  EXPECT_EQ(result.model.nodes.size(), model.nodes.size());
  EXPECT_EQ(result.values, std::set<std::string>{"LayerNormalization_0_out"});
  const double weight = input_ranges(model, "MatMul_0")[2], scale = std::sqrt(64 / weight);
  EXPECT_NEAR(input_ranges(result.model, "MatMul_0")[2], weight * scale, 1e-4);
  const auto gamma = [](const graph::Model& m) { return m.initializer(m.nodes[0].inputs[1])->as<float>()[2]; };
  EXPECT_NEAR(gamma(result.model) * scale, gamma(model), 1e-5);
}

// Its weights alone would set the scale of the layer's whole tensor, were it not divided as the others are.
TEST(SmoothQuant, AChannelThatIsAlwaysZeroIsScaledAsTheOthersAre) {
  Builder b(5);
  const auto hidden =
      b.node("Relu", {b.node("Add", {b.node("MatMul", {b.input("x", {4, 6}), b.weights({6, 6})}), b.weights({6})})});
  const graph::Model model = b.finish({b.node("MatMul", {hidden, b.weights({6, 3})})});
  const stats::ChannelStatistics seen{{hidden, {std::vector<float>(6), {400, 400, 0, 400, 400, 400}, std::vector<double>(6)}}};
  const Transformed result = run("smooth_quant", model, {{"alpha", 0.5}}, seen);
  ASSERT_EQ(result.changes, 1U);
  const auto before = output_ranges(model, "MatMul_0"), after = output_ranges(result.model, "MatMul_0");
  double logs = 0;
  for (const size_t c : {0, 1, 3, 4, 5}) logs += std::log(before[c] / after[c]) / 5;
  EXPECT_GT(std::exp(logs), 10);
  EXPECT_NEAR(before[2] / after[2], std::exp(logs), 1e-3 * std::exp(logs));
}

// Where weights share one scale, a layer that took the scales would lose precision in all other channels.
TEST(SmoothQuant, LayersTakeScalesWhereEachChannelHasItsOwn) {
  const auto behind_layers = [](const char* granularity) {
    const auto uses = parse_transforms({{"include_sq", true}, {"weight_params", {{"quant_granularity", granularity}}}});
    return uses.at(0).options.at("behind_layers");
  };
  EXPECT_EQ(behind_layers("Tensor"), false);
  EXPECT_EQ(behind_layers("Channel"), true);
  Builder b(5);
  const auto hidden = b.node("Relu", {b.node("MatMul", {b.input("x", {4, 6}), b.weights({6, 6})})});
  const graph::Model model = b.finish({b.node("MatMul", {hidden, b.weights({6, 3})})});
  const stats::ChannelStatistics seen{{hidden, {std::vector<float>(6), {400, 1, 2, 4, 400, 4}, std::vector<double>(6)}}};
  EXPECT_EQ(run("smooth_quant", model, {}, seen).changes, 1U);
  EXPECT_EQ(run("smooth_quant", model, {{"behind_layers", false}}, seen).changes, 0U);
}

TEST(SmoothQuant, SaysWhichInputsItLeavesAndWhy) {
  Builder b(5);
  b.model().opsets[""] = 17;
  const auto normal = b.node("LayerNormalization", {b.input("x", {4, 6}), b.weights({6}, 0.1F, 1), b.weights({6})});
  const auto other = b.node("Softmax", {b.node("MatMul", {normal, b.weights({6, 6})})});
  const graph::Model model = b.finish({other, b.node("MatMul", {other, b.weights({6, 3})})});
  const stats::ChannelStats wide{{-1, -1, -64, -1, -1, -1}, {1, 1, 50, 1, 1, 1}, std::vector<double>(6)};
  const Transformed result = run("smooth_quant", model, {}, {{"LayerNormalization_0_out", wide}, {"Softmax_0_out", wide}});
  ASSERT_EQ(result.notes.size(), 1U);
  EXPECT_TRUE(result.notes[0].ends_with("1 left as operators other than LayerNormalization write them")) << result.notes[0];
  EXPECT_EQ(result.notes[0].find("come quantized"), std::string::npos);
}

TEST(BiasCorrection, TakesTheShiftBack) {
  Builder b(5);
  b.conv(b.input("x", {1, 3, 6, 6}), 3, 4, 1);
  const graph::Model model = b.finish({"Conv_0_out"});
  Plan plan = plan_of(model, config_of(DataType::uint8, false));
  const stats::ChannelStatistics seen{{"x", {{0, 0, 0}, {1, 1, 1}, {5, -2, 3}}}};
  EXPECT_EQ(transforms::table().make("bias_correction")->correct(model, seen, plan), 1U);
  const NodePlan& node = plan.nodes.at("Conv_0");
  const Tensor& weights = *model.initializer(model.nodes[0].inputs[1]);
  const Tensor rounded = dequantize(quantize(weights, node.weight->params), node.weight->params);
  const Tensor bias = dequantize(node.bias->optimized->codes, node.bias->optimized->params);
  for (size_t o = 0; o < 4; o++) {
    double exact = model.initializer(model.nodes[0].inputs[2])->as<float>()[o], used = bias.as<float>()[o];
    for (size_t i = 0; i < 3; i++) {
      exact += weights.as<float>()[o * 3 + i] * seen.at("x").mean[i];
      used += rounded.as<float>()[o * 3 + i] * seen.at("x").mean[i];
    }
    EXPECT_NEAR(exact, used, 1e-3);
  }
}

// A bias in float holds whatever it is given.
TEST(BiasCorrection, ABiasInFloatTakesTheShiftToo) {
  Builder b(5);
  b.conv(b.input("x", {1, 3, 6, 6}), 3, 4, 1);
  const graph::Model model = b.finish({"Conv_0_out"});
  Plan plan = plan_of(model, config_of(DataType::uint8, false));
  plan.nodes.at("Conv_0").bias.reset();
  const stats::ChannelStatistics seen{{"x", {{0, 0, 0}, {1, 1, 1}, {5, -2, 3}}}};
  EXPECT_EQ(transforms::table().make("bias_correction")->correct(model, seen, plan), 1U);
  const NodePlan& node = plan.nodes.at("Conv_0");
  const Tensor& weights = *model.initializer(model.nodes[0].inputs[1]);
  const Tensor rounded = dequantize(quantize(weights, node.weight->params), node.weight->params);
  const auto before = model.initializer(model.nodes[0].inputs[2])->as<float>(), after = node.replaced.at(2).as<float>();
  for (size_t o = 0; o < 4; o++) {
    double shift = 0;
    for (size_t i = 0; i < 3; i++)
      shift += (weights.as<float>()[o * 3 + i] - rounded.as<float>()[o * 3 + i]) * seen.at("x").mean[i];
    EXPECT_NEAR(after[o] - before[o], shift, 1e-5);
  }
}

// Optimized rounding has taken the mean error into account.
TEST(BiasCorrection, LeavesLayersWhoseCodesWereChosen) {
  Builder b(5);
  b.conv(b.input("x", {1, 3, 6, 6}), 3, 4, 1);
  const graph::Model model = b.finish({"Conv_0_out"});
  Plan plan = plan_of(model, config_of(DataType::uint8, false));
  ConstantPlan& weight = *plan.nodes.at("Conv_0").weight;
  weight.optimized = Optimized{weight.params, quantize(*model.initializer(model.nodes[0].inputs[1]), weight.params)};
  const stats::ChannelStatistics seen{{"x", {{0, 0, 0}, {1, 1, 1}, {5, -2, 3}}}};
  EXPECT_EQ(transforms::table().make("bias_correction")->correct(model, seen, plan), 0U);
}

}  // namespace
}  // namespace quasar::quant
