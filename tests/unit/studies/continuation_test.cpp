#include "quasar/studies/continuation.hpp"

#include <gtest/gtest.h>

#include "quasar/studies/attributes.hpp"

namespace quasar::tune {
namespace {

Job job_of(const std::string& space) {
  Job job;
  job.strategy = "flat";
  job.spaces = {parse_json(space, "space")};
  return job;
}

search::StudyRecord study(const std::string& name, const std::string& predecessor = "") {
  search::StudyRecord out;
  out.name = name;
  if (!predecessor.empty()) out.user_attributes[predecessor_attribute] = predecessor;
  return out;
}

TEST(Continuation, OrderInTheFileIsNoOtherChoice) {
  const Json one = choices_of(job_of(R"({"activation": ["Int8Spec"], "activation_params": {"symmetric": [true, false],
    "calibration_method": ["MinMax"], "only_if": "activation"}, "weight": ["Int8Spec"]})"));
  const Json same = choices_of(job_of(R"({"weight": ["Int8Spec"], "activation_params": {"only_if": "activation",
    "calibration_method": ["MinMax"], "symmetric": [true, false]}, "activation": ["Int8Spec"]})"));
  EXPECT_EQ(one, same);
}

TEST(Continuation, ValuesRangesAndConditionsAreChoices) {
  const std::string words = R"({"activation": ["Int8Spec", "UInt8Spec"], "algorithms": ["adaround", null],
    "adaround_params": {"num_iterations": {"type": "int", "low": 1, "high": 8}, "only_if": {"algorithms": "adaround"}}})";
  const Json before = choices_of(job_of(words));
  for (const auto& [old, changed] : std::vector<std::pair<std::string, std::string>>{
           {"\"UInt8Spec\"", "\"Int16Spec\""},
           {"\"high\": 8", "\"high\": 9"},
           {"\"only_if\": {\"algorithms\": \"adaround\"}",
            "\"only_if\": {\"algorithms\": \"adaround\", \"activation\": \"Int8Spec\"}"}}) {
    std::string other = words;
    other.replace(other.find(old), old.size(), changed);
    EXPECT_NE(choices_of(job_of(other)), before) << changed;
  }
  Job narrowed = job_of(words);
  narrowed.tuning.op_types = {{"Conv", Json::object()}};
  EXPECT_NE(choices_of(narrowed), before);
}

TEST(Continuation, OneOrTwoStagesAreAChoice) {
  Job job = job_of(R"({"activation": ["Int8Spec"], "algorithms": ["adaround"]})");
  const Json flat = choices_of(job);
  job.strategy = "two_stage";
  EXPECT_NE(choices_of(job), flat);
}

// Strategies continue one another where operators have the same parameters: options and float types, options alone, rungs.
TEST(Continuation, WhatAStrategyVariesOfEachOperatorIsAChoice) {
  const auto choices = [](const char* strategy, const std::vector<Json>& alphas = {}) {
    Job job = job_of("{}");
    job.strategy = strategy;
    job.tuning.smooth_alphas = alphas;
    return choices_of(job);
  };
  EXPECT_EQ(choices("mse"), choices("basic"));
  EXPECT_EQ(choices("random"), choices("tpe"));
  EXPECT_NE(choices("random"), choices("mse"));
  EXPECT_NE(choices("repair"), choices("mse"));
  EXPECT_NE(choices("flat"), choices("mse"));
  EXPECT_NE(choices("mse", {0.3, 0.5}), choices("mse"));
  EXPECT_NE(choices("mse", {0.3, 0.5}), choices("mse", {0.5, 0.7}));
}

// Trials record by how much they exceed a constraint; a criterion on the objective itself judges them anew.
TEST(Continuation, ACriterionThatIsAConstraintIsAChoice) {
  const auto choices = [](const char* metric, double tolerable) {
    Job job = job_of("{}");
    job.aim.goals.objectives = {{"bytes", Direction::minimize}};
    job.aim.criterion =
        AccuracyCriterion{.parts = {{metric, Direction::minimize}}, .relative = false, .tolerable_loss = tolerable};
    return choices_of(job);
  };
  EXPECT_NE(choices("L2", 0.1), choices("L2", 0.2));
  EXPECT_EQ(choices("L2", 0.1), choices("L2", 0.1));
  EXPECT_EQ(choices("bytes", 0.1), choices("bytes", 0.2));
}

// It stood beside the choices.
TEST(Continuation, ACriterionThatEarlierVersionsNotedIsFound) {
  Job job = job_of("{}");
  job.aim.goals.objectives = {{"bytes", Direction::minimize}};
  job.aim.criterion = AccuracyCriterion{.parts = {{"L2", Direction::minimize}}, .relative = false, .tolerable_loss = 0.1};
  const Json now = choices_of(job);
  std::vector<search::StudyRecord> studies{study("a")};
  studies[0].user_attributes["criterion"] = to_json(*job.aim.criterion);
  job.aim.criterion.reset();
  studies[0].user_attributes[choices_attribute] = choices_of(job);
  EXPECT_NE(with_choices(studies, "a", now), nullptr);
  studies[0].user_attributes["criterion"]["tolerable_loss"] = 0.2;
  EXPECT_EQ(with_choices(studies, "a", now), nullptr);
}

TEST(Continuation, AStudyWithTheSameChoicesGoesOnWhereverItStandsInTheChain) {
  std::vector<search::StudyRecord> studies{study("a"), study("a-3", "a-2"), study("a-2", "a"), study("b")};
  for (auto& one : studies) one.user_attributes[choices_attribute] = one.name == "a-3" ? "third" : "first";
  std::vector<std::string> names;
  for (const auto* one : chain_of(studies, "a-2")) names.push_back(one->name);
  EXPECT_EQ(names, (std::vector<std::string>{"a", "a-2", "a-3"}));
  EXPECT_EQ(with_choices(studies, "a", "first")->name, "a");
  EXPECT_EQ(with_choices(studies, "a-3", "first")->name, "a-2");
  EXPECT_EQ(with_choices(studies, "a", "third")->name, "a-3");
  EXPECT_EQ(with_choices(studies, "a", "other"), nullptr);
  EXPECT_TRUE(chain_of(studies, "c").empty());
  EXPECT_EQ(chain_of(std::vector<search::StudyRecord>{study("a", "b"), study("b", "a")}, "a").size(), 2U);  // a circle ends
}

}  // namespace
}  // namespace quasar::tune
