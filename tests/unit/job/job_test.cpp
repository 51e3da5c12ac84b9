// Configurations: keys, what they mean together, and what is said about wrong ones.
#include "quasar/job/job.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "quasar/base/error.hpp"
#include "quasar/job/spaces.hpp"
#include "quasar/strategy/exit_policy.hpp"
#include "quasar/strategy/parse_job.hpp"
#include "quasar/strategy/strategy.hpp"

namespace quasar::tune {
namespace {

const Json small{{"activation", {"Int8Spec"}}, {"weight", {"Int8Spec"}}};
const Json tuned = parse_json(R"({"activation": ["Int8Spec", "UInt8Spec"], "algorithms": ["adaround"],
  "adaround_params": {"num_iterations": [4, 8], "only_if": {"algorithms": "adaround"}}})",
                              "test");

Job job_of(Json words, const Json& space = small) {
  words["model_input"] = "m.onnx";
  words["calib_data_reader"] = words["eval_data_reader"] = {{"reader", "random"}};
  if (!words.contains("search_spaces") && !words.contains("preset")) words["search_space"] = space;
  return parse_job(words, ".");
}

std::string error_of(const Json& words, const Json& space = small) {
  try {
    read_spaces(job_of(words, space));
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

bool says(const Job& job, const std::string& text) {
  return std::ranges::any_of(job.warnings, [&](const auto& warning) { return warning.find(text) != std::string::npos; });
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Job, SpeedGateIsAFactorOrOff) {
  EXPECT_FALSE(job_of(Json::object()).speed_gate);
  EXPECT_EQ(job_of({{"speed_gate", 1.05}}).speed_gate, 1.05);
  for (const Json& off : {Json("off"), Json(false), Json()}) EXPECT_FALSE(job_of({{"speed_gate", off}}).speed_gate) << off;
  EXPECT_EQ(job_of({{"preset", "cpu_int8_search"}}).speed_gate, 1.02);
  EXPECT_FALSE(job_of({{"preset", "cpu_int8_search"}, {"speed_gate", "off"}}).speed_gate);
  Json repair{{"strategy", "repair"}, {"model_input", "m.onnx"}};
  repair["calib_data_reader"] = repair["eval_data_reader"] = {{"reader", "random"}};
  EXPECT_EQ(parse_job(repair, ".").speed_gate, 1.02);
  repair["speed_gate"] = "off";
  EXPECT_FALSE(parse_job(repair, ".").speed_gate);
  EXPECT_FALSE(job_of({{"strategy", "repair"}}).speed_gate);  // on a space of the user's
  for (const Json& wrong : {Json(0.9), Json("fast"), Json(true), Json(1000)})
    EXPECT_TRUE(
        holds(error_of({{"speed_gate", wrong}}), "speed_gate is " + wrong.dump() + ", but must be a factor from 1 to 100"))
        << wrong;
  EXPECT_TRUE(says(job_of({{"speed_gate", 1.1}, {"target", "generic"}}), "speed_gate has no effect"));
  EXPECT_FALSE(says(job_of({{"speed_gate", 1.1}}), "speed_gate has no effect"));
}

// What an evaluator gives has no direction but the one that the user says, wherever he says it.
TEST(Job, TheCriterionSaysWhichWayAnEvaluatorsOnlyMetricIsBetter) {
  const Json criterion{{"higher_is_better", false}};
  Json words{{"search_evaluator", {{"command", {"true", "{model}"}}}}, {"accuracy_criterion", criterion}};
  EXPECT_EQ(job_of(words).aim.criterion->parts.front().direction, Direction::minimize);
  words["search_evaluator"]["metrics"] = {"loss"};
  EXPECT_EQ(job_of(words).aim.criterion->parts.front().direction, Direction::minimize);
  words["search_evaluator"]["metrics"] = {"loss", "speed"};
  EXPECT_TRUE(holds(error_of(words), "search_evaluator: {metrics: {loss: minimize}}")) << error_of(words);
  words["search_evaluator"]["metrics"] = {{"loss", "maximize"}};
  EXPECT_TRUE(holds(error_of(words), "search_evaluator: {metrics: {loss: minimize}}")) << error_of(words);
  words["search_evaluator"].erase("metrics");
  words["direction"] = "maximize";
  EXPECT_TRUE(holds(error_of(words), "search_evaluator: {metrics: {score: minimize}}")) << error_of(words);
}

TEST(Job, TheUserSaysWhichOfAnEvaluatorsMetricsIsSearchedFor) {
  Json words{{"search_evaluator", {{"command", {"true", "{model}"}}, {"metrics", {{"map50", "maximize"}, {"ms", "minimize"}}}}}};
  const auto metrics = [&](const Json& named) {
    words["search_metric"] = named;
    std::vector<std::string> out = job_of(words).aim.metrics;
    out.resize(std::min<size_t>(out.size(), 3));  // others may be reported, too
    return out;
  };
  EXPECT_EQ(metrics(nullptr), (std::vector<std::string>{"map50", "ms"}));
  EXPECT_EQ(metrics("ms"), (std::vector<std::string>{"ms", "map50"}));
  EXPECT_EQ(metrics({"L2", "ms"}), (std::vector<std::string>{"ms", "map50", "L2"}));
  EXPECT_EQ(metrics({"L2"}), (std::vector<std::string>{"map50", "ms", "L2"}));
}

TEST(Job, EveryKeyWithTwoLettersExchangedIsStillMeant) {
  std::vector<std::string> names;
  for (const auto& spec : job_keys()) names.push_back(spec.name);
  for (const auto& name : names) {
    for (size_t i = 0; i + 1 < name.size(); ++i) {
      std::string slip = name;
      std::swap(slip[i], slip[i + 1]);
      if (normalized(slip) == normalized(name)) continue;
      const std::string error = error_of({{slip, 1}});
      EXPECT_TRUE(holds(error, "did you mean '" + name + "'")) << slip << ": " << error;
    }
  }
}

// A choice that the target cannot have ends the search before it starts, a combination is left out.
TEST(Job, TypesThatTheTargetCannotShiftAreRefusedBeforeTheSearch) {
  const Json space{{"activation", {"XInt8Spec", "DynamicSpec"}}, {"weight", {"XInt8Spec"}}};
  EXPECT_TRUE(holds(error_of({{"target", "xint8"}}, space), "activation is DynamicSpec and weight XInt8Spec, but the target"));
  EXPECT_EQ(error_of({{"target", "ort_cpu"}}, space), "");
  const Json good{{"activation", {"XInt8Spec"}}, {"weight", {"XInt8Spec"}}};
  EXPECT_EQ(error_of({{"target", "xint8"}}, good), "");
}

TEST(Job, SaturationAtTheTopLevelIsThatOfEverySpace) {
  EXPECT_EQ(job_of({{"saturation", "Unsigned"}}).spaces[0]["saturation"], Json({"unsigned"}));
  EXPECT_TRUE(holds(error_of({{"saturation", "unsinged"}}), "did you mean 'unsigned'"));
  EXPECT_TRUE(holds(error_of({{"saturation", "avoid"}, {"target", "ort_cuda"}}), "this target has no use for the key"));
  const Json space{{"weight", {"Int8Spec"}}, {"reduce_range", {true}}};
  EXPECT_TRUE(holds(error_of({{"saturation", "avoid"}}, space), "search_space.reduce_range is given, and saturation at the top"));
}

TEST(Job, SmoothQuantTriesNineAlphasByItself) {
  const auto with_alpha = [](const Json& alpha) {
    return Json{{"recipes", {{"smooth_quant", true}, {"smooth_quant_args", {{"alpha", alpha}}}}}};
  };
  EXPECT_EQ(job_of(with_alpha("auto")).spaces[0]["SmoothAlpha"].size(), 9U);
  EXPECT_EQ(job_of(with_alpha({0.3, 0.7})).spaces[0]["SmoothAlpha"], (Json{0.3, 0.7}));
  EXPECT_TRUE(holds(error_of(with_alpha(2)), "alpha is 2, but must be a number from 0 to 1, a list of them, or auto"));
}

TEST(Job, KeysThatMakeNoDifferenceAreNotedOnce) {
  Json space = small;
  space["NumBins"] = {512, 2048};
  const auto notes = read_spaces(job_of({}, space)).notes;
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_TRUE(notes[0].starts_with("NumBins makes no difference: ")) << notes[0];
  EXPECT_TRUE(read_spaces(job_of({}, small)).notes.empty());
}

TEST(Job, NoTrialsMeansTheDefault) {
  EXPECT_EQ(trials_wanted(job_of({{"n_trials", 0}}).limits), 20);
  EXPECT_EQ(trials_wanted(job_of({{"n_trials", 0}, {"search_algo", "Grid"}}).limits), std::nullopt);
  EXPECT_EQ(trials_wanted(job_of({{"search_stop_condition", {{"n_trials", 0}}}}).limits), 20);
  EXPECT_EQ(trials_wanted(job_of({{"search_stop_condition", {{"N-Trials", 7}}}}).limits), 7);
  EXPECT_TRUE(job_of({{"search_stop_condition", {{"n_trials", 0}}}, {"search_algo", "Grid"}}).limits.stop.empty());
  EXPECT_TRUE(holds(error_of({{"n_trials", -1}}), "n_trials"));
  for (const auto& spec : job_keys()) {
    if (spec.name == "n_trials") {
      EXPECT_TRUE(holds(spec.help, "0, as left out"));
    }
    if (spec.name != "search_stop_condition") continue;
    for (const auto& condition : search::stop::table().names()) EXPECT_TRUE(holds(spec.help, condition)) << condition;
  }
}

TEST(Job, ConditionsAreKnownByAnySpelling) {
  EXPECT_TRUE(holds(error_of({{"search_stop_condition", {{"Find-N-Candidates", 3}}}}), "needs search_metric_tolerance"));
  EXPECT_TRUE(holds(error_of({{"search_stop_condition", {{"patience", 3}, {"Patience", 4}}}}), "given twice"));
}

// −1 is off, as in Quark; another negative number is a value, which some metrics may have.
TEST(Job, ANegativeBestCandidateIsNotPassedOver) {
  const auto said = [](const Json& wanted, Json words) {
    words["search_stop_condition"] = {{"find_best_candidate", wanted}};
    return error_of(words);
  };
  EXPECT_TRUE(holds(said(-0.5, {{"search_metric", "psnr"}}), "needs search_metric_tolerance"));
  EXPECT_EQ(said(-0.5, {{"search_metric", "psnr"}, {"search_metric_tolerance", 1}}), "");
  EXPECT_EQ(said(-1, {{"search_metric", "psnr"}}), "");
  EXPECT_EQ(said(-1, {{"search_metric", "L2"}, {"search_metric_tolerance", 1}}), "");
  EXPECT_TRUE(holds(said(-0.5, {{"search_metric", "L2"}, {"search_metric_tolerance", 1}}),
                    "find_best_candidate is -0.5, but L2 is never better than 0.0; -1 or null switches it off"));
  EXPECT_TRUE(holds(said(1.5, {{"search_metric", "top1"}, {"search_metric_tolerance", 1}}), "top1 is never better than 1.0"));
  EXPECT_TRUE(holds(said(-5, {{"objectives", {{{"metric", "bytes"}}}},
                              {"accuracy_criterion", {{"metrics", {{"top1", 1}}}, {"tolerable_loss", 0.01}}}}),
                    "bytes is never better than 0.0"));
  const Json own{{"command", {"true", "{model}"}}, {"metrics", {{"log_likelihood", "maximize"}}}};
  EXPECT_EQ(said(-0.5, {{"search_evaluator", own}, {"search_metric_tolerance", 1}}), "");
}

TEST(Job, CalibDataSizeIsAParameterWhereverItStands) {
  for (const char* name : {"CalibDataSize", "calibration_sampling_size"}) {
    Json space = small;
    space[name] = {10, 20};
    const Spaces inside = read_spaces(job_of({}, space));
    EXPECT_EQ(inside.each[0].size(), 2u);
    EXPECT_EQ(inside.needs.sizes.size(), 2u) << name;
    EXPECT_EQ(read_spaces(job_of({{name, {10, 20}}})).each[0].size(), 2u);
    EXPECT_TRUE(holds(error_of({{"CalibDataSize", 5}}, space), "keep one of them"));
  }
}

// First-level names of the peer's, in a search space: they act, make no difference, or are an error that says where they belong.
TEST(Job, NoNameOfThePeersIsUnknownInASpace) {
  for (const char* name : {"use_external_data_format",
                           "ShapeShifterYaml",
                           "OpTypesToQuantize",
                           "ExecutionProviders",
                           "OptimizeModel",
                           "EnableNPUCnn",
                           "CryptoMode",
                           "QuantizeBias",
                           "SimplifyModel",
                           "CalibMovingAverage",
                           "Percentile",
                           "LWPMetric",
                           "PercentileCandidates",
                           "UseRandomData",
                           "RandomDataReaderInputShape",
                           "Int16Scale",
                           "ConvertOpsetVersion",
                           "ConvertBNToConv",
                           "FuseL2Norm",
                           "MaxLoopNum",
                           "AlignSlice",
                           "SaveAndRestore",
                           "TensorsRangeFile",
                           "ReplaceClip6Relu",
                           "RemoveQDQBetweenOps",
                           "FixShapes",
                           "CalibDataSize",
                           "CalibWorkerNum",
                           "EvalMetrics",
                           "EvalDataReader",
                           "TmpDir",
                           "UserCustomOpLibPath",
                           "TensorQuantOverrides",
                           "WeightCalibrateMethod",
                           "QuantizationPreference",
                           "SmoothAlpha",
                           "NumBins",
                           "InputNodes",
                           "CLESteps",
                           "CLETotalLayerDiffThreshold",
                           "CLEScaleAppendBias",
                           "AutoMixprecision",
                           "MixedPrecisionTensor",
                           "BFPAttributes",
                           "global_config",
                           "algo_config",
                           "exclude",
                           "specific_layer_config",
                           "layer_type_config",
                           "include_sq",
                           "include_cle"}) {
    Json space = small;
    space[name] = Json::array({nullptr});
    EXPECT_EQ(error_of({}, space), "") << name;
    space[name] = {"a wrong value"};
    const std::string error = error_of({}, space);
    EXPECT_FALSE(holds(error, "unknown key")) << error;
    EXPECT_FALSE(holds(error, "top level")) << error;
  }
}

TEST(Job, KeysOfASpaceGetTheNearestNames) {
  for (const auto& [slip, meant] : std::vector<std::pair<const char*, const char*>>{{"calibrate_metod", "calibrate_method"},
                                                                                    {"actviation", "activation"},
                                                                                    {"weigth_params", "weight_params"},
                                                                                    {"algoritms", "algorithms"},
                                                                                    {"CalibDataSzie", "CalibDataSize"},
                                                                                    {"exlude", "exclude"}}) {
    Json space = small;
    space[slip] = {1};
    EXPECT_TRUE(holds(error_of({}, space), std::string("did you mean '") + meant + "'")) << error_of({}, space);
  }
}

// What users of other tools write, and where it stands here.
TEST(Job, NamesOfOtherToolsSayWhatTheyAreHere) {
  for (const auto& [name, hint] : std::vector<std::pair<const char*, const char*>>{
           {"accuracy_level", "accuracy_level 4 of MatMulNBits is activation: DynamicSpec"},
           {"block_size", "weight_params: {group_size: 32}"},
           {"is_symmetric", "weight_params: {symmetric: true}"},
           {"bits", "weight: UInt4Spec, UInt2Spec, UInt8Spec"}}) {
    Json space = small;
    space[name] = {4};
    EXPECT_TRUE(holds(error_of({}, space), hint)) << error_of({}, space);
    EXPECT_FALSE(holds(error_of({}, space), "more")) << error_of({}, space);
    EXPECT_TRUE(holds(error_of({{name, 4}}), hint)) << error_of({{name, 4}});
  }
  Json space = small;
  space["algorithms"] = {"hqq"};
  EXPECT_TRUE(holds(error_of({}, space), "weight_params: {calibration_method: hqq}, or scheme: HQQ_G32ASYM"))
      << error_of({}, space);
  EXPECT_TRUE(holds(error_of({{"search_metric", "wer"}}), "Say {name: wer, space: CLASS}"))
      << error_of({{"search_metric", "wer"}});
  EXPECT_EQ(error_of({{"search_metric", "exact_match"}}), "");
}

TEST(Job, TheJointKeyTakesThePlaceOfBoth) {
  Json space = tuned;
  space["adaround_params"]["NumIterLR"] = parse_json("[[3, 0.1], [5, 0.01]]", "test");
  space["adaround_params"]["learning_rate"] = {0.1, 0.2};
  const Job job = job_of({}, space);
  EXPECT_EQ(read_spaces(job).each[0].size(), 4u);  // types · pairs
  EXPECT_TRUE(says(job, "num_iterations and learning_rate are left out, as NumIterLR stands for both"));
  EXPECT_EQ(std::ranges::count_if(job.warnings, [](const auto& w) { return holds(w, "num_iterations"); }), 1);
  space["adaround_params"]["NumIterLR"].push_back(nullptr);  // without the pair the others act
  const Job both = job_of({}, space);
  EXPECT_EQ(read_spaces(both).each[0].size(), 12u);  // learning rates are tried once
  EXPECT_FALSE(says(both, "num_iterations has no effect"));
}

TEST(Job, IterationsThatChangeNothingAreTold) {
  Json space = tuned;
  space["adaround_params"]["num_iterations"] = {{"type", "int"}, {"low", 3000}, {"high", 9000}};
  EXPECT_TRUE(says(job_of({}, space), "settled within 32 passes"));
  space["adaround_params"]["num_iterations"] = {100, 200};
  EXPECT_TRUE(says(job_of({}, space), "settled within 32 passes"));
  for (const Json& few : {Json{4, 100}, Json{100}, Json{{"type", "int"}, {"low", 4}, {"high", 9000}}}) {
    space["adaround_params"]["num_iterations"] = few;
    EXPECT_FALSE(says(job_of({}, space), "settled within")) << few;
  }
}

TEST(Job, TwoStagesAndAnotherStrategyContradictEachOther) {
  for (const char* strategy : {"flat", "repair", "exhaustive"}) {
    const std::string error = error_of({{"two_stage_search", true}, {"strategy", strategy}}, tuned);
    EXPECT_TRUE(holds(error, "two_stage_search: true is strategy two_stage, but strategy says " + std::string(strategy)))
        << error;
  }
  const std::string error = error_of({{"two_stage_search", true}, {"tuning_criterion", {{"strategy", "mse"}}}}, tuned);
  EXPECT_TRUE(holds(error, "tuning_criterion.strategy says mse")) << error;
  EXPECT_EQ(job_of({{"two_stage_search", true}, {"strategy", "two_stage"}}, tuned).strategy, "two_stage");
  EXPECT_EQ(job_of({{"two_stage_search", false}, {"strategy", "flat"}}, tuned).strategy, "flat");
  EXPECT_EQ(job_of({{"preset", "A8W8_SEARCH"}}).strategy, "two_stage");
  EXPECT_EQ(job_of({{"preset", "A8W8_SEARCH"}, {"strategy", "flat"}}).strategy, "flat");  // the user's key, not the preset's
  EXPECT_TRUE(holds(error_of({{"search_algo", "exhaustive"}, {"two_stage_search", true}}, tuned), "unknown sampler"));
}

// A strategy of a tuning criterion beside `strategy` was overruled without a word.
TEST(Job, AStrategyIsNamedOnce) {
  const Json goal{{"criterion", "absolute"}, {"tolerable_loss", 0.1}};
  const auto words = [&](const char* strategy, const char* other) {
    return Json{{"accuracy_criterion", goal}, {"strategy", strategy}, {"tuning_criterion", {{"strategy", other}}}};
  };
  const std::string error = error_of(words("basic", "mse"), Json::object());
  EXPECT_TRUE(holds(error, "strategy is basic, but tuning_criterion.strategy says mse; keep one")) << error;
  EXPECT_EQ(job_of(words("automatic", "auto"), Json::object()).strategy, "automatic") << "the same one by another name";
}

// Of two limits the smaller one holds, wherever it stands.
TEST(Job, LimitsOfTuningAndOfStopConditionsBothHold) {
  const auto job = [](int most, int trials, int timeout, int seconds) {
    return job_of({{"accuracy_criterion", {{"criterion", "absolute"}, {"tolerable_loss", 0.1}}},
                   {"strategy", "basic"},
                   {"tuning_criterion", {{"max_trials", most}, {"timeout", timeout}}},
                   {"search_stop_condition", {{"n_trials", trials}, {"time_limit", seconds}}}},
                  Json::object());
  };
  for (const Job& one : {job(15, 3, 90, 20), job(3, 15, 20, 90)}) {
    EXPECT_EQ(trials_wanted(one.limits), 3);
    EXPECT_EQ(one.limits.stop["time_limit"], 20);
  }
  EXPECT_EQ(trials_wanted(job(15, -1, 20, -1).limits), 15) << "-1 switches a condition off";
  EXPECT_EQ(job(15, -1, 20, -1).limits.stop["time_limit"], 20);
}

// Where OpenVINO is not here, the target's models are judged by ONNX Runtime, and a line says so.
TEST(Job, CandidatesRunInTheTargetsOwnLibraryWhereItIsHere) {
  using runtime::Library;
  EXPECT_NE(error_of({{"runtime", "openvin"}}).find("did you mean 'openvino'?"), std::string::npos)
      << error_of({{"runtime", "openvin"}});
  EXPECT_EQ(job_of({{"runtime", "onnxruntime"}, {"target", "openvino"}}).devices.front().library, Library::onnxruntime);
  EXPECT_EQ(job_of({{"target", "ort_cpu"}}).devices.front().library, Library::onnxruntime);
  EXPECT_TRUE(says(job_of({{"target", "tensorrt"}}), "times say nothing of a GPU"));
  const Job usual = job_of({{"target", "openvino"}});
  const bool here = runtime::obstacle_to(Library::openvino).empty();
  EXPECT_EQ(usual.devices.front().library, here ? Library::openvino : Library::onnxruntime);
  EXPECT_EQ(says(usual, "candidates are scored and timed by ONNX Runtime"), !here);
  const std::string named = error_of({{"runtime", "openvino"}, {"search_devices", "cuda:0"}});
  EXPECT_NE(named.find("runtime is openvino, but"), std::string::npos) << named;
  EXPECT_NE(named.find("search_devices is \"cuda:0\""), std::string::npos) << named;
}

}  // namespace
}  // namespace quasar::tune
