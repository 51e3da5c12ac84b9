// The float graph that a configuration asks for: without clean-up, with rewrites; what becomes of the names that users give; and
// what inspect says of all that.
#include "quasar/trial/variants.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/inspect/inspect.hpp"
#include "quasar/runtime/prepare.hpp"
#include "quasar/runtime/session.hpp"
#include "unit/quant/random_dataset.hpp"
#include "unit/quant/sample_models.hpp"

namespace quasar::tune {
namespace {

using quant::Builder;

// Conv, BatchNormalization, Dropout and a product of constants, all of which clean-up takes away; Split and ReduceMean behind
// them.
graph::Model untidy() {
  Builder b;
  const auto conv = b.node("Conv", {b.input("x", {1, 3, 8, 8}), b.weights({6, 3, 3, 3})});
  const auto normal = b.node("BatchNormalization", {conv, b.weights({6}, 0.2F, 1), b.weights({6}), b.weights({6}),
                                                    b.constant(Tensor::of({6}, std::vector<float>(6, 0.8F)))});
  b.node("Split", {b.node("Relu", {b.node("Identity", {normal})})}, {{"axis", int64_t{1}}}, 2);
  const auto mean = b.node("ReduceMean", {"Split_0_out"}, {{"axes", std::vector<int64_t>{2, 3}}, {"keepdims", int64_t{0}}});
  const auto factor = b.node("Mul", {b.weights({3, 4}), b.constant(Tensor::scalar(2.0F))});
  return b.finish({b.node("Gemm", {mean, factor}), b.conv("Split_0_out1", 3, 2, 1)});
}

Json words(const Json& more = Json::object()) {
  Json out{{"activation", "UInt8Spec"}, {"activation_params", {{"calibration_method", "MinMax"}}}, {"weight", "Int8Spec"}};
  out.update(more);
  return out;
}

class VariantsTest : public testing::Test {
 protected:
  VariantsTest() : original(untidy()), prepared(runtime::prepare(original)), variants(original, prepared, samples(), needs()) {}

  data::DatasetPtr samples() const { return std::make_shared<quant::RandomSamples>(original); }
  static CalibrationNeeds needs() {
    CalibrationNeeds out;
    out.add(quant::parse_config(words()));
    return out;
  }
  quant::Plan plan(const Json& more) {
    return variants.plan(quant::parse_config(words(more)), *quant::targets::table().make("generic"));
  }

  const graph::Model original, prepared;
  Variants variants;
};

double distance(const graph::Model& a, const graph::Model& b, const std::vector<Tensor>& sample) {
  const auto x = runtime::Session(a).run(sample), y = runtime::Session(b).run(sample);
  double squares = 1e-30, errors = 0;
  for (size_t k = 0; k < x.size(); k++) {
    for (size_t i = 0; i < x[k].count(); i++) {
      squares += std::pow(x[k].as<float>()[i], 2);
      errors += std::pow(x[k].as<float>()[i] - y[k].as<float>()[i], 2);
    }
  }
  return std::sqrt(errors / squares);
}

TEST_F(VariantsTest, WithoutCleanUpNodesStay) {
  const quant::Config config = quant::parse_config(words({{"OptimizeModel", false}}));
  const auto raw = variants.graph_of(config);
  const graph::Index index(raw->model);
  for (const auto& node : original.nodes) EXPECT_NE(index.node(node.name), nullptr) << node.name;
  EXPECT_LT(prepared.nodes.size(), raw->model.nodes.size());
  quant::Plan without = plan({{"OptimizeModel", false}}), with = plan(Json::object());
  EXPECT_NE(hash_of(without), hash_of(with));
  EXPECT_TRUE(without.nodes.contains("Conv_0"));
  EXPECT_FALSE(without.nodes.contains("Gemm_0")) << "its weights are computed";
  EXPECT_TRUE(with.nodes.contains("Gemm_0"));
  const auto sample = samples()->at(0);
  for (const auto& [settings, planned] : {std::pair{config, &without}, {quant::parse_config(words()), &with}})
    EXPECT_LT(distance(original, variants.build(settings, *planned).model, sample), 0.1);
  // Names of the model as it came hold, also those that clean-up would fold.
  const quant::Plan less = plan({{"OptimizeModel", false}, {"exclude", {"Conv_0", "BatchNormalization_0"}}});
  EXPECT_FALSE(less.nodes.contains("Conv_0"));
}

TEST_F(VariantsTest, CleanUpThatChangesNothingIsNoOtherTrial) {
  const graph::Model clean = runtime::prepare(quant::residual());
  Variants same(clean, clean, std::make_shared<quant::RandomSamples>(clean), needs());
  const auto target = quant::targets::table().make("ort_cpu");
  EXPECT_EQ(hash_of(same.plan(quant::parse_config(words()), *target)),
            hash_of(same.plan(quant::parse_config(words({{"OptimizeModel", false}})), *target)));
}

TEST_F(VariantsTest, NamesHoldForWhatRewritesReplace) {
  const Json rewrites{{"ConvertSplitToSlice", true}, {"ConvertReduceMeanToGlobalAvgPool", true}};
  const quant::Plan all = plan(rewrites);
  EXPECT_TRUE(all.nodes.contains("Split_0_Slice"));
  Json less = rewrites;
  less["exclude"] = {"Split_0"};
  less["specific_layer_config"] = Json::array({{{"spec", "Int16Spec"}, {"nodes", {"ReduceMean_0"}}}});
  const quant::Plan some = plan(less);
  EXPECT_FALSE(some.nodes.contains("Split_0_Slice") || some.nodes.contains("Split_0_Slice_1"));
  EXPECT_EQ(some.values.at("ReduceMean_0_out").type, DataType::int16);
  EXPECT_EQ(all.values.at("ReduceMean_0_out").type, DataType::uint8);
}

// The others keep the codes that they got beside it, and nothing is rounded again.
TEST_F(VariantsTest, WhatFallsBackAfterRoundingMovesNoOtherCode) {
  const Json rounded{{"algorithms", "adaquant"}};
  const std::string first = "Conv_0";
  Json before = rounded, after = rounded;
  before["exclude"] = {first};
  after["after_rounding"] = {{"exclude", {first}}};
  const auto build = [&](const Json& more, quant::Plan& plan) { return variants.build(quant::parse_config(words(more)), plan); };
  quant::Plan all = plan(rounded), anew = plan(before), kept = plan(after);
  EXPECT_NE(hash_of(kept), hash_of(all));
  EXPECT_NE(hash_of(kept), hash_of(anew)) << "codes may differ";
  EXPECT_EQ(hash_of(plan({{"exclude", {first}}})), hash_of(plan({{"after_rounding", {{"exclude", {first}}}}})))
      << "nearest codes";
  const Built whole = build(rounded, all), less = build(after, kept);
  EXPECT_FALSE(kept.nodes.contains(first));
  size_t layers = 0;
  for (const auto& [name, node] : kept.nodes) {
    if (!node.weight) continue;
    EXPECT_EQ(node.weight->optimized, all.nodes.at(name).weight->optimized) << name;
    layers++;
  }
  EXPECT_GE(layers, 2U);
  EXPECT_EQ(less.rounding.layers.size() + 1, whole.rounding.layers.size()) << "what was given up is not told of";
  // Another process, which has rounded nothing, makes the same model.
  Variants fresh(original, prepared, samples(), needs());
  const quant::Config config = quant::parse_config(words(after));
  quant::Plan again = fresh.plan(config, *quant::targets::table().make("generic"));
  EXPECT_EQ(hash_of(again), hash_of(plan(after)));
  EXPECT_EQ(graph::to_bytes(fresh.build(config, again).model), graph::to_bytes(less.model));
}

// How often a sample is asked for.
class Counted final : public data::Dataset {
 public:
  explicit Counted(const graph::Model& model) : samples_(model) {}
  size_t size() const override { return samples_.size(); }
  data::Sample at(size_t index) const override {
    asked++;
    return samples_.at(index);
  }
  std::optional<int64_t> label(size_t index) const override { return samples_.label(index); }
  std::string source() const override { return samples_.source(); }
  mutable std::atomic<size_t> asked = 0;

 private:
  quant::RandomSamples samples_;
};

// The means of channels that bias correction needs come with the ranges; they used to take a pass of their own.
TEST_F(VariantsTest, ChannelsAreObservedWithTheRest) {
  const auto target = quant::targets::table().make("generic");
  const quant::Config plain = quant::parse_config(words());
  const quant::Config corrected = quant::parse_config(words({{"BiasCorrection", true}}));
  quant::Plan plans[2];
  size_t passes[2];
  for (const bool together : {false, true}) {
    CalibrationNeeds needs;
    needs.add(plain);
    if (together) needs.add(corrected);
    const auto counted = std::make_shared<Counted>(original);
    Variants own(original, prepared, counted, needs);
    own.observe();
    const size_t before = counted->asked;
    plans[together ? 1 : 0] = own.plan(corrected, *target);
    own.improve(corrected, plans[together ? 1 : 0]);
    passes[together ? 1 : 0] = (counted->asked - before) / counted->size();
  }
  EXPECT_EQ(passes[1], 0U);
  EXPECT_GT(passes[0], 0U);
  EXPECT_EQ(plans[0].nodes, plans[1].nodes);
  EXPECT_TRUE(plans[1].nodes.begin()->second.bias->optimized);
}

TEST_F(VariantsTest, NotesOfPlansAreToldOnce) {
  std::vector<std::string> told;
  const Log log = [&](Level, const std::string& text) { told.push_back(text); };
  const graph::Model clean = runtime::prepare(quant::residual());
  Variants speaking(clean, clean, std::make_shared<quant::RandomSamples>(clean), needs(), {.log = log});
  const Json own{{"algorithms", "adaquant"}, {"adaquant_params", {{"keep_activations", {"nowhere"}}}}};
  for (int i = 0; i < 2; i++) speaking.plan(quant::parse_config(words(own)), *quant::targets::table().make("ort_cpu"));
  EXPECT_EQ(std::ranges::count(told, "keep_activations: no quantized value is named 'nowhere'"), 1)
      << testing::PrintToString(told);
}

const Json* entry(const Json& list, const std::string& name) {
  for (const auto& item : list) {
    if (item["name"] == name) return &item;
  }
  return nullptr;
}

TEST_F(VariantsTest, InspectCountsTheOperatorsOfAQuantizedModel) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "int8.onnx";
  graph::Model quantized = original;
  quantized.initializers["scale"] = Tensor::scalar(0.1F);
  graph::Node pair{.name = "Q", .op_type = "QuantizeLinear", .domain = "", .inputs = {"", "scale"}, .outputs = {"codes"}};
  pair.inputs[0] = original.inputs[0].name;
  quantized.nodes.push_back(pair);
  graph::save(quantized, path);
  const Json facts = inspect({.model = path});
  EXPECT_EQ(facts["operators"]["Gemm"], 1);
  EXPECT_EQ(facts["operators"]["QuantizeLinear"], 1);
}

TEST_F(VariantsTest, InspectTellsWhatBecomesOfEveryNode) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "model.onnx";
  graph::save(original, path);
  const Json facts = inspect({.model = path});
  for (const auto& node : original.nodes)
    EXPECT_NE(entry(facts["nodes"], node.name) == nullptr, entry(facts["folded"], node.name) == nullptr) << node.name;
  EXPECT_EQ((*entry(facts["folded"], "BatchNormalization_0"))["into"], Json::array({"Conv_0"}));
  EXPECT_EQ((*entry(facts["nodes"], "Conv_0"))["stands_for"], Json::array({"BatchNormalization_0"}));
  EXPECT_NE((*entry(facts["folded"], "Mul_0"))["what"].get<std::string>().find("constant"), std::string::npos);
  EXPECT_FALSE((*entry(facts["folded"], "Identity_0"))["what"].get<std::string>().empty());
  const Json own = words({{"specific_layer_config", Json::array({{{"spec", "Int16Spec"}, {"nodes", {"BatchNormalization_0"}}}})},
                          {"layer_type_config", Json::array({{{"spec", nullptr}, {"op_types", {"Gemm"}}}})},
                          {"TensorQuantOverrides", {{"Conv_1_out", {{"symmetric", true}}}}},
                          {"exclude", {"ReduceMean_0"}}});
  const Json told = inspect({.model = path, .target = "generic", .words = own});
  const auto said = [&](const std::string& node, const std::string& key) {
    return entry(told["nodes"], node)->value(key, std::string());
  };
  EXPECT_NE(said("Conv_0", "as").find("specific_layer_config: Int16Spec"), std::string::npos) << said("Conv_0", "as");
  EXPECT_NE(said("Gemm_0", "why").find("layer_type_config"), std::string::npos) << said("Gemm_0", "why");
  EXPECT_NE(said("Conv_1", "as").find("TensorQuantOverrides: Conv_1_out"), std::string::npos) << said("Conv_1", "as");
  EXPECT_EQ(said("ReduceMean_0", "why"), "excluded");
  const Json weights = inspect({.model = path, .words = quant::schemes::table().make("w4")->words()});
  EXPECT_NE(entry(weights["nodes"], "Gemm_0")->value("as", "").find("MatMulNBits"), std::string::npos);
  const Json raw = inspect({.model = path, .words = words({{"OptimizeModel", false}})});
  EXPECT_TRUE(raw["folded"].empty());
  EXPECT_THROW(inspect({.model = path, .words = words({{"exclude", {"Konv"}}})}), Error);
}

}  // namespace
}  // namespace quasar::tune
