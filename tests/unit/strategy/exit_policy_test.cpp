#include "quasar/strategy/exit_policy.hpp"

#include <gtest/gtest.h>

#include "quasar/strategy/strategy.hpp"

namespace quasar::tune {
namespace {

Limits limits_of(const Json& tuning, int64_t n_trials = 0) {
  Limits limits;
  limits.exit = parse_exit_policy(Options(tuning_key_specs(), tuning, "configuration"));
  limits.n_trials = n_trials;
  return limits;
}

search::Progress after(const search::Counts& counts) {
  search::Progress progress;
  progress.counts = counts;
  return progress;
}

std::string met(const search::StopConditions& conditions, const search::Progress& progress) {
  for (const auto& condition : conditions) {
    if (const auto reason = condition->met(progress)) return *reason;
  }
  return "";
}

TEST(ExitPolicy, DuplicatesDoNotCountAsTrials) {
  const auto conditions = exit_policy(limits_of({{"tuning_criterion", {{"max_trials", 5}}}}));
  EXPECT_EQ(met(conditions, after({.duplicates = 900, .complete = 4})), "");
  EXPECT_EQ(met(conditions, after({.complete = 3, .pruned = 1, .failed = 1})), "max_trials of 5 reached");
}

TEST(ExitPolicy, DuplicatesAloneComeToAnEnd) {
  const auto conditions = exit_policy(limits_of({{"tuning_criterion", {{"max_trials", 5}}}}));
  search::Progress progress = after({.duplicates = most_duplicates, .complete = 4});
  progress.duplicates_in_a_row = most_duplicates;
  EXPECT_NE(met(conditions, progress).find("nothing new"), std::string::npos);
}

TEST(ExitPolicy, TheSmallerNumberHoldsUnderItsOwnName) {
  const Json criterion{{"tuning_criterion", {{"max_trials", 5}}}};
  EXPECT_EQ(met(exit_policy(limits_of(criterion, 3)), after({.duplicates = 1, .complete = 2})), "n_trials of 3 reached");
  EXPECT_EQ(trials_left(limits_of(criterion, 3), {.duplicates = 1, .complete = 1}), 1U);
  EXPECT_EQ(trials_left(limits_of(criterion), {.duplicates = 10, .complete = 1}), 4U);
  EXPECT_EQ(trials_left(limits_of(Json::object()), {.complete = 1}), 99U);
  EXPECT_EQ(trials_left(limits_of(Json::object(), 500), {.complete = 1}), 499U);
  EXPECT_EQ(trials_wanted(limits_of(criterion, 3)), 3);
  EXPECT_EQ(trials_wanted(limits_of(criterion)), 5);
}

// In a search over a space too.
TEST(ExitPolicy, OnlyMaxTrialsLeavesDuplicatesOut) {
  const search::Counts counts{.duplicates = 3, .complete = 2};
  EXPECT_EQ(trial_limit(limits_of({{"tuning_criterion", {{"max_trials", 5}}}})).used(counts), 2);
  EXPECT_EQ(trial_limit(limits_of({{"tuning_criterion", {{"max_trials", 5}}}}, 4)).used(counts), 5);
  EXPECT_EQ(trial_limit(limits_of(Json::object())).most, 20);
}

TEST(ExitPolicy, ATimeLimitLeavesRoomForSoManyTrials) {
  Limits limits;
  EXPECT_TRUE(have_time_for(limits, std::nullopt, 100, 100)) << "no limit";
  limits.stop["time_limit"] = 20;
  EXPECT_TRUE(have_time_for(limits, 15, 1, 5));
  EXPECT_FALSE(have_time_for(limits, 16, 1, 5));
  EXPECT_FALSE(have_time_for(limits, std::nullopt, 0, 0));
}

TEST(ExitPolicy, ReasonsNameTheKeyThatTheUserWrote) {
  Limits limits = limits_of({{"tuning_criterion", {{"timeout", 7}}}});
  limits.stop["time_limit"] = limits.exit.timeout;
  EXPECT_EQ(in_the_users_words(limits, "time_limit of 7.0 s reached"), "timeout of 7.0 s reached");
  limits.stop["time_limit"] = 3;
  EXPECT_EQ(in_the_users_words(limits, "time_limit of 3.0 s reached"), "time_limit of 3.0 s reached");
  limits.stop["time_limit"] = 13.33;
  limits.whole_time = 20;
  EXPECT_EQ(in_the_users_words(limits, "time_limit of 13.33 s reached"),
            "two thirds of time_limit (20 s; the rest repairs a poor model) reached");
}

}  // namespace
}  // namespace quasar::tune
