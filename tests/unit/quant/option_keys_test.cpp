// No option of AMD Quark is accepted and ignored: each changes the plan of a model made for it, or is an error that says why.
#include "quasar/quant/config/option_keys.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "npu_models.hpp"
#include "quasar/base/error.hpp"

namespace quasar::quant {
namespace {

std::string plan_hash(const Json& options, const std::string& target, uint32_t seed = 3) {
  const auto model = patchwork();
  const auto seen = wild_statistics(model, seed);
  Json words{{"activation", "UInt8Spec"}, {"activation_params", {{"calibration_method", "MinMax"}}}, {"weight", "Int8Spec"}};
  if (target == "xint8") words = schemes::table().make("xint8")->words();
  words.update(options);
  return hash_of(resolve(model, seen, parse_config(words), *targets::table().make(target)));
}

bool makes_a_difference(const std::string& key) {
  for (const char* target : {"xint8", "generic", "ort_cpu"}) {
    for (uint32_t seed = 1; seed <= 20; seed++) {
      try {
        if (plan_hash({{key, true}}, target, seed) != plan_hash({{key, false}}, target, seed)) return true;
      } catch (const Error&) {
        break;  // it needs other types
      }
    }
  }
  return false;
}

TEST(Options, EverySwitchMakesADifference) {
  for (const auto& item : switch_table()) {
    if (item.key == "AlignEltwiseQuantType") continue;  // below
    if (item.key == "EnableSubgraph") continue;         // Graphs.BodiesStayInFloatWhereTheConfigurationSaysSo
    EXPECT_TRUE(makes_a_difference(item.key)) << item.key;
  }
}

TEST(Options, ConstantsOfSumsFollowActivationsOrWeights) {
  const auto model = patchwork();
  Json words{{"activation", "Int16Spec"}, {"activation_params", {{"calibration_method", "MinMax"}}}, {"weight", "Int8Spec"}};
  for (const bool aligned : {true, false}) {
    words["AlignEltwiseQuantType"] = aligned;
    const auto plan = resolve(model, made_up_statistics(model), parse_config(words), *targets::table().make("generic"));
    EXPECT_EQ(plan.nodes.at("Add_1").constants.at(0).params.type, aligned ? DataType::int16 : DataType::int8);
  }
}

TEST(Options, SwitchesHoldWhatTheTargetWantsUnlessGiven) {
  for (const auto& item : switch_table()) {
    EXPECT_TRUE(is_on({{item.key, true}}, item.key, false)) << item.key;
    EXPECT_FALSE(is_on({{item.key, false}}, item.key, true)) << item.key;
    EXPECT_EQ(is_on({}, item.key, true), item.on_npu) << item.key;
    EXPECT_EQ(is_on({}, item.key, false), item.usual) << item.key;
  }
  EXPECT_FALSE(is_on({{"NPULimitationCheck", false}}, "AdjustShiftCut", true));
  EXPECT_TRUE(is_on({{"SimulateDPU", true}}, "ConvertAvgPoolToDPUVersion", false));
}

TEST(Options, SelectionsMakeADifference) {
  const std::vector<std::pair<const char*, Json>> given{{"OpTypesToQuantize", {"Conv", "Add"}},
                                                        {"NodesToQuantize", {"Conv_0"}},
                                                        {"InputNodes", {"Conv_2"}},
                                                        {"OutputNodes", {"Conv_2"}},
                                                        {"OpTypesToExcludeOutputQuantization", {"MatMul"}},
                                                        {"NodesToExcludeOutputQuantization", {"MatMul_0"}},
                                                        {"RemoveQDQBetweenOps", Json::array({{"Concat", "Slice"}})},
                                                        {"NodesToExclude", {"Conv_1"}},
                                                        {"OpTypesToExclude", {"Add"}},
                                                        {"SubgraphsToExclude", Json::array({{{"Conv_0"}, {"Conv_2"}}})}};
  const std::string before = plan_hash(Json::object(), "generic");
  for (const auto& [key, value] : given) EXPECT_NE(plan_hash({{key, value}}, "generic"), before) << key;
  EXPECT_EQ(given.size(), selection_keys().size() + exclusion_keys().size());
  EXPECT_THROW(plan_hash({{"NodesToQuantize", {"Convolution"}}}, "generic"), Error);
  EXPECT_THROW(plan_hash({{"OpTypesToQuantize", {"Konv"}}}, "generic"), Error);
  EXPECT_THROW(plan_hash({{"OpTypesToQuantize", "Conv"}}, "generic"), Error);
}

TEST(Options, FixedOnesSayWhy) {
  for (const auto& item : fixed_options()) {
    for (const auto& value : item.accepted) EXPECT_NO_THROW(xint8_config({{item.key, value}})) << item.key;
    EXPECT_GT(item.why.size(), 15U) << item.key;
    try {
      xint8_config({{item.key, "something else"}});
      EXPECT_TRUE(item.inert) << item.key;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(item.why), std::string::npos) << item.key;
    }
  }
}

TEST(Options, AliasesAreTheParameters) {
  Config config =
      parse_config({{"activation", "Int8Spec"}, {"ActivationSymmetric", false}, {"weight_params", {{"symmetric", true}}}});
  EXPECT_FALSE(config.activation.symmetric);
  EXPECT_THROW(parse_config({{"WeightSymmetric", false}, {"weight_params", {{"symmetric", true}}}}), Error);
}

// What a named scheme says is a default.
TEST(Options, AliasesReplaceWhatASchemeSays) {
  EXPECT_EQ(parse_config({{"scheme", "U8S8_CHANNEL"}, {"WeightCalibrateMethod", "MinMSE"}}).weight.range_method, "min_mse");
  EXPECT_THROW(parse_config({{"scheme", "U8S8_CHANNEL"},
                             {"WeightCalibrateMethod", "MinMSE"},
                             {"weight_params", {{"calibration_method", "MinMax"}}}}),
               Error);
}

TEST(Options, ComeBackInTheUsersWords) {
  const Config config = xint8_config({{"AlignConcat", false},
                                      {"MaxLoopNum", 3},
                                      {"OpTypesToQuantize", {"Conv"}},
                                      {"RemoveQDQBetweenOps", Json::array({{"Mul", "Add"}})}});
  EXPECT_EQ(parse_config(to_json(config)), config);
  EXPECT_EQ(xint8_config({{"enable_npu_cnn", true}}).switches.at("EnableNPUCnn"), true);
}

TEST(Options, ContradictionsAreErrors) {
  const Json floats{{"activation", "Int8Spec"}, {"weight", "Int8Spec"}};
  for (const char* key : {"AdjustShiftCut", "NPULimitationCheck", "EnableNPUCnn"}) {
    Json words = floats;
    words[key] = true;
    EXPECT_THROW(parse_config(words), Error) << key;
  }
  EXPECT_THROW(xint8_config({{"EnableNPUCnn", true}, {"EnableNPUTransformer", true}}), Error);
  EXPECT_THROW(xint8_config({{"AlignConcat", "yes"}}), Error);
  EXPECT_THROW(xint8_config({{"MaxLoopNum", 0}}), Error);
}

// Keys of Quark 0.13's lists (extra_options of Auto Search, first level of Auto Search Pro) that another part of the
// configuration reads.
TEST(Options, TheListForReadersIsComplete) {
  std::ifstream file(std::filesystem::path(QUASAR_SOURCE_DIR) / "docs" / "options.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  std::string missing;
  for (const auto& fact : option_facts()) {
    const std::string line =
        "| " + fact.key + " | " + fact.kind + " | " + fact.usual + " | " + fact.on_npu + " | " + fact.help + " |";
    if (page.find(line) == std::string::npos) missing += line + "\n";
  }
  EXPECT_EQ(missing, "");
}

}  // namespace
}  // namespace quasar::quant
