// Accuracy-driven tuning, as a user runs it.
#include <gtest/gtest.h>

#include <set>

#include "e2e/program.hpp"

namespace quasar::e2e {
namespace {
namespace fs = std::filesystem;

struct Repair : testing::Test {
  TemporaryFolder folder;
  fs::path out = folder.path() / "out";

  Ran search(const std::string& criterion, const std::string& metric = "L2", const std::string& arguments = "") {
    write_file(folder.path() / "job.yaml",
               "model_input: " + digits("digits.onnx") + "\ncalib_data_reader: {reader: npz, path: " + digits("calibration.npz") +
                   ", labels: label}\neval_data_reader: {reader: npz, path: " + digits("evaluation.npz") +
                   ", labels: label}\nleast_agreement: 0\nspeed_gate: off\nsearch_metric: " + metric +
                   "\naccuracy_criterion: " + criterion + "\n");
    return run("search " + (folder.path() / "job.yaml").string() + " --output-dir " + out.string() + " " + arguments);
  }
  Json result() const { return read_json(out / "result.json"); }
};

TEST_F(Repair, TheDefaultIsEnoughForAnEasyGoal) {
  const Ran ran = search("{criterion: relative, tolerable_loss: 0.01}", "agreement");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(result()["status"], "ok");
  EXPECT_EQ(result()["trials"]["executed"], 1);
  EXPECT_TRUE(result()["tuning"]["float"].empty());
  EXPECT_FALSE(result().contains("speed_gate"));
}

// What is no faster in integers is not looked for there, unless the user says so.
TEST_F(Repair, SpeedIsMeasuredFirst) {
  const Ran ran = search("{criterion: relative, tolerable_loss: 0.01}", "agreement", "--set speed_gate=1.02");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(result()["speed_gate"]["told"].get<std::string>().find("the float model's time"), std::string::npos);
  EXPECT_TRUE(result()["tuning"]["float"].empty()) << "operators that are faster in float are not given up";
}

// The classifier's Softmax decides this model's distance; leaving it in float is what meets the goal.
TEST_F(Repair, GivesUpNoMoreThanNeeded) {
  const Ran ran = search("{criterion: absolute, tolerable_loss: 0.0011}");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json result = this->result();
  EXPECT_EQ(result["status"], "ok");
  EXPECT_LE(result["best"]["metrics"]["L2"]["value"], 0.0011);
  ASSERT_EQ(result["tuning"]["float"].size(), 1u);
  EXPECT_EQ(result["tuning"]["float"][0]["node"], "softmax");
  EXPECT_EQ(result["tuning"]["sensitivity"][0]["node"], "softmax");
  EXPECT_EQ(result["best"]["params"]["node softmax"], "float32");
  const std::string config = read_file(out / "best_config.yaml");
  EXPECT_NE(config.find("softmax"), std::string::npos) << config;
}

// The objective alone would do without the operator; the constraint does not, and the report says so.
TEST_F(Repair, WhatAConstraintAsksForIsExplained) {
  const Ran ran = search("{criterion: relative, tolerable_loss: 0.05}\nconstraints: [{metric: L2, max: 0.0009}]", "[top1, L2]");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json given = result()["tuning"]["float"];
  ASSERT_FALSE(given.empty());
  for (const Json& one : given) {
    const std::string why = one.value("why", std::string());
    EXPECT_NE(why.find("the constraint on L2 (max 0.0009, is "), std::string::npos) << one;
    EXPECT_NE(read_file(out / "auto_search.log").find(why), std::string::npos);
  }
}

// What the stricter goal had given up early was taken for a miss, and the classifier stayed in float, too.
TEST_F(Repair, ALooserGoalTriesAgainWhatWasGivenUpEarly) {
  ASSERT_EQ(search("{criterion: absolute, tolerable_loss: 0.0005}", "L2", "--set tuning_criterion.max_trials=9").code, 0);
  EXPECT_GE(result()["trials"]["pruned"], 1);
  const Ran looser = search("{criterion: absolute, tolerable_loss: 0.0011}", "L2", "--resume");
  ASSERT_EQ(looser.code, 0) << looser.err;
  const Json given = result()["tuning"]["float"];
  ASSERT_EQ(given.size(), 1U) << given;
  EXPECT_EQ(given[0]["node"], "softmax");
  const Json trials = result()["trials"];
  ASSERT_EQ(search("{criterion: absolute, tolerable_loss: 0.0011}", "L2", "--resume").code, 0);
  EXPECT_EQ(result()["trials"], trials) << "what is known under this goal costs nothing";
}

TEST_F(Repair, AMissedGoalKeepsTheBestAndSaysSo) {
  const Ran ran = search("{criterion: absolute, tolerable_loss: 0}", "L2", "--set n_trials=4");
  EXPECT_EQ(ran.code, 2) << ran.err;
  const Json result = this->result();
  EXPECT_EQ(result["status"], "goal_missed");
  EXPECT_EQ(result["trials"]["requested"], 4);
  EXPECT_TRUE(fs::exists(out / "best.onnx"));
}

TEST_F(Repair, KeepsTheExitPolicyAndRefusesWhatHasNoEffect) {
  const Ran ran = search("{criterion: absolute, tolerable_loss: 0}", "L2", "--set tuning_criterion.max_trials=3");
  EXPECT_EQ(ran.code, 2) << ran.err;
  EXPECT_EQ(result()["trials"]["requested"], 3);
  const Ran narrowed = search("{criterion: absolute, tolerable_loss: 0.1}", "L2",
                              "--resume --set op_type_dict='{Conv: {weight: {dtype: [int8]}}}'");
  EXPECT_EQ(narrowed.code, 1);
  EXPECT_NE(narrowed.err.find("op_type_dict"), std::string::npos) << narrowed.err;
}

// It says what was done in vain, and no more.
TEST_F(Repair, AMissedGoalIsExplainedByWhatWasTried) {
  const Ran ran = search("{criterion: absolute, tolerable_loss: 0}", "L2",
                         "--set strategy=repair --set search_space='{activation: [UInt8Spec], weight: [Int8Spec]}'");
  EXPECT_EQ(ran.code, 2) << ran.err;
  const std::string reason = result()["reason"];
  EXPECT_NE(reason.find("nor with 17 of 18 operators in float32 (L2 "), std::string::npos) << reason;
  EXPECT_NE(reason.find("other choices of operators were not tried"), std::string::npos) << reason;
}

// One trial tells that no piece of the ranking can suffice, and three that no other operator may stay quantized in the last one's
// stead.
TEST_F(Repair, WhatTheWholeRankingCannotReachEndsAfterAFewTrialsOfIt) {
  ASSERT_EQ(search("{criterion: absolute, tolerable_loss: 0}").code, 2);
  std::vector<int> operators;
  const Json result = this->result();
  for (const auto& step : result["tuning"]["steps"]) {
    if (step["step"] == "fall back") operators.push_back(step["change"]["operators"]);
  }
  EXPECT_EQ(operators, (std::vector<int>{17, 17, 17, 17}));
}

TEST_F(Repair, ADryRunSaysHowManyTrialsItMayTake) {
  const auto facts = [&](const std::string& more) {
    const Ran ran = search("{criterion: absolute, tolerable_loss: 0.0011}", "L2", "--dry-run" + more);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return parse_json(ran.out, "stdout");
  };
  EXPECT_EQ(facts("")["trials"], 100);
  EXPECT_EQ(facts("")["ended_by"], (Json{"goal", "max_trials"}));
  EXPECT_EQ(facts(" --set tuning_criterion.max_trials=7")["trials"], 7);
  EXPECT_GT(facts("")["expected_s"], 0.01) << "of the 100 trials that it may take";
  const Json limited = facts(" --set n_trials=5 --set tuning_criterion.timeout=60");
  EXPECT_EQ(limited["trials"], 5);
  EXPECT_EQ(limited["ended_by"], (Json{"n_trials", "timeout"}));
}

TEST_F(Repair, ResumingRepeatsNothing) {
  ASSERT_EQ(search("{criterion: absolute, tolerable_loss: 0.0011}", "L2", "--set n_trials=3").code, 2);
  const Ran ran = search("{criterion: absolute, tolerable_loss: 0.0011}", "L2", "--resume");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json result = this->result();
  std::set<int> numbers;
  for (const auto& step : result["tuning"]["steps"]) numbers.insert(step["trial"].get<int>());
  EXPECT_EQ(result["trials"]["requested"].get<size_t>(), numbers.size());
  EXPECT_EQ(result["tuning"]["float"].size(), 1u);
}

// Where the target computes in 16 bits, a layer has them before it goes back to float.
TEST_F(Repair, SixteenBitsComeBeforeFloat) {
  ASSERT_EQ(search("{criterion: absolute, tolerable_loss: 0.0011}", "L2", "--set target=generic").code, 0);
  const Json given_up = result()["tuning"]["float"];
  ASSERT_FALSE(given_up.empty());
  for (const auto& node : given_up) EXPECT_EQ(node["type"], "A16W8") << given_up;
  EXPECT_NE(read_file(out / "best_config.yaml").find("Int16Spec"), std::string::npos);
}

TEST_F(Repair, NpusMayFallBackToo) {
  const Ran ran = search("{criterion: absolute, tolerable_loss: 0.001}", "L2", "--set target=xint8 --set n_trials=11");
  EXPECT_NE(ran.code, 1) << ran.err;
  const Json result = this->result();
  EXPECT_FALSE(result["tuning"]["sensitivity"].empty());
  bool fell = false;
  for (const auto& step : result["tuning"]["steps"]) fell = fell || step["step"] == "fall back";
  EXPECT_TRUE(fell) << ran.err;
}

TEST_F(Repair, ATimeoutEndsIt) {
  const Ran ran = search("{criterion: absolute, tolerable_loss: 0}", "L2", "--set tuning_criterion.timeout=0.3");
  EXPECT_EQ(ran.code, 2) << ran.err;
  EXPECT_NE(result()["reason"].get<std::string>().find("timeout of 0.3"), std::string::npos) << result()["reason"];
  EXPECT_EQ(fs::exists(out / "best.onnx"), result()["trials"]["complete"] > 0);
}

TEST_F(Repair, ARelativeGoalOfADistanceIsExplained) {
  const Ran ran = search("{criterion: relative, tolerable_loss: 0.01}");
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("absolute"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace quasar::e2e
