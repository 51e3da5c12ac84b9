// Tuning strategies that go on with what was tried before: with --resume, in the same study or a new one, or by warm_start.
#include <vector>

#include "e2e/strategy_search.hpp"

namespace quasar::e2e {
namespace {

struct ContinuedStrategies : Strategies {};

// The way is repeated, not continued by another one: nothing is left to try.
TEST_F(ContinuedStrategies, AResumedSearchThatHasEndedRunsNoTrial) {
  for (const std::string name : {"basic", "auto"}) {
    ASSERT_EQ(search(name, goal("0.0011")).code, 0);
    const Json before = result(name);
    ASSERT_EQ(search(name, goal("0.0011"), "--resume").code, 0);
    EXPECT_EQ(result(name)["trials"], before["trials"]) << name;
    EXPECT_EQ(result(name)["tuning"]["steps"], before["tuning"]["steps"]) << name;
  }
}

// Each step is another strategy, or other alphas, in the folder of the one before: whether it goes on with its study, and which.
TEST_F(ContinuedStrategies, AnotherStrategyContinuesOrBeginsANewStudy) {
  const std::string one = "recipes: {smooth_quant: true, smooth_quant_args: {alpha: [0.3, 0.5]}}\n";
  const std::string other = "recipes: {smooth_quant: true, smooth_quant_args: {alpha: [0.5, 0.7]}}\n";
  place = "chain";
  struct Step {
    std::string name, more, study, said;
  };
  for (const Step& step : std::vector<Step>{{"mse", "", "AutoSearch", ""},
                                            {"random", "", "AutoSearch-2", "other parameters of operators"},
                                            {"tpe", "", "AutoSearch-2", ""},
                                            {"basic", "", "AutoSearch", ""},
                                            {"basic", one, "AutoSearch-3", "other alphas of smooth_quant"},
                                            {"mse", other, "AutoSearch-4", "other alphas of smooth_quant"},
                                            {"mse_v2", "", "AutoSearch", ""}}) {
    const std::string tuning = "tuning_criterion: {max_trials: 3}\n";
    const Ran ran = search(step.name, goal("0.00001") + step.more + tuning, "--resume");
    ASSERT_EQ(ran.code, 2) << step.name << ": " << ran.err;
    EXPECT_EQ(result(step.name)["study_name"], step.study) << step.name;
    EXPECT_NE(ran.err.find(step.said), std::string::npos) << ran.err;
    EXPECT_EQ(ran.err.find("a new study, '" + step.study + "', begins") != std::string::npos, !step.said.empty()) << ran.err;
  }
}

// What the trials exceed is another thing with another tolerance: they teach a new study, judged anew.
TEST_F(ContinuedStrategies, SigoptGoesOnWithAnotherToleranceInANewStudy) {
  const std::string exit = "tuning_criterion: {timeout: 300, max_trials: 12}\n";
  ASSERT_EQ(search("sigopt", goal("0.0015") + exit).code, 0);
  const Json first = result("sigopt");
  const Ran ran = search("sigopt", goal("0.004") + exit, "--resume");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json second = result("sigopt");
  EXPECT_NE(second["study_name"], first["study_name"]);
  EXPECT_NE(second["warnings"].dump().find("accuracy_criterion among the constraints"), std::string::npos);
  EXPECT_EQ(second["trials"]["executed"], 12);
  EXPECT_EQ(second["tuning"]["steps"][1]["step"], "among the best of an earlier study");
  EXPECT_LE(second["best"]["metrics"]["L2"]["value"], 0.004);
  const Ran again = search("sigopt", goal("0.0015") + exit, "--resume");
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(result("sigopt")["study_name"], first["study_name"]) << "the study of the chain with this criterion";
}

TEST_F(ContinuedStrategies, EarlierTrialsThatTeachNothingAreSaid) {
  ASSERT_EQ(search("tpe", goal("0.05") + "tuning_criterion: {timeout: 300, max_trials: 6}\n").code, 0);
  const std::string earlier = "warm_start: " + out("tpe").string() + "\ntuning_criterion: {timeout: 300, max_trials: 6}\n";
  place = "second";
  const Ran alone = search("mse", goal("0.05") + earlier);
  EXPECT_NE((alone.out + alone.err).find("warm_start has no effect: strategy mse"), std::string::npos) << alone.out << alone.err;
  EXPECT_EQ(alone.code, 0);
  place = "fourth";
  const Ran other =
      search("mse", goal("0.05") + "constraints: [{metric: cos, min: 0.1}]\nobjectives: [{metric: bytes}]\n" + earlier);
  EXPECT_EQ(other.code, 0) << other.err << "what has no effect is not read";
  place = "third";
  const Ran taught = search("tpe", goal("0.05") + earlier);
  EXPECT_EQ((taught.out + taught.err).find("warm_start has no effect"), std::string::npos);
  EXPECT_EQ(result("tpe")["tuning"]["steps"][1]["step"], "among the best of an earlier study");
}

}  // namespace
}  // namespace quasar::e2e
