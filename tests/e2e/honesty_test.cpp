// What a search says of its own results is true: nothing leaks from the samples that it is scored on.
#include <gtest/gtest.h>

#include <set>

#include "e2e/search_job.hpp"

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

TEST_F(Search, QuantizingNothingNeverWins) {
  const Ran ran = search(words("  activation: [Int8Spec]\n  exclude: [null, [{regex: \".*\"}]]\n"));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(result()["trials"]["failed"], 1);
  EXPECT_GT(result()["best"]["operators"]["quantized"], 0);
}

}  // namespace
}  // namespace quasar::e2e
