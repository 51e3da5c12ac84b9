// What a search says of its own results is true: nothing leaks from the samples that it is scored on.
#include <gtest/gtest.h>

#include <set>

#include "e2e/search_job.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/search/storage.hpp"

namespace quasar::e2e {
namespace {

TEST_F(Search, TellsHowSureItIs) {
  ASSERT_EQ(
      search(words(small_space, "holdout_data_reader: {reader: npz, path: " + digits("holdout.npz") + ", labels: label}\n")).code,
      0);
  const Json evidence = result()["best"]["evidence"];
  for (const char* split : {"against_float", "holdout"}) {
    ASSERT_EQ(evidence[split].size(), 1U) << evidence;
    const Json& top1 = evidence[split]["top1"];
    EXPECT_TRUE(top1["p"] > 0 && top1["p"] <= 1) << top1;
  }
  const auto all = result()["best"];
  const double samples = all["metrics"]["top1"]["samples"], before = result()["baseline"]["metrics"]["top1"]["value"];
  const double lost = evidence["against_float"]["top1"]["lost"], gained = evidence["against_float"]["top1"]["gained"];
  EXPECT_NEAR(all["metrics"]["top1"]["value"].get<double>(), before - (lost - gained) / samples, 1e-9);
  ASSERT_FALSE(evidence["rivals"].empty());
  EXPECT_NE(evidence["rivals"][0]["trial"], all["trial"]);
  EXPECT_NE(read_file(out / "report.html").find("McNemar"), std::string::npos);
  EXPECT_NE(run("report " + out.string() + " --format markdown").out.find("McNemar"), std::string::npos);
}

TEST_F(Search, SamplesInTwoSetsAreAWarning) {
  const Ran ran =
      search("model_input: " + digits("digits.onnx") + "\ncalib_data_reader: {reader: npz, path: " + digits("calibration.npz") +
             ", labels: label, limit: 50}\neval_data_reader: {reader: npz, path: " + digits("calibration.npz") +
             ", labels: label}\nsearch_algo: Grid\nsearch_space:\n" + small_space);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.err.find("50 of "), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("are calibration samples too"), std::string::npos) << ran.err;
  EXPECT_NE(result()["warnings"].dump().find("are calibration samples too"), std::string::npos);
}

TEST_F(Search, OneLineSplitsOneSource) {
  const Ran ran =
      search("model_input: " + digits("digits.onnx") + "\ndata_reader: {reader: npz, path: " + digits("evaluation.npz") +
             ", labels: label}\nsplit: {calibration: 60, evaluation: 100, holdout: rest}\n" +
             "search_metric: [{name: F1}, {name: topk, k: 3}]\nsearch_algo: Grid\nsearch_space:\n" + small_space);
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json best = result()["best"];
  EXPECT_EQ(best["metrics"]["F1"]["samples"], 100);
  EXPECT_TRUE(best["metrics"].contains("topk(k=3)"));
  EXPECT_GT(best["holdout"]["F1"]["samples"], 0);
  EXPECT_EQ(result()["trials"]["pruned"], 0);  // F1 is no mean over samples
  EXPECT_EQ(ran.err.find("samples too"), std::string::npos) << ran.err;
}

TEST_F(Search, HoldoutIsScoredForWinnerAndFloatOnly) {
  ASSERT_EQ(
      search(words(small_space, "holdout_data_reader: {reader: npz, path: " + digits("holdout.npz") + ", labels: label}\n")).code,
      0);
  const Json holdout = result()["best"]["holdout"];
  EXPECT_GT(holdout["top1"]["samples"], 100);
  EXPECT_LT(holdout["top1"]["low"], holdout["top1"]["value"]);
  EXPECT_EQ(result()["baseline"]["holdout"]["agreement"]["value"], 1.0);
}

// The goal holds for pictures of digits. The hold-out samples are noise, on which the model loses far more.
TEST_F(Search, AGoalThatHoldoutSamplesMissIsAWarning) {
  const auto at = [&](const std::string& loss) {
    std::filesystem::remove_all(out);
    const Ran ran =
        search("model_input: " + digits("digits.onnx") + "\ncalib_data_reader: {reader: npz, path: " + digits("calibration.npz") +
               ", labels: label}\neval_data_reader: {reader: npz, path: " + digits("evaluation.npz") +
               ", labels: label}\nholdout_data_reader: {reader: random, count: 50}\nsearch_metric: L2\nstrategy: repair\n" +
               "speed_gate: off\naccuracy_criterion: {criterion: absolute, tolerable_loss: " + loss + "}\n");
    EXPECT_EQ(ran.code, 0) << ran.err;
    return result()["warnings"].dump();
  };
  EXPECT_NE(at("0.01").find("the goal is met on the evaluation samples, and not on the hold-out samples"), std::string::npos);
  EXPECT_EQ(at("10").find("not on the hold-out samples"), std::string::npos);
}

// Ranges, scales, codes and biases come from the calibration samples: whatever else is scored, the model stays the same, byte by
// byte.
TEST_F(Search, NothingLeaksFromTheSamplesThatScore) {
  const std::string space =
      "  activation: [Int8Spec]\n  activation_params: {symmetric: [false], calibration_method: [Percentile], only_if: "
      "activation}\n"
      "  weight: [Int8Spec]\n  weight_params: {quant_granularity: [Tensor], only_if: weight}\n  BiasCorrection: [true]\n"
      "  include_cle: [true]\n";
  for (const char* method : {"adaround", "adaquant", "gptq"}) {
    std::set<std::string> models;
    for (const char* scored : {"evaluation.npz", "holdout.npz"}) {
      fs::remove_all(out);
      const Ran ran = search(words(space + "  algorithms: [" + method + "]\n", "n_trials: 1\n"), "--eval " + digits(scored));
      ASSERT_EQ(ran.code, 0) << ran.err;
      models.insert(read_file(out / "best.onnx"));
    }
    EXPECT_EQ(models.size(), 1U) << method;
  }
}

// Values of other samples cannot be compared with those of the study.
TEST_F(Search, AStudyIsContinuedOnItsOwnSamples) {
  ASSERT_EQ(search(words(small_space)).code, 0);
  for (const std::string& other : {std::string("--set calib_data_reader.limit=50"), "--eval " + digits("holdout.npz")}) {
    const Ran ran = search(words(small_space), "--resume " + other);
    EXPECT_NE(ran.code, 0) << other;
    EXPECT_NE(ran.err.find("was made with another set of"), std::string::npos) << ran.err;
  }
  EXPECT_EQ(search(words(small_space), "--resume").code, 0);
}

// Nor can values of another evaluator, or of outputs weighted otherwise.
TEST_F(Search, AStudyIsContinuedWithItsOwnMeasure) {
  const std::string top1 = "search_metric: top1\nn_trials: 2\n",
                    goal = with(words(small_space), "search_metric: [L2, top1, agreement]\n", top1);
  ASSERT_EQ(search(goal).code, 0);
  for (const auto& [other, what] : std::vector<std::pair<std::string, std::string>>{
           {"output_weights='{probabilities: 0.5}'", "another output_weights (null, now {\"probabilities\":0.5})"},
           {"constraints='[{metric: L2, max: 1}]'", "another set of objectives and constraints"},
           {"search_metric=L2", "another metric (\"top1\", now \"L2\")"}}) {
    const Ran ran = search(goal, "--resume --set " + other);
    EXPECT_EQ(ran.code, 1) << other;
    EXPECT_NE(ran.err.find("was made with " + what), std::string::npos) << ran.err;
  }
  fs::remove_all(out);
  const auto scored = [&](const std::string& program) {
    return words(small_space, "n_trials: 2\nsearch_evaluator: {command: ['" + program + "', '{model}'], timeout: 9}\n");
  };
  write_file(folder.path() / "score.sh", "#!/bin/sh\necho 1\n");
  fs::permissions(folder.path() / "score.sh", fs::perms::owner_all);
  fs::copy(folder.path() / "score.sh", folder.path() / "other.sh");
  ASSERT_EQ(search(scored("./score.sh")).code, 0);
  EXPECT_EQ(search(scored("./score.sh"), "--resume --set search_evaluator.timeout=8").code, 0);
  const Ran ran = search(scored("./other.sh"), "--resume");
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("another search_evaluator"), std::string::npos) << ran.err;
}

// Errors relative to what does not vary are not known; the winner is reported all the same.
TEST_F(Search, ALayerWhoseOutputDoesNotVaryLosesNoResults) {
  const Ran ran = search(words("  activation: [Int8Spec]\n  weight: [Int8Spec]\n  algorithms: [adaquant]\n"),
                         "--set calib_data_reader.limit=1");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(result()["status"], "ok");
  EXPECT_TRUE(fs::exists(out / "best_config.yaml"));
}

// A condition may name any parameter, of rounding too; only two stages cannot be told apart then.
TEST_F(Search, OptionsMayHangOnRounding) {
  const std::string space =
      "  activation: [Int8Spec]\n  weight: [Int8Spec]\n  algorithms: [null, adaround]\n"
      "  weight_params: {quant_granularity: [Tensor, Channel], only_if: {algorithms: adaround}}\n";
  ASSERT_EQ(search(words(space)).code, 0);
  EXPECT_EQ(result()["trials"]["requested"], 3);
  fs::remove_all(out);
  const Ran ran = search(words(space, "two_stage_search: true\n"), "--dry-run");
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("only_if names 'algorithms', which the second of two stages decides"), std::string::npos) << ran.err;
}

// Rounding that has come to its end makes the same model with more iterations.
TEST_F(Search, EqualModelsAreScoredOnce) {
  const std::string space =
      "  activation: [Int8Spec]\n  weight: [Int8Spec]\n  algorithms: [adaround]\n"
      "  adaround_params: {num_iterations: [28, 30, 32], only_if: algorithms}\n";
  ASSERT_EQ(search(words(space)).code, 0);
  EXPECT_EQ(result()["trials"]["executed"], 1);
  EXPECT_EQ(result()["trials"]["duplicate"], 2);
}

TEST_F(Search, PrunersTakeOptionsAndStopsTakeNumbers) {
  const Ran ran = search(words(small_space, "search_stop_condition: {n_trials: 3}\npruner: {name: confidence, alpha: 0.01}\n"));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("n_trials of 3 reached"), std::string::npos) << ran.out;
}

// A branch of choices alone is a handful of points, however endless the others are.
TEST_F(Search, NoPointIsTriedTwice) {
  const std::string space =
      "  activation: [Int8Spec]\n  weight: [Int8Spec]\n  algorithms: [null, adaround]\n"
      "  adaround_params: {damping: {type: float, low: 0.5, high: 2}, only_if: {algorithms: adaround}}\n";
  ASSERT_EQ(search(words(space, "n_trials: 20\n"), "--set search_algo=TPE").code, 0);
  const auto storage = search::open_storage((out / "auto_search.db").string());
  std::set<std::string> points;
  for (const auto& trial : storage->trials(storage->studies().at(0).id)) {
    std::string text;
    for (const auto& [name, value] : trial.point.values()) text += name + "=" + value.dump() + " ";
    points.insert(text);
  }
  EXPECT_EQ(points.size(), 20U);
}

TEST_F(Search, SizesAreThoseOfAllFiles) {
  const auto size = [](const fs::path& file) { return fs::file_size(file) + fs::file_size(file.string() + ".data"); };
  const fs::path model = folder.path() / "digits.onnx";
  graph::save(graph::load(digits("digits.onnx")), model, graph::ExternalData::always);
  const std::string text = with(words(small_space, "n_trials: 2\n"), digits("digits.onnx"), model);
  ASSERT_EQ(search(text, "--set search_space.use_external_data_format=[true]").code, 0);
  EXPECT_EQ(result()["baseline"]["bytes"], size(model));
  EXPECT_EQ(result()["best"]["bytes"], size(out / "best.onnx"));
  EXPECT_GT(result()["baseline"]["bytes"], result()["best"]["bytes"]);
  for (const std::string& command :
       {"evaluate --json --data " + digits("evaluation.npz") + " ", std::string("inspect --json ")}) {
    const Ran ran = run(command + model.string());
    EXPECT_EQ(parse_json(ran.out, ran.err)["bytes"], size(model));
  }
}

TEST_F(Search, QuantizingNothingNeverWins) {
  const Ran ran = search(words("  activation: [Int8Spec]\n  exclude: [null, [{regex: \".*\"}]]\n"));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(result()["trials"]["failed"], 1);
  EXPECT_GT(result()["best"]["operators"]["quantized"], 0);
}

}  // namespace
}  // namespace quasar::e2e
