#include "quasar/tune/rescue.hpp"

#include <gtest/gtest.h>

namespace quasar::tune {
namespace {

// A repaired model with such a cosine, and a goal for it.
struct Repaired {
  explicit Repaired(double cos) {
    whole.aim.criterion = AccuracyCriterion{.parts = {{"cos", Direction::maximize, 1}}, .tolerable_loss = 0.01};
    summary.reason = "the accuracy criterion is met";
    summary.baseline.metrics["cos"].value = 1;
    summary.best.emplace();
    summary.best->metrics["cos"].value = cos;
  }
  Job whole;
  Summary summary;
};

TEST(Rescue, AModelThatMissesTheUsersOwnGoalSaysSo) {
  Repaired repaired(0.98);
  judge_by(repaired.whole.aim, repaired.summary);
  EXPECT_EQ(repaired.summary.status, Status::goal_missed);
  EXPECT_NE(repaired.summary.reason.find("the goal cos at least 0.99 is missed: cos 0.98"), std::string::npos)
      << repaired.summary.reason;
}

TEST(Rescue, AModelThatMeetsItIsFine) {
  Repaired repaired(0.991);
  judge_by(repaired.whole.aim, repaired.summary);
  EXPECT_EQ(repaired.summary.status, Status::ok);
  EXPECT_EQ(repaired.summary.reason, "the accuracy criterion is met");
}

TEST(Rescue, AGoalThatWasNotMeasuredIsNotJudged) {
  Repaired repaired(0.98);
  repaired.whole.aim.criterion->parts.front().metric = "L2";
  judge_by(repaired.whole.aim, repaired.summary);
  EXPECT_EQ(repaired.summary.status, Status::ok);
}

TEST(Rescue, WhoeverWasAskedToStopGoesOnWithNothing) {
  Repaired missed(0.98);
  missed.whole.words = {{"accuracy_criterion", Json::object()}};
  missed.summary.status = Status::goal_missed;
  EXPECT_NE(why_rescued(missed.whole, missed.summary), "");
  missed.summary.asked_to_stop = true;
  EXPECT_EQ(why_rescued(missed.whole, missed.summary), "");
}

// A poor model that misses a goal about labels, or meets it and is poor all the same.
struct Labelled {
  Labelled() {
    const Json own = parse_json(R"({"criterion": "absolute", "tolerable_loss": 0.2, "metrics": {"top1": 1}})", "test");
    whole.words = {
        {"model_input", "m.onnx"}, {"calib_data_reader", {{"reader", "npz"}, {"path", "c.npz"}}}, {"accuracy_criterion", own}};
    whole.aim.criterion = parse_criterion(own, "top1");
    whole.target = "ort_cpu";
    summary.best.emplace();
    summary.best->quality.word = "poor";
    summary.best->quality.goal =
        parse_json(R"({"criterion": "absolute", "tolerable_loss": 0.1, "metrics": {"agreement": 1}})", "test");
  }
  Json goal() const {
    const auto job = rescue_of(whole, summary, "out/repair", {});
    return job ? job->words["accuracy_criterion"] : Json();
  }
  Job whole;
  Summary summary;
};

TEST(Rescue, AGoalThatIsMetIsNotWhatARepairIsFor) {
  Labelled poor;
  EXPECT_EQ(poor.goal(), poor.summary.best->quality.goal);
  poor.summary.status = Status::goal_missed;
  EXPECT_EQ(poor.goal(), poor.whole.words["accuracy_criterion"]);
}

// Keys of op_type_dict are regular expressions, those of exclude are types.
TEST(Rescue, WhatTheUserKeepsInFloatStaysThere) {
  Labelled poor;
  const auto excluded = [&](const Json& types) {
    poor.whole.tuning.op_types = types;
    const auto job = rescue_of(poor.whole, poor.summary, "out/repair", {});
    return job ? job->words["search_space"]["exclude"][0] : Json();
  };
  const Json in_float{{"weight", {{"dtype", {"fp32"}}}}, {"activation", {{"dtype", "fp32"}}}};
  EXPECT_EQ(excluded({{"Conv|Gemm", in_float}}), Json::parse(R"([{"op_type": "Conv"}, {"op_type": "Gemm"}])"));
  EXPECT_EQ(excluded({{"MaxPool", {{"weight", {{"dtype", {"int8"}}}}}}}), Json()) << "exclude has no words for that";
}

// Where repair cannot run nothing is kept for it.
TEST(Rescue, OnlyWhatCanBeRepairedKeepsAThirdForIt) {
  Job job;
  job.limits.n_trials = 30;
  EXPECT_EQ(with_two_thirds(job).limits.n_trials, 20);
  job.tuning.op_types = {{"Conv", {{"weight", {{"dtype", {"fp32"}}}}}}};
  EXPECT_EQ(with_two_thirds(job).limits.n_trials, 20);
  job.tuning.op_types = {{"Conv", {{"weight", {{"dtype", {"int8"}}}}}}};
  EXPECT_EQ(with_two_thirds(job).limits.n_trials, 30);
}

}  // namespace
}  // namespace quasar::tune
