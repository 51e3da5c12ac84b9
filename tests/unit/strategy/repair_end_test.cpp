// What becomes of a search by repair: whose operators cannot be measured one by one, whose costs are bounded, whose outputs have
// no distance to the float model's.
#include <gtest/gtest.h>

#include <algorithm>

#include "quasar/job/precision.hpp"
#include "unit/tune/made_up_trials.hpp"

namespace quasar::tune {
namespace {

double in_float_at(const search::Point& point) {
  return static_cast<double>(float_nodes(point).size());
}

TEST(RepairEnd, TheBestSoFarStaysWhenTheInstrumentedModelDoesNotRun) {
  MadeUpTrials trials(digits_words());
  // From here on ONNX Runtime refuses whatever is made of the graph; the trials below make nothing.
  const auto graph = trials.variants.graph_of(quant::parse_config(words_of(trials.setting.spaces.all, trials.default_point())));
  const_cast<graph::Model&>(graph->model).nodes.back().op_type = "NoSuchOperator";
  double value = 1;
  const Finding finding = trials.run([&](const search::Point&) {
    value *= 0.9;
    return Measures{{"L2", value}, {"parts", value}};
  });
  EXPECT_EQ(finding.result.end, search::RunResult::End::condition);
  EXPECT_NE(finding.result.reason.find("cannot be measured"), std::string::npos) << finding.result.reason;
  ASSERT_EQ(finding.warnings.size(), 1U);
  EXPECT_NE(finding.warnings.front().find("the best trial so far"), std::string::npos) << finding.warnings.front();
  EXPECT_NE(finding.warnings.front().find("NoSuchOperator"), std::string::npos) << finding.warnings.front();
  ASSERT_NE(trials.study.best(), nullptr);
  EXPECT_GT(trials.study.best()->number, 0);
  EXPECT_EQ(finding.story->steps.size(), trials.study.trials().size());
}

// Three operators in float are enough for the accuracy, and every one costs bytes: more float is no answer to too many bytes.
struct Bounded : testing::Test {
  Finding run(double most_bytes, double enough = 3) {
    Json words = digits_words();
    words["constraints"] = Json::array({Json{{"metric", "bytes"}, {"max", most_bytes}}});
    trials.emplace(words);
    return trials->run([enough](const search::Point& point) {
      const double floats = in_float_at(point);
      return Measures{{"L2", floats >= enough ? 0.00005 : 0.001 - 0.00001 * floats}, {"bytes", 1000 + 10 * floats}};
    });
  }
  std::optional<MadeUpTrials> trials;
};

TEST_F(Bounded, AccuracyIsMetByTheFewestOperatorsWhichKeepsTheBytes) {
  const Finding finding = run(1030);
  EXPECT_EQ(finding.result.reason, "the accuracy criterion is met");
  ASSERT_TRUE(finding.winner);
  EXPECT_EQ(in_float_at(trials->study.at(*finding.winner).point), 3);
}

TEST_F(Bounded, TheReasonNamesTheConstraintThatIsBroken) {
  const Finding finding = run(1029);
  ASSERT_TRUE(finding.winner);
  EXPECT_FALSE(trials->study.at(*finding.winner).is_candidate());
  EXPECT_EQ(in_float_at(trials->study.at(*finding.winner).point), 3) << "what is accurate, not what has the fewest bytes";
  EXPECT_TRUE(finding.result.reason.starts_with("the constraint on bytes (max 1029, is 1030) is not kept"))
      << finding.result.reason;
  EXPECT_NE(finding.result.reason.find("3 operators in float"), std::string::npos) << finding.result.reason;
}

TEST_F(Bounded, TheReasonNamesTheCriterionWhereNothingIsAccurate) {
  const Finding finding = run(1000, 1000);
  EXPECT_TRUE(finding.result.reason.starts_with("the accuracy criterion")) << finding.result.reason;
  EXPECT_NE(finding.result.reason.find("is not met by any repair"), std::string::npos) << finding.result.reason;
}

TEST_F(Bounded, WhatIsAccurateInEightBitsNeedsNoFloat) {
  const Finding finding = run(900, 0);
  EXPECT_TRUE(finding.result.reason.starts_with("the constraint on bytes (max 900, is 1000) is not kept"))
      << finding.result.reason;
  for (const auto& trial : trials->study.trials()) EXPECT_EQ(in_float_at(trial.point), 0);
}

// A trial that fails with many operators in float was taken for one that misses the goal with them.
TEST(RepairEnd, AFailedTrialProvesNothing) {
  MadeUpTrials trials(digits_words());
  const Finding finding = trials.run([](const search::Point& point) {
    const double floats = in_float_at(point);
    if (floats > 6) throw Error("no room");
    return Measures{{"L2", floats >= 3 ? 0.00005 : 0.001}};
  });
  EXPECT_EQ(finding.result.reason, "the accuracy criterion is met");
  ASSERT_TRUE(finding.winner);
  EXPECT_EQ(in_float_at(trials.study.at(*finding.winner).point), 3);
}

TEST(RepairEnd, AFailedTrialIsNotSaidToMissTheGoal) {
  MadeUpTrials trials(digits_words());
  const Finding finding = trials.run([](const search::Point& point) {
    if (in_float_at(point) > 0) throw Error("no room");
    return Measures{{"L2", 0.001}};
  });
  EXPECT_FALSE(finding.winner);
  EXPECT_NE(finding.result.reason.find("and the trial with 17 of 18 operators in float32 failed;"), std::string::npos)
      << finding.result.reason;
}

// The ranking ends with another operator than the one that may stay.
TEST(RepairEnd, AnotherOperatorStaysQuantized) {
  MadeUpTrials missed(digits_words());
  const auto ranking = missed.run([](const search::Point&) { return Measures{{"L2", 0.001}}; }).story->sensitivity.value();
  const auto error = [](const Story::Sensitivity& one) {
    return std::map(one.measures.begin(), one.measures.end()).at("output_error");
  };
  const auto least = std::ranges::min_element(ranking.begin(), ranking.end() - 1, {}, error);
  const std::string kept = least->node;
  MadeUpTrials trials(digits_words());
  const Finding finding = trials.run([&](const search::Point& point) {
    const bool met = in_float_at(point) == 17 && precision_at(point, kept) == quantized;
    return Measures{{"L2", met ? 0.00005 : 0.001}};
  });
  EXPECT_EQ(finding.result.reason, "the accuracy criterion is met") << kept;
}

// The last of three can return once the first has, which is asked after it.
TEST(RepairEnd, NoSingleOperatorCouldReturnInTheEnd) {
  MadeUpTrials missed(digits_words());
  const auto ranking = missed.run([](const search::Point&) { return Measures{{"L2", 0.001}}; }).story->sensitivity.value();
  const std::string first = ranking[0].node, second = ranking[1].node;
  MadeUpTrials trials(digits_words());
  const Finding finding = trials.run([&](const search::Point& point) {
    const double floats = in_float_at(point);
    const bool met = floats >= 3 || (precision_at(point, second) == in_float && precision_at(point, first) != in_float);
    return Measures{{"L2", met ? 0.00005 : 0.001 - 0.00001 * floats}};
  });
  const auto& given = finding.story->in_float;
  ASSERT_EQ(given.size(), 1U);
  EXPECT_EQ(given[0].node, second);
  EXPECT_EQ(given[0].quantized->gives, 0.001) << "of the model that is left, where nothing is in float then";
}

// Two of the first three must stay in float. They are not asked again when the first has returned.
TEST(RepairEnd, WhatWasOutOfReachIsNotAskedAgain) {
  MadeUpTrials missed(digits_words());
  const auto ranking = missed.run([](const search::Point&) { return Measures{{"L2", 0.001}}; }).story->sensitivity.value();
  const std::string first = ranking[0].node, second = ranking[1].node, third = ranking[2].node;
  MadeUpTrials trials(digits_words());
  const Finding finding = trials.run([&](const search::Point& point) {
    if (precision_at(point, second) == in_float && precision_at(point, third) == in_float) return Measures{{"L2", 0.00005}};
    const Measures far{{"L2", 0.001 - 0.00001 * in_float_at(point)}};
    if (precision_at(point, second) != in_float && precision_at(point, third) != in_float) return far;
    Measures given_up = far;
    given_up["pruned"] = 1;
    return given_up;
  });
  EXPECT_EQ(finding.story->in_float.size(), 2U);
  size_t given_up = 0;
  for (const auto& trial : trials.study.trials()) {
    if (trial.state != search::State::pruned) continue;
    given_up++;
    EXPECT_EQ(precision_at(trial.point, first), in_float) << trial.number;
  }
  EXPECT_GE(given_up, 2U);
  for (const auto& entry : finding.story->in_float) EXPECT_TRUE(entry.quantized) << entry.node;
}

// Any of the ten alone is too many: eight are asked, the least harmful first, and the others not.
TEST(RepairEnd, RefusalsInARowEndTheWayBack) {
  MadeUpTrials trials(digits_words());
  const Finding finding = trials.run([](const search::Point& point) {
    const double floats = in_float_at(point);
    return Measures{{"L2", floats >= 10 ? 0.00005 : 0.001 - 0.00001 * floats}};
  });
  EXPECT_EQ(finding.story->in_float.size(), 10U);
  const auto asked = std::ranges::count(finding.story->steps, "take back", &Story::Step::name);
  EXPECT_GE(asked, 8);
  EXPECT_LE(asked, 10) << "two together, and eight single ones";
}

// Each of the ranges would be rounded anew.
TEST(RepairEnd, NoRepairIsTriedBeyondTheOneThatMeetsTheGoal) {
  MadeUpTrials trials(digits_words());
  const Finding finding = trials.run([](const search::Point& point) {
    const bool met = *point.find("activation_params_calibration_method") != "MinMax";
    return Measures{{"L2", met ? 0.00005 : 0.001}, {"parts", met ? 0.01 : 0.1}};
  });
  ASSERT_TRUE(finding.winner);
  EXPECT_EQ(*finding.winner, trials.study.trials().back().number);
}

// The reason named the objective, which the criterion is not about.
TEST(RepairEnd, TheReasonGivesTheMetricsOfTheCriterion) {
  Json words = digits_words();
  words["accuracy_criterion"]["metrics"] = {"cos", "agreement"};
  MadeUpTrials trials(words);
  const Finding finding = trials.run([](const search::Point&) {
    return Measures{{"L2", 0.001}, {"cos", 0.5}, {"agreement", 0.75}};
  });
  EXPECT_NE(finding.result.reason.find("(loss 0.375: cos 0.5, agreement 0.75)"), std::string::npos) << finding.result.reason;
}

// A detector that suppresses boxes by itself: L2 guides nothing, the user's score does.
TEST(RepairEnd, TheGoalGuidesWhereOutputsHaveNoDistance) {
  Json words = digits_words();
  words["search_metric"] = "top1";
  words["accuracy_criterion"]["tolerable_loss"] = 0;
  MadeUpTrials trials(words);
  const Finding finding = trials.run([](const search::Point& point) {
    const bool corrected = *point.find("BiasCorrection") == true;
    return Measures{{"top1", in_float_at(point) >= 2 ? 1.0 : corrected ? 0.8 : 0.7}};
  });
  EXPECT_EQ(finding.result.reason, "the accuracy criterion is met");
  ASSERT_TRUE(finding.winner);
  const search::Point& found = trials.study.at(*finding.winner).point;
  EXPECT_EQ(in_float_at(found), 2);
  EXPECT_EQ(*found.find("BiasCorrection"), true) << "the repair that the user's score prefers";
  ASSERT_EQ(finding.warnings.size(), 1U);
  EXPECT_NE(finding.warnings.front().find("judged by top1"), std::string::npos) << finding.warnings.front();
}

}  // namespace
}  // namespace quasar::tune
