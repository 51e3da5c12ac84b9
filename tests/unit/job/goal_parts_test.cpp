#include "quasar/job/goal_parts.hpp"

#include <gtest/gtest.h>

namespace quasar::tune {
namespace {

Aim with_goal(const Json& words, const std::string& metric = "top1") {
  Aim aim;
  aim.criterion = parse_criterion(words, metric);
  return aim;
}

TEST(GoalParts, WhatWasGivenUpForAStricterGoalMayMeetThisOne) {
  const Aim aim = with_goal({{"tolerable_loss", 0.01}});
  search::Trial trial;
  trial.state = search::State::pruned;
  EXPECT_FALSE(may_meet_now(trial, aim)) << "by a pruner: that knows no goal";
  trial.user_attributes[missed_attribute] = to_json(*aim.criterion);
  EXPECT_FALSE(may_meet_now(trial, aim));
  EXPECT_FALSE(may_meet_now(trial, with_goal({{"tolerable_loss", 0.005}}))) << "stricter";
  EXPECT_TRUE(may_meet_now(trial, with_goal({{"tolerable_loss", 0.02}})));
  EXPECT_TRUE(may_meet_now(trial, with_goal({{"criterion", "absolute"}, {"tolerable_loss", 0.005}}))) << "not known";
  EXPECT_TRUE(may_meet_now(trial, with_goal({{"tolerable_loss", 0.01}}, "top5")));
  EXPECT_TRUE(may_meet_now(trial, Aim()));
  trial.state = search::State::complete;
  EXPECT_FALSE(may_meet_now(trial, with_goal({{"tolerable_loss", 0.02}}))) << "its score is known";
}

TEST(GoalParts, WhatWasReachedNamesTheCriterionsMetrics) {
  EXPECT_EQ(reached(*with_goal(Json::object()).criterion, {{"top1", 0.49}, {"L2", 3}}, {{"top1", 0.5}, {"L2", 0}}), "top1 0.49");
  const auto two = *with_goal({{"metrics", {{"top1", 3}, {"cos", 1}}}}).criterion;
  EXPECT_EQ(reached(two, {{"top1", 0.49}, {"cos", 3.6}, {"L2", 3}}, {{"top1", 0.5}, {"cos", 4}}),
            "loss 0.04: top1 0.49, cos 3.6");
}

}  // namespace
}  // namespace quasar::tune
