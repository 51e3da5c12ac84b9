#include "quasar/search/run.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <map>
#include <set>
#include <system_error>
#include <thread>

#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"
#include "quasar/base/memory_cap.hpp"
#include "quasar/search/tracker.hpp"
#include "unit/error_of.hpp"

namespace quasar::search {
namespace {

using namespace std::chrono_literals;

Space space_36() {
  return Space::parse({{"a", {0, 1, 2, 3, 4, 5}}, {"b", {0, 1, 2, 3, 4, 5}}});
}

double number(const RunningTrial& job, const char* name) {
  return job.point().find(name)->get<double>();
}

Outcome sum(RunningTrial& job) {
  return {.values = {number(job, "a") + 10 * number(job, "b")}};
}

// Trials as they would look after another run: without ids and times.
Json without_times(std::span<const Trial> trials) {
  Json out = Json::array();
  for (const Trial& t : trials) {
    Json point = Json::object();
    for (const auto& [name, value] : t.point.values()) point[name] = value;
    out.push_back({{"number", t.number},
                   {"state", static_cast<int>(t.state)},
                   {"point", point},
                   {"values", t.values},
                   {"user", t.user_attributes}});
  }
  return out;
}

struct Fixture {
  std::unique_ptr<Storage> storage = open_storage("memory");
  Space space = space_36();
  RunOptions options;
  Json stop = Json::object();

  RunResult run(const std::string& sampler, const Objective& objective, bool resume = false) {
    Study study(*storage, {.resume = resume});
    const auto result = search::run(options, study, space, *samplers::table().make(sampler), stop_conditions(stop), objective);
    trials.assign(study.trials().begin(), study.trials().end());
    best = study.best() ? study.best()->number : -1;
    return result;
  }

  std::vector<Trial> trials;
  int64_t best = -1;
};

TEST(Run, GridTriesEverythingOnce) {
  Fixture f;
  const RunResult result = f.run("grid", sum);
  EXPECT_EQ(result.end, RunResult::End::exhausted);
  EXPECT_EQ(result.counts.complete, 36u);
  for (uint64_t i = 0; i < 36; ++i) EXPECT_EQ(f.trials[i].point, f.space.at(i));
  EXPECT_EQ(f.best, 0);
}

TEST(Run, GridIsSortedByCost) {
  Fixture f;
  f.options.cost = [](const Point& p) { return -p.find("a")->get<double>(); };
  f.run("grid_search", sum);
  EXPECT_EQ(f.trials[0].point, (Point{{"a", 5}, {"b", 0}}));
  EXPECT_EQ(f.trials[1].point, (Point{{"a", 5}, {"b", 1}}));  // equal costs in product order
  EXPECT_EQ(f.trials[35].point, (Point{{"a", 0}, {"b", 5}}));
}

// Points that are known to give the same are avoided while there are others, and taken when there are none.
TEST(Run, WhatIsKnownIsNotProposedWhileThereIsSomethingNew) {
  for (const char* sampler : {"tpe", "random", "gp", "cma_es", "nsga_ii", "qmc"}) {
    Fixture f;
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
                              return sum(job);
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
  Fixture f;
  f.space = Space::parse({{"a", 1}, {"p", {{"only_if", "a"}, {"n", {{"type", "int"}, {"low", 1}, {"high", 3}}}}}});
  try {
    f.run("grid", sum);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("p_n"), std::string::npos);
  }
}

TEST(Run, FirstPointsComeFirstAndOnce) {
  Fixture f;
  f.options.first = {{{"a", 3}, {"b", 3}}, {{"a", 1}, {"b", 2}}, {{"a", 3}, {"b", 3}}};
  f.stop = {{"n_trials", 5}};
  const RunResult result = f.run("grid", sum);
  EXPECT_EQ(result.reason, "n_trials of 5 reached");
  EXPECT_EQ(f.trials[0].point, f.options.first[0]);
  EXPECT_EQ(f.trials[1].point, f.options.first[1]);
  EXPECT_EQ(f.trials[2].point, f.space.at(0));
  f.stop = Json::object();
  EXPECT_EQ(f.run("grid", sum, true).counts.complete, 36u);
}

TEST(Run, OneWorkerIsDeterministic) {
  Fixture f;
  Fixture g;
  f.options.seed = g.options.seed = 5;
  f.run("random", sum);
  g.run("random", sum);
  EXPECT_EQ(without_times(f.trials), without_times(g.trials));
  Fixture h;
  h.options.seed = 6;
  h.run("random", sum);
  EXPECT_NE(without_times(f.trials), without_times(h.trials));
}

TEST(Run, FailuresAreRecordedAndTheSearchGoesOn) {
  const TemporaryFolder folder;
  Fixture f;
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
        return sum(job);
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
  EXPECT_EQ(f.run("grid", sum, true).counts.finished(), 36u);
}

// 36 configurations with 8 different plans, as in Quark's grid.
struct Plans {
  std::mutex mutex;
  std::map<std::string, int> executed;

  Outcome operator()(RunningTrial& job) {
    const int plan = (job.point().find("a")->get<int>() * 6 + job.point().find("b")->get<int>()) % 8;
    const std::string hash = "plan" + std::to_string(plan);
    if (const auto owner = job.claim(hash)) return {.duplicate_of = owner};
    {
      const std::scoped_lock lock(mutex);
      ++executed[hash];
    }
    std::this_thread::sleep_for(2ms);
    if (plan == 3) throw std::runtime_error("plan 3 fails");
    return {.values = {plan / 2.0}, .candidate = plan < 2, .user_attributes = {{"metrics", {{"L2", plan}}}}};
  }
};

TEST(Run, DuplicatesAreNeverExecuted) {
  for (const size_t n_jobs : {1, 4}) {
    Fixture f;
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
    Fixture f;
    f.options.n_jobs = n_jobs;
    f.stop = {{"iteration_limit", 5}};
    Plans plans;
    const RunResult result = f.run("grid", std::ref(plans));
    EXPECT_EQ(result.counts.executed(), 5u);
    EXPECT_EQ(result.reason, "iteration_limit of 5 executed trials reached");

    Fixture g;
    g.options.n_jobs = n_jobs;
    g.stop = {{"n_trials", 11}};
    Plans again;
    EXPECT_EQ(g.run("grid", std::ref(again)).counts.finished(), 11u);
  }
}

TEST(Run, StopConditionsEndIt) {
  Fixture f;
  f.stop = {{"find_n_candidates", 2}};
  Plans plans;
  EXPECT_EQ(f.run("grid", std::ref(plans)).counts.finished(), 2u);
  Fixture g;
  g.stop = {{"find_best_candidate", 0.25}};
  Plans more;
  EXPECT_EQ(g.run("grid", std::ref(more)).reason, "find_best_candidate of 0.25 reached by 0.0");
  Fixture h;
  h.stop = {{"patience", 4}, {"n_trials", -1}};
  Plans last;
  EXPECT_EQ(h.run("grid", std::ref(last)).counts.finished(), 5u);
}

// Values that fall for a while and then rise, some of them candidates, every fifth a duplicate.
Outcome mixed(RunningTrial& job) {
  const int64_t n = job.number();
  if (const auto owner = job.claim("plan" + std::to_string(n % 5 == 4 ? n - 1 : n))) return {.duplicate_of = owner};
  const double value = std::abs(static_cast<double>(n) - 7.0);
  return {.values = {value}, .candidate = value < 5};
}

TEST(Run, CombinedStopConditionsEndItAtTheFirstThatHolds) {
  const std::vector<std::pair<std::string, Json>> conditions{{"n_trials", 17},         {"iteration_limit", 11},
                                                             {"find_n_candidates", 6}, {"find_best_candidate", 0.5},
                                                             {"patience", 5},          {"time_limit", 1000}};
  std::vector<size_t> alone;
  std::vector<std::string> reasons;
  for (const auto& [name, value] : conditions) {
    Fixture f;
    f.stop = {{name, value}};
    const RunResult result = f.run("grid", mixed);
    alone.push_back(result.counts.finished());
    reasons.push_back(result.reason);
    if (name == "time_limit") {
      EXPECT_EQ(result.end, RunResult::End::exhausted);
    } else {
      EXPECT_EQ(result.end, RunResult::End::condition);
      EXPECT_TRUE(result.reason.starts_with(name)) << result.reason;
      EXPECT_LT(result.counts.finished(), 36u) << name;
    }
  }
  EXPECT_GE(std::set<size_t>(alone.begin(), alone.end()).size(), 5u);  // otherwise the combinations would show nothing
  for (unsigned chosen = 1; chosen < 1U << conditions.size(); ++chosen) {
    Fixture f;
    size_t least = 1000;
    std::set<std::string> possible;
    for (size_t i = 0; i < conditions.size(); ++i) {
      if ((chosen >> i & 1U) == 0) continue;
      f.stop[conditions[i].first] = conditions[i].second;
      if (alone[i] < least) possible.clear();
      least = std::min(least, alone[i]);
      if (alone[i] == least) possible.insert(reasons[i]);
    }
    const RunResult result = f.run("grid", mixed);
    EXPECT_EQ(result.counts.finished(), least) << f.stop;
    EXPECT_TRUE(possible.contains(result.reason)) << f.stop << result.reason;
  }
}

// Ends for no other reason.
Outcome until_stopped(RunningTrial& job) {
  while (!job.stop().stop_requested()) std::this_thread::sleep_for(1ms);
  throw Cancelled("stopped");
}

// A machine that is busy with other work may begin no trial within a short limit: then it is tried with a longer one.
TEST(Run, TimeLimitCancelsWhatRuns) {
  size_t begun = 0;
  for (const double limit : {0.05, 0.5, 5.0, 50.0}) {
    Fixture f;
    f.options.n_jobs = 2;
    f.stop = {{"time_limit", limit}};
    const RunResult result = f.run("grid", until_stopped);
    EXPECT_EQ(result.end, RunResult::End::condition);
    EXPECT_TRUE(result.reason.starts_with("time_limit of ")) << result.reason;
    EXPECT_EQ(result.counts.finished(), 0u);
    for (const auto& trial : f.trials) EXPECT_EQ(trial.state, State::waiting);
    begun = f.trials.size();
    if (begun == 2) break;
  }
  EXPECT_EQ(begun, 2u);
}

TEST(Run, InterruptedTrialsAreTriedAgain) {
  Fixture f;
  std::stop_source stop;
  f.options.stop = stop.get_token();
  const RunResult first = f.run("grid", [&](RunningTrial& job) -> Outcome {
    job.claim("plan" + std::to_string(job.number() % 36));
    if (job.number() < 4) return sum(job);
    stop.request_stop();
    return until_stopped(job);
  });
  EXPECT_EQ(first.end, RunResult::End::interrupted);
  EXPECT_EQ(first.counts.complete, 4u);
  ASSERT_EQ(f.trials.size(), 5u);
  EXPECT_EQ(f.trials[4].state, State::waiting);
  EXPECT_FALSE(f.trials[4].start);
  EXPECT_FALSE(f.trials[4].user_attributes.contains("plan_hash"));
  const Point point = f.trials[4].point;
  f.options.stop = {};
  std::vector<int64_t> owners;
  const RunResult second = f.run(
      "grid",
      [&](RunningTrial& job) -> Outcome {
        if (job.claim("plan" + std::to_string(job.number()))) owners.push_back(job.number());
        return sum(job);
      },
      true);
  EXPECT_EQ(second.counts.complete, 36u);
  EXPECT_EQ(f.trials.size(), 36u);  // the same row, under the same number
  EXPECT_EQ(f.trials[4].point, point);
  EXPECT_TRUE(owners.empty());  // what it claimed is free again
}

// Whatever chooses the points: a search that was interrupted anywhere becomes the one that was not.
TEST(Run, AnInterruptedSearchBecomesTheUnbrokenOne) {
  for (const char* sampler : {"tpe", "random", "grid", "gp", "cma_es", "nsga_ii", "qmc"}) {
    Fixture whole;
    whole.options.seed = 3;
    whole.stop = {{"n_trials", 25}};
    whole.run(sampler, sum);
    Fixture broken;
    broken.options.seed = 3;
    broken.stop = whole.stop;
    for (int round = 0;; ++round) {
      std::stop_source stop;
      broken.options.stop = stop.get_token();
      int left = round % 4;
      const RunResult result = broken.run(
          sampler,
          [&](RunningTrial& job) -> Outcome {
            if (left-- > 0) return sum(job);
            stop.request_stop();
            throw Cancelled("stopped");
          },
          round > 0);
      if (result.end == RunResult::End::condition) break;
      ASSERT_LT(round, 100);
    }
    EXPECT_EQ(without_times(broken.trials), without_times(whole.trials)) << sampler;
  }
}

TEST(Run, WaitingTrialsOfAnotherStageOrSpaceStay) {
  Fixture f;
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
  EXPECT_EQ(f.run("grid", sum, true).counts.complete, 1u);
  EXPECT_EQ(f.trials[0].state, State::waiting);
  f.options.stage = "calibration";
  f.space = space_36().pinned({{"a", 2}});
  EXPECT_EQ(f.run("grid", sum, true).counts.complete, 1u);
  EXPECT_EQ(f.trials[0].state, State::waiting);
}

TEST(Run, StagesCountApart) {
  Fixture f;
  f.options.stage = "calibration";
  f.stop = {{"n_trials", 7}};
  EXPECT_EQ(f.run("grid", sum).counts.complete, 7u);
  f.options.stage = "fine-tuning";
  f.space = space_36().pinned({{"a", 2}});
  const RunResult result = f.run("grid", sum, true);
  EXPECT_EQ(result.counts.complete, 6u);
  EXPECT_EQ(f.trials.size(), 13u);
  EXPECT_EQ(f.trials[12].user_attributes["stage"], "fine-tuning");
}

TEST(Run, ListenerHearsEveryTrialTwice) {
  Fixture f;
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
  f.run("random", sum);
  EXPECT_EQ(heard.size(), 36u);
  for (const auto& [trial, times] : heard) EXPECT_EQ(times, 2) << trial;
}

// A storage whose disk is full from the fifth trial on.
class FullDisk final : public Storage {
 public:
  std::vector<StudyRecord> studies() override { return inner_->studies(); }
  StudyRecord create(const std::string& n, const std::vector<Direction>& d) override { return inner_->create(n, d); }
  void set_attribute(int64_t s, const std::string& k, const Json& v) override { inner_->set_attribute(s, k, v); }
  std::vector<Trial> trials(int64_t s) override { return inner_->trials(s); }
  void start(int64_t s, Trial& t) override { inner_->start(s, t); }
  void release(int64_t s, const Trial& t) override { inner_->release(s, t); }
  void resume(int64_t s, const Trial& t) override { inner_->resume(s, t); }
  void remove(const StudyRecord& s) override { inner_->remove(s); }
  std::unique_ptr<StudyLock> lock(const StudyRecord& s) override { return inner_->lock(s); }
  void finish(int64_t s, const Trial& t) override {
    if (t.number >= 5) throw Error("the disk is full", Blame::world);
    inner_->finish(s, t);
  }

 private:
  std::unique_ptr<Storage> inner_ = open_storage("memory");
};

TEST(Run, StorageFailureEndsTheRun) {
  for (const size_t n_jobs : {1, 4}) {
    Fixture f;
    f.options.n_jobs = n_jobs;
    f.storage = std::make_unique<FullDisk>();
    EXPECT_THROW(f.run("grid", sum), Error);
  }
}

// A full disk says nothing of a configuration.
TEST(Run, WhatTheMachineFailsAtEndsTheRunAndIsTriedAgain) {
  for (const size_t n_jobs : {1, 4}) {
    Fixture f;
    f.options.n_jobs = n_jobs;
    bool full = true;
    const Objective objective = [&](RunningTrial& job) -> Outcome {
      if (full && job.number() == 5) throw Error("cannot write 'm': No space left on device", Blame::world);
      if (full && job.number() == 9) throw std::system_error(ENOSPC, std::generic_category());
      if (job.number() == 2) throw std::system_error(EAGAIN, std::generic_category());  // no thread, no memory: its own
      if (job.number() == 3) throw Error("this configuration fails");
      return sum(job);
    };
    const std::string message = test::error_of([&] { f.run("grid", objective); });
    EXPECT_NE(message.find("; that is no result of trial "), std::string::npos) << message;
    EXPECT_NE(message.find("which waits to be run again: mend it, and continue with --resume"), std::string::npos) << message;
    if (n_jobs == 1) {
      EXPECT_NE(message.find("'m': No space left on device; that is no result of trial 5,"), std::string::npos) << message;
    }
    full = false;
    EXPECT_EQ(f.run("grid", objective, true).end, RunResult::End::exhausted);
    ASSERT_EQ(f.trials.size(), 36u);
    for (const Trial& trial : f.trials) {
      EXPECT_EQ(trial.state, trial.number == 2 || trial.number == 3 ? State::failed : State::complete) << trial.number;
      EXPECT_FALSE(trial.system_attributes.contains(retries_attribute)) << trial.number;
    }
  }
}

// The stacks of threads that begin under a trial's limit would not fit into it.
TEST(Run, AllThreadsAreThereBeforeATrialBoundsTheMemory) {
  Fixture f;
  f.options.n_jobs = 32;
  const RunResult result = f.run("grid", [](RunningTrial& job) -> Outcome {
    const MemoryCap cap(size_t{1} << 20);
    std::this_thread::sleep_for(20ms);
    return sum(job);
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
  Tracker tracker({}, "", Direction::minimize);
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

}  // namespace
}  // namespace quasar::search
