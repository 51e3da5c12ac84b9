// What is done badly by other tools that tune for accuracy (the numbers are those of our study of them), and must not be here.
// Those that concern one part only have unit tests:
//   3 inert calibrators      unit/quant/ranges_test     4 memory                  unit/stats/histogram_test, bench/memory.sh
//   5 impacts under wrong names  Fallback.RanksByNameWhateverTheOrder
//   6 errors blind to scale  unit/sensitivity/unit_errors_test
//   10 hawq_v2's formula     unit/sensitivity/hessian_trace_test
//   19, 20 ties and signs    unit/job/accuracy_test    23 pass-through operators TuningSpace.PassThroughOperatorsAreNotTuned
//   24 own strategies        examples.tuning_strategy, python/tests
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "e2e/program.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/search/storage.hpp"
#include "unit/quant/sample_models.hpp"

namespace quasar::e2e {
namespace {
namespace fs = std::filesystem;

struct TuningDefect : testing::Test {
  TemporaryFolder folder;
  fs::path out = folder.path() / "out";

  Ran search(const std::string& strategy, const std::string& more, const std::string& arguments = "") {
    const fs::path config = folder.path() / "search.yaml";
    const bool metric = more.find("search_metric") != std::string::npos || more.find("search_evaluator") != std::string::npos;
    write_file(config, "model_input: " + digits("digits.onnx") +
                           "\ncalib_data_reader: {reader: npz, path: " + digits("calibration.npz") +
                           ", labels: label, limit: 60}\neval_data_reader: {reader: npz, path: " + digits("evaluation.npz") +
                           ", labels: label, limit: 200}\nspeed_gate: off\nstrategy: " + strategy + "\n" +
                           (metric ? "" : "search_metric: L2\n") + more);
    return run("search " + config.string() + " --output-dir " + out.string() + " " + arguments);
  }
  Json result() const { return read_json(out / "result.json"); }
  std::vector<search::Trial> trials() const {
    const auto storage = search::open_storage((out / "auto_search.db").string());
    return storage->trials(storage->studies().at(0).id);
  }
  std::vector<Json> steps(const std::string& name) const {
    std::vector<Json> found;
    const Json result = this->result();
    for (const auto& step : result["tuning"]["steps"]) {
      if (step["step"] == name) found.push_back(step);
    }
    return found;
  }
};

std::string criterion_text(const std::string& loss) {
  return "accuracy_criterion: {criterion: absolute, tolerable_loss: " + loss + "}\n";
}

size_t times(const std::string& text, const std::string& what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST_F(TuningDefect, N01_CalibrationIsNotRepeatedInEachTrial) {
  search("basic", criterion_text("0") + "tuning_criterion: {max_trials: 20}\n");
  EXPECT_EQ(result()["trials"]["executed"], 20);
  EXPECT_EQ(times(read_file(out / "auto_search.log"), " tensors observed on "), 1u);
}

TEST_F(TuningDefect, N02_MseV2MakesOneModelForAllOperatorsAndSteps) {
  search("mse_v2", criterion_text("0.0008") + "tuning_criterion: {max_trials: 12}\n");
  EXPECT_GT(steps("fallback").size(), 2u);
  EXPECT_EQ(result()["tuning"]["instrumented_models"], 1);
}

// Minimized by L2, maximized by cos: the same operators are blamed.
TEST_F(TuningDefect, N07_TheRankingDoesNotDependOnTheMetricsDirection) {
  const std::string narrow =
      "op_name_dict: {'.*': {activation: {algorithm: [minmax]}, weight: {granularity: [per_channel]}}}\ntuning_criterion: "
      "{max_trials: 5}\n";
  std::vector<std::set<std::string>> fallen;
  for (const char* metric : {"L2", "cos"}) {
    fs::remove_all(out);
    search("mse", criterion_text("0") + narrow + "search_metric: " + metric + "\n");
    std::set<std::string> nodes;
    const auto all = trials();
    for (const auto& [name, value] : all.back().point.values()) {
      if (value == "float32") nodes.insert(name);
    }
    EXPECT_EQ(nodes.size(), 4u);
    fallen.push_back(nodes);
  }
  EXPECT_EQ(fallen[0], fallen[1]);
}

TEST_F(TuningDefect, N08_ModelsWithFusedActivationsAreRanked) {
  const Ran ran = search("mse", criterion_text("0.0009"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_FALSE(steps("fallback by mean squared error").empty());
}

TEST_F(TuningDefect, N09_N14_NothingIsTriedTwice) {
  for (const char* strategy : {"random", "tpe", "bayesian"}) {
    fs::remove_all(out);
    search(strategy, criterion_text("0") + "tuning_criterion: {max_trials: 15}\n");
    std::set<std::string> points;
    for (const auto& trial : trials()) {
      Json point = Json::object();
      for (const auto& [name, value] : trial.point.values()) point[name] = value;
      EXPECT_TRUE(points.insert(point.dump()).second) << strategy;
    }
    EXPECT_EQ(result()["trials"]["executed"], 15) << strategy;
  }
}

TEST_F(TuningDefect, N11_LowerIsBetterIsMinimized) {
  for (const auto& [metric, sign] : {std::pair{"L2", 1}, std::pair{"cos", -1}}) {
    fs::remove_all(out);
    search("bayesian", criterion_text(sign == 1 ? "0.1" : "0.9") +
                           "tuning_criterion: {max_trials: 12, timeout: 600}\nsearch_metric: " + metric + "\n");
    double best = HUGE_VAL;
    for (const auto& trial : trials()) best = std::min(best, sign * trial.values.at(0));
    EXPECT_DOUBLE_EQ(sign * result()["best"]["metrics"][metric]["value"].get<double>(), best) << metric;
  }
}

// 0.002 of a distance, not (baseline − 0.002) / baseline of it.
TEST_F(TuningDefect, N12_AnAbsoluteToleranceIsOneForEveryStrategy) {
  for (const char* strategy : {"tpe", "random", "basic", "repair"}) {
    fs::remove_all(out);
    search(strategy, criterion_text("0.0017") + "tuning_criterion: {max_trials: 6, timeout: 600}\n");
    for (const auto& trial : trials()) {
      if (trial.state != search::State::complete) continue;
      EXPECT_EQ(trial.is_candidate(), trial.values.at(0) <= 0.0017) << strategy;
    }
  }
}

TEST_F(TuningDefect, N13_AResumedSearchRepeatsNothing) {
  search("basic", criterion_text("0") + "tuning_criterion: {max_trials: 7}\n");
  const auto before = trials();
  search("basic", criterion_text("0") + "tuning_criterion: {max_trials: 12}\n", "--resume");
  const auto after = trials();
  const auto executed = [](const auto& all) {
    return std::ranges::count_if(all, [](const auto& trial) { return !trial.is_duplicate(); });
  };
  ASSERT_EQ(executed(before), 7);
  ASSERT_EQ(executed(after), 12);
  for (size_t i = 0; i < before.size(); ++i) EXPECT_EQ(before[i].point, after[i].point) << i;
  std::set<int> numbers;
  const Json result = this->result();
  for (const auto& step : result["tuning"]["steps"]) numbers.insert(step["trial"].get<int>());
  // How much is tried of what depends on the budget, so that not all of the shorter way need be on the longer one.
  EXPECT_TRUE(numbers.contains(0)) << "the way is told from its beginning";
  EXPECT_GT(numbers.size(), after.size() - before.size());
}

TEST_F(TuningDefect, N15_N27_TheBestSoFarIsKeptAndTheExitStatusTellsThatItMissed) {
  for (const char* strategy : {"conservative", "basic", "mse", "exhaustive"}) {
    fs::remove_all(out);
    EXPECT_EQ(search(strategy, criterion_text("0") + "tuning_criterion: {max_trials: 3}\n").code, 2) << strategy;
    EXPECT_EQ(result()["status"], "goal_missed") << strategy;
    EXPECT_TRUE(fs::exists(out / "best.onnx")) << strategy;
    double best = HUGE_VAL;
    for (const auto& trial : trials()) best = std::min(best, trial.values.at(0));
    EXPECT_DOUBLE_EQ(result()["best"]["metrics"]["L2"]["value"].get<double>(), best) << strategy;
  }
}

TEST_F(TuningDefect, N16_OneFailureDoesNotEndTheSearch) {
  const fs::path script = folder.path() / "score.sh", counter = folder.path() / "count";
  write_file(script, "n=$(cat " + counter.string() + " 2>/dev/null || echo 0); echo $((n + 1)) > " + counter.string() +
                         "; [ $((n % 3)) = 2 ] && exit 7; echo '{\"mine\": 0.5}'\n");
  const Ran ran = search("basic",
                         "accuracy_criterion: {criterion: absolute, tolerable_loss: 0, higher_is_better: true}\n"
                         "search_evaluator: {command: [sh, " +
                             script.string() + ", '{model}'" +
                             "], metrics: {mine: maximize}}\n"
                             "tuning_criterion: {max_trials: 8, timeout: 600}\n");
  const Json counts = result()["trials"];
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_GT(counts["failed"], 0);
  EXPECT_GT(counts["complete"], 3);
  EXPECT_GE(counts["executed"], 7);  // what is the same model costs nothing, and is counted before
}

TEST_F(TuningDefect, N17_AccumulatedFallbackIsReachedWhateverTheBudget) {
  for (const int trials : {10, 14, 25}) {
    fs::remove_all(out);
    search("basic", criterion_text("0") + "tuning_criterion: {max_trials: " + std::to_string(trials) + "}\n");
    EXPECT_FALSE(steps("accumulated fallback").empty()) << trials;
    EXPECT_EQ(result()["trials"]["executed"], trials) << "the budget is used";
  }
}

// As in Neural Compressor, where the best of all stages before is what operators fall back from.
TEST_F(TuningDefect, N18_FallbackStartsFromTheBestOfOptionsAndRecipes) {
  search("basic", criterion_text("0") + "tuning_criterion: {max_trials: 16}\n");
  const auto all = trials();
  const auto recipes_at = [&](const Json& step) {
    const auto& point = std::ranges::find(all, step["trial"].get<int64_t>(), &search::Trial::number)->point;
    return Json{*point.find("first_conv_or_matmul_quantization"), *point.find("last_conv_or_matmul_quantization"),
                *point.find("pre_post_process_quantization")};
  };
  const Json singles = steps("fallback of single operators");
  ASSERT_FALSE(singles.empty());
  const Json result = this->result();
  Json best;
  for (const auto& step : result["tuning"]["steps"]) {
    if (step["step"] == singles.front()["step"]) break;
    if (best.is_null() || step["loss"] < best["loss"]) best = step;
  }
  for (const auto& step : singles) EXPECT_EQ(recipes_at(step), recipes_at(best)) << step;
  EXPECT_NE(recipes_at(best), (Json{true, true, true})) << "a recipe is off in the best";
}

TEST_F(TuningDefect, N22_WhatNeedNotBeGivenUpIsTakenBack) {
  ASSERT_EQ(search("repair", criterion_text("0.0008")).code, 0);
  const Json given_up = result()["tuning"]["float"];
  EXPECT_FALSE(steps("take back").empty());
  for (const auto& one : given_up) {
    ASSERT_TRUE(one["quantized_gives"].is_number() || one.contains("quantized_gives_at_least")) << one;
    const bool needed = one["quantized_gives"].is_null() || one["quantized_gives"].get<double>() > 0.0008;
    EXPECT_TRUE(needed) << one << ": meets the goal in 8 bits as well";
  }
}

// An Add whose pairs its neighbours need anyway: in float it gives what it gives quantized.
TEST_F(TuningDefect, N23_FallbackThatChangesKernelsOnlyIsNoTrial) {
  graph::save(quant::sums(), folder.path() / "sums.onnx");
  const fs::path config = folder.path() / "sums.yaml";
  write_file(config,
             "model_input: sums.onnx\ncalib_data_reader: {reader: random, count: 8}\nsearch_metric: L2\nstrategy: basic\n"
             "op_name_dict: {'.*': {activation: {algorithm: [minmax]}, weight: {granularity: [per_channel]}}}\n"
             "recipes: {first_conv_or_matmul_quantization: true, last_conv_or_matmul_quantization: true, "
             "pre_post_process_quantization: true}\n" +
                 criterion_text("0"));
  const Ran ran = run("search " + config.string() + " --output-dir " + out.string());
  ASSERT_EQ(ran.code, 2) << ran.err;
  std::set<std::string> alone;
  for (const auto& step : steps("fallback of single operators")) {
    const Json excluded = trials().at(step["trial"].get<size_t>()).user_attributes["config"]["exclude"];
    alone.insert(excluded.at(0).get<std::string>());
  }
  EXPECT_TRUE(alone.contains("Conv_1")) << Json(alone);
  EXPECT_TRUE(alone.contains("Add_1")) << Json(alone);
  EXPECT_FALSE(alone.contains("Add_0")) << Json(alone);
}

// Largest error first, and a bisection: far fewer full evaluations than one for each operator and step.
TEST_F(TuningDefect, N25_N26_TheMostHarmfulComesFirstAndBisectionFindsHowMany) {
  ASSERT_EQ(search("repair", criterion_text("0.0008")).code, 0);
  const Json sensitivity = result()["tuning"]["sensitivity"];
  EXPECT_EQ(sensitivity[0]["node"], "softmax");
  const double n = static_cast<double>(sensitivity.size());
  EXPECT_LE(steps("fall back").size(), 2 * std::ceil(std::log2(n)) + 1);
}

}  // namespace
}  // namespace quasar::e2e
