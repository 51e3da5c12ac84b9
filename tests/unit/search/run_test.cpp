#include "quasar/search/run.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <thread>

#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"
#include "quasar/base/memory_cap.hpp"
#include "quasar/search/tracker.hpp"
#include "unit/error_of.hpp"
#include "unit/search/run_fixture.hpp"

namespace quasar::search {
namespace {

using namespace std::chrono_literals;

TEST(Run, GridTriesEverythingOnce) {
  RunFixture f;
  const RunResult result = f.run("grid", sum_of_point);
  EXPECT_EQ(result.end, RunResult::End::exhausted);
  EXPECT_EQ(result.counts.complete, 36u);
  for (uint64_t i = 0; i < 36; ++i) EXPECT_EQ(f.trials[i].point, f.space.at(i));
  EXPECT_EQ(f.best, 0);
}

TEST(Run, GridIsSortedByCost) {
  RunFixture f;
  f.options.cost = [](const Point& p) { return -p.find("a")->get<double>(); };
  f.run("grid_search", sum_of_point);
  EXPECT_EQ(f.trials[0].point, (Point{{"a", 5}, {"b", 0}}));
  EXPECT_EQ(f.trials[1].point, (Point{{"a", 5}, {"b", 1}}));  // equal costs in product order
  EXPECT_EQ(f.trials[35].point, (Point{{"a", 0}, {"b", 5}}));
}

// Points that are known to give the same are avoided while there are others, and taken when there are none.
TEST(Run, WhatIsKnownIsNotProposedWhileThereIsSomethingNew) {
  for (const char* sampler : {"tpe", "random", "gp", "cma_es", "nsga_ii", "qmc"}) {
    RunFixture f;
    f.space = Space::parse(parse_json(R"({"on": [true], "p": {"only_if": "on", "acts": {"type": "int", "low": 0, "high": 9},
                                          "idle": {"type": "float", "low": 0.0, "high": 1.0}}})",
                                      "test"));
    f.options.likeness = [](const Point& p) { return p.find("p_acts")->dump(); };
    f.stop = {{"n_trials", 25}};
    f.run(sampler, [](RunningTrial& job) -> Outcome { return {.values = {std::abs(number(job, "p_acts") - 3.0)}}; });
    ASSERT_EQ(f.trials.size(), 25u) << sampler;
    std::set<std::string> early;
    for (size_t i = 0; i < 14; ++i) early.insert(f.trials[i].point.find("p_acts")->dump());
    EXPECT_GE(early.size(), 8u) << sampler;
  }
}

// As Optuna's users enqueue trials: values without a point, of all parameters or of some; before the search and while it runs.
TEST(Run, EnqueuedTrialsRun) {
  const TemporaryFolder folder;
  const Space space = space_36();
  for (const std::string& url : {std::string("memory"), "sqlite:///" + (folder.path() / "study.db").string()}) {
    SCOPED_TRACE(url);
    const auto storage = open_storage(url);
    const int64_t id = storage->create("s", {Direction::minimize}).id;
    const auto enqueue = [&](Storage& into, const Json& values) {
      Trial trial;
      trial.state = State::waiting;
      trial.system_attributes["fixed_params"] = values;
      into.start(id, trial);
    };
    enqueue(*storage, {{"a", 5}, {"b", 4}});
    enqueue(*storage, {{"b", 3}});
    enqueue(*storage, {{"b", 17}});     // no value of b
    enqueue(*storage, {{"other", 1}});  // no parameter
    const bool is_file = url != "memory";
    const auto other = is_file ? open_storage(url) : nullptr;
    Study study(*storage, {.name = "s", .resume = true});
    const auto result = run({.stage = "first"}, study, space, *samplers::table().make("random"),
                            stop_conditions({{"n_trials", 6}}), [&](RunningTrial& job) {
                              if (job.number() == 4 && other) enqueue(*other, {{"a", 0}, {"b", 0}});
                              return sum_of_point(job);
                            });
    EXPECT_EQ(result.counts.complete, 6u);
    EXPECT_EQ(study.at(0).values, std::vector<double>{45});
    EXPECT_EQ(study.at(0).user_attributes[attribute::stage], "first");
    EXPECT_EQ(study.at(1).point.find("b")->get<int>(), 3);
    EXPECT_EQ(study.at(2).state, State::waiting);
    EXPECT_EQ(study.at(3).state, State::waiting);
    if (is_file) {
      EXPECT_EQ(study.at(5).values, std::vector<double>{0});
    }
    const auto stored = storage->trials(id);
    EXPECT_EQ(stored.at(0).point, (Point{{"a", 5}, {"b", 4}}));
    EXPECT_EQ(stored.at(1).point, study.at(1).point);
    EXPECT_EQ(stored.at(2).state, State::waiting);
  }
}

TEST(Run, GridRefusesRangesBeforeTheStart) {
  RunFixture f;
  f.space = Space::parse({{"a", 1}, {"p", {{"only_if", "a"}, {"n", {{"type", "int"}, {"low", 1}, {"high", 3}}}}}});
  try {
    f.run("grid", sum_of_point);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("p_n"), std::string::npos);
  }
}

TEST(Run, FirstPointsComeFirstAndOnce) {
  RunFixture f;
  f.options.first = {{{"a", 3}, {"b", 3}}, {{"a", 1}, {"b", 2}}, {{"a", 3}, {"b", 3}}};
  f.stop = {{"n_trials", 5}};
  const RunResult result = f.run("grid", sum_of_point);
  EXPECT_EQ(result.reason, "n_trials of 5 reached");
  EXPECT_EQ(f.trials[0].point, f.options.first[0]);
  EXPECT_EQ(f.trials[1].point, f.options.first[1]);
  EXPECT_EQ(f.trials[2].point, f.space.at(0));
  f.stop = Json::object();
  EXPECT_EQ(f.run("grid", sum_of_point, true).counts.complete, 36u);
}

TEST(Run, OneWorkerIsDeterministic) {
  RunFixture f;
  RunFixture g;
  f.options.seed = g.options.seed = 5;
  f.run("random", sum_of_point);
  g.run("random", sum_of_point);
  EXPECT_EQ(without_times(f.trials), without_times(g.trials));
  RunFixture h;
  h.options.seed = 6;
  h.run("random", sum_of_point);
  EXPECT_NE(without_times(f.trials), without_times(h.trials));
}

TEST(Run, FailuresAreRecordedAndTheSearchGoesOn) {
  const TemporaryFolder folder;
  RunFixture f;
  f.storage = open_storage((folder.path() / "s.db").string());
  const RunResult result = f.run("grid", [](RunningTrial& job) -> Outcome {
    switch (job.number()) {
      case 1:
        throw std::runtime_error("bad byte \xff here");
      case 2:
        throw 42;
      case 3:
        return {.values = {std::nan("")}};
      case 4:
        return {.values = {1, 2}};
      case 5:
        throw Cancelled("trial_time_limit of 1 s reached");
      default:
        return sum_of_point(job);
    }
  });
  EXPECT_EQ(result.counts.failed, 5u);
  EXPECT_EQ(result.counts.complete, 31u);
  const auto stored = f.storage->trials(f.storage->studies().front().id);
  EXPECT_EQ(stored[1].user_attributes["error"], "bad byte \xEF\xBF\xBD here");
  EXPECT_EQ(stored[2].user_attributes["error"], "an exception of unknown type");
  EXPECT_EQ(stored[3].user_attributes["error"], "the objective is not a number (NaN)");
  EXPECT_EQ(stored[4].user_attributes["error"], "the objective gave 2 values, but the study has 1");
  EXPECT_EQ(stored[5].user_attributes["error"], "trial_time_limit of 1 s reached");
  for (int i = 1; i <= 5; ++i) EXPECT_EQ(stored[static_cast<size_t>(i)].state, State::failed);
  // A failure is a result: it is not tried again.
  EXPECT_EQ(f.run("grid", sum_of_point, true).counts.finished(), 36u);
}

TEST(Run, DuplicatesAreNeverExecuted) {
  for (const size_t n_jobs : {1, 4}) {
    RunFixture f;
    f.options.n_jobs = n_jobs;
    f.stop = {{"n_trials", 30}};
    Plans plans;
    RunResult result = f.run("random", std::ref(plans));
    f.stop = Json::object();
    result = f.run("random", std::ref(plans), true);  // claims are known to the resumed run
    EXPECT_EQ(plans.executed.size(), 8u);
    for (const auto& [hash, times] : plans.executed) EXPECT_EQ(times, 1) << hash;
    EXPECT_EQ(result.counts.executed(), 8u);
    EXPECT_EQ(result.counts.duplicates, 28u);
    EXPECT_EQ(result.counts.failed, 1u);
    std::set<std::string> points;
    for (const Trial& t : f.trials) {
      EXPECT_TRUE(points.insert(f.space.decode(t.point).dump()).second);
      if (!t.is_duplicate()) continue;
      const Trial& original = f.trials[t.user_attributes["duplicate_of"].get<size_t>()];
      EXPECT_FALSE(original.is_duplicate());
      EXPECT_EQ(t.values, original.values);
      EXPECT_EQ(t.state, original.state);
      EXPECT_EQ(t.user_attributes["plan_hash"], original.user_attributes["plan_hash"]);
      EXPECT_EQ(t.user_attributes.value("metrics", Json()), original.user_attributes.value("metrics", Json()));
    }
  }
}

TEST(Run, LimitsCountDuplicatesAsTheySay) {
  for (const size_t n_jobs : {1, 4}) {
    RunFixture f;
    f.options.n_jobs = n_jobs;
    f.stop = {{"iteration_limit", 5}};
    Plans plans;
    const RunResult result = f.run("grid", std::ref(plans));
    EXPECT_EQ(result.counts.executed(), 5u);
    EXPECT_EQ(result.reason, "iteration_limit of 5 executed trials reached");

    RunFixture g;
    g.options.n_jobs = n_jobs;
    g.stop = {{"n_trials", 11}};
    Plans again;
    EXPECT_EQ(g.run("grid", std::ref(again)).counts.finished(), 11u);
  }
}

TEST(Run, WaitingTrialsOfAnotherStageOrSpaceStay) {
  RunFixture f;
  f.options.stage = "calibration";
  std::stop_source stop;
  f.options.stop = stop.get_token();
  f.run("grid", [&](RunningTrial&) -> Outcome {
    stop.request_stop();
    throw Cancelled("stopped");
  });
  f.options.stop = {};
  f.options.stage = "fine-tuning";
  f.stop = {{"n_trials", 1}};
  EXPECT_EQ(f.run("grid", sum_of_point, true).counts.complete, 1u);
  EXPECT_EQ(f.trials[0].state, State::waiting);
  f.options.stage = "calibration";
  f.space = space_36().pinned({{"a", 2}});
  EXPECT_EQ(f.run("grid", sum_of_point, true).counts.complete, 1u);
  EXPECT_EQ(f.trials[0].state, State::waiting);
}

TEST(Run, StagesCountApart) {
  RunFixture f;
  f.options.stage = "calibration";
  f.stop = {{"n_trials", 7}};
  EXPECT_EQ(f.run("grid", sum_of_point).counts.complete, 7u);
  f.options.stage = "fine-tuning";
  f.space = space_36().pinned({{"a", 2}});
  const RunResult result = f.run("grid", sum_of_point, true);
  EXPECT_EQ(result.counts.complete, 6u);
  EXPECT_EQ(f.trials.size(), 13u);
  EXPECT_EQ(f.trials[12].user_attributes["stage"], "fine-tuning");
}

TEST(Run, ListenerHearsEveryTrialTwice) {
  RunFixture f;
  f.options.n_jobs = 4;
  std::map<int64_t, int> heard;
  size_t finished = 0;
  f.options.listener = [&](const Event& event) {
    ++heard[event.trial.number];
    EXPECT_EQ(event.total, 36u);
    finished += event.kind == Event::Kind::finished;
    EXPECT_EQ(event.counts.finished(), finished);
    EXPECT_EQ(event.best != nullptr, finished > 0);
  };
  f.run("random", sum_of_point);
  EXPECT_EQ(heard.size(), 36u);
  for (const auto& [trial, times] : heard) EXPECT_EQ(times, 2) << trial;
}

// The stacks of threads that begin under a trial's limit would not fit into it.
TEST(Run, AllThreadsAreThereBeforeATrialBoundsTheMemory) {
  RunFixture f;
  f.options.n_jobs = 32;
  const RunResult result = f.run("grid", [](RunningTrial& job) -> Outcome {
    const MemoryCap cap(size_t{1} << 20);
    std::this_thread::sleep_for(20ms);
    return sum_of_point(job);
  });
  EXPECT_EQ(result.counts.complete, 36u);
}

TEST(Run, SeveralObjectives) {
  const auto storage = open_storage("memory");
  Study study(*storage, {.directions = {Direction::maximize, Direction::minimize}});
  const Space space = space_36();
  const auto grid = samplers::table().make("grid");
  run({}, study, space, *grid, {}, [](RunningTrial& job) -> Outcome {
    return {.values = {number(job, "a"), std::fmod(number(job, "b") + 3, 6)}};
  });
  EXPECT_EQ(study.best()->values, (std::vector<double>{5, 0}));  // not the first of those with 5
}

// patience counts from the best feasible trial, however good others look.
TEST(Tracker, TheBestTrialIsOneThatKeepsTheConstraints) {
  Tracker tracker({}, "", {Direction::minimize});
  const auto see = [&](double value, double violation) {
    Trial trial;
    trial.number = static_cast<int64_t>(tracker.counts().finished());
    trial.state = State::complete;
    trial.values = {value};
    trial.set_constraints({violation});
    tracker.see(std::nullopt, trial);
    return tracker.progress(0).since_best;
  };
  EXPECT_EQ(see(1, 1), 0U);
  EXPECT_EQ(see(3, 0), 0U);
  EXPECT_EQ(see(2, 0), 0U);
  EXPECT_EQ(see(0.5, 1), 1U);
  EXPECT_EQ(see(2.5, 0), 2U);
}

// What is better in the second objective alone is an improvement, what another trial is as good as in both is none.
TEST(Tracker, EveryObjectiveCountsForPatience) {
  Tracker tracker({}, "", {Direction::maximize, Direction::minimize});
  const auto see = [&](double accuracy, double bytes) {
    Trial trial;
    trial.number = static_cast<int64_t>(tracker.counts().finished());
    trial.state = State::complete;
    trial.values = {accuracy, bytes};
    tracker.see(std::nullopt, trial);
    return tracker.progress(0).since_best;
  };
  EXPECT_EQ(see(0.9, 100), 0U);
  EXPECT_EQ(see(0.8, 50), 0U);   // smaller
  EXPECT_EQ(see(0.85, 75), 0U);  // between them
  EXPECT_EQ(see(0.85, 75), 1U);  // the same again
  EXPECT_EQ(see(0.8, 60), 2U);
  EXPECT_EQ(see(0.9, 90), 0U);
  EXPECT_EQ(see(0.9, 100), 1U);  // as the first
}

}  // namespace
}  // namespace quasar::search
