// Rounding of 4-bit weights in blocks: MatMulNBits, Q/DQ with blocks, and layers too wide for one Gram matrix.
#include <gtest/gtest.h>

#include <cmath>

#include "quasar/base/rng.hpp"
#include "quasar/rounding/rounding.hpp"
#include "quasar/runtime/prepare.hpp"
#include "quasar/runtime/session.hpp"
#include "quasar/trial/variants.hpp"
#include "unit/rounding/random_tensor.hpp"
#include "unit/tune/generated_samples.hpp"

namespace quasar::tune {
namespace {

// LayerNormalization → two products → Relu → product, a Gemm with a bias at the end.
graph::Model network() {
  graph::Model model;
  model.opsets[""] = 21;
  model.ir_version = 10;
  model.inputs = {{"x", DataType::float32, Shape{1, 6, 48}}};
  model.outputs = {{"y", DataType::float32}};
  model.initializers["gain"] = random_tensor({48}, 1, 0.5F);
  model.initializers["w1"] = random_tensor({48, 64}, 2, 0.2F);
  model.initializers["w2"] = random_tensor({48, 64}, 3, 0.2F);
  model.initializers["w3"] = random_tensor({64, 48}, 4, 0.2F);
  model.initializers["flat"] = Tensor::of<int64_t>({2}, {6, 48});
  model.initializers["w4"] = random_tensor({10, 48}, 5, 0.2F);
  model.initializers["b4"] = random_tensor({10}, 6, 0.1F);
  const auto add = [&](std::string name, std::string type, std::vector<std::string> inputs, std::string output,
                       std::vector<graph::Attribute> attributes = {}) {
    model.nodes.push_back({.name = std::move(name),
                           .op_type = std::move(type),
                           .domain = "",
                           .inputs = std::move(inputs),
                           .outputs = {std::move(output)},
                           .attributes = std::move(attributes)});
  };
  add("norm", "LayerNormalization", {"x", "gain"}, "n");
  add("first", "MatMul", {"n", "w1"}, "a");
  add("second", "MatMul", {"n", "w2"}, "b");
  add("product", "Mul", {"a", "b"}, "c");
  add("relu", "Relu", {"c"}, "r");
  add("third", "MatMul", {"r", "w3"}, "d");
  add("reshape", "Reshape", {"d", "flat"}, "f");
  add("last", "Gemm", {"f", "w4", "b4"}, "y", {{"transB", int64_t{1}}});
  return model;
}

// Correlated channels, some of them large.
struct Samples final : GeneratedSamples {
  Samples()
      : GeneratedSamples(30, [](size_t index) {
          Rng rng(100 + index);
          std::vector<float> values;
          for (int row = 0; row < 6; row++) {
            const double a = rng.normal(), b = rng.normal();
            for (int i = 0; i < 48; i++)
              values.push_back(static_cast<float>((i % 7 == 0 ? 6 : 1) *
                                                  (a * std::sin(i * 0.4) + b * std::cos(i * 0.9) + 0.3 * rng.normal())));
          }
          return data::Sample{Tensor::of(Shape{1, 6, 48}, values)};
        }) {}
};

struct Trial {
  graph::Model model;
  RoundingReport report;
  double error;  // mean squared error of the output over the samples
};

Trial tried(const Json& words, const RounderOptions& options = {}, const graph::Model& model = network()) {
  const auto samples = std::make_shared<Samples>();
  const quant::Config config = quant::parse_config(words);
  CalibrationNeeds needs;
  needs.add(config);
  Variants variants(model, model, samples, needs, {.rounding = options});
  quant::Plan plan = variants.plan(config, *quant::targets::table().make("ort_cpu"));
  Built built = variants.build(config, plan);
  const runtime::Session reference(model), quantized(built.model);
  double sum = 0;
  for (size_t i = 0; i < samples->size(); i++) {
    const Tensor a = reference.run(samples->at(i)).front(), b = quantized.run(samples->at(i)).front();
    for (size_t k = 0; k < a.count(); k++) sum += std::pow(double(a.as<float>()[k]) - double(b.as<float>()[k]), 2);
  }
  return {std::move(built.model), std::move(built.rounding), sum / double(samples->size())};
}

Json weights_only(const std::string& method) {
  return {{"scheme", "RTN_G32ASYM"}, {"weight_params", {{"group_size", 16}}}, {"algorithms", method}};
}

size_t count(const graph::Model& model, const std::string& type) {
  return static_cast<size_t>(std::ranges::count(model.nodes, type, &graph::Node::op_type));
}

TEST(WeightsOnly, EveryMethodLowersTheOutputsError) {
  const Trial nearest = tried(weights_only("rtn"));
  EXPECT_EQ(count(nearest.model, "MatMulNBits"), 4U);
  EXPECT_TRUE(nearest.report.layers.empty());
  for (const std::string method : {"adaround", "adaquant", "gptq", "awq"}) {
    const Trial trial = tried(weights_only(method));
    EXPECT_EQ(count(trial.model, "MatMulNBits"), 4U);
    EXPECT_LT(trial.error, (method == "awq" ? 0.9 : 0.6) * nearest.error) << method;
    ASSERT_EQ(trial.report.layers.size(), 4U);
    for (const auto& layer : trial.report.layers) {
      EXPECT_LE(layer.after, layer.before) << layer.node;
      EXPECT_GT(layer.alone, 0) << layer.node;
    }
  }
}

// MatMulNBits at accuracy level 4: activations get their 8 bits at run time, weights their codes as without.
TEST(WeightsOnly, IsRoundedWithDynamicActivationsToo) {
  const auto words = [](const std::string& method) {
    Json out = weights_only(method);
    out["activation"] = "DynamicSpec";
    return out;
  };
  const Trial nearest = tried(words("rtn"));
  for (const std::string method : {"adaquant", "gptq", "awq"}) {
    const Trial trial = tried(words(method));
    EXPECT_EQ(count(trial.model, "MatMulNBits"), 4U);
    for (const auto& node : trial.model.nodes) {
      if (node.is("Gemm") || node.is("MatMul")) ADD_FAILURE() << node.name;
      if (node.op_type != "MatMulNBits") continue;
      EXPECT_EQ(node.integer("accuracy_level", 0), 4);
    }
    EXPECT_LT(trial.error, (method == "awq" ? 0.9 : 0.6) * nearest.error) << method;
    EXPECT_EQ(trial.report.layers.size(), 4U);
  }
  EXPECT_THROW(quant::parse_config({{"scheme", "DYNAMIC"}, {"algorithms", "gptq"}}), Error);
}

// MatMul → Relu → MatMul; some of the values between are large.
graph::Model two_products() {
  graph::Model model;
  model.opsets[""] = 13;
  model.inputs = {{"x", DataType::float32, Shape{1, 6, 48}}};
  model.outputs = {{"y", DataType::float32, Shape{1, 6, 32}}};
  std::vector<float> first;
  const Tensor random = random_tensor({48, 64}, 7, 0.2F);
  for (size_t i = 0; i < random.count(); i++) first.push_back(random.as<float>()[i] * (i % 16 == 0 ? 3.0F : 1.0F));
  model.initializers["w1"] = Tensor::of(Shape{48, 64}, first);
  model.initializers["w2"] = random_tensor({64, 32}, 8, 0.2F);
  const auto add = [&](std::string name, std::string type, std::vector<std::string> inputs, std::string output) {
    model.nodes.push_back({.name = std::move(name),
                           .op_type = std::move(type),
                           .domain = "",
                           .inputs = std::move(inputs),
                           .outputs = {std::move(output)},
                           .attributes = {}});
  };
  add("first", "MatMul", {"x", "w1"}, "a");
  add("relu", "Relu", {"a"}, "r");
  add("second", "MatMul", {"r", "w2"}, "y");
  return model;
}

// Weights that share one scale take no scales from the layer behind them: their range would grow.
TEST(WeightsOnly, AwqWithOneScalePerTensorIsNoWorseThanNearest) {
  for (const char* type : {"Int8Spec", "UInt4Spec"}) {
    Json words{{"activation", nullptr}, {"weight", type}, {"weight_params", {{"quant_granularity", "Tensor"}}}};
    const double nearest = tried(words, {}, two_products()).error;
    words["algorithms"] = "awq";
    EXPECT_LE(tried(words, {}, two_products()).error, nearest) << type;
    words["awq_params"] = {{"alpha", 0.5}};
    EXPECT_LE(tried(words, {}, two_products()).error, 1.05 * nearest) << type;
  }
}

TEST(WeightsOnly, BlocksWithQuantizedActivationsToo) {
  Json words{{"activation", "UInt8Spec"},
             {"activation_params", {{"symmetric", false}, {"calibration_method", "MinMax"}}},
             {"weight", "Int4Spec"},
             {"weight_params", {{"quant_granularity", "Group"}, {"group_size", 16}}}};
  const Trial nearest = tried(words);
  words["algorithms"] = "adaquant";
  const Trial chosen = tried(words);
  EXPECT_EQ(count(chosen.model, "MatMulNBits"), 0U);
  EXPECT_LT(chosen.error, 0.8 * nearest.error);
}

// AWQ alone, without clipping: channels are scaled, by the normalization and by a Mul.
TEST(WeightsOnly, AwqScalesChannels) {
  Json words = weights_only("awq");
  words["awq_params"] = {{"scale_search", false}};
  const Trial nearest = tried(weights_only("rtn")), scaled = tried(words);
  EXPECT_LT(scaled.error, nearest.error);
  // Compared with the model as it came.
  const Trial clipped = tried(weights_only("gptq"));
  EXPECT_NEAR(scaled.report.layers[0].alone, clipped.report.layers[0].alone, 1e-6 * clipped.report.layers[0].alone);
  EXPECT_LT(scaled.report.layers[0].after, scaled.report.layers[0].before);
  words["awq_params"]["alpha"] = 0.0;  // weights only
  EXPECT_NO_THROW(tried(words));
  words["activation"] = "Int8Spec";
  EXPECT_THROW(quant::parse_config(words), Error);
}

// What nearest rounding does to a layer is told for the bits that its rule gives it.
TEST(WeightsOnly, AwqIsComparedWithTheLayersOwnBits) {
  const auto last = [](const std::string& method, const Json& kinds) {
    Json words = weights_only(method);
    if (!kinds.is_null()) words["layer_kinds"] = kinds;
    const Trial trial = tried(words);
    return std::ranges::find(trial.report.layers, "last", &LayerError::node)->alone;
  };
  const Json wide{{"last", "UInt8Spec"}};
  EXPECT_LT(last("gptq", wide), 0.1 * last("gptq", nullptr));
  EXPECT_NEAR(last("awq", wide), last("gptq", wide), 0.05 * last("gptq", wide));  // of layers before that differ
}

TEST(WeightsOnly, NamedConfigurationsSayWhatTheyMean) {
  const auto config = [](const char* name) { return quant::parse_config({{"scheme", name}}); };
  for (const char* name : {"RTN_G32ASYM", "GPTQ_G32ASYM", "GPTQ_G32ASYM_DISABLE_LAST_MATMUL", "GPTQ_G128ASYM", "AWQ_G32ASYM"}) {
    const quant::Config found = config(name);
    EXPECT_EQ(found.weight.type, DataType::uint4) << name;
    EXPECT_FALSE(found.weight.symmetric) << name;
    EXPECT_EQ(quant::parse_config(quant::to_json(found)), found) << name;
  }
  EXPECT_EQ(config("GPTQ_G128ASYM").weight.group_size, 128U);
  EXPECT_EQ(config("RTN_G32ASYM").rounding.method, "nearest");
  EXPECT_EQ(count(tried({{"scheme", "GPTQ_G32ASYM_DISABLE_LAST_MATMUL"}}).model, "MatMulNBits"), 3U);
  EXPECT_THROW(config("GPTQ_G32"), Error);
}

TEST(WeightsOnly, ThreadsDoNotMatter) {
  for (const std::string method : {"gptq", "awq"})
    EXPECT_EQ(tried(weights_only(method), {.threads = 1}).error, tried(weights_only(method), {.threads = 3}).error) << method;
}

// One block that holds all inputs is the whole problem; smaller ones come close, and stay better than nearest.
TEST(WideLayers, BlocksOfTheGramMatrix) {
  for (const bool weights : {true, false}) {
    Json words = weights ? weights_only("adaquant") : Json{{"algorithms", "adaquant"}};
    words["adaquant_params"] = {{"scale_search", weights}, {"refine_activations", false}};
    Json plain = words;
    plain["algorithms"] = nullptr;
    const Trial nearest = tried(plain), whole = tried(words);
    const Trial one = tried(words, {.most_inputs = 0, .block_inputs = 64});
    const Trial several = tried(words, {.most_inputs = 0, .block_inputs = 16});
    ASSERT_EQ(one.report.layers.size(), whole.report.layers.size());
    for (size_t i = 0; i < whole.report.layers.size(); i++) {
      EXPECT_NEAR(one.report.layers[i].after, whole.report.layers[i].after, 0.1 * whole.report.layers[i].after + 1e-9);
      EXPECT_NEAR(one.report.layers[i].alone, whole.report.layers[i].alone, 0.1 * whole.report.layers[i].alone + 1e-9);
      EXPECT_LE(several.report.layers[i].after, several.report.layers[i].before);
    }
    EXPECT_LT(several.error, (weights ? 0.9 : 1.05) * nearest.error);
    EXPECT_LT(several.error, 2 * whole.error);
    EXPECT_EQ(several.error, tried(words, {.threads = 1, .most_inputs = 0, .block_inputs = 16}).error);
  }
}

// What is told of a layer by its Gram matrix is what running it tells.
TEST(Sensitivity, IsTheErrorOfTheLayersOutput) {
  const graph::Model model = network();
  const auto samples = std::make_shared<Samples>();
  quant::Plan plan =
      quant::resolve(model, {}, quant::parse_config({{"scheme", "RTN_G32ASYM"}}), *quant::targets::table().make("ort_cpu"));
  const auto found = Rounder(model, samples).sensitivities(plan);
  ASSERT_EQ(found.size(), 4U);
  graph::Model rounded = model;
  const auto& params = plan.nodes.at("third").weight->params;
  rounded.initializers["w3"] = quant::dequantize(quant::quantize(model.initializers.at("w3"), params), params);
  const runtime::Session before(runtime::tapped(model, {"d"})), after(runtime::tapped(rounded, {"d"}));
  std::vector<double> sum(48), square(48);
  double noise = 0, variance = 0, n = 0;
  for (size_t i = 0; i < samples->size(); i++) {
    const Tensor a = before.run(samples->at(i)).front(), b = after.run(samples->at(i)).front();
    for (size_t k = 0; k < a.count(); k++) {
      const double y = a.as<float>()[k];
      noise += std::pow(y - double(b.as<float>()[k]), 2);
      sum[k % 48] += y;
      square[k % 48] += y * y;
    }
    n += double(a.count()) / 48;
  }
  for (size_t o = 0; o < 48; o++) variance += square[o] - sum[o] * sum[o] / n;
  EXPECT_NEAR(found.at("third"), noise / variance, 1e-3 * noise / variance);
}

}  // namespace
}  // namespace quasar::tune
