#include "quasar/job/settled_options.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "quasar/job/job.hpp"
#include "quasar/job/spaces.hpp"
#include "quasar/strategy/parse_job.hpp"

namespace quasar::tune {
namespace {

Json parsed_words(const char* text) {
  return parse_json(text, "test");
}

TEST(SettledOptions, WhatMakesTheSameModelHasOneValue) {
  Json space = parsed_words(R"({
    "algorithms": ["adaround", "gptq"],
    "adaround_params": {"num_iterations": {"type": "int", "low": 4, "high": 1000, "step": 10},
                        "learning_rate": {"type": "float", "low": 0.01, "high": 0.1, "log": true},
                        "batch_size": [2, 4], "damping": [0.5, 1], "early_stop": true, "only_if": {"algorithms": "adaround"}},
    "gptq_params": {"num_iterations": [10, 20], "only_if": {"algorithms": "gptq"}}})");
  const auto names = settle_options(space);
  EXPECT_EQ(names, (std::vector<std::string>{"adaround_params.num_iterations", "adaround_params.learning_rate",
                                             "adaround_params.batch_size", "gptq_params.num_iterations"}));
  EXPECT_EQ(space["adaround_params"]["num_iterations"]["high"], 34) << "the first of 4, 14 … from 32 on";
  EXPECT_EQ(space["adaround_params"]["learning_rate"], parsed_words("[0.01]"));
  EXPECT_EQ(space["adaround_params"]["batch_size"], parsed_words("[2]"));
  EXPECT_EQ(space["adaround_params"]["damping"], parsed_words("[0.5, 1]"));
  EXPECT_EQ(space["adaround_params"]["early_stop"], true);
  EXPECT_EQ(space["gptq_params"]["num_iterations"], parsed_words("[10]")) << "it goes over the weights once";
  EXPECT_TRUE(settle_options(space).empty());
}

TEST(SettledOptions, NumbersOfIterationsThatDoTheSameAreOne) {
  Json space = parsed_words(R"({"algorithms": ["adaround"], "adaround_params": {"NumIterLR": [[8, 0.1], [100, 0.1], [200, 0.01]],
                         "num_iterations": [1000, 2000, 16], "only_if": "algorithms"}})");
  settle_options(space);
  EXPECT_EQ(space["adaround_params"]["NumIterLR"], parsed_words("[[8, 0.1], [100, 0.1]]"));
  EXPECT_EQ(space["adaround_params"]["num_iterations"], parsed_words("[1000, 16]"));
}

TEST(SettledOptions, WhatAConditionNamesStays) {
  Json space = parsed_words(R"({"algorithms": ["adaround"], "adaround_params": {"batch_size": [1, 2], "only_if": "algorithms"},
                         "other_params": {"damping": [1, 2], "only_if": {"adaround_params_batch_size": 2}}})");
  EXPECT_TRUE(settle_options(space).empty());
}

TEST(SettledOptions, EnqueuedConfigurationsAreSettledAlike) {
  const Json space = parsed_words(R"({"algorithms": ["adaround"], "adaround_params": {"num_iterations": [16, 100, 200],
                               "learning_rate": [0.1, 0.01], "only_if": "algorithms"}})");
  Json settled = space;
  settle_options(settled);
  Json nested = parsed_words(R"({"adaround_params": {"num_iterations": 200, "learning_rate": 0.01}})");
  settle_configuration(nested, space, settled);
  EXPECT_EQ(nested, parsed_words(R"({"adaround_params": {"num_iterations": 100, "learning_rate": 0.1}})"));
  Json flat = parsed_words(R"({"adaround_params_num_iterations": 16, "adaround_params_learning_rate": 0.5})");
  settle_configuration(flat, space, settled);
  EXPECT_EQ(flat, parsed_words(R"({"adaround_params_num_iterations": 16, "adaround_params_learning_rate": 0.5})"))
      << "what the space never had is told as such";
}

TEST(SettledOptions, AJobSaysSoOnce) {
  const Job job = parse_job(parsed_words(R"({"model_input": "m.onnx", "calib_data_reader": {"reader": "random"}, "search_space": {
                               "activation": ["Int8Spec"], "weight": ["Int8Spec"], "algorithms": ["adaround", "adaquant"],
                               "adaround_params": {"num_iterations": {"type": "int", "low": 100, "high": 200},
                                                   "learning_rate": {"type": "float", "low": 1e-7, "high": 1e-3, "log": true},
                                                   "only_if": {"algorithms": "adaround"}}}})"),
                            ".");
  const auto says = [](const std::string& warning) {
    return warning.starts_with("values that make the same model are tried once");
  };
  EXPECT_EQ(std::ranges::count_if(job.warnings, says), 1);
  EXPECT_EQ(read_spaces(job).each[0].size(), 2U);
}

TEST(SettledOptions, ADictionaryOfTypeCategoricalIsAListAndIsSettledLikeOne) {
  const char* dictionary = R"({"model_input": "m.onnx", "calib_data_reader": {"reader": "random"}, "search_space": {
    "activation": ["Int8Spec"], "weight": ["Int8Spec"], "algorithms": ["adaround"],
    "weight_params": {"symmetric": {"type": "categorical", "choices": [true, false]}, "only_if": "weight"},
    "adaround_params": {"num_iterations": {"type": "categorical", "choices": [100, 200]}, "only_if": "algorithms"}}})";
  EXPECT_EQ(read_spaces(parse_job(parsed_words(dictionary), ".")).each[0].size(), 2U);
}

}  // namespace
}  // namespace quasar::tune
