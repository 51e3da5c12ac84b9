// What goes wrong in the peer's searches (the numbered failures of its study), and must not here. Those of single parts have
// unit tests; these run the program.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "e2e/quark_failure.hpp"

namespace quasar::e2e {
namespace {
TEST_F(QuarkFailure, N01_OneReaderForCalibrationAndEvaluationIsNotExhausted) {
  const Ran ran = search(std::string(space) + "search_algo: Grid\n" + data("eval_data_reader", "calibration.npz"));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.err.find("optimistic"), std::string::npos);
  EXPECT_GT(result()["best"]["metrics"]["parts"]["samples"], 0);
}

TEST_F(QuarkFailure, N02_SimilaritiesAreMaximized) {
  for (const char* metric : {"cos", "psnr", "v1_ssim"}) {
    fs::remove_all(out);
    ASSERT_EQ(search(std::string(space) + "search_algo: Grid\nsearch_metric: " + metric + "\n").code, 0);
    double most = -1e9;
    for (const auto& trial : trials()) most = std::max(most, trial.values.at(0));
    EXPECT_DOUBLE_EQ(result()["best"]["metrics"][metric]["value"].get<double>(), most) << metric;
  }
}

TEST_F(QuarkFailure, N03_N04_TwoStagesKeepTheBestOfTheFirstWithAllItsOptions) {
  const std::string words =
      with(space, "[[99.9], [99.99, 99.999]]", "[[99.9]]") + "  OptimizeModel: [true]\n  exclude: [null, [no-node]]\n";
  const Ran ran = search(with(words, "[no-node]", "{op_type: Softmax}") + fine_tuning +
                         "two_stage_search: true\nn_trials: 4\nsearch_metric: cos\n");  // maximized
  ASSERT_EQ(ran.code, 0) << ran.err;
  const search::Trial* best = nullptr;
  size_t stages[2] = {0, 0};
  for (const auto& all = trials(); const auto& trial : all) {
    const bool first = trial.user_attributes.at("stage") == "calibration";
    stages[first ? 0 : 1]++;
  }
  const auto all = trials();
  for (const auto& trial : all) {
    if (trial.user_attributes.at("stage") != "calibration") continue;
    if (best == nullptr || trial.values.at(0) > best->values.at(0)) best = &trial;
  }
  EXPECT_EQ(stages[0], 16u);
  EXPECT_EQ(stages[1], 4u);
  for (const auto& trial : all) {
    if (trial.user_attributes.at("stage") == "calibration") continue;
    for (const auto& [name, value] : best->point.values()) {
      ASSERT_NE(trial.point.find(name), nullptr) << name;
      EXPECT_EQ(*trial.point.find(name), value) << name;
    }
  }
}

TEST_F(QuarkFailure, N05_NTrialsIsNotClampedByContinuousRanges) {
  const Ran ran = search(
      "search_space:\n  activation: [Int8Spec]\n  activation_params: {calibration_method: [MinMax], only_if: activation}\n"
      "  algorithms: [adaround]\n  adaround_params: {damping: {type: float, low: 0.1, high: 10, log: true}, only_if: "
      "{algorithms: adaround}}\n"
      "n_trials: 11\n");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(result()["trials"]["requested"], 11);
}

TEST_F(QuarkFailure, N06_N24_UnknownKeysAreErrorsAndNeverRenamed) {
  const Ran ran = search(std::string(space) + "  gptq_parms: [1]\n");
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("gptq_params"), std::string::npos) << ran.err;
  EXPECT_FALSE(fs::exists(out / "best.onnx"));
}

TEST_F(QuarkFailure, N07_ExcludingEverythingDoesNotWin) {
  const Ran ran = search(std::string(space) + "  exclude: [null, {regex: \".*\"}]\nsearch_algo: Grid\n");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_GT(result()["best"]["operators"]["quantized"], 0);
  EXPECT_GT(result()["best"]["metrics"]["parts"]["value"], 0.0);
  EXPECT_EQ(result()["trials"]["failed"], 16);
}

TEST_F(QuarkFailure, N08_ExcludedNamesInAListAreExcluded) {
  search("search_space:\n  weight: [Int8Spec]\n  exclude: [null, [{op_type: Gemm}, {op_type: Conv}]]\nsearch_algo: Grid\n");
  EXPECT_EQ(result()["status"], "ok");
  std::set<int> quantized;
  for (const auto& trial : trials()) quantized.insert(trial.user_attributes.at("quantized_nodes").get<int>());
  EXPECT_EQ(quantized.size(), 2u);
}

TEST_F(QuarkFailure, N13_OneSpaceLeavesNothingBehindForTheNext) {
  const std::string first =
      "{activation: [Int8Spec], activation_params: {calibration_method: [Entropy], only_if: activation}, exclude: [{op_type: "
      "Softmax}]}";
  ASSERT_EQ(search("search_spaces:\n  - " + first + "\n  - {activation: [UInt8Spec]}\nsearch_algo: Grid\n").code, 0);
  const auto all = trials();
  ASSERT_EQ(all.size(), 2u);
  const Json second = all[1].user_attributes.at("config");
  EXPECT_FALSE(second.contains("exclude"));
  EXPECT_EQ(second["activation_params"]["calibration_method"], "percentile");
}

TEST_F(QuarkFailure, N21_EqualSeedsGiveEqualStudies) {
  std::vector<std::string> points[2];
  for (auto& found : points) {
    fs::remove_all(out);
    ASSERT_EQ(search(std::string(space) + fine_tuning + "two_stage_search: true\nn_trials: 3\nseed: 7\n").code, 0);
    for (const auto& trial : trials()) {
      for (const auto& [name, value] : trial.point.values()) found.push_back(name + value.dump());
      found.push_back(Json(trial.values).dump());
    }
  }
  EXPECT_EQ(points[0], points[1]);
}

TEST_F(QuarkFailure, N22_N23_ParallelTrialsAndOmittedKeysWork) {
  const Ran ran = search(std::string(space) + "n_jobs: 3\nn_trials: 9\n");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(result()["trials"]["requested"], 9);
}

TEST_F(QuarkFailure, N25_OneBadTrialIsRecordedAndTheSearchGoesOn) {
  const Ran ran = search(std::string(space) + "  exclude: [{regex: \".*\"}, null]\nsearch_algo: Grid\n");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(result()["trials"]["failed"], 16);
  EXPECT_EQ(result()["trials"]["complete"].get<int>() + result()["trials"]["duplicate"].get<int>(), 16);
}

TEST_F(QuarkFailure, N29_UnknownPresetIsAnErrorWithTheNearestName) {
  const Ran ran = search("preset: CPU_INT8_SERCH\n");
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("did you mean 'cpu_int8_search'"), std::string::npos) << ran.err;
}

TEST_F(QuarkFailure, N30_TwoStagesWithAGridAndRangesFailBeforeTheyStart) {
  const Ran ran = search(std::string(space) + fine_tuning + "two_stage_search: true\nsearch_algo: Grid\n");
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("ranges"), std::string::npos) << ran.err;
  EXPECT_FALSE(fs::exists(out / "auto_search.db"));
}

TEST_F(QuarkFailure, N31_ResumeWithOtherBudgetAndToleranceWorksAndOtherChoicesStartWarm) {
  ASSERT_EQ(search(std::string(space) + "n_trials: 4\n").code, 0);
  EXPECT_TRUE(result()["candidates"].empty());
  const Ran more = search(std::string(space) + "n_trials: 7\nsearch_metric_tolerance: 100\n", "--resume");
  ASSERT_EQ(more.code, 0) << more.err;
  EXPECT_EQ(result()["trials"]["requested"], 7);
  EXPECT_EQ(result()["candidates"].size(), result()["trials"]["executed"].get<size_t>());

  const std::string changed = with(space, "[MinMax, Percentile]", "[MinMax, Percentile, Entropy]");
  const double before = result()["best"]["metrics"]["parts"]["value"];
  const Ran successor = search(changed + "n_trials: 9\n", "--resume");
  ASSERT_EQ(successor.code, 0) << successor.err;
  EXPECT_NE(successor.err.find("(other choices: activation_params_calibration_method): a new study, 'AutoSearch-2', begins"),
            std::string::npos)
      << successor.err;
  EXPECT_EQ(result()["study_name"], "AutoSearch-2");
  EXPECT_EQ(result()["trials"]["requested"], 9);                                   // none of the first study's count
  EXPECT_LE(result()["best"]["metrics"]["parts"]["value"].get<double>(), before);  // its best is tried again
  const Ran on = search(changed + "n_trials: 11\n", "--resume");                   // the successor goes on, no third one begins
  ASSERT_EQ(on.code, 0) << on.err;
  EXPECT_EQ(result()["study_name"], "AutoSearch-2");
  EXPECT_EQ(result()["trials"]["requested"], 11);
  const Ran back = search(std::string(space) + "n_trials: 8\n", "--resume");  // the first study's choices: it goes on
  ASSERT_EQ(back.code, 0) << back.err;
  EXPECT_EQ(result()["study_name"], "AutoSearch");
  EXPECT_EQ(result()["trials"]["requested"], 8);
  ASSERT_EQ(search(changed + "n_trials: 11\n", "--resume").code, 0);
  const fs::path old = folder.path() / "old";
  fs::copy(out, old, fs::copy_options::recursive);
  const Ran other = search(changed + "n_trials: 2\ncalibration_sampling_size: 50\n", "--resume");
  ASSERT_EQ(other.code, 0) << other.err;
  EXPECT_NE(other.err.find("new: CalibDataSize"), std::string::npos) << other.err;
  EXPECT_EQ(result()["study_name"], "AutoSearch-3");
  const Ran contradiction = search(std::string(space) + "n_trials: 2\nsearch_metric: cosine\n", "--resume");
  EXPECT_EQ(contradiction.code, 1);  // neither go on nor teach

  out = folder.path() / "warm";
  const Ran warm = search(changed + "n_trials: 5\nwarm_start: " + old.string() + "\n");
  ASSERT_EQ(warm.code, 0) << warm.err;
  EXPECT_LE(result()["best"]["metrics"]["parts"]["value"].get<double>(), before);  // its best is tried again
  EXPECT_NE(read_file(out / "auto_search.log").find("teach the sampler"), std::string::npos);
  out = folder.path() / "other";
  const Ran goals = search(
      changed + "objectives: [{metric: L2}, {metric: bytes}]\nsearch_algo: TPE\nwarm_start: " + old.string() + "\n", "--dry-run");
  EXPECT_EQ(goals.code, 1);
  EXPECT_NE(goals.err.find("was about [\"parts\"], but this search is about [\"L2\",\"bytes\"]"), std::string::npos) << goals.err;
}

TEST_F(QuarkFailure, N33_N34_EqualModelsAreMadeOnceInBothStages) {
  const Ran ran = search(std::string(space) + fine_tuning + "two_stage_search: true\nn_trials: 10\nsearch_algo: Random\n");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json counts = result()["trials"];
  EXPECT_EQ(counts["requested"], 26);
  EXPECT_GE(counts["duplicate"], 8);
  std::set<std::string> hashes;
  for (const auto& trial : trials()) {
    if (!trial.is_duplicate()) {
      EXPECT_TRUE(hashes.insert(trial.user_attributes.at("plan_hash").get<std::string>()).second);
    }
  }
}

// n_trials is the second stage's, whatever comes first in it: configurations enqueued, the best of earlier studies.
TEST_F(QuarkFailure, N31_AResumedSecondStageKeepsToItsTrials) {
  const std::string two = fine_tuning + std::string("two_stage_search: true\nsearch_algo: Random\n");
  ASSERT_EQ(search(space + two + "n_trials: 3\n").code, 0);
  const Ran ran =
      search(with(space, "[MinMax, Percentile]", "[MinMax, Percentile, Entropy]") + two + "n_trials: 2\n", "--resume");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(result()["study_name"], "AutoSearch-2");
  const auto tried = trials("AutoSearch-2");
  const auto in_second = [](const search::Trial& trial) { return trial.user_attributes.at("stage") == "fine-tuning"; };
  EXPECT_EQ(std::ranges::count_if(tried, in_second), 2);
}

TEST_F(QuarkFailure, N39_TheTimeLimitHoldsInBothStages) {
  const Ran ran = search(std::string(space) + fine_tuning +
                         "two_stage_search: true\nn_trials: 100000\nsearch_stop_condition: {time_limit: 2}\n");
  EXPECT_NE(ran.code, 1) << ran.err;
  EXPECT_LT(result()["trials"]["requested"], 100000);
}

TEST_F(QuarkFailure, V1ConfigurationsRunAndTheirTranslationIsShown) {
  const std::string words =
      "search_space:\n  calibrate_method: [CalibrationMethod.MinMax, CalibrationMethod.Percentile, PowerOfTwoMethod.MinMSE]\n"
      "  activation_type: [QuantType.QInt8, QuantType.QUInt8]\n  weight_type: [QInt8]\n  include_cle: [false]\n  "
      "include_fast_ft: [false, true]\n"
      "  extra_options:\n    ActivationSymmetric: [false]\n    WeightSymmetric: [true]\n    CalibMovingAverage: [false, true]\n"
      "    CalibMovingAverageConstant: [0.01]\n    Percentile: [99.99, 99.999]\n    FastFinetune: {NumIterations: [2, 4], "
      "OptimAlgorithm: [adaround]}\n"
      "quant_config: S8S8_AAWS\nsearch_metric_tolerance: 1\n";
  const Ran dry = search(words, "--dry-run");
  ASSERT_EQ(dry.code, 0) << dry.err;
  const Json facts = parse_json(dry.out, "stdout");
  EXPECT_EQ(facts["search_space"]["activation"], parse_json(R"(["Int8Spec", "UInt8Spec"])", "test"));
  EXPECT_EQ(facts["space"]["calibrations"], 10);
  EXPECT_EQ(facts["trials"], 30);
  const Ran ran = search(words + "two_stage_search: true\n");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(result()["best"]["metrics"].contains("v1_L2"));
  EXPECT_NE(read_file(out / "auto_search.log").find("translated search space"), std::string::npos);
}

TEST_F(QuarkFailure, AdvancedFastftSearchesTheTwoRanges) {
  const Ran ran = search(
      "advanced_fastft_search: true\nadvanced_fastft_params: {sampler_algo: TPE, direction: minimize, n_trials: 6}\n"
      "quant_config: {calibrate_method: CalibrationMethod.MinMax, include_fast_ft: true}\n"
      "search_space: {extra_options: {FastFinetune: {NumIterations: [1, 9], LearningRate: [1.0e-3, 1.0e-7]}}}\n");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(result()["trials"]["requested"], 6);
  for (const auto& trial : trials()) {
    const auto* rate = trial.point.find("adaround_params_learning_rate");
    ASSERT_NE(rate, nullptr);
    EXPECT_GE(rate->get<double>(), 1e-7);
    EXPECT_LE(rate->get<double>(), 1e-3);
  }
}

}  // namespace
}  // namespace quasar::e2e
