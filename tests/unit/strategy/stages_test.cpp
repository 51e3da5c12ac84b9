// The two stages and several spaces with made-up objectives: what is kept, what stops, what a resumed study does.
#include "unit/strategy/made_up_stages.hpp"

namespace quasar::tune {
namespace {

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
