// What quantizes next to nothing is no trial.
#include "quasar/trial/quantized_share.hpp"

#include <gtest/gtest.h>

#include "unit/quant/made_up_statistics.hpp"
#include "unit/quant/sample_models.hpp"
#include "unit/tune/made_up_trials.hpp"

namespace quasar::tune {
namespace {

// Convolutions that hold nearly all weights, each with a Clip behind it, and a Softmax: four bits leave all but that in float.
graph::Model clipped(uint32_t seed = 1) {
  quant::Builder b(seed);
  const auto first = b.clip(b.conv(b.input("x", {1, 3, 8, 8}), 3, 16, 3), 0, 6);
  const auto second = b.clip(b.conv(first, 16, 16, 3), 0, 6);
  return b.finish({b.node("Softmax", {b.conv(second, 16, 4, 1)}, {{"axis", int64_t{1}}})});
}

quant::Plan planned(const graph::Model& model, Json words, const char* scheme = "u8s8_channel") {
  Json all = quant::schemes::table().make(scheme)->words();
  all.update(words);
  stats::Statistics seen = quant::made_up_statistics(model);
  for (auto& [name, stats] : seen) stats.shape = {1, 16, 8, 8};
  return quant::resolve(model, seen, quant::parse_config(all), *quant::targets::table().make("ort_cpu"));
}

std::string hardly(const graph::Model& model, const quant::Plan& plan) {
  return hardly_quantized(plan, model, quant::made_up_statistics(model));
}

TEST(QuantizedShare, OfWhatFourBitsLeaveIsTooLittle) {
  const graph::Model model = clipped();
  const quant::Plan plan = planned(model, {{"activation", "UInt4Spec"}});
  ASSERT_FALSE(plan.nodes.empty());
  EXPECT_EQ(share_of(plan, model, {}).work, 0);
  const std::string why = hardly(model, plan);
  EXPECT_NE(why.find("hardly anything in this model is quantized under this configuration (1 of 6 operators, with 0 % of "
                     "the weights)"),
            std::string::npos)
      << why;
  EXPECT_NE(why.find("ONNX Runtime cannot open Conv of 4-bit values and 8-bit weights"), std::string::npos) << why;
}

TEST(QuantizedShare, IsAllOfTheWorkWhereEveryProductIsQuantized) {
  const graph::Model model = clipped();
  for (const char* activation : {"UInt8Spec", "Int16Spec"}) {
    const quant::Plan plan = planned(model, {{"activation", activation}});
    EXPECT_EQ(share_of(plan, model, {}).work, 1) << activation;
    EXPECT_LT(share_of(plan, model, {}).bytes, 0.3) << activation;
    EXPECT_EQ(hardly(model, plan), "") << activation;
  }
}

TEST(QuantizedShare, CountsMultiplyAddsByTheSizeOfWhatIsComputed) {
  quant::Builder b;
  const auto x = b.node("Relu", {b.conv(b.input("x", {1, 4, 8, 8}), 4, 4, 3)});  // 144 weights, 64 places
  const auto flat = b.node("Reshape", {x, b.constant(Tensor::of<int64_t>({2}, {1, 256}))});
  const graph::Model model = b.finish({b.node("Gemm", {flat, b.weights({256, 9})})});  // 2304 weights, one place
  stats::Statistics seen = quant::made_up_statistics(model);
  const quant::Plan plan = quant::resolve(model, seen, quant::parse_config(quant::schemes::table().make("dynamic")->words()),
                                          *quant::targets::table().make("ort_cpu"));
  EXPECT_NEAR(share_of(plan, model, seen).work, 2304.0 / (2304 + 144), 1e-9) << "shapes are not known: each weight once";
  EXPECT_EQ(share_of(plan, model, seen).unit(), "weights");
  seen.at("Conv_0_out").shape = {1, 4, 8, 8};
  seen.at("Gemm_0_out").shape = {1, 9};
  EXPECT_NEAR(share_of(plan, model, seen).work, 2304.0 / (2304 + 144 * 64), 1e-9);
  EXPECT_EQ(share_of(plan, model, seen).unit(), "multiply-adds");
}

// A share of 0.03 % by work, but the table shrinks.
TEST(QuantizedShare, OfTheBytesIsEnough) {
  quant::Builder b;
  const auto x = b.conv(b.input("x", {1, 4, 8, 8}), 4, 4, 3);
  const auto flat = b.node("Reshape", {x, b.constant(Tensor::of<int64_t>({2}, {1, 256}))});
  const graph::Model model = b.finish({b.node("Gemm", {flat, b.weights({256, 9})})});
  stats::Statistics seen = quant::made_up_statistics(model);
  seen.at("Conv_0_out").shape = {1, 4, 800, 800};
  seen.at("Gemm_0_out").shape = {1, 9};
  const quant::Plan plan = quant::resolve(model, seen, quant::parse_config(quant::schemes::table().make("dynamic")->words()),
                                          *quant::targets::table().make("ort_cpu"));
  EXPECT_LT(share_of(plan, model, seen).work, 0.001);
  EXPECT_LT(share_of(plan, model, seen).bytes, 0.5);
  EXPECT_EQ(hardly_quantized(plan, model, seen), "");
}

TEST(QuantizedShare, LeavesOutWhatWasChosenToStayInFloat) {
  const graph::Model model = clipped();
  const quant::Plan plan = planned(model, {{"exclude", {"Conv_0", "Conv_1", "Conv_2"}}});
  EXPECT_EQ(plan.chosen, (std::set<std::string>{"Conv_0", "Conv_1", "Conv_2"}));
  EXPECT_EQ(hardly(model, plan), "") << "float operators are what was asked for";
}

TEST(QuantizedShare, WeightsOnlyAndSixteenBitFloatsAreQuantized) {
  const graph::Model model = quant::attention();
  for (const char* scheme : {"w4", "dynamic", "bf16", "fp16"})
    EXPECT_EQ(hardly(model, planned(model, Json::object(), scheme)), "") << scheme;
}

// Activations of 4 bits won a search of 4, 8 and 16, because nothing of the digits is quantized with them.
TEST(QuantizedShare, TooLittleOfItIsNoTrial) {
  Json words = digits_words();
  words.erase("strategy");
  words.erase("accuracy_criterion");
  words["search_space"] = {{"activation", {"UInt8Spec", "UInt4Spec", "Int16Spec"}}, {"weight", "Int8Spec"}};
  const MadeUpTrials trials(words);
  const search::Space& space = trials.setting.spaces.each.front();
  for (uint64_t k = 0; k < *space.size(); k++) {
    const search::Point point = space.at(k);
    const std::string why = why_impossible(trials.trial_context(), point);
    EXPECT_EQ(why.find("hardly anything") == 0, *point.find("activation") == "UInt4Spec") << why;
  }
}

// The digits' only matrix product is 0.2 % of the work: beside activations in integers that is no rival, but it is what a space
// asks for that has nothing else.
TEST(QuantizedShare, OfWeightsOnlyIsEnoughWhereNothingElseIsAskedFor) {
  Json words = digits_words();
  words.erase("strategy");
  words.erase("accuracy_criterion");
  const auto refused = [&](const Json& schemes) {
    words["search_space"] = {{"scheme", schemes}};
    const MadeUpTrials trials(words);
    const search::Space& space = trials.setting.spaces.each.front();
    std::set<std::string> out;
    for (uint64_t k = 0; k < *space.size(); k++) {
      if (!why_impossible(trials.trial_context(), space.at(k)).empty()) out.insert(*space.at(k).find("scheme"));
    }
    return out;
  };
  EXPECT_EQ(refused({"U8S8_CHANNEL", "W4", "DYNAMIC"}), (std::set<std::string>{"W4", "DYNAMIC"}));
  EXPECT_TRUE(refused({"W4", "DYNAMIC"}).empty());
}

}  // namespace
}  // namespace quasar::tune
