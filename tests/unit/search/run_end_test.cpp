// How a run ends, and goes on later.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <system_error>
#include <thread>

#include "unit/error_of.hpp"
#include "unit/search/run_fixture.hpp"

namespace quasar::search {
namespace {

using namespace std::chrono_literals;

TEST(Run, StopConditionsEndIt) {
  RunFixture f;
  f.stop = {{"find_n_candidates", 2}};
  Plans plans;
  EXPECT_EQ(f.run("grid", std::ref(plans)).counts.finished(), 2u);
  RunFixture g;
  g.stop = {{"find_best_candidate", 0.25}};
  Plans more;
  EXPECT_EQ(g.run("grid", std::ref(more)).reason, "find_best_candidate of 0.25 reached by 0.0");
  RunFixture h;
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
    RunFixture f;
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
    RunFixture f;
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
    RunFixture f;
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
  RunFixture f;
  std::stop_source stop;
  f.options.stop = stop.get_token();
  const RunResult first = f.run("grid", [&](RunningTrial& job) -> Outcome {
    job.claim("plan" + std::to_string(job.number() % 36));
    if (job.number() < 4) return sum_of_point(job);
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
        return sum_of_point(job);
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
    RunFixture whole;
    whole.options.seed = 3;
    whole.stop = {{"n_trials", 25}};
    whole.run(sampler, sum_of_point);
    RunFixture broken;
    broken.options.seed = 3;
    broken.stop = whole.stop;
    for (int round = 0;; ++round) {
      std::stop_source stop;
      broken.options.stop = stop.get_token();
      int left = round % 4;
      const RunResult result = broken.run(
          sampler,
          [&](RunningTrial& job) -> Outcome {
            if (left-- > 0) return sum_of_point(job);
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

// So that whoever started it knows whether to try again.
TEST(Run, WhatEndsItKeepsItsBlame) {
  for (const Blame blame : {Blame::world, Blame::setup}) {
    RunFixture f;
    try {
      f.run("grid", [&](RunningTrial&) -> Outcome { throw Error("cannot write 'm'", blame); });
      ADD_FAILURE();
    } catch (const Error& e) {
      EXPECT_EQ(e.blame(), blame) << e.what();
    }
  }
}

TEST(Run, StorageFailureEndsTheRun) {
  for (const size_t n_jobs : {1, 4}) {
    RunFixture f;
    f.options.n_jobs = n_jobs;
    f.storage = std::make_unique<FullDisk>();
    EXPECT_THROW(f.run("grid", sum_of_point), Error);
  }
}

// A full disk says nothing of a configuration.
TEST(Run, WhatTheMachineFailsAtEndsTheRunAndIsTriedAgain) {
  for (const size_t n_jobs : {1, 4}) {
    RunFixture f;
    f.options.n_jobs = n_jobs;
    bool full = true;
    const Objective objective = [&](RunningTrial& job) -> Outcome {
      if (full && job.number() == 5) throw Error("cannot write 'm': No space left on device", Blame::world);
      if (full && job.number() == 9) throw std::system_error(ENOSPC, std::generic_category());
      if (job.number() == 2) throw std::system_error(EAGAIN, std::generic_category());  // no thread, no memory: its own
      if (job.number() == 3) throw Error("this configuration fails");
      return sum_of_point(job);
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
}  // namespace
}  // namespace quasar::search
