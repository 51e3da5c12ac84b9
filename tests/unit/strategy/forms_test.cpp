// Which form wins, which is rounded and which stands in, with made-up objectives and times.
#include "unit/strategy/made_up_stages.hpp"

namespace quasar::tune {
namespace {

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
  run_with(0.58, 0.16);
  EXPECT_EQ(best["form"], "all") << "it is faster than float, too, and takes little longer than the other";
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

TEST_F(Stages, OfFormsThatAreGoodTheMuchFasterOneWinsAndIsRounded) {
  job.spaces[0]["form"] = {"all", "dynamic_products"};
  job.spaces[0]["activation_params"] = {{"symmetric", {false}}, {"calibration_method", {"MinMax"}}, {"only_if", "activation"}};
  job.spaces[0]["weight_params"]["quant_granularity"] = {"Channel"};
  job.aim.goals.objectives = {{"relative", Direction::minimize}};
  offset = -2.92;  // "all" has 0.08 before rounding
  const auto run_with = [&](double time_of_other, double gain) {
    storage = search::open_storage("memory");
    form_times = {{"all", 0.5}, {"dynamic_products", time_of_other}};
    gain_of_dynamic_products = gain;
    run();
  };
  const auto rounded = [&] {
    const auto found =
        std::ranges::find_if(trials, [](const auto& trial) { return trial.user_attributes.at("stage") == "fine-tuning"; });
    return found == trials.end() ? Json() : *found->point.find("form");
  };
  run_with(0.7, 0.3);
  EXPECT_EQ(best["form"], "all") << "0.08 is good, and the other takes 1.4 times as long";
  EXPECT_EQ(rounded(), "all");
  ASSERT_TRUE(nearer) << "that one stands in where answers are lost";
  EXPECT_EQ(*trials[static_cast<size_t>(*nearer)].point.find("form"), "dynamic_products");
  run_with(0.55, 0.3);
  EXPECT_EQ(best["form"], "dynamic_products") << "a tenth of the time is not worth it";
  EXPECT_EQ(rounded(), "dynamic_products");
  EXPECT_FALSE(nearer);
  offset = -2.5;
  run_with(0.7, 0.45);
  EXPECT_EQ(best["form"], "dynamic_products") << "0.5 is not good";
  EXPECT_FALSE(nearer);
  lesser_forms = {"dynamic_products"};
  offset = -2.92;
  run_with(0.7, 0.3);
  EXPECT_EQ(best["form"], "all");
  EXPECT_FALSE(nearer) << "what quantizes little stands in for a poor winner";
  EXPECT_TRUE(in_need);
}

}  // namespace
}  // namespace quasar::tune
