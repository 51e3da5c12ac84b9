// Strategy `budget`: what it finds beside all that could be found, and what becomes of budgets that cannot be kept.
#include <gtest/gtest.h>

#include "quasar/job/precision.hpp"
#include "quasar/search/models/integer_program.hpp"
#include "quasar/strategy/budget/better.hpp"
#include "quasar/strategy/budget/costs.hpp"
#include "unit/tune/made_up_trials.hpp"

namespace quasar::tune {
namespace {

// Five groups of operators of the digits, in 8 bits or with weights of 4, in a space of one configuration.
Json five_groups(const Json& bytes) {
  Json words = digits_words();
  words.erase("accuracy_criterion");
  words["strategy"] = "budget";
  words["budget"] = {{"bytes", bytes}, {"precisions", {"int4", "quantized"}}, {"groups", 5}};
  words["search_space"] = {{"weight", {"Int8Spec"}},
                           {"activation", {"UInt8Spec"}},
                           {"weight_params", {{"symmetric", {true}}, {"quant_granularity", {"Channel"}}, {"only_if", "weight"}}},
                           {"activation_params", {{"symmetric", {false}}, {"only_if", "activation"}}}};
  return words;
}

struct Budgets : testing::Test {
  void SetUp() override {
    if (!search::has_integer_solver()) GTEST_SKIP() << "this build has no solver";
  }
};

// Trials with the scores that they really have.
class RealTrials {
 public:
  explicit RealTrials(const Json& words) : trials(words) {}

  Measures at(const search::Point& point) const {
    const TrialContext& context = trials.trial_context();
    const quant::Config config = quant::parse_config(words_of(context.space, point));
    quant::Plan plan = context.variants.plan(config, context.target);
    const graph::Model model = context.variants.build(config, plan).model;
    Measures out = measures_of(context.evaluator.score(model));
    out["bytes"] = static_cast<double>(bytes_of(model));
    return out;
  }

  Finding run() {
    return trials.run([this](const search::Point& point) { return at(point); });
  }

  BudgetChoices choices() const {
    return {*trials.job.budget, trials.job.spaces.front(), trials.setting.spaces.each.front(), trials.setting.model,
            *trials.setting.target};
  }

  MadeUpTrials trials;
};

TEST_F(Budgets, TheModelIsWithinTwoPercentOfTheBestOfAllAssignments) {
  const RealTrials all(five_groups(1.0));
  const BudgetChoices choices = all.choices();
  ASSERT_EQ(choices.groups().nodes.size(), 5U);
  std::vector<Measures> every;
  for (size_t set = 0; set < 32; set++) {
    Assignment assignment;
    for (size_t g = 0; g < 5; g++) assignment.push_back(set >> g & 1);
    for (size_t& choice : assignment)
      choice = std::min(choice, choices.own(static_cast<size_t>(&choice - assignment.data())).size() - 1);
    every.push_back(all.at(choices.point_of(assignment)));
  }
  const auto bytes = [](const Measures& one) { return one.at("bytes"); };
  const double least = bytes(*std::ranges::min_element(every, {}, bytes)),
               most = bytes(*std::ranges::max_element(every, {}, bytes));
  ASSERT_GT(most, 1.2 * least);
  for (const double share : {0.25, 0.5, 0.75}) {
    const double budget = std::floor(least + share * (most - least));
    RealTrials trials(five_groups(std::to_string(static_cast<int64_t>(budget)) + " bytes"));
    const Finding finding = trials.run();
    ASSERT_TRUE(finding.winner) << finding.result.reason;
    const auto& winner = trials.trials.study.at(*finding.winner);
    const Measures found = measures_of(trials.trials.job.aim.goals, winner);
    EXPECT_LE(found.at("bytes"), budget);
    double best = HUGE_VAL;
    for (const auto& one : every) {
      if (one.at("bytes") <= budget) best = std::min(best, one.at("L2"));
    }
    EXPECT_LE(found.at("L2"), 1.02 * best) << share;
    EXPECT_FALSE(finding.story->budget["front"]["bytes"].empty());
    EXPECT_LT(trials.trials.study.trials().size(), 28U) << "and not by trying all of them";
    ASSERT_TRUE(finding.story);
    EXPECT_EQ(finding.story->budget["bounds"]["bytes"], budget);
    EXPECT_FALSE(finding.story->steps.empty());
    const Json more = finding.story->budget["more"];
    ASSERT_EQ(more.size(), 1U) << "a megabyte more is beyond float";
    EXPECT_EQ(more[0]["more_of"], "bytes");
    EXPECT_NEAR(more[0]["by"].get<double>(), 0.1 * budget, 1);
    EXPECT_GE(more[0]["share"], 0);
    EXPECT_LE(more[0]["share"], 1);
  }
}

// Turned around: as small as an accuracy allows.
TEST_F(Budgets, WithAnAccuracyTheModelIsWithinFivePercentOfTheSmallestThatKeepsIt) {
  const auto words_for = [](double tolerable) {
    Json words = five_groups(1.0);
    words["budget"].erase("bytes");
    words["budget"]["accuracy"] = {{"criterion", "absolute"}, {"tolerable_loss", tolerable}};
    words["search_metric"] = "L2";
    return words;
  };
  const RealTrials all(words_for(0.001));
  EXPECT_EQ(all.trials.job.aim.goals.objectives.front().metric, "bytes");
  const BudgetChoices choices = all.choices();
  std::vector<Measures> every;
  for (size_t set = 0; set < 32; set++) {
    Assignment assignment;
    for (size_t g = 0; g < 5; g++) assignment.push_back(std::min(set >> g & 1, choices.own(g).size() - 1));
    every.push_back(all.at(choices.point_of(assignment)));
  }
  std::vector<double> losses;
  for (const Measures& one : every) losses.push_back(one.at("L2"));
  std::ranges::sort(losses);
  for (const size_t rank : {4, 12, 24}) {
    const double tolerable = losses[rank] * 1.0001;
    RealTrials trials(words_for(tolerable));
    const Finding finding = trials.run();
    ASSERT_TRUE(finding.winner) << finding.result.reason;
    const Measures found = measures_of(trials.trials.job.aim.goals, trials.trials.study.at(*finding.winner));
    EXPECT_LE(found.at("L2"), tolerable);
    double least = HUGE_VAL;
    for (const Measures& one : every) {
      if (one.at("L2") <= tolerable) least = std::min(least, one.at("bytes"));
    }
    EXPECT_LE(found.at("bytes"), 1.05 * least) << rank;
    ASSERT_TRUE(finding.story);
    EXPECT_EQ(finding.story->budget["bounds"]["accuracy"]["tolerable_loss"], tolerable);
    ASSERT_EQ(finding.story->budget["more"].size(), 1U);
    EXPECT_EQ(finding.story->budget["more"][0]["takes_off"], "bytes");
    EXPECT_FALSE(finding.story->budget["front"]["bytes"].empty());
  }
}

// Of a share that 8 bits lose nothing of: the first trials say nothing of what a loss is in the unit of estimates.
TEST_F(Budgets, WhereEightBitsLoseNothingTheSmallestIsFoundAllTheSame) {
  Json words = five_groups(1.0);
  words["budget"] = {
      {"accuracy", {{"criterion", "absolute"}, {"tolerable_loss", 0.011}}}, {"precisions", {"int4", "quantized"}}, {"groups", 5}};
  words["search_metric"] = "top1";
  MadeUpTrials trials(words);
  const BudgetChoices choices(*trials.job.budget, trials.job.spaces.front(), trials.setting.spaces.each.front(),
                              trials.setting.model, *trials.setting.target);
  const double was = trials.trial_context().evaluator.reference().at("top1").value;
  const Finding finding = trials.run([&](const search::Point& point) {
    double groups = 0;  // in 4 bits: one costs nothing, each further one a hundredth
    for (size_t g = 0; g < choices.groups().nodes.size(); g++) {
      const auto in_int4 = [&](const std::string& node) { return precision_at(point, node) != Json(quantized); };
      if (std::ranges::any_of(choices.groups().nodes[g], in_int4)) groups++;
    }
    return Measures{{"top1", was - 0.01 * std::max(0.0, groups - 1)}, {"bytes", 100000 - 5000 * groups}};
  });
  ASSERT_TRUE(finding.winner) << finding.result.reason;
  EXPECT_EQ(trials.study.at(*finding.winner).values.front(), 90000) << "two groups in 4 bits";
}

// A loss that no model has.
TEST_F(Budgets, OfAnAccuracyThatNothingReachesEndWithTheNearest) {
  Json words = five_groups(1.0);
  words["budget"] = {
      {"accuracy", {{"criterion", "absolute"}, {"tolerable_loss", 1e-9}}}, {"precisions", {"int4", "quantized"}}, {"groups", 5}};
  words["search_metric"] = "L2";
  RealTrials trials(words);
  const Finding finding = trials.run();
  EXPECT_FALSE(finding.winner);
  EXPECT_TRUE(finding.result.reason.starts_with("no model within the budget was found")) << finding.result.reason;
}

// Made-up measurements: what is written is larger than the budget whatever it is.
TEST_F(Budgets, AreKeptByWhatIsMeasuredAndNotByEstimates) {
  MadeUpTrials trials(five_groups(1.0));
  const double budget = *trials.job.budget->bytes;
  size_t tried = 0;
  const Finding finding = trials.run([&](const search::Point&) {
    tried++;
    return Measures{{"L2", 1.0 / static_cast<double>(tried)}, {"bytes", tried < 4 ? budget + 1 : budget}};
  });
  ASSERT_TRUE(finding.winner);
  EXPECT_GE(*finding.winner, 3);
}

TEST_F(Budgets, ThatNothingKeepsEndWithTheNearest) {
  MadeUpTrials trials(five_groups(1.0));
  const Finding finding = trials.run([&](const search::Point& point) {
    const bool all = float_nodes(point).empty();
    return Measures{{"L2", 0.1}, {"bytes", *trials.job.budget->bytes + (all ? 10 : 20)}};
  });
  EXPECT_FALSE(finding.winner);
  EXPECT_TRUE(finding.result.reason.starts_with("no model within the budget was found")) << finding.result.reason;
  ASSERT_NE(trials.study.best(), nullptr);
}

std::string refusal(const Json& words) {
  try {
    MadeUpTrials trials(words);
    trials.setting.strategy->expect_possible({trials.job, trials.setting.spaces.each.front(), trials.setting.model,
                                              *trials.setting.target, trials.variants, 138964, 1});
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

TEST_F(Budgets, BelowTheSmallestModelAreRefusedWithTheBounds) {
  const std::string why = refusal(five_groups(0.01));
  EXPECT_NE(why.find("budget.bytes is 1389 bytes (1 % of float), but the smallest model has "), std::string::npos) << why;
  EXPECT_NE(why.find("and float 138964"), std::string::npos) << why;
  EXPECT_EQ(refusal(five_groups(0.9)), "");
}

// Small operators and such without weights are smaller in float than with pairs.
TEST_F(Budgets, TheSmallestModelIsNotThatOfTheFewestBits) {
  Json words = five_groups(1.0);
  words["budget"] = {{"bytes", 1.0}};
  const RealTrials all(words);
  const BudgetChoices choices = all.choices();
  const BudgetModels models = models_of(all.trials.trial_context());
  const auto bytes = [&](const Assignment& one) {
    return bytes_at(choices.point_of(one), models.space, models.variants, models.target);
  };
  const BoundedCost estimate = bytes_of_assignments(models, choices);
  const SmallestModel smallest = smallest_model(models, choices, estimate);
  EXPECT_LT(smallest.bytes, 0.98 * bytes(choices.fewest_bits()));
  EXPECT_EQ(smallest.bytes, bytes(smallest.assignment));
  EXPECT_EQ(smallest.least, smallest.bytes);
  EXPECT_NEAR(estimate.of(smallest.assignment), smallest.bytes, 0.02 * smallest.bytes);
  const auto within = [&](double most) {
    words["budget"]["bytes"] = std::to_string(static_cast<int64_t>(most)) + " bytes";
    return words;
  };
  EXPECT_NE(refusal(within(smallest.bytes - 1)), "");
  ASSERT_EQ(refusal(within(smallest.bytes)), "");
  RealTrials trials(within(smallest.bytes));
  const Finding finding = trials.run();
  ASSERT_TRUE(finding.winner) << finding.result.reason;
  EXPECT_EQ(trials.at(trials.trials.study.at(*finding.winner).point).at("bytes"), smallest.bytes);
}

TEST_F(Budgets, OfMoreTimeThanFloatTakesAreRefused) {
  Json words = five_groups(0.9);
  words["budget"]["latency"] = "2 ms";
  EXPECT_EQ(refusal(words), "budget.latency is 2 ms, more than the float model takes here: 1 ms");
}

TEST_F(Budgets, WhatWouldHaveNoEffectIsRefused) {
  const auto with = [](const char* key, const Json& value) {
    Json words = five_groups(0.5);
    words[key] = value;
    return refusal(words);
  };
  const std::string why = with("accuracy_criterion", Json{{"criterion", "absolute"}, {"tolerable_loss", 0.01}});
  EXPECT_NE(why.find("take strategy repair"), std::string::npos) << why;
  Json both = five_groups(0.5);
  both["budget"]["accuracy"] = both["accuracy_criterion"] = {{"criterion", "absolute"}, {"tolerable_loss", 0.01}};
  EXPECT_NE(refusal(both).find("accuracy_criterion beside budget.accuracy"), std::string::npos) << refusal(both);
  EXPECT_NE(with("speed_gate", 1.02).find("speed_gate"), std::string::npos);
  EXPECT_NE(with("objectives", Json::array({Json{{"metric", "latency"}}})).find("one objective"), std::string::npos);
  EXPECT_NE(with("constraints", Json::array({Json{{"metric", "bytes"}, {"max", 1}}})).find("both bound bytes"),
            std::string::npos);
  Json without = five_groups(0.5);
  without.erase("budget");
  EXPECT_NE(refusal(without).find("needs the key budget"), std::string::npos);
}

TEST_F(Budgets, AnotherStrategyKeepsThemAsConstraints) {
  Json words = five_groups(0.5);
  words["strategy"] = "flat";
  const MadeUpTrials trials(words);
  ASSERT_EQ(trials.job.aim.goals.constraints.size(), 1U);
  EXPECT_EQ(trials.job.aim.goals.constraints.front().metric, "bytes");
  EXPECT_EQ(trials.job.aim.goals.constraints.front().value, 69482);
}

TEST_F(Budgets, SpeakOfGroupsThatTheirWordsName) {
  const RealTrials trials(five_groups(0.9));
  const BudgetChoices choices = trials.choices();
  EXPECT_EQ(choices.in_words(choices.all_in(quantized)), "all in 8 bits");
  EXPECT_NE(choices.in_words(choices.fewest_bits()).find(" in int4"), std::string::npos);
  EXPECT_EQ(choices.point_of(choices.all_in(quantized)), choices.base());
  for (const auto& [first, second] : choices.groups().neighbours) EXPECT_LT(first, second);
}

// The program weighs what int4 and float16 take where it weighs bytes.
TEST_F(Budgets, OfBytesAndTimeMayHaveFourBits) {
  const auto precisions_within = [](const Json& budget) {
    Json words = five_groups(1.0);
    words["budget"] = budget;
    const RealTrials trials(words);
    std::vector<std::string> out;
    const BudgetChoices choices = trials.choices();
    for (const Rung& one : choices.precisions()) out.push_back(one.name);
    return out;
  };
  const auto has_int4 = [](const std::vector<std::string>& all) { return std::ranges::find(all, "int4") != all.end(); };
  const Json accuracy = {{"criterion", "absolute"}, {"tolerable_loss", 0.01}};
  EXPECT_TRUE(has_int4(precisions_within({{"accuracy", accuracy}, {"bytes", 0.5}})));
  EXPECT_TRUE(has_int4(precisions_within({{"bytes", 0.5}, {"latency", 0.9}})));
  EXPECT_FALSE(has_int4(precisions_within({{"latency", 0.9}})));
}

// Few trials: some are kept for ranges and rounding, and what is left out is named.
TEST_F(Budgets, KeepTrialsForWhatCostsNothingAtRunTime) {
  Json words = five_groups(1.0);
  words["search_space"]["activation_params"]["calibration_method"] = {"MinMax", "MinMSE", "Percentile", "Entropy"};
  words["n_trials"] = 4;
  MadeUpTrials trials(words);
  double loss = 1;
  const Finding finding = trials.run([&](const search::Point&) { return Measures{{"L2", loss *= 0.99}, {"bytes", 1000}}; });
  ASSERT_TRUE(finding.story);
  const auto improves = [](const Story::Step& step) { return step.name == "improve"; };
  EXPECT_EQ(std::ranges::count_if(finding.story->steps, improves), 1) << "a quarter of them";
  EXPECT_NE(finding.result.reason.find("; 2 improvements (ranges, rounding …) were not tried"), std::string::npos)
      << finding.result.reason;
}

// Each is as fast as the one before within noise, and the last ones are not as fast as the first.
TEST_F(Budgets, OfTimeDoNotDriftToSlowModels) {
  Json words = five_groups(1.0);
  words["budget"] = {{"accuracy", {{"criterion", "absolute"}, {"tolerable_loss", 0.5}}},
                     {"minimize", "latency"},
                     {"precisions", {"int4", "quantized"}},
                     {"groups", 5}};
  words["search_metric"] = "L2";
  MadeUpTrials trials(words);
  trials.run([&](const search::Point&) { return Measures{{"relative_latency", 1}, {"L2", 0.1}, {"bytes", 1000}}; });
  const StrategyContext context{.trial_context = &trials.trial_context(),
                                .job = trials.job,
                                .spaces = trials.setting.spaces,
                                .space = trials.setting.spaces.each.front(),
                                .study = trials.study,
                                .objective = {}};
  Better better(context);
  const auto trial_of = [&](double time, double loss) {
    search::Trial out = trials.study.at(0);
    out.values = {time};
    out.user_attributes["metrics"] = {{"relative_latency", time}, {"L2", loss}};
    return out;
  };
  const search::Trial first = trial_of(1, 0.1), second = trial_of(1.004, 0.09), third = trial_of(1.008, 0.08);
  better.see(first);
  EXPECT_TRUE(better.is_better(second, first)) << "as fast, and nearer";
  better.see(second);
  EXPECT_FALSE(better.is_better(third, second)) << "0.8 % slower than the fastest";
}

// A configuration that was enqueued and is never beaten is no assignment.
TEST_F(Budgets, SayWhatMoreWouldBringBesideEnqueuedConfigurations) {
  Json words = five_groups(0.95);
  words["search_space"]["activation_params"]["calibration_method"] = {"MinMax", "MinMSE"};
  words["enqueue"] = Json::array({Json{{"activation_params_calibration_method", "MinMSE"}}});
  MadeUpTrials trials(words);
  size_t tried = 0;
  const Finding finding = trials.run([&](const search::Point&) {
    return Measures{{"L2", tried++ == 1 ? 0.001 : 0.01}, {"bytes", 1000}};
  });
  ASSERT_TRUE(finding.winner);
  EXPECT_EQ(*finding.winner, 1);
  ASSERT_TRUE(finding.story);
  ASSERT_EQ(finding.story->budget["more"].size(), 1U);
  EXPECT_EQ(finding.story->budget["more"][0]["step"], "as much as float") << "a tenth more is beyond it";
}

}  // namespace
}  // namespace quasar::tune
