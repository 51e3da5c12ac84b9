// The two stages and several spaces with made-up objectives: what is kept, what stops, what a resumed study does.
#include <gtest/gtest.h>

#include "quasar/base/error.hpp"
#include "quasar/strategy/strategy.hpp"

namespace quasar::tune {
namespace {

const char* const space_text = R"({
  "activation": ["Int8Spec"],
  "activation_params": {"symmetric": [true, false], "calibration_method": ["MinMax", "Percentile"], "only_if": "activation"},
  "weight": ["Int8Spec"],
  "weight_params": {"quant_granularity": ["Tensor", "Channel"], "only_if": "weight"},
  "PercentileCandidates": [[99.9, 99.99]],
  "exclude": [null, ["conv1", "conv2"]],
  "OptimizeModel": [true],
  "algorithms": ["adaround", "adaquant"],
  "adaround_params": {"num_iterations": {"type": "int", "low": 1, "high": 20}, "only_if": {"algorithms": "adaround"}},
  "adaquant_params": {"damping": {"type": "float", "low": 0.1, "high": 10.0, "log": true}, "only_if": {"algorithms": "adaquant"}}
})";

struct Stages : testing::Test {
  Stages() {
    job.spaces = {parse_json(space_text, "test")};
    job.strategy = "two_stage";
    job.sampler.name = "tpe";
    job.aim.metrics = {"L2"};
    job.aim.goals.objectives = {{"L2", Direction::minimize}};
    job.limits.n_trials = 12;
  }

  // Lower is better: Channel, asymmetric, MinMax and nothing excluded are best; rounding helps a little.
  double score(const Json& words) const {
    double value = 10 + offset;
    if (words["weight_params"]["quant_granularity"] == "Channel") value -= 4;
    if (words["activation_params"]["symmetric"] == false) value -= 2;
    if (words["activation_params"]["calibration_method"] == "MinMax") value -= 1;
    if (!words["exclude"].is_null()) value += 0.5;
    const std::string form = words.value("form", "all");
    if (form != "all")
      value -= form == "products" ? 0.2 : form == "dynamic_products" ? gain_of_dynamic_products : gain_of_dynamic;
    if (words.value("algorithms", Json()) == "adaround") value -= 0.01 * words["adaround_params"]["num_iterations"].get<double>();
    if (words.value("algorithms", Json()) == "adaquant") value -= 0.1;
    return value;
  }

  search::RunResult run(bool resume = false, size_t die_after = 1000) {
    Spaces spaces = read_spaces(job);
    spaces.form_times = form_times;
    spaces.lesser_forms = lesser_forms;
    for (const auto& form : left_out) spaces.leave_out(form, "is left out");
    search::Study study(*storage, {.directions = {direction}, .resume = resume});
    const auto strategy = strategies::table().make(job.strategy);
    strategy->check(job, spaces);
    std::stop_source stop;
    size_t done = 0;
    const auto objective = [&](search::RunningTrial& trial) -> search::Outcome {
      if (done++ >= die_after) {
        stop.request_stop();
        throw Cancelled("killed");
      }
      const Json words = words_of(spaces.all, trial.point());
      if (!failing.empty() && words.value("form", "") == failing) throw Error("this form fails");
      const double value = score(words);
      const double sign = direction == Direction::minimize ? 1 : -1;
      const bool violates = !violating.empty() && words.value("form", "") == violating;
      return {.values = {sign * value},
              .constraints = violating.empty() ? std::vector<double>() : std::vector<double>{violates ? 1.0 : 0.0},
              .candidate = value < good_enough};
    };
    const Finding found = strategy->run({.job = job,
                                         .spaces = spaces,
                                         .space = spaces.each[0],
                                         .study = study,
                                         .objective = objective,
                                         .stop = stop.get_token()});
    trials.assign(study.trials().begin(), study.trials().end());
    const search::Trial* chosen = found.winner ? &study.at(*found.winner) : study.best();
    best = chosen != nullptr ? words_of(spaces.all, chosen->point) : Json();
    in_need = found.in_need;
    return found.result;
  }

  size_t in_stage(const std::string& name) const {
    return static_cast<size_t>(std::ranges::count_if(
        trials, [&](const auto& trial) { return trial.finished() && trial.user_attributes.at("stage") == name; }));
  }

  std::unique_ptr<search::Storage> storage = search::open_storage("memory");
  Direction direction = Direction::minimize;
  double good_enough = -1e9;
  std::map<std::string, double> form_times = {};
  std::set<std::string> lesser_forms = {};
  double offset = 0, gain_of_dynamic = 3, gain_of_dynamic_products = 0.3;
  std::optional<int64_t> in_need;
  std::vector<std::string> left_out = {};
  std::string failing = {};    // a form that no model can be made in
  std::string violating = {};  // a form that breaks a constraint
  Job job;
  std::vector<search::Trial> trials;
  Json best;
};

TEST_F(Stages, EverythingOfTheFirstStageIsKept) {
  const auto result = run();
  EXPECT_EQ(in_stage("calibration"), 16u);
  EXPECT_EQ(in_stage("fine-tuning"), 12u);
  EXPECT_EQ(result.counts.finished(), 28u);
  for (const auto& trial : trials) {
    if (trial.user_attributes.at("stage") == "calibration") {
      EXPECT_EQ(trial.point.find("algorithms"), nullptr);
      continue;
    }
    EXPECT_EQ(*trial.point.find("weight_params_quant_granularity"), "Channel");
    EXPECT_EQ(*trial.point.find("activation_params_symmetric"), false);
    EXPECT_TRUE(trial.point.find("exclude")->is_null());
    EXPECT_EQ(*trial.point.find("PercentileCandidates"), Json({99.9, 99.99}));
    EXPECT_EQ(*trial.point.find("OptimizeModel"), true);
    EXPECT_FALSE(trial.point.find("algorithms")->is_null());
  }
  EXPECT_EQ(best["weight_params"]["quant_granularity"], "Channel");
}

// Of the trials in the first stage, the forms in order, and whether each was Channel (the best) or Tensor (the default).
std::vector<std::string> forms_of(const std::vector<search::Trial>& trials) {
  std::vector<std::string> out;
  for (const auto& trial : trials) {
    if (trial.user_attributes.at("stage") != "calibration" || *trial.point.find("form") == "all") continue;
    out.push_back(trial.point.find("form")->get<std::string>() + " " +
                  trial.point.find("weight_params_quant_granularity")->get<std::string>());
  }
  return out;
}

TEST_F(Stages, FormsAreTriedInTheDefaultAndInTheBestConfiguration) {
  job.spaces[0]["form"] = {"all", "products", "dynamic_products", "dynamic"};
  run();
  EXPECT_EQ(in_stage("calibration"), 16U + 5U);
  EXPECT_EQ(*trials[0].point.find("form"), "all");
  const std::vector<std::string> expected{"products Tensor", "dynamic_products Tensor", "products Channel",
                                          "dynamic_products Channel", "dynamic Channel"};
  EXPECT_EQ(forms_of(trials), expected) << "what cannot be rounded comes last, and once";
  for (const auto& trial : trials) {
    if (trial.user_attributes.at("stage") == "fine-tuning") {
      EXPECT_EQ(*trial.point.find("form"), "dynamic_products") << "the best that can be rounded";
    }
  }
  EXPECT_EQ(best["form"], "dynamic") << "better than all rounding, here";
  const size_t before = trials.size();
  run(true);
  EXPECT_EQ(trials.size(), before) << "a search that has ended goes on with nothing";
}

TEST_F(Stages, AnInterruptedSearchOfFormsGoesOnWhereItWas) {
  job.spaces[0]["form"] = {"all", "products", "dynamic"};
  run();
  const std::vector<search::Trial> whole = trials;
  for (const size_t after : {1, 2, 10, 18}) {
    storage = search::open_storage("memory");
    run(false, after);
    run(true);
    EXPECT_EQ(forms_of(trials), forms_of(whole)) << after;
  }
}

TEST_F(Stages, AFormThatIsSlowerMustBeBetterByATenth) {
  job.spaces[0]["form"] = {"all", "products", "dynamic"};
  form_times = {{"all", 0.5}, {"products", 0.6}, {"dynamic", 0.6}};
  run();
  EXPECT_EQ(forms_of(trials), (std::vector<std::string>{"products Tensor", "dynamic Channel"}))
      << "of products the default says no, 9.8 instead of 10; dynamic has none";
  EXPECT_EQ(best["form"], "dynamic") << "0 instead of 2.8";
  storage = search::open_storage("memory");
  gain_of_dynamic = 0.25;
  run();
  EXPECT_EQ(best["form"], "all") << "2.8 instead of 2.75";
  storage = search::open_storage("memory");
  form_times = {{"all", 0.5}, {"products", 0.505}, {"dynamic", 0.4}};
  run();
  EXPECT_EQ(forms_of(trials), (std::vector<std::string>{"products Tensor", "products Channel", "dynamic Channel"}))
      << "none is slower beyond noise";
}

TEST_F(Stages, AFormThatIsSlowerThanFloatMustBeBetterByATenthThanAFasterOne) {
  job.spaces[0]["form"] = {"all", "dynamic"};
  form_times = {{"all", 1.2}, {"dynamic", 0.8}};
  gain_of_dynamic = 0;
  run();
  EXPECT_EQ(best["form"], "dynamic") << "3 instead of 2.8";
  storage = search::open_storage("memory");
  gain_of_dynamic = -1;
  run();
  EXPECT_EQ(best["form"], "all") << "4 instead of 2.8";
  storage = search::open_storage("memory");
  gain_of_dynamic = 0;
  form_times = {{"all", 1.2}, {"dynamic", 1.1}};
  run();
  EXPECT_EQ(best["form"], "all") << "neither is faster than float";
}

TEST_F(Stages, OfFormsThatAreGoodOneThatIsNotFasterThanFloatOnlyStandsIn) {
  job.spaces[0]["form"] = {"all", "dynamic"};
  job.aim.goals.objectives = {{"relative", Direction::minimize}};
  const auto run_with = [&](double time_of_all, double gain) {
    storage = search::open_storage("memory");
    form_times = {{"all", time_of_all}, {"dynamic", 0.5}};
    gain_of_dynamic = gain;
    run();
  };
  offset = -2.75;
  run_with(1, 0.16);
  EXPECT_EQ(best["form"], "dynamic") << "0.09 is good, though rounding makes less of the other form";
  ASSERT_TRUE(in_need) << "where that is poor";
  EXPECT_NE(*trials[static_cast<size_t>(*in_need)].point.find("form"), "dynamic");
  run_with(0.9, 0.16);
  EXPECT_EQ(best["form"], "all") << "it is faster than float, too";
  EXPECT_FALSE(in_need);
  run_with(1, 0.05);
  EXPECT_EQ(best["form"], "all") << "0.2 is not good";
}

TEST_F(Stages, AFormThatQuantizesLittleStandsInForAPoorWinnerOnly) {
  job.spaces[0]["form"] = {"all", "dynamic"};
  lesser_forms = {"dynamic"};
  run();
  EXPECT_EQ(best["form"], "all") << "2.8, though dynamic has 0";
  ASSERT_TRUE(in_need);
  EXPECT_EQ(*trials[static_cast<size_t>(*in_need)].point.find("form"), "dynamic");
  storage = search::open_storage("memory");
  gain_of_dynamic = -1;
  run();
  EXPECT_EQ(best["form"], "all");
  EXPECT_FALSE(in_need) << "it is worse";
}

TEST_F(Stages, AFormThatQuantizesLittleDoesNotHideASlowerOneThatIsMuchBetter) {
  job.spaces[0]["form"] = {"all", "dynamic_products", "dynamic"};
  form_times = {{"all", 0.5}, {"dynamic_products", 0.6}, {"dynamic", 0.9}};
  lesser_forms = {"dynamic"};
  gain_of_dynamic_products = 2;
  run();
  EXPECT_EQ(best["form"], "dynamic_products") << "0.8 instead of 2.8; dynamic has 0";
  EXPECT_TRUE(in_need);
}

// A goal is a goal: what quantizes little and meets it comes before what does not.
TEST_F(Stages, AFormThatMeetsTheGoalWins) {
  job.spaces[0]["form"] = {"all", "dynamic"};
  lesser_forms = {"dynamic"};
  good_enough = 1;
  run();
  EXPECT_EQ(best["form"], "dynamic") << "0, and all has 2.8";
  EXPECT_FALSE(in_need);
}

TEST_F(Stages, AFormThatBreaksAConstraintIsNotRounded) {
  job.spaces[0]["form"] = {"all", "dynamic_products"};
  gain_of_dynamic_products = 2;
  violating = "dynamic_products";
  run();
  ASSERT_EQ(in_stage("fine-tuning"), 12U);
  for (const auto& trial : trials) {
    if (trial.user_attributes.at("stage") == "fine-tuning") {
      EXPECT_EQ(*trial.point.find("form"), "all");
    }
  }
}

TEST_F(Stages, AFormThatOnlyStandsInIsNotRoundedInsteadOfTheWinner) {
  job.spaces[0]["form"] = {"all", "dynamic_products"};
  lesser_forms = {"dynamic_products"};
  gain_of_dynamic_products = 2;
  run();
  ASSERT_EQ(in_stage("fine-tuning"), 12U);
  for (const auto& trial : trials) {
    if (trial.user_attributes.at("stage") == "fine-tuning") {
      EXPECT_EQ(*trial.point.find("form"), "all");
    }
  }
  EXPECT_EQ(best["form"], "all");
  EXPECT_TRUE(in_need) << "0.8 instead of 2.8";
}

TEST_F(Stages, AFormThatOnlyStandsInIsRoundedWhereNoOtherWorks) {
  job.spaces[0]["form"] = {"all", "dynamic_products"};
  lesser_forms = {"dynamic_products"};
  failing = "all";
  run();
  EXPECT_GT(in_stage("fine-tuning"), 0U);
  EXPECT_EQ(best["form"], "dynamic_products");
}

TEST_F(Stages, AFormThatIsLeftOutIsNotTried) {
  job.spaces[0]["form"] = {"all", "products", "dynamic"};
  left_out = {"products"};
  run();
  EXPECT_EQ(forms_of(trials), std::vector<std::string>{"dynamic Channel"});
}

TEST_F(Stages, DirectionIsHonouredInTheFirstStage) {
  direction = Direction::maximize;
  run();
  EXPECT_EQ(best["weight_params"]["quant_granularity"], "Channel");
  for (const auto& trial : trials) {
    if (trial.user_attributes.at("stage") == "fine-tuning") {
      EXPECT_EQ(*trial.point.find("activation_params_symmetric"), false);
    }
  }
}

TEST_F(Stages, StopConditionsHoldInBothStages) {
  job.limits.stop = {{"iteration_limit", 5}};
  run();
  EXPECT_EQ(trials.size(), 5u);
  storage = search::open_storage("memory");
  job.limits.stop = {{"iteration_limit", 20}};
  run();
  EXPECT_EQ(in_stage("calibration"), 16u);
  EXPECT_EQ(in_stage("fine-tuning"), 4u);
  storage = search::open_storage("memory");
  job.limits.stop = {{"find_n_candidates", 1}};
  job.aim.tolerance = 1.0;
  good_enough = 3.5;
  run();
  EXPECT_LT(in_stage("calibration"), 16u);
  EXPECT_EQ(in_stage("fine-tuning"), 0u);
  storage = search::open_storage("memory");
  job.limits.stop = {{"time_limit", 0}};
  EXPECT_EQ(run().counts.finished(), 0u);
}

// As a condition it ends the search, wherever that is; the key n_trials counts fine-tuning alone.
TEST_F(Stages, NTrialsAsAConditionEndsEitherStage) {
  job.limits.stop = {{"n_trials", 10}};
  run();
  EXPECT_EQ(in_stage("calibration"), 10u);
  EXPECT_EQ(in_stage("fine-tuning"), 0u);
}

TEST_F(Stages, ASlowerFormMustGainATenthOfWhatIsMaximizedToo) {
  direction = Direction::maximize;
  job.spaces[0]["form"] = {"all", "dynamic"};
  form_times = {{"all", 0.5}, {"dynamic", 0.6}};
  gain_of_dynamic = 0.25;
  run();
  EXPECT_EQ(best["form"], "all") << "-2.75 instead of -2.8";
  storage = search::open_storage("memory");
  gain_of_dynamic = 3;
  run();
  EXPECT_EQ(best["form"], "dynamic") << "0 instead of -2.8";
}

TEST_F(Stages, ALimitOfBothStagesIsToldAsItWasGiven) {
  job.limits.stop = {{"iteration_limit", 20}};
  EXPECT_EQ(run().reason, "iteration_limit of 20 executed trials reached in both stages");
}

TEST_F(Stages, EveryAlgorithmIsTriedOnce) {
  job.spaces[0]["algorithms"] = {"adaround", "adaquant", "gptq"};
  for (const uint64_t seed : {1, 2, 3}) {
    job.seed = seed;
    job.limits.n_trials = 3;
    storage = search::open_storage("memory");
    run();
    std::set<std::string> tried;
    for (const auto& trial : trials) {
      if (const Json* algorithm = trial.point.find("algorithms")) tried.insert(algorithm->get<std::string>());
    }
    EXPECT_EQ(tried, (std::set<std::string>{"adaquant", "adaround", "gptq"}));
  }
}

TEST_F(Stages, PatienceEndsAStageOnly) {
  job.limits.stop = {{"patience", 2}};
  run();
  EXPECT_LT(in_stage("calibration"), 16u);
  EXPECT_GT(in_stage("fine-tuning"), 0u);
}

TEST_F(Stages, AStudyThatDiedInEitherStageEndsAsIfItHadNot) {
  run();
  std::vector<std::string> expected;
  for (const auto& trial : trials) expected.push_back(words_of(read_spaces(job).all, trial.point).dump());
  for (const size_t death : {0, 3, 15, 16, 17, 25}) {
    storage = search::open_storage("memory");
    EXPECT_EQ(run(false, death).end, search::RunResult::End::interrupted);
    run(true);
    EXPECT_EQ(in_stage("calibration"), 16u) << death;
    EXPECT_EQ(in_stage("fine-tuning"), 12u) << death;
    std::vector<std::string> got;
    for (const auto& trial : trials) {
      if (trial.finished()) got.push_back(words_of(read_spaces(job).all, trial.point).dump());
    }
    EXPECT_EQ(got, expected) << death;
  }
}

TEST_F(Stages, EnqueuedConfigurationsGoWhereTheyBelong) {
  job.enqueue = {parse_json(R"({"activation_params": {"symmetric": true, "calibration_method": "Percentile"},
                                "weight_params": {"quant_granularity": "Tensor"}, "exclude": null})",
                            "test"),
                 parse_json(R"({"activation_params": {"symmetric": true, "calibration_method": "Percentile"},
                                "weight_params": {"quant_granularity": "Tensor"}, "exclude": null, "algorithms": "adaround",
                                "adaround_params": {"num_iterations": 7}})",
                            "test")};
  run();
  EXPECT_EQ(*trials[1].point.find("activation_params_calibration_method"), "Percentile");
  EXPECT_EQ(*trials[16].point.find("adaround_params_num_iterations"), 7);
  EXPECT_EQ(*trials[16].point.find("weight_params_quant_granularity"), "Tensor");
}

TEST_F(Stages, SeveralSpacesInOrderShareTheTrials) {
  Json second = job.spaces[0];
  second["activation"] = {"UInt8Spec"};
  second.erase("algorithms");
  second.erase("adaround_params");
  second.erase("adaquant_params");
  job.spaces.push_back(second);
  job.strategy = "flat";
  job.sampler.name = "grid";
  job.limits.n_trials = 0;
  job.limits.whole_space = true;
  for (Json& words : job.spaces) {
    for (const char* key : {"algorithms", "adaround_params", "adaquant_params"}) words.erase(key);
  }
  run();
  ASSERT_EQ(trials.size(), 32u);
  EXPECT_EQ(*trials[15].point.find("activation"), "Int8Spec");
  EXPECT_EQ(*trials[16].point.find("activation"), "UInt8Spec");
  storage = search::open_storage("memory");
  job.limits.n_trials = 10;
  job.limits.whole_space = false;
  job.sampler.name = "random";
  run();
  ASSERT_EQ(trials.size(), 10u);
  EXPECT_EQ(*trials[4].point.find("activation"), "Int8Spec");
  EXPECT_EQ(*trials[5].point.find("activation"), "UInt8Spec");
}

TEST_F(Stages, FineTuningOfOneSpaceServesTheWinnerOfAnother) {
  Json second = job.spaces[0];
  for (const char* key : {"algorithms", "adaround_params", "adaquant_params"}) second.erase(key);
  job.spaces[0]["weight_params"]["quant_granularity"] = {"Tensor"};
  second["weight_params"]["quant_granularity"] = {"Channel"};
  job.spaces.push_back(second);
  run();
  EXPECT_EQ(in_stage("calibration"), 16u);
  EXPECT_EQ(in_stage("fine-tuning"), 12u);
  EXPECT_EQ(best["weight_params"]["quant_granularity"], "Channel");
  EXPECT_FALSE(best["algorithms"].is_null());
}

TEST_F(Stages, ImpossibleCombinationsAreLeftOutAndCounted) {
  job.spaces[0]["weight"] = {"Int8Spec", "XInt8Spec"};
  const Spaces spaces = read_spaces(job);
  EXPECT_EQ(spaces.facts[0]["calibrations"], 32);
  EXPECT_EQ(spaces.facts[0]["invalid"], 8);  // XInt8Spec per channel
  EXPECT_EQ(spaces.calibration[0].valid(), 24u);
  run();
  EXPECT_EQ(in_stage("calibration"), 24u);
}

TEST_F(Stages, AChoiceThatIsWrongInEveryCombinationIsAnError) {
  job.spaces[0]["activation_params"]["quant_granularity"] = {"Tensor", "Channel"};
  EXPECT_THROW(read_spaces(job), Error);
}

TEST_F(Stages, LargeSpacesAreLookedThroughByPairs) {
  for (int i = 0; i < 3; ++i) job.spaces[0]["exclude"].push_back({{"regex", "conv" + std::to_string(i)}});
  std::vector<Json> percentiles, constants;
  for (int i = 0; i < 60; ++i) percentiles.push_back(99 + 0.01 * i);
  for (int i = 1; i < 40; ++i) constants.push_back(0.001 * i);
  job.spaces[0]["Percentile"] = percentiles;
  job.spaces[0]["CalibMovingAverageConstant"] = constants;
  const Spaces spaces = read_spaces(job);
  EXPECT_GT(*spaces.calibration[0].size(), 50000u);
  EXPECT_EQ(spaces.names.size(), 5u);
  EXPECT_TRUE(spaces.facts[0]["distinct"].is_null());
}

}  // namespace
}  // namespace quasar::tune
