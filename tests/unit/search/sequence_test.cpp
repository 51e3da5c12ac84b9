#include "quasar/search/sequence.hpp"

#include <gtest/gtest.h>

#include "quasar/base/error.hpp"

namespace quasar::search {
namespace {

struct Setting {
  std::unique_ptr<Storage> storage = open_storage("memory");
  Space space = Space::parse({{"a", {0, 1, 2, 3}}, {"b", {0, 1}}});
  int executed = 0;

  Objective objective() {
    return [this](RunningTrial& job) {
      executed++;
      const double a = job.point().find("a")->get<double>();
      if (a == 3) throw Error("three fails");
      return Outcome{.values = {a}};
    };
  }
  Sequence sequence(Study& study, const Json& conditions = Json::object()) {
    return Sequence({.stage = "test"}, study, space, stop_conditions(conditions), objective());
  }
};

Point point(int a, int b) {
  return {{"a", a}, {"b", b}};
}

TEST(Sequence, EvaluatesInTheOrderOfItsCalls) {
  Setting s;
  Study study(*s.storage, {});
  Sequence sequence = s.sequence(study);
  EXPECT_EQ(sequence.evaluate(point(2, 1)).values.front(), 2);
  EXPECT_EQ(sequence.evaluate(point(0, 1)).values.front(), 0);
  EXPECT_EQ(study.trials().size(), 2u);
  EXPECT_EQ(sequence.finished("enough").counts.complete, 2u);
}

TEST(Sequence, RecallsWhatTheStudyHas) {
  Setting s;
  {
    Study study(*s.storage, {});
    s.sequence(study).evaluate(point(1, 0));
  }
  Study study(*s.storage, {.resume = true});
  Sequence sequence = s.sequence(study);
  EXPECT_EQ(sequence.evaluate(point(1, 0)).number, 0);
  EXPECT_EQ(s.executed, 1);
  EXPECT_EQ(study.trials().size(), 1u);
}

// A study's file may hold 1.0 where the space has 1.
TEST(Sequence, FindsWhatIsEqual) {
  Setting s;
  Study study(*s.storage, {});
  s.sequence(study).evaluate(std::vector<Point>{point(1, 0), point(2, 0), point(1, 1)});
  EXPECT_EQ(study.numbers_at({{"a", 1.0}, {"b", 0U}}), std::vector<int64_t>{0});
  EXPECT_EQ(study.numbers_at(point(1, 1)), std::vector<int64_t>{2});
  EXPECT_TRUE(study.numbers_at(point(0, 0)).empty());
  EXPECT_TRUE(study.numbers_at({{"a", "1"}, {"b", 0}}).empty());
}

// What it had claimed belonged to nobody else.
TEST(Sequence, WhatIsOutdatedIsTriedAgain) {
  Setting s;
  Study study(*s.storage, {});
  const auto objective = [](RunningTrial& job) {
    if (const auto other = job.claim("the same plan")) return Outcome{.duplicate_of = other};
    return Outcome{.values = {1.0}, .pruned = job.number() == 0};
  };
  Sequence sequence({.stage = "test"}, study, s.space, {}, objective);
  EXPECT_EQ(sequence.evaluate(point(1, 0)).state, State::pruned);
  study.outdate([](const Trial& trial) { return trial.state == State::pruned; });
  const Trial again = sequence.evaluate(point(1, 0));
  EXPECT_EQ(again.state, State::complete);
  EXPECT_FALSE(again.is_duplicate());
  EXPECT_EQ(again.number, 1);
  EXPECT_EQ(sequence.evaluate(point(1, 0)).number, 1);
  EXPECT_EQ(study.trials().size(), 2U) << "the old one stays";
}

TEST(Sequence, AFailedTrialIsAResult) {
  Setting s;
  Study study(*s.storage, {});
  const Trial trial = s.sequence(study).evaluate(point(3, 0));
  EXPECT_EQ(trial.state, State::failed);
}

TEST(Sequence, IndependentPointsComeBackInTheirOrder) {
  Setting s;
  Study study(*s.storage, {});
  const std::vector<Point> points{point(2, 0), point(0, 0), point(2, 0), point(1, 0)};
  const auto trials = s.sequence(study).evaluate(points);
  ASSERT_EQ(trials.size(), 4u);
  EXPECT_EQ(trials[0].values.front(), 2);
  EXPECT_EQ(trials[1].values.front(), 0);
  EXPECT_EQ(trials[2].number, trials[0].number);
  EXPECT_EQ(s.executed, 3);
}

// Known points cost nothing: without a bound, a strategy that goes round in circles would never end.
TEST(Sequence, AStrategyThatAsksForNothingNewIsEnded) {
  Setting s;
  Study study(*s.storage, {});
  Sequence sequence = s.sequence(study, {{"n_trials", 100}});
  size_t calls = 0;
  try {
    for (; calls < 10 * Sequence::most_repeats; calls++) sequence.evaluate(point(static_cast<int>(calls % 2), 0));
    FAIL();
  } catch (const SequenceOver& over) {
    EXPECT_EQ(over.result.end, RunResult::End::condition);
    EXPECT_NE(over.result.reason.find("nothing new"), std::string::npos) << over.result.reason;
  }
  EXPECT_EQ(calls, 2 + Sequence::most_repeats - 1);
  EXPECT_EQ(s.executed, 2);
}

// What an earlier run tried is new to this one.
TEST(Sequence, AResumedWayIsNoRepetition) {
  Setting s;
  {
    Study study(*s.storage, {});
    s.sequence(study).evaluate(point(1, 0));
  }
  Study study(*s.storage, {.resume = true});
  Sequence sequence = s.sequence(study);
  for (size_t i = 0; i < Sequence::most_repeats; i++) sequence.evaluate(point(0, 0));
  EXPECT_EQ(sequence.evaluate(point(1, 0)).number, 0);
}

TEST(Sequence, TheBudgetEndsIt) {
  Setting s;
  Study study(*s.storage, {});
  Sequence sequence = s.sequence(study, {{"n_trials", 2}});
  sequence.evaluate(point(0, 0));
  sequence.evaluate(point(1, 0));
  sequence.evaluate(point(1, 0));  // recalled
  try {
    sequence.evaluate(point(2, 0));
    FAIL();
  } catch (const SequenceOver& over) {
    EXPECT_EQ(over.result.end, RunResult::End::condition);
    EXPECT_NE(over.result.reason.find("n_trials"), std::string::npos);
  }
  EXPECT_EQ(s.executed, 2);
}

TEST(Sequence, TheTimeLimitCountsFromItsBeginning) {
  Setting s;
  Study study(*s.storage, {});
  Sequence sequence = s.sequence(study, {{"time_limit", 0}});
  EXPECT_THROW(sequence.evaluate(point(0, 0)), SequenceOver);
}

// A strategy that asks for one known point again and again never ended.
TEST(Sequence, KnownPointsEndWithTheTimeToo) {
  Setting s;
  {
    Study study(*s.storage, {});
    s.sequence(study).evaluate(point(1, 0));
  }
  Study study(*s.storage, {.resume = true});
  Sequence late = s.sequence(study, {{"time_limit", 0}, {"n_trials", 1}});
  try {
    late.evaluate(point(1, 0));
    FAIL();
  } catch (const SequenceOver& over) {
    EXPECT_EQ(over.result.end, RunResult::End::condition);
    EXPECT_NE(over.result.reason.find("time_limit"), std::string::npos) << over.result.reason;
  }
  EXPECT_EQ(s.sequence(study, {{"n_trials", 1}}).evaluate(point(1, 0)).number, 0) << "trials used up: the way is repeated";
  std::stop_source stop;
  stop.request_stop();
  Sequence stopped({.stage = "test", .stop = stop.get_token()}, study, s.space, stop_conditions(Json::object()), s.objective());
  try {
    stopped.evaluate(point(1, 0));
    FAIL();
  } catch (const SequenceOver& over) {
    EXPECT_EQ(over.result.end, RunResult::End::interrupted);
  }
}

}  // namespace
}  // namespace quasar::search
