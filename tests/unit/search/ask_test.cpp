// Ask and tell.
#include "quasar/search/ask.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "quasar/base/error.hpp"
#include "quasar/search/run.hpp"

namespace quasar::search {
namespace {

Space grid() {
  return Space::parse({{"a", {1, 2, 3}}, {"b", {"x", "y"}}});
}

TEST(Ask, AsksWhatRunAsks) {
  const auto storage = open_storage("memory");
  Study mine(*storage, {.name = "mine"}), theirs(*storage, {.name = "theirs"});
  const auto a = samplers::table().make("tpe"), b = samplers::table().make("tpe");
  const auto value = [](const Point& point) { return point.find("a")->get<double>(); };
  const Space space = grid();
  while (const auto trial = ask(mine, space, *a, 9)) tell(mine, *trial, {value(trial->point)});
  run({.seed = 9}, theirs, space, *b, {}, [&](RunningTrial& job) -> Outcome { return {.values = {value(job.point())}}; });
  ASSERT_EQ(mine.trials().size(), 6u);
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(mine.trials()[i].point, theirs.trials()[i].point);
}

TEST(Ask, WrongValuesAreRefusedAndNoneMeansFailure) {
  const auto storage = open_storage("memory");
  Study study(*storage, {.directions = {Direction::minimize, Direction::maximize}});
  const auto sampler = samplers::table().make("nsga_ii");
  const Space space = grid();
  const auto trial = ask(study, space, *sampler);
  EXPECT_THROW(tell(study, *trial, {1}), Error);
  EXPECT_THROW(tell(study, *trial, {1, std::nan("")}), Error);
  EXPECT_THROW(tell(study, *trial, {1, INFINITY}), Error) << "nothing can be compared with it once the study is read again";
  EXPECT_EQ(tell(study, *trial, {1, 2}, {-1, 0.5}).violation(), 0.5);
  EXPECT_EQ(tell(study, *ask(study, space, *sampler), {}).state, State::failed);
  EXPECT_THROW(ask(study, space, *samplers::table().make("gp")), Error);
}

TEST(Ask, WhatTheSpaceRefusesIsNotAsked) {
  const auto storage = open_storage("memory");
  Study study(*storage, {});
  const auto sampler = samplers::table().make("random");
  Space space =
      Space::parse(parse_json(R"({"p": {"x": {"type": "float", "low": 0.0, "high": 1.0}, "only_if": true}})", "the test"));
  space.forbid([](const Point& point) { return point.find("p_x")->get<double>() < 0.8 ? "too small" : ""; });
  for (int i = 0; i < 20; ++i) {
    const auto trial = ask(study, space, *sampler);
    EXPECT_GE(trial->point.find("p_x")->get<double>(), 0.8);
    tell(study, *trial, {1});
  }
  space.forbid([](const Point&) { return "no"; });
  EXPECT_THROW(ask(study, space, *sampler), Error);
}

// Another program's trial has no plan: a search cannot make a model of it.
TEST(Ask, WhatAnotherProgramTellsIsNotTheBestOfASearch) {
  const auto storage = open_storage("memory");
  const Space space = grid();
  const auto sampler = samplers::table().make("grid");
  for (const bool only_claimed : {false, true}) {
    Study study(*storage, {.name = only_claimed ? "search" : "ask", .only_claimed = only_claimed});
    run({}, study, space, *sampler, stop_conditions({{"n_trials", 2}}), [](RunningTrial& job) -> Outcome {
      job.claim(std::to_string(job.number()));
      return {.values = {5}};
    });
    tell(study, *ask(study, space, *sampler), {1});
    ASSERT_NE(study.best(), nullptr);
    EXPECT_EQ(study.best()->number, only_claimed ? 0 : 2);
  }
}

}  // namespace
}  // namespace quasar::search
