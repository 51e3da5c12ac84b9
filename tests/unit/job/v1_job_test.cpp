// Whole jobs in Auto Search's first form: defaults, names, mixtures, and what is said about them.
#include <gtest/gtest.h>

#include <algorithm>

#include "quasar/base/error.hpp"
#include "quasar/job/job.hpp"
#include "quasar/job/v1.hpp"
#include "quasar/job/v1_names.hpp"
#include "quasar/strategy/parse_job.hpp"

namespace quasar::tune {
namespace {

const Json v1_space = parse_json(R"({"calibrate_method": ["CalibrationMethod.MinMax"], "activation_type": ["QInt8"]})", "test");
const Json pro_space = parse_json(R"({"activation": ["UInt8Spec"], "weight": ["Int8Spec"]})", "test");

Job job_of(Json words) {
  words["model_input"] = "m.onnx";
  words["calib_data_reader"] = words["eval_data_reader"] = {{"reader", "random"}};
  return parse_job(words, ".");
}

std::string error_of(const Json& words) {
  try {
    job_of(words);
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

size_t count(const Job& job, const std::string& text) {
  return static_cast<size_t>(
      std::ranges::count_if(job.warnings, [&](const auto& warning) { return warning.find(text) != std::string::npos; }));
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Json fine_tuned(const Json& options) {
  Json space = v1_space;
  space["include_fast_ft"] = {true};
  space["extra_options"] = {{"FastFinetune", options}};
  return space;
}

TEST(V1Job, TheLogsPathIsTakenAndTheLogsPlaceTold) {
  for (const Json& space : {v1_space, pro_space}) {
    const Job job = job_of({{"search_space", space}, {"search_log_path", "./auto_search.log"}});
    EXPECT_EQ(count(job, "the log is auto_search.log in output_dir"), 1u);
  }
  EXPECT_EQ(count(job_of({{"search_space", v1_space}}), "auto_search.log"), 0u);
}

// By the name of quant_config, by what Quark's configuration of that name says, or by every space.
TEST(V1Job, ModelsForNpusHaveTheirTarget) {
  const auto target_of = [](const Json& words) { return job_of(words).target; };
  Json eights{{"calibrate_method", {"PowerOfTwoMethod.MinMSE"}}, {"activation_type", {"QInt8"}}, {"weight_type", {"QInt8"}}};
  EXPECT_EQ(base_of("XINT8").value("enable_npu_cnn", Json()), true);
  EXPECT_EQ(base_of("XINT8_ADAQUANT").value("enable_npu_cnn", Json()), true);
  EXPECT_FALSE(base_of("VINT8").contains("enable_npu_cnn"));
  EXPECT_FALSE(base_of("S8S8_AAWS").contains("enable_npu_cnn"));
  EXPECT_EQ(target_of({{"search_space", eights}, {"quant_config", base_of("XINT8")}}), "xint8");
  EXPECT_EQ(target_of({{"search_space", eights}, {"quant_config", "XINT8"}}), "xint8");
  EXPECT_EQ(target_of({{"search_space", eights}, {"quant_config", "S8S8_AAWS"}}), "ort_cpu");
  const Job plain = job_of({{"search_space", eights}, {"quant_config", "XINT8"}, {"target", "ort_cpu"}});
  EXPECT_EQ(plain.target, "ort_cpu");
  EXPECT_FALSE(plain.spaces.front().contains("EnableNPUCnn")) << "the user has said that it is for no NPU";
  Json both = eights;
  eights["enable_npu_cnn"] = {true};
  both["enable_npu_cnn"] = {false, true};
  const Job told = job_of({{"search_space", eights}});
  EXPECT_EQ(told.target, "xint8");
  EXPECT_EQ(count(told, "target is xint8: EnableNPUCnn"), 1u);
  EXPECT_EQ(target_of({{"search_space", both}}), "ort_cpu");
  EXPECT_EQ(target_of({{"search_spaces", {eights, both}}}), "ort_cpu");
}

// The peer's default accepts everything; a user of Pro says what a candidate is.
TEST(V1Job, CandidatesWithoutAToleranceAreAllTrials) {
  for (const char* key : {"find_n_candidates", "find_best_candidate"}) {
    Json words{{"search_space", v1_space}, {"search_stop_condition", {{key, 3}}}};
    const Job job = job_of(words);
    EXPECT_EQ(job.aim.tolerance, 2.0e4);
    EXPECT_EQ(count(job, "v1's default holds, 20000"), 1u);
    words["search_metric_tolerance"] = 0.5;
    EXPECT_EQ(job_of(words).aim.tolerance, 0.5);
  }
  const Json negative{
      {"search_space", v1_space}, {"search_metric", "v1_psnr"}, {"search_stop_condition", {{"find_best_candidate", -0.5}}}};
  EXPECT_EQ(job_of(negative).aim.tolerance, 2.0e4);
  const Json off{{"search_space", v1_space}, {"search_stop_condition", {{"find_n_candidates", -1}, {"iteration_limit", 9}}}};
  EXPECT_TRUE(job_of(off).aim.tolerance.is_null());
  EXPECT_TRUE(job_of({{"search_space", pro_space}, {"search_stop_condition", {{"patience", 3}}}}).aim.tolerance.is_null());
}

TEST(V1Job, NamesThatV1DoesNotHaveGetTheNearestOfIts) {
  const std::vector<std::pair<Json, const char*>> slips{{{{"NumIteration", {5}}}, "did you mean 'NumIterations'"},
                                                        {{{"UpdataBias", {true}}}, "did you mean 'UpdateBias'"},
                                                        {{{"LearnRate", {1}}}, "did you mean 'LearningRate'"},
                                                        {{{"Xyzzy", {1}}}, "unknown key 'extra_options.FastFinetune.Xyzzy'"}};
  for (const auto& [options, message] : slips) {
    EXPECT_TRUE(holds(error_of({{"search_space", fine_tuned(options)}}), message)) << options;
    Json off = fine_tuned(options);
    off["include_fast_ft"] = {false};
    EXPECT_TRUE(holds(error_of({{"search_space", off}}), message)) << options;
  }
  EXPECT_EQ(error_of({{"search_space", fine_tuned({{"NumIterations", {5}}, {"LRAdjust", {"x"}}, {"damping", {1}}})}}), "");
  for (const auto& [slip, meant] : std::vector<std::pair<const char*, const char*>>{{"calibrate_metod", "calibrate_method"},
                                                                                    {"inculde_cle", "include_cle"},
                                                                                    {"Percentil", "Percentile"},
                                                                                    {"AlignConcatt", "AlignConcat"},
                                                                                    {"extra_option", "extra_options"}}) {
    Json space = v1_space;
    space[slip] = Json::array({1});
    EXPECT_TRUE(holds(error_of({{"search_space", space}}), std::string("did you mean '") + meant + "'")) << slip;
  }
  EXPECT_TRUE(holds(error_of({{"activation_type", {"QInt8"}}, {"search_space", v1_space}}), "it belongs into search_space"));
}

TEST(V1Job, SettingsOfItsFirstLevelActOrSayWhyNot) {
  Json space = v1_space;
  space.update(parse_json(R"({"quant_format": ["QuantFormat.QDQ"], "reduce_range": [false], "use_dynamic_quant": [false],
    "specific_tensor_precision": [false], "input_nodes": [null], "enable_npu_transformer": [false], "convert_nchw_to_nhwc": [false],
    "use_external_data_format": [false], "optimize_model": [true], "debug_mode": [false]})",
                          "test"));
  EXPECT_EQ(error_of({{"search_space", space}}), "");
  EXPECT_EQ(job_of({{"search_space", space}}).spaces[0]["quant_format"], Json({"QDQ"}));
  EXPECT_FALSE(job_of({{"search_space", space}}).spaces[0].contains("reduce_range"));
  space["reduce_range"] = {true, false};
  EXPECT_EQ(job_of({{"search_space", space}}).spaces[0]["reduce_range"], Json({true, false}));
  space["reduce_range"] = {false};
  for (const char* key : {"use_dynamic_quant", "specific_tensor_precision"}) {
    space[key] = {true};
    EXPECT_TRUE(holds(error_of({{"search_space", space}}), "but only false is possible")) << key;
    space[key] = {false};
  }
}

TEST(V1Job, ASpaceOfBothFormsIsAnErrorThatNamesBoth) {
  Json space = v1_space;
  space["weight_params"] = {{"symmetric", {true}}, {"only_if", "weight"}};
  std::string error = error_of({{"search_space", space}});
  EXPECT_TRUE(holds(error, "'activation_type'") && holds(error, "'weight_params'")) << error;
  error = error_of({{"search_spaces", {pro_space, space}}});
  EXPECT_TRUE(holds(error, "'activation_type'") && holds(error, "'weight_params'")) << error;
  error = error_of({{"preset", "A8W8_SEARCH"}, {"search_space", v1_space}});
  EXPECT_TRUE(holds(error, "keys of a preset count too")) << error;
  // A translated space holds calibrate_method, and options such as include_cle stand in both forms.
  Json translated = from_v1(v1_space, Json::object()).space;
  translated["include_cle"] = {true, false};
  EXPECT_EQ(error_of({{"search_space", translated}}), "");
  EXPECT_FALSE(is_v1(translated));
}

TEST(V1Job, InAListEachSpaceIsTranslatedByItself) {
  const Job mixed = job_of({{"search_spaces", {v1_space, pro_space, "search_space_S8S8_AAWS"}}});
  EXPECT_EQ(mixed.sampler.name, "tpe");
  EXPECT_EQ(mixed.aim.metrics, (std::vector<std::string>{"parts", "relative", "cos"}));
  EXPECT_EQ(count(mixed, "search_spaces holds spaces of both forms"), 1u);
  EXPECT_EQ(mixed.spaces[0]["activation"], Json({"Int8Spec"}));
  EXPECT_EQ(mixed.spaces[1], pro_space);
  EXPECT_TRUE(mixed.spaces[2].contains("calibrate_method") && mixed.spaces[2].contains("activation"));
  EXPECT_TRUE(mixed.translated);
  const Job all = job_of({{"search_spaces", {v1_space, "search_space_S8S8_AAWS"}}});
  EXPECT_EQ(all.sampler.name, "grid");
  EXPECT_EQ(all.aim.metrics, (std::vector<std::string>{"v1_L2", "relative", "cos"}));
  EXPECT_EQ(count(all, "both forms"), 0u);
  EXPECT_TRUE(holds(error_of({{"search_spaces", {v1_space, pro_space}}, {"quant_config", "S8S8_AAWS"}}), "hierarchical"));
}

TEST(V1Job, WhatSwitchesFastFinetuneOffIsTold) {
  Json space = fine_tuned({{"NumIterations", {10}}});
  space["include_fast_ft"] = {false};
  const auto note = [](const Json& words) {
    const Job job = job_of(words);
    EXPECT_EQ(count(job, "FastFinetune has no effect"), 1u);
    return job.warnings.at(0);
  };
  EXPECT_TRUE(holds(note({{"search_space", space}}), "is false in search_space"));
  EXPECT_FALSE(holds(note({{"search_space", space}}), "quant_config"));
  EXPECT_TRUE(holds(note({{"search_space", space}, {"quant_config", {{"include_fast_ft", true}}}}),
                    "is false in search_space, which comes before quant_config, where it is true"));
  space.erase("include_fast_ft");
  EXPECT_TRUE(holds(note({{"search_space", space}}), "is true neither in search_space nor in quant_config"));
  EXPECT_TRUE(holds(note({{"search_space", space}, {"quant_config", {{"include_fast_ft", false}}}}), "is false in quant_config"));
}

TEST(V1Job, ParametersOfTheAdvancedSearchWithoutItAreTold) {
  const Json params{{"sampler_algo", "TPE"}, {"n_trials", 3}};
  EXPECT_EQ(
      count(job_of({{"search_space", v1_space}, {"advanced_fastft_params", params}}), "advanced_fastft_params has no effect"),
      1u);
  EXPECT_EQ(
      count(job_of({{"search_space", pro_space}, {"advanced_fastft_params", params}}), "advanced_fastft_params has no effect"),
      1u);
}

// v1 knows no n_trials.
TEST(V1Job, IterationLimitIsTheBudgetOfARandomSearch) {
  Json words{{"search_space", v1_space}, {"search_algo", "random"}, {"search_stop_condition", {{"iteration_limit", 25}}}};
  const Job job = job_of(words);
  EXPECT_EQ(job.limits.n_trials, 25);
  EXPECT_EQ(count(job, "iteration_limit"), 1U);
  words["n_trials"] = 7;
  EXPECT_EQ(job_of(words).limits.n_trials, 7);
  words.erase("n_trials");
  words["search_algo"] = "grid_search";
  EXPECT_EQ(job_of(words).limits.n_trials, 0);
  words["search_algo"] = {{"name", "Grid"}};
  EXPECT_EQ(job_of(words).limits.n_trials, 0);
  words["search_algo"] = "random";
  words["search_space"] = pro_space;
  EXPECT_EQ(job_of(words).limits.n_trials, 0);
}

}  // namespace
}  // namespace quasar::tune
