#include "quasar/sensitivity/noise_along.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "quasar/base/file.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/inspect/examine.hpp"
#include "quasar/inspect/examine_advice.hpp"
#include "quasar/inspect/inspect.hpp"
#include "quasar/runtime/kernels.hpp"
#include "quasar/runtime/prepare.hpp"
#include "quasar/runtime/session.hpp"
#include "quasar/sensitivity/layer_errors.hpp"
#include "quasar/trial/variants.hpp"

namespace quasar::tune {
namespace {

namespace fs = std::filesystem;
const fs::path digits = fs::path(QUASAR_SOURCE_DIR) / "examples/digits";

class Digits : public testing::Test {
 protected:
  Digits()
      : model(runtime::prepare(graph::load(digits / "digits.onnx"))),
        samples(data::first(data::open({{"reader", "npz"}, {"path", (digits / "calibration.npz").string()}}, model.inputs), 6)) {
    const quant::Config config = quant::parse_config(quant::schemes::table().make("u8s8_channel")->words());
    CalibrationNeeds needs;
    needs.add(config);
    Variants variants(model, model, samples, needs);
    plan = variants.plan(config, *quant::targets::table().make("ort_cpu"));
    quantized = variants.build(config, plan).model;
  }

  graph::Model model, quantized;
  data::DatasetPtr samples;
  quant::Plan plan;
};

TEST_F(Digits, NoiseAtTheOutputIsThatOfTheModels) {
  const NoiseAlong found = noise_along(model, quantized, plan, *samples);
  const runtime::Session exact(model), used(quantized);
  double noise = 0, signal = 0, distance = 0;
  for (size_t i = 0; i < samples->size(); ++i) {
    const auto a = exact.run(samples->at(i)), b = used.run(samples->at(i));
    double sum = 0;
    for (size_t j = 0; j < a[0].count(); ++j) {
      sum += std::pow(a[0].as<float>()[j] - b[0].as<float>()[j], 2);
      signal += std::pow(a[0].as<float>()[j], 2);
    }
    noise += sum;
    distance += std::sqrt(sum) / static_cast<double>(samples->size());
  }
  EXPECT_NEAR(found.nodes.at("softmax"), noise / signal, 1e-6 * noise / signal);
  EXPECT_NEAR(found.distance, distance, 1e-6 * distance);
  EXPECT_EQ(found.nodes.size(), plan.nodes.size() + plan.skipped.size());
}

TEST_F(Digits, LookingAtValuesDoesNotChangeTheKernels) {
  std::vector<std::string> nodes, values;
  for (const auto& [name, planned] : plan.nodes) nodes.push_back(name);
  for (const auto& [name, params] : plan.values) {
    if (name != model.inputs.front().name) values.push_back(name);
  }
  EXPECT_EQ(runtime::runs_quantized(runtime::tapped(quantized, values), nodes), runtime::runs_quantized(quantized, nodes));
}

TEST_F(Digits, ActivationsThatAKernelAbsorbsHandOutItsResult) {
  const NoiseAlong found = noise_along(model, quantized, plan, *samples);
  EXPECT_EQ(found.nodes.at("stem/conv"), found.nodes.at("stem/relu6"));
  EXPECT_GT(found.nodes.at("stem/conv"), 0);
  EXPECT_LT(found.nodes.at("stem/conv"), found.nodes.at("block4/depthwise/conv"));
}

TEST_F(Digits, ErrorsOfLayersAreMeasuredForAReport) {
  const LayerErrors nearest = measure_errors({model, plan, quantized}, *samples);
  EXPECT_GT(nearest.accumulated_noise.at("stem/conv"), 0);
  EXPECT_GT(nearest.output_error.at("stem/conv"), 0);
  plan.rounding.method = "adaround";  // the codes are not the nearest: nothing is said of layers alone
  EXPECT_TRUE(measure_errors({model, plan, quantized}, *samples).output_error.empty());
}

Json examined(const Json& words) {
  return examine({.model = digits / "digits.onnx",
                  .data = {{"reader", "npz"}, {"path", (digits / "calibration.npz").string()}, {"limit", 20}},
                  .words = words});
}

std::string all_advice(const Json& facts) {
  std::string text;
  for (const auto& one : facts["advice"]) text += one.get<std::string>() + "\n";
  return text;
}

TEST(Examine, SaysWhatItCostsInWordsWithFigures) {
  const Json facts = examined(nullptr);
  EXPECT_EQ(facts["scheme"], "uint8 activations, weights per channel");
  EXPECT_EQ(facts["real"]["float"], 0);
  EXPECT_NEAR(facts["real"]["distance"].get<double>(), facts["schemes"][0]["distance"].get<double>(),
              0.2 * facts["schemes"][0]["distance"].get<double>());
  const Json& wide =
      *std::ranges::find_if(facts["layers"], [](const Json& layer) { return layer["node"] == "block1/depthwise/conv"; });
  EXPECT_EQ(wide["outlier_channels"], 1);  // the demo's training put one there
  EXPECT_EQ(wide["channels"], 32);
  EXPECT_GT(wide["widest"].get<double>(), 100);
  const std::string advice = all_advice(facts);
  EXPECT_NE(advice.find("Per-tensor weights cost 0."), std::string::npos) << advice;
  EXPECT_NE(advice.find("1 of 32"), std::string::npos) << advice;
  EXPECT_NE(advice.find("to 15 with `ReplaceClip6Relu: true`"), std::string::npos) << advice;
}

TEST(Examine, TakesTheConfigurationThatIsGiven) {
  Json words = quant::schemes::table().make("u8s8_channel")->words();
  words["weight_params"]["quant_granularity"] = "Tensor";
  words["ReplaceClip6Relu"] = true;
  words["include_cle"] = true;
  const Json equalized = examined(words);
  EXPECT_EQ(equalized["scheme"], "as configured");
  EXPECT_EQ(equalized["schemes"][0]["key"], "given");
  EXPECT_LT(equalized["schemes"][0]["distance"].get<double>(), 0.5 * equalized["schemes"][2]["distance"].get<double>());
  const Json halves = examined(quant::schemes::table().make("bf16")->words());
  EXPECT_TRUE(halves["layers"][0].contains("output_error"));  // casts are simulated as casts
  EXPECT_TRUE(halves["layers"][0].contains("accumulated_noise"));
  const Json nothing = examined({{"activation", nullptr}, {"weight", "Int4Spec"}, {"exclude", {{{"op_type", "Gemm"}}}}});
  EXPECT_NE(all_advice(nothing).find("quantizes no operator"), std::string::npos) << all_advice(nothing);
}

// A target that quantizes a part of the model: the rest stays in float whatever is excluded.
TEST(Examine, RanksWhatTheTargetQuantizes) {
  const ExamineOptions options{.model = digits / "digits.onnx",
                               .data = {{"reader", "npz"}, {"path", (digits / "calibration.npz").string()}, {"limit", 4}},
                               .target = "tensorrt"};
  const graph::Model model = runtime::prepare(graph::load(options.model));
  const data::DatasetPtr samples = data::first(data::open(options.data, model.inputs), 4);
  const quant::Config config = quant::parse_config(quant::schemes::table().make("s8s8_tensorrt")->words());
  CalibrationNeeds needs;
  needs.add(config);
  Variants variants(model, model, samples, needs);
  const quant::Plan plan = variants.plan(config, *quant::targets::table().make("tensorrt"));
  ASSERT_FALSE(plan.skipped.empty());
  const Json facts = examine(options);
  EXPECT_FALSE(facts["layers"].empty());
  for (const auto& layer : facts["layers"])
    EXPECT_TRUE(plan.nodes.contains(layer["node"].get<std::string>())) << layer["node"] << " stays in float";
}

// ONNX Runtime's CPU knows nothing of these processors.
TEST(Examine, CountsWhatIsPlannedForProcessorsOfTheirOwn) {
  for (const char* target : {"xint8", "tensorrt", "openvino"}) {
    const Json facts = examine({.model = digits / "digits.onnx",
                                .data = {{"reader", "npz"}, {"path", (digits / "calibration.npz").string()}, {"limit", 2}},
                                .target = target});
    const Json planned = inspect({.model = digits / "digits.onnx", .target = target});
    const auto quantized = std::ranges::count_if(planned["nodes"], [](const Json& node) { return node["quantized"] == true; });
    EXPECT_GT(quantized, 0);
    EXPECT_EQ(facts["real"]["by"], "plan") << target;
    EXPECT_EQ(facts["real"]["quantized"], quantized) << target;
    EXPECT_NE(all_advice(facts).find(std::to_string(quantized) + " operators are quantized as planned"), std::string::npos)
        << all_advice(facts);
  }
  EXPECT_EQ(examined(nullptr)["real"]["by"], "ONNX Runtime");
}

// Corrected biases made 8 bits better than they are beside 16.
TEST(Examine, ComparesSchemesWithTheSameCorrections) {
  const auto distance = [](const Json& facts, const char* key) {
    return std::ranges::find_if(facts["schemes"], [&](const Json& one) { return one["key"] == key; })
        ->at("distance")
        .get<double>();
  };
  const Json facts = examined(nullptr);
  for (const auto& [key, name] : {std::pair("wide", "a16w8"), std::pair("symmetric", "a8w8_channel")}) {
    Json words = quant::schemes::table().make(name)->words();
    words["BiasCorrection"] = true;
    EXPECT_EQ(distance(facts, key), distance(examined(words), key)) << key;
    EXPECT_EQ(examined(words)["schemes"][0]["key"], key) << "corrected, it is the scheme that is compared";
  }
}

TEST(Examine, AdvisesSixteenBitsWhereTheTargetComputesInThem) {
  Json layers = Json::array();
  for (int i = 0; i < 7; ++i) layers.push_back({{"node", "n" + std::to_string(i)}, {"output_error", i == 0 ? 1.0 : 0.1}});
  const Json facts{
      {"schemes", {{{"key", "tensor"}, {"name", "t"}, {"distance", 1.0}}, {{"key", "wide"}, {"name", "w"}, {"distance", 0.1}}}},
      {"length", 1.0},
      {"layers", layers},
      {"real", nullptr}};
  const std::string on_htp = advice_on_layers(facts, obstacle_to_16_bits("qnn_htp")).dump();
  EXPECT_NE(on_htp.find("or giving them 16 bits, helps most"), std::string::npos) << on_htp;
  EXPECT_EQ(on_htp.find("kernels"), std::string::npos) << on_htp;
  for (const char* target : {"ort_cpu", "openvino", "ort_cuda", "tensorrt"}) {
    const std::string why = obstacle_to_16_bits(target), advice = advice_on_layers(facts, why).dump();
    EXPECT_FALSE(why.empty()) << target;
    EXPECT_EQ(advice.find("giving them 16 bits"), std::string::npos) << advice;
    EXPECT_NE(advice.find("is left. But "), std::string::npos) << advice;
  }
}

}  // namespace
}  // namespace quasar::tune
