#include "quasar/quant/config/rounding_config.hpp"

#include <gtest/gtest.h>

#include "quasar/base/error.hpp"
#include "quasar/quant/config/config.hpp"

namespace quasar::quant {
namespace {

Json words(const std::string& text) {
  return parse_json(text, "test");
}

std::string message(const std::string& text) {
  try {
    parse_config(words(text));
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(RoundingConfig, NearestUnlessNamed) {
  EXPECT_EQ(parse_config(words("{}")).rounding.method, "nearest");
  EXPECT_EQ(parse_config(words(R"({"algorithms": null})")).rounding.method, "nearest");
  EXPECT_EQ(parse_config(words(R"({"algorithms": "AdaRound"})")).rounding.method, "adaround");
  EXPECT_EQ(parse_config(words(R"({"algorithms": ["gptq"]})")).rounding.method, "gptq");
}

TEST(RoundingConfig, WhatDoesNotActIsRecordedOnly) {
  const Rounding plain = parse_config(words(R"({"algorithms": "adaquant"})")).rounding;
  const Rounding wordy = parse_config(words(R"({"algorithms": "adaquant", "adaquant_params":
      {"num_iterations": 20000, "learning_rate": 1e-5, "optim_device": "cuda:0", "batch_size": 2, "early_stop": true,
       "beta_range": [20, 2], "warm_start": 0.2}})"))
                             .rounding;
  EXPECT_EQ(wordy.options, plain.options);
  EXPECT_EQ(wordy.inert.at("optim_device"), "cuda:0");
  EXPECT_EQ(wordy.inert.size(), 6U);
}

// What AMD Quark, Intel Neural Compressor and others name acts, or it is recorded, with a reason; nothing else changes the plan.
TEST(RoundingConfig, EveryParameterOfThePeersIsKnown) {
  const Json inert{{"learning_rate", 0.1},  {"lr_adjust", {1, 2}},      {"batch_size", 2},        {"num_batches", 1},
                   {"early_stop", true},    {"fixed_seed", 42},         {"optim_device", "cuda"}, {"infer_device", "cuda"},
                   {"drop_ratio", 0.5},     {"selective_update", true}, {"reg_param", 0.01},      {"beta_range", {20, 2}},
                   {"warm_start", 0.2},     {"output_index", 0},        {"output_qdq", true},     {"target_op_type", {"Conv"}},
                   {"mem_opt_level", 1},    {"cache_dir", "somewhere"}, {"log_period", 10},       {"parallel", true},
                   {"ref_model_path", "x"}, {"dynamic_batch", false}};
  for (const char* method : {"adaround", "adaquant", "gptq"}) {
    const std::string group = std::string(method) + "_params";
    const Rounding plain = parse_config({{"algorithms", method}}).rounding;
    for (const auto& [name, value] : inert.items()) {
      const Rounding one = parse_config({{"algorithms", method}, {group, {{name, value}}}}).rounding;
      EXPECT_EQ(one.options, plain.options) << name;
      EXPECT_EQ(one.inert.at(name), value) << name;
      EXPECT_EQ(notes_on_inert_options({{group, {{name, value}}}}).size(), 1U) << name;
    }
    const Json acting{{"data_size", 7}, {"update_bias", false}, {"damping", 3}};
    for (const auto& [name, value] : acting.items()) {
      EXPECT_NE(parse_config({{"algorithms", method}, {group, {{name, value}}}}).rounding.options, plain.options) << name;
      EXPECT_TRUE(notes_on_inert_options({{group, {{name, value}}}}).empty()) << name;
    }
  }
}

TEST(RoundingConfig, FewIterationsAct) {
  const auto sweeps = [](const std::string& params) {
    return parse_config(words(R"({"algorithms": "adaround", "adaround_params": )" + params + "}"))
        .rounding.options.at("num_iterations");
  };
  EXPECT_EQ(sweeps(R"({"num_iterations": 5})"), 5);
  EXPECT_EQ(sweeps(R"({"num_iterations": 1000})"), sweeps(R"({"num_iterations": 3000})"));
  EXPECT_EQ(sweeps(R"({"num_iterations": 5, "NumIterLR": [7, 0.1]})"), 7);
  EXPECT_EQ(sweeps(R"({"NumIterLR": "[9, 0.1]"})"), 9);
}

TEST(RoundingConfig, RoundTrip) {
  for (const char* text : {R"({})", R"({"algorithms": "gptq", "gptq_params": {"act_order": false, "damping": 1}})",
                           R"({"algorithms": "adaround", "adaround_params": {"data_size": 50, "NumIterLR": [3, 0.1]}})"}) {
    const Config config = parse_config(words(text));
    EXPECT_EQ(parse_config(to_json(config)), config) << text;
  }
}

TEST(RoundingConfig, ErrorsNameTheNearestWord) {
  EXPECT_NE(message(R"({"algorithms": "adaroud"})").find("adaround"), std::string::npos);
  EXPECT_NE(message(R"({"algorithms": ["adaround", "adaquant"]})").find("one configuration has one"), std::string::npos);
  EXPECT_NE(message(R"({"adaround_params": {"num_iteration": 5}})").find("did you mean 'num_iterations'"), std::string::npos);
  EXPECT_NE(message(R"({"adaround_params": {"num_iters": 5}})").find("did you mean 'num_iterations'"), std::string::npos);
  EXPECT_NE(message(R"({"algorithms": 3})").find("rtn"), std::string::npos);
  EXPECT_NE(message(R"({"adaround_params": {"num_iterations": 0}})").find("num_iterations"), std::string::npos);
  EXPECT_NE(message(R"({"adaround_params": {"drop_ratio": 2}})").find("drop_ratio"), std::string::npos);
  EXPECT_NE(message(R"({"adaround_params": {"NumIterLR": [3]}})").find("pair"), std::string::npos);
  EXPECT_NE(message(R"({"gptq_params": {"NumIterLR": [3]}})").find("NumIterLR"), std::string::npos);
  EXPECT_NE(message(R"({"adaround_params": {"NumIterLR": [3, -1]}})").find("learning_rate"), std::string::npos);
  EXPECT_NE(message(R"({"gptq_params": {"NumIterLR": [3, -1]}})").find("learning_rate"), std::string::npos);
  for (const char* value : {"0", "-3", "1.5", R"("all")", "[5]"})
    EXPECT_NE(message(R"({"adaquant_params": {"data_size": )" + std::string(value) + "}}").find("data_size"), std::string::npos)
        << value;
  EXPECT_NE(message(R"({"awq_params": {"alpha": 5}})").find("from 0 to 1"), std::string::npos);
  EXPECT_NE(message(R"({"adaround_params": {"early_stop": "maybe"}})").find("true or false"), std::string::npos);
  EXPECT_NE(message(R"({"adaround_params": {"optim_device": 5}})").find("a text"), std::string::npos);
}

TEST(RoundingConfig, ValuesThatAreNoNamesOrPairsAreErrors) {
  EXPECT_EQ(message(R"({"algorithms": "adaquant", "adaquant_params": {"keep_activations": [1]}})"),
            "adaquant_params.keep_activations holds 1, but must be a list of names of values");
  EXPECT_EQ(message(R"({"algorithms": "adaquant", "adaquant_params": {"NumIterLR": "a"}})"),
            "adaquant_params.NumIterLR is \"a\", but must be a pair [number of iterations, learning rate]");
}

TEST(RoundingConfig, WhatDoesNotActIsCheckedAllTheSame) {
  for (const char* option : {"batch_size", "num_batches", "fixed_seed", "mem_opt_level", "log_period", "output_index"})
    EXPECT_NE(message(R"({"adaquant_params": {")" + std::string(option) + R"(": 1.5}})").find("must be a whole number"),
              std::string::npos)
        << option;
  EXPECT_EQ(message(R"({"adaquant_params": {"beta_range": ["a", "b"]}})"),
            "adaquant_params.beta_range is [\"a\",\"b\"], but must be a pair of numbers");
  EXPECT_EQ(message(R"({"adaquant_params": {"target_op_type": ["Conv", "Gem"]}})"),
            "adaquant_params.target_op_type holds \"Gem\", but must be a list of operators that can be quantized, such as Conv; "
            "did you mean 'Gemm'?");
}

TEST(RoundingConfig, WholeNumbersAreTheSameAsTheirFractions) {
  const auto options = [](const std::string& words) { return parse_config(Json::parse(words)).rounding.options.dump(); };
  EXPECT_EQ(options(R"({"algorithms": "adaquant", "adaquant_params": {"damping": 1}})"),
            options(R"({"algorithms": "adaquant"})"));
  const std::string awq = R"({"activation": "Float32Spec", "weight": "Int4Spec", "algorithms": "awq", "awq_params": {"alpha": )";
  EXPECT_EQ(options(awq + "1}}"), options(awq + "1.0}}"));
}

TEST(RoundingConfig, SequentialRoundingCountsNoIterations) {
  const Json given = words(R"({"algorithms": "gptq", "gptq_params": {"num_iterations": 5, "NumIterLR": [3, 0.1]}})");
  EXPECT_EQ(parse_config(given).rounding.options, parse_config(words(R"({"algorithms": "gptq"})")).rounding.options);
  const auto notes = notes_on_inert_options(given);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].find("gptq_params.num_iterations, gptq_params.NumIterLR have no effect"), std::string::npos) << notes[0];
}

TEST(RoundingConfig, OptionsOfOtherMethodsAreNoted) {
  const Json given = words(R"({"activation": "Float32Spec", "weight": "Int4Spec", "algorithms": "awq",
      "awq_params": {"update_bias": false, "act_order": true}})");
  const Json plain = words(R"({"activation": "Float32Spec", "weight": "Int4Spec", "algorithms": "awq"})");
  EXPECT_EQ(parse_config(given).rounding.options, parse_config(plain).rounding.options);
  const auto notes = notes_on_inert_options(given);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0], "awq_params.update_bias, awq_params.act_order have no effect: this method has no use for it");
  EXPECT_NE(message(R"({"awq_params": {"update_bias": 7}})").find("true or false"), std::string::npos);
}

TEST(RoundingConfig, NotesSayOnceWhatHasNoEffect) {
  const auto notes = notes_on_inert_options(words(
      R"({"algorithms": ["adaround"], "adaround_params": {"only_if": "algorithms", "num_iterations": [10, 20], "learning_rate": [0.1, 0.2]}})"));
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].find("adaround_params.learning_rate has no effect: "), 0U);
}

TEST(RoundingConfig, SpacesWithoutRounding) {
  const Json space = words(R"({"activation": ["Int8Spec"], "algorithms": ["adaround", null],
      "adaround_params": {"only_if": {"algorithms": "adaround"}, "learning_rate": {"type": "float", "low": 0.01, "high": 0.1, "log": true},
                          "NumIterLR": [[3000, 0.1], [1000, 0.2]]}})");
  EXPECT_EQ(without_rounding(space), words(R"({"activation": ["Int8Spec"]})"));
  EXPECT_THROW(without_rounding(words(R"({"adaround_params": {"num_iterations": {"type": "int", "low": -5, "high": 5}}})")),
               Error);
}

}  // namespace
}  // namespace quasar::quant
