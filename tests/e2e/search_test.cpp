#include <gtest/gtest.h>

#include <fstream>

#include "e2e/search_job.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/runtime/session.hpp"
#include "quasar/search/storage.hpp"

namespace quasar::e2e {
namespace {

TEST_F(Search, SeveralObjectivesGiveAParetoFrontThatKeepsTheConstraints) {
  const Ran ran = search(words(small_space,
                               "objectives: [{metric: L2}, {metric: bytes}, {metric: peak_memory}]\n"
                               "constraints: [{metric: L2, max: 3}, {metric: top1, max_drop: 0.5}]\n"));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("Pareto front"), std::string::npos);
  const Json result = this->result();
  ASSERT_FALSE(result["front"].empty());
  EXPECT_EQ(result["front"][0]["trial"], result["best"]["trial"]);
  EXPECT_EQ(result["best"]["feasible"], true);
  EXPECT_EQ(result["front"][0]["values"]["bytes"], result["best"]["bytes"]);
  const auto storage = search::open_storage((out / "auto_search.db").string());
  const auto studies = storage->studies();
  EXPECT_EQ(studies[0].directions, std::vector(3, Direction::minimize));
  for (const auto& trial : storage->trials(studies[0].id)) {
    ASSERT_EQ(trial.values.size(), 3u);
    EXPECT_GT(trial.values[2], 0);
    EXPECT_EQ(trial.system_attributes["constraints"].size(), 2u);
    bool dominated = false;
    for (const auto& point : result["front"]) {
      const Json& v = point["values"];
      dominated =
          dominated || (v["L2"] <= trial.values[0] && v["bytes"] <= trial.values[1] && v["peak_memory"] <= trial.values[2]);
    }
    EXPECT_TRUE(dominated || trial.violation() > 0) << trial.number;
  }
}

TEST_F(Search, StatisticsAreSharedThroughAFolder) {
  const std::string space = std::string(small_space) + "  include_cle: [true, false]\n", key = "statistics_dir: shared\n";
  const auto searched = [&](const std::string& text, const std::string& name) {
    out = folder.path() / name;
    const Ran ran = search(text);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return read_file(out / "auto_search.log");
  };
  EXPECT_NE(searched(words(space), "alone").find("samples in"), std::string::npos);
  const Json alone = result();
  const std::string model = read_file(out / "best.onnx");
  EXPECT_EQ(searched(words(space, key), "first").find("read from"), std::string::npos);
  EXPECT_TRUE(fs::is_directory(folder.path() / "shared")) << "beside the configuration";
  const std::string log = searched(words(space, key), "second");
  EXPECT_NE(log.find("read from '" + (folder.path() / "shared").string()), std::string::npos) << log;
  EXPECT_EQ(log.find("tensors observed"), std::string::npos) << log;
  EXPECT_EQ(read_file(out / "best.onnx"), model);
  EXPECT_EQ(result()["best"]["metrics"], alone["best"]["metrics"]);
  // What is damaged is no reason to end.
  for (const auto& file : fs::directory_iterator(folder.path() / "shared")) fs::resize_file(file, fs::file_size(file) / 2);
  EXPECT_NE(searched(words(space, key), "third").find("are observed again"), std::string::npos);
  EXPECT_EQ(read_file(out / "best.onnx"), model);
}

TEST_F(Search, AConstraintThatNothingKeepsIsAGoalMissed) {
  const Ran ran = search(words(small_space, "constraints: [{metric: bytes, max: 10}]\n"));
  EXPECT_EQ(ran.code, 2) << ran.err;
  EXPECT_EQ(result()["status"], "goal_missed");
  EXPECT_TRUE(fs::exists(out / "best.onnx"));
}

TEST_F(Search, GridFindsTheBestAndCountsDuplicates) {
  const Ran ran = search(words(small_space));
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json result = this->result();
  EXPECT_EQ(result["status"], "ok");
  EXPECT_EQ(result["trials"]["requested"], 16);  // 2 x 2 x 2 x 2
  EXPECT_EQ(result["trials"]["executed"], 8);    // PercentileCandidates acts under LayerwisePercentile only
  EXPECT_EQ(result["trials"]["duplicate"], 8);
  EXPECT_EQ(result["trials"]["failed"], 0);
  EXPECT_EQ(result["baseline"]["metrics"]["agreement"]["value"], 1.0);
  EXPECT_GT(result["best"]["operators"]["quantized"], 0);
  EXPECT_LT(result["best"]["bytes"], result["baseline"]["bytes"]);

  // The best is the best of all trials, and better than the default configuration.
  const auto storage = search::open_storage((out / "auto_search.db").string());
  const auto trials = storage->trials(storage->studies().at(0).id);
  double least = 1e9;
  for (const auto& trial : trials) {
    if (trial.state == search::State::complete) least = std::min(least, trial.values.at(0));
  }
  EXPECT_DOUBLE_EQ(result["best"]["metrics"]["L2"]["value"].get<double>(), least);
  EXPECT_LT(least, trials.at(0).values.at(0));

  // ONNX Runtime says the same of the file.
  const Ran evaluated = run("evaluate " + (out / "best.onnx").string() + " --reference " + digits("digits.onnx") + " --data " +
                            digits("evaluation.npz") + " --metric L2 --json");
  ASSERT_EQ(evaluated.code, 0) << evaluated.err;
  EXPECT_NEAR(parse_json(evaluated.out, "stdout")["metrics"]["L2"]["value"].get<double>(), least, 1e-9);
}

// Format and clean-up are dimensions like others; what clean-up does not change is a duplicate, and nothing of a QOperator model
// runs in float.
// awq is for weights only: beside values in int8 the trial fails and says so, and weights only are next to nothing in this model;
// the other is searched.
TEST_F(Search, ACombinationThatIsWrongOnlyWithItsRoundingFailsAlone) {
  const std::string space = "  activation: [Int8Spec, Float32Spec]\n  weight: [Int8Spec]\n  algorithms: [null, awq]\n";
  const Ran dry = search(words(space), "--dry-run");
  EXPECT_EQ(dry.code, 0) << dry.err;
  const Ran ran = search(words(space));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(result()["status"], "ok");
  EXPECT_GE(result()["trials"]["complete"], 1);
  EXPECT_GE(result()["trials"]["failed"], 1);
}

// What a range gives is observed when it is drawn.
TEST_F(Search, RangesOfWhatIsObserved) {
  const std::string space =
      "  activation: [UInt8Spec]\n  activation_params: {calibration_method: [MinMax], symmetric: [false], only_if: activation}\n "
      " weight: [Int8Spec]\n"
      "  CalibMovingAverage: [true]\n"
      "  ma_options: {CalibMovingAverageConstant: {type: float, low: 0.001, high: 0.5}, only_if: CalibMovingAverage}\n"
      "  size_options: {CalibDataSize: {type: int, low: 5, high: 200}, only_if: activation}\n";
  const Ran ran = search(words(space, "n_trials: 12\n"), "--set search_algo=random");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(result()["trials"]["failed"], 0);
  EXPECT_GE(result()["trials"]["executed"], 6);
}

TEST_F(Search, WhatCannotActIsSaid) {
  const std::string space =
      "  activation: [Int8Spec]\n  activation_params: {calibration_method: [MinMax], only_if: activation}\n  weight: [Int8Spec]\n"
      "  SmoothAlpha: [0.3, 0.7]\n  Percentile: [99.9]\n  algorithms: [null, adaround]\n"
      "  adaquant_params: {damping: [1, 2], only_if: {algorithms: adaround}}\n"
      "  adaround_params: {damping: [1, 2], only_if: activation}\n";
  const Ran ran = search(words(space, "pruner: median\nobjectives: [{metric: L2}, {metric: bytes}]\nn_trials: 2\n"),
                         "--set search_algo=random");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::string said = ran.out + ran.err;
  for (const char* note :
       {"SmoothAlpha has no effect: include_sq is not true", "Percentile has no effect",
        "adaquant_params has no effect: it exists only where algorithms is \"adaround\"",
        "adaround_params is varied where algorithms is not adaround too", "pruner has no effect: several objectives"})
    EXPECT_NE(said.find(note), std::string::npos) << note << "\n" << said;
  EXPECT_EQ(said.find("MinMax has no effect"), std::string::npos);
  out = folder.path() / "other";
  const Ran right = search(words("  activation: [Int8Spec]\n  weight: [Int8Spec]\n  algorithms: [null, adaround]\n"
                                 "  SmoothAlpha: [null, 0.4]\n  adaround_params: {damping: [1, 2], only_if: algorithms}\n"),
                           "--dry-run");
  EXPECT_EQ(right.code, 0) << right.err;
  EXPECT_EQ(right.out.find("is varied where"), std::string::npos) << right.out;
  EXPECT_NE(right.out.find("SmoothAlpha has no effect"), std::string::npos) << right.out;
}

TEST_F(Search, FormatAndCleanUpAreDimensions) {
  const Ran ran =
      search(words("  activation: [Int8Spec]\n  activation_params: {calibration_method: [MinMax], only_if: activation}\n"
                   "  weight: [Int8Spec]\n  quant_format: [QOperator, QDQ]\n  OptimizeModel: [true, false]\n"));
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json result = this->result();
  EXPECT_EQ(result["trials"]["requested"], 4);
  EXPECT_EQ(result["trials"]["failed"], 0);
  EXPECT_EQ(result["trials"]["duplicate"], 2);
  EXPECT_EQ(result["best"]["params"]["quant_format"], "QOperator") << "both score alike to a step; the first one is kept";
  EXPECT_EQ(result["best"]["operators"]["float"], 0);
}

TEST_F(Search, ParallelTrialsFindTheSame) {
  ASSERT_EQ(search(words(small_space)).code, 0);
  const Json alone = result();
  out = folder.path() / "parallel";
  ASSERT_EQ(search(words(small_space), "--set n_jobs=4").code, 0);
  EXPECT_EQ(result()["best"]["metrics"]["L2"]["value"], alone["best"]["metrics"]["L2"]["value"]);
  for (const char* kind : {"requested", "executed", "duplicate", "failed"}) {  // who is pruned depends on who was first
    EXPECT_EQ(result()["trials"][kind], alone["trials"][kind]) << kind;
  }
}

// The default configuration comes first, and reports compare with it: no pruner gives it up, whoever is faster.
TEST_F(Search, TheDefaultIsScoredInFull) {
  ASSERT_EQ(search(words(small_space), "--set pruner=halving --set n_jobs=4").code, 0);
  const auto storage = search::open_storage((out / "auto_search.db").string());
  const auto first = storage->trials(storage->studies().at(0).id).at(0);
  EXPECT_TRUE(first.state == search::State::complete || first.is_duplicate());  // another trial may have made its model before
  EXPECT_GT(result()["trials"]["pruned"], 0);
}

// Trials are given up, the best is the one that the whole search finds, and complete trials have the same values.
TEST_F(Search, PruningFindsTheSame) {
  std::map<std::string, std::map<std::string, double>> values;
  for (const char* pruner : {"none", "confidence"}) {
    out = folder.path() / pruner;
    ASSERT_EQ(search(words(small_space), std::string("--set pruner=") + pruner).code, 0);
    const auto storage = search::open_storage((out / "auto_search.db").string());
    size_t pruned = 0;
    for (const auto& trial : storage->trials(storage->studies().at(0).id)) {
      std::string text;
      for (const auto& [parameter, value] : trial.point.values()) text += parameter + "=" + value.dump() + " ";
      if (trial.state == search::State::complete) values[pruner][text] = trial.values.at(0);
      if (trial.state != search::State::pruned || trial.is_duplicate()) continue;
      ++pruned;
      ASSERT_FALSE(trial.intermediate.empty());
      EXPECT_EQ(trial.intermediate.rbegin()->second, trial.values.at(0));
      EXPECT_TRUE(trial.user_attributes.contains("config"));
    }
    EXPECT_EQ(result()["trials"]["pruned"], pruned);
    EXPECT_EQ(pruned > 0, std::string(pruner) != "none");
  }
  EXPECT_LT(values["confidence"].size(), values["none"].size());
  for (const auto& [point, value] : values["confidence"]) EXPECT_EQ(value, values["none"].at(point)) << point;
  EXPECT_EQ(read_file(folder.path() / "none" / "best.onnx"), read_file(folder.path() / "confidence" / "best.onnx"));
}

TEST_F(Search, TimeLimitBeforeTheFirstTrialIsNoCandidate) {
  const Ran ran = search(words(small_space, "search_stop_condition: {time_limit: 0.000001}\n"));
  EXPECT_EQ(ran.code, 2) << ran.err;
  EXPECT_EQ(result()["status"], "no_candidate");
  EXPECT_NE(result()["reason"].get<std::string>().find("time_limit"), std::string::npos);
}

TEST_F(Search, TrialsPastTheirTimeLimitFail) {
  const Ran ran = search(words(small_space, "n_trials: 2\ntrial_time_limit: 0.000001\n"));
  EXPECT_EQ(ran.code, 2) << ran.err;
  EXPECT_GE(result()["trials"]["failed"], 1);
  EXPECT_EQ(result()["trials"]["complete"], 0);
  EXPECT_NE(ran.out.find("trial_time_limit"), std::string::npos) << ran.out;
}

TEST_F(Search, MissedToleranceIsExitCodeTwoWithTheBestAllTheSame) {
  const Ran ran = search(words(small_space, "search_metric_tolerance: 0\n"));
  EXPECT_EQ(ran.code, 2) << ran.err;
  EXPECT_EQ(result()["status"], "no_candidate");
  EXPECT_NE(
      result()["warnings"].dump().find("no trial is within search_metric_tolerance, 0, of the float model: the best, trial "),
      std::string::npos);
  EXPECT_TRUE(fs::exists(out / "best.onnx"));
}

TEST_F(Search, CandidatesAreListedAndKept) {
  ASSERT_EQ(
      search(words(small_space,
                   "search_metric_tolerance: 100\nkeep_models: candidates\nsearch_stop_condition: {find_n_candidates: 2}\n"))
          .code,
      0);
  const Json candidates = result()["candidates"];
  ASSERT_EQ(candidates.size(), 2U);
  for (const auto& candidate : candidates) {
    EXPECT_TRUE(fs::exists(out / ("trial_" + candidate["trial"].dump() + ".onnx")));
  }
}

TEST_F(Search, PresetNeedsNothingElseAndSetReachesIntoIt) {
  const std::string arguments = "search --model " + digits("digits.onnx") + " --calib " + digits("calibration.npz") + " --eval " +
                                digits("evaluation.npz") + " --preset cpu_int8_search --output-dir " + out.string();
  const Ran dry = run(arguments + " --dry-run --set search_space.weight_params.quant_granularity='[Channel]'");
  ASSERT_EQ(dry.code, 0) << dry.err;
  EXPECT_EQ(parse_json(dry.out, "stdout")["space"]["calibrations"], 10);
  const Ran other = run(arguments + " --dry-run --set preset=XINT8_SEARCH --set search_space.FoldRelu='[true]'");
  ASSERT_EQ(other.code, 0) << other.err;
  EXPECT_EQ(parse_json(other.out, "stdout")["space"]["calibrations"], 3);
  ASSERT_EQ(run(arguments).code, 0);
  EXPECT_TRUE(result()["best"]["metrics"].contains("parts"));
}

TEST_F(Search, EnqueuedConfigurationFollowsTheDefault) {
  ASSERT_EQ(search(words(small_space,
                         "n_trials: 2\nenqueue:\n- {activation: Int8Spec, activation_params: {symmetric: false, "
                         "calibration_method: Percentile}, weight: "
                         "Int8Spec, weight_params: {quant_granularity: Channel}, PercentileCandidates: [99.9]}\n"))
                .code,
            0);
  const auto storage = search::open_storage((out / "auto_search.db").string());
  const auto trials = storage->trials(storage->studies().at(0).id);
  EXPECT_EQ(*trials.at(0).point.find("activation_params_symmetric"), Json(true));
  EXPECT_EQ(*trials.at(1).point.find("weight_params_quant_granularity"), Json("Channel"));
}

TEST_F(Search, AnEnqueuedConfigurationMayBePartial) {
  ASSERT_EQ(search(words(small_space, "n_trials: 2\nenqueue:\n- {weight_params: {quant_granularity: Channel}}\n")).code, 0);
  const auto storage = search::open_storage((out / "auto_search.db").string());
  const auto trials = storage->trials(storage->studies().at(0).id);
  EXPECT_EQ(*trials.at(1).point.find("weight_params_quant_granularity"), Json("Channel"));
  EXPECT_EQ(*trials.at(1).point.find("activation_params_symmetric"), Json(true));  // the first choices elsewhere
  EXPECT_EQ(*trials.at(1).point.find("activation_params_calibration_method"), Json("MinMax"));
}

}  // namespace
}  // namespace quasar::e2e
