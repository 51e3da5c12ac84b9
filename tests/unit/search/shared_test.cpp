// Several processes on one study: as threads with studies of their own on a shared memory storage, and on a PostgreSQL server.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <set>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/error.hpp"
#include "quasar/base/process.hpp"
#include "quasar/search/sequence.hpp"
#include "unit/error_of.hpp"
#include "unit/search/processes.hpp"

namespace quasar::search {
namespace {

using namespace std::chrono_literals;

// Every point is tried once, whatever sampler chooses it, and everybody sees all of it in the end.
void expect_no_point_twice(Place& place) {
  for (const char* sampler : {"grid", "random", "tpe"}) {
    SCOPED_TRACE(sampler);
    const std::string name = place.study();
    const Space space = space_of(60);
    std::atomic<int> tried = 0;
    std::atomic<size_t> seen = 0;
    in_processes(place, name, 4, [&](size_t, Study& study) {
      const auto result = run({.seed = 1, .n_jobs = 2, .first = {space.at(7)}}, study, space, *samplers::table().make(sampler),
                              {}, [&](RunningTrial& job) -> Outcome {
                                ++tried;
                                std::this_thread::sleep_for(1ms);
                                return {.values = {value_of(job)}};
                              });
      EXPECT_EQ(result.counts.complete, 60u);
      EXPECT_EQ(study.best()->number, [&] {
        for (const Trial& trial : study.trials()) {
          if (trial.values.front() == 0) return trial.number;
        }
        return int64_t{-1};
      }());
      seen += study.trials().size();
    });
    EXPECT_EQ(tried, 60);
    EXPECT_EQ(seen, 240u);
    const auto storage = place.open();
    for (const StudyRecord& record : storage->studies()) {
      if (record.name != name) continue;
      std::set<double> points;
      int64_t number = 0;
      for (const Trial& trial : storage->trials(record.id)) {
        EXPECT_EQ(trial.number, number++);
        points.insert(trial.point.find("a")->get<double>());
        EXPECT_TRUE(trial.system_attributes.contains(worker_attribute));
      }
      EXPECT_EQ(points.size(), 60u);
    }
  }
}

// Equal plans are made once, wherever they come up; limits count everybody's trials.
void expect_no_plan_twice(Place& place) {
  const Space space = space_of(60);
  std::map<int, std::atomic<int>> made;
  for (int i = 0; i < 10; ++i) made[i] = 0;
  in_processes(place, place.study(), 4, [&](size_t, Study& study) {
    const auto conditions = stop_conditions({{"n_trials", 40}});
    const auto result =
        run({.seed = 2}, study, space, *samplers::table().make("random"), conditions, [&](RunningTrial& job) -> Outcome {
          const int plan = static_cast<int>(value_of(job)) % 10;
          if (const auto other = job.claim("plan " + std::to_string(plan))) return {.duplicate_of = other};
          ++made.at(plan);
          std::this_thread::sleep_for(3ms);
          return {.values = {static_cast<double>(plan)}};
        });
    EXPECT_EQ(result.counts.finished(), 40u);
    EXPECT_EQ(result.counts.complete + result.counts.duplicates, 40u);
    for (const Trial& trial : study.trials())
      EXPECT_EQ(trial.values.front(), static_cast<int>(trial.point.find("a")->get<double>()) % 10);
  });
  for (const auto& [plan, count] : made) EXPECT_LE(count, 1) << plan;
}

// Whose process is silent is dead: its trial runs again under its number, so often as is allowed.
void expect_the_dead_are_found(Place& place) {
  const Space space = space_of(5);
  const std::string name = place.study();
  const auto leader = place.open();
  Study led(*leader.storage, joining(name, false));
  const auto theirs = place.open();
  Study dead(*theirs.storage, joining(name, true));
  {
    const auto transaction = dead.transaction();
    dead.refresh();
    dead.start(space, space.at(3), {{"stage", "s"}});
    transaction->commit();
  }
  const auto search = [&](const Space& over) {
    return run({.stage = "s"}, led, over, *samplers::table().make("grid"), {},
               [&](RunningTrial& job) -> Outcome { return {.values = {value_of(job)}}; });
  };
  EXPECT_EQ(search(space).counts.complete, 5u);
  EXPECT_EQ(led.at(0).point, space.at(3));
  EXPECT_EQ(led.at(0).state, State::complete);
  EXPECT_EQ(led.at(0).system_attributes[retries_attribute], 1);
  // Once more, and once too often: the process that takes it over dies too.
  const Space more = space_of(7);
  for (const bool again : {false, true}) {
    const auto transaction = dead.transaction();
    dead.refresh();
    if (again) {
      const auto waiting = dead.waiting(more, "t");
      ASSERT_EQ(waiting, std::vector<int64_t>{5});
      dead.resume(5, more, "t");
    } else {
      dead.start(more, more.at(6), {{"stage", "t"}});
    }
    transaction->commit();
    // Nobody beats, somebody looks.
    const auto id = dead.at(5).id;
    const auto beat = leader->sharing()->pulse(led.id(), {}, {}).beats.at(id);
    EXPECT_FALSE(leader->sharing()->requeue_dead(id, "2001-01-01 00:00:00", 1));
    EXPECT_TRUE(leader->sharing()->requeue_dead(id, beat, 1));
    EXPECT_FALSE(leader->sharing()->requeue_dead(id, beat, 1));
    dead.refresh();
    EXPECT_EQ(dead.at(5).state, again ? State::failed : State::waiting);
  }
  EXPECT_NE(dead.at(5).user_attributes[attribute::error].get<std::string>().find("2 times"), std::string::npos);
  // Who ran it, and when, each time.
  const auto lost = lost_runs_of(dead.at(5));
  ASSERT_EQ(lost.size(), 2u);
  for (const LostRun& run : lost) {
    EXPECT_EQ(run.worker, process_name());
    ASSERT_TRUE(run.start);
    EXPECT_LE(*run.start, run.found);
  }
  EXPECT_LT(*lost[0].start, *lost[1].start);
}

// Who was taken for dead wrongly may still bring his result, unless another was faster.
void expect_late_results_count(Place& place) {
  const Space space = space_of(5);
  const std::string name = place.study();
  const auto leader = place.open(), theirs = place.open();
  Study led(*leader.storage, joining(name, false));
  Study late(*theirs.storage, joining(name, true));
  for (const bool faster : {false, true}) {
    auto transaction = late.transaction();
    late.refresh();
    Trial trial = late.start(space, space.at(faster ? 1 : 2));
    transaction->commit();
    transaction.reset();
    EXPECT_TRUE(leader->sharing()->requeue_dead(trial.id, leader->sharing()->pulse(led.id(), {}, {}).beats.at(trial.id), 5));
    if (faster) {
      led.refresh();
      Trial again = led.resume(trial.number, space, "");
      again.state = State::complete;
      again.values = {7};
      led.finish(again);
    }
    trial.state = State::complete;
    trial.values = {5};
    EXPECT_EQ(late.finish(trial).values.front(), faster ? 7 : 5);
    led.refresh();
    EXPECT_EQ(led.at(trial.number).values.front(), faster ? 7 : 5);
  }
}

// Of a trial that two processes run, because one was taken for dead, one result counts, once.
void expect_late_results_count_once(Place& place) {
  const Space space = space_of(9);
  const std::string name = place.study();
  const auto leader = place.open(), theirs = place.open();
  Study led(*leader.storage, joining(name, false));
  Study late(*theirs.storage, joining(name, true));
  Trial trial;
  const auto begin_and_die = [&] {
    const auto transaction = late.transaction();
    late.refresh();
    trial = late.start(space, space.at(4));
    transaction->commit();
  };
  const auto requeue_dead = [&](int64_t id) {
    EXPECT_TRUE(leader->sharing()->requeue_dead(id, leader->sharing()->pulse(led.id(), {}, {}).beats.at(id), 5));
  };
  const auto come_back = [&] {
    trial.state = State::complete;
    trial.values = {5};
    late.finish(trial);
  };
  begin_and_die();
  requeue_dead(trial.id);
  std::map<int64_t, int> heard;
  const auto listen = [&](const Event& event) {
    if (event.kind == Event::Kind::finished) ++heard[event.trial.number];
  };
  const auto result = run({.listener = listen}, led, space, *samplers::table().make("grid"), stop_conditions({{"n_trials", 4}}),
                          [&](RunningTrial& job) -> Outcome {
                            if (job.number() == 0) come_back();
                            if (job.number() == 2) requeue_dead(led.at(2).id);  // this process is taken for dead, and goes on
                            EXPECT_EQ(job.claim(std::to_string(job.number())), std::nullopt);
                            return {.values = {value_of(job)}};
                          });
  EXPECT_EQ(result.counts.complete, 4u);
  EXPECT_EQ(result.counts.running, 0u);
  EXPECT_EQ(led.trials().size(), 4u);
  EXPECT_TRUE(std::ranges::all_of(led.trials(), [](const Trial& one) { return one.state == State::complete; }));
  EXPECT_EQ(heard, (std::map<int64_t, int>{{0, 1}, {1, 1}, {2, 1}, {3, 1}}));
  EXPECT_EQ(led.at(0).values.front(), 5);

  // He comes back in the moment in which another would take his trial over.
  struct Moment final : StopCondition {
    explicit Moment(std::function<void()> then) : then_(std::move(then)) {}
    std::optional<std::string> met(const Progress& progress) const override {
      if (then_) std::exchange(then_, nullptr)();
      return progress.counts.finished() >= 6 ? std::optional<std::string>("six") : std::nullopt;
    }
    mutable std::function<void()> then_;
  };
  begin_and_die();
  requeue_dead(trial.id);
  StopConditions moment;
  moment.push_back(std::make_unique<Moment>(come_back));
  const auto more = run({}, led, space, *samplers::table().make("grid"), moment,
                        [&](RunningTrial& job) -> Outcome { return {.values = {value_of(job)}}; });
  EXPECT_EQ(more.counts.complete, 6u);
  EXPECT_EQ(led.trials().size(), 6u);
  EXPECT_EQ(led.at(4).values.front(), 5);
}

// A user's listener (on_trial) may take its time, also where others bring news meanwhile: the process lives.
void expect_beats_beside_a_listener_that_blocks(Place& place) {
  const Space space = space_of(3);
  const std::string name = place.study();
  const auto leader = place.open(), theirs = place.open();
  Study led(*leader.storage, joining(name, false));
  int changes = 0;
  const auto blocking = [&](const Event& event) {
    if (event.kind != Event::Kind::started || changes > 0) return;
    Trial other;
    other.start = now();
    theirs.storage->start(led.id(), other);
    other.state = State::complete;
    other.values = {5};
    theirs.storage->finish(led.id(), other);
    std::set<std::string> beats;
    for (int i = 0; i < 6000 && beats.size() < 8; ++i) {  // a heart that waits for this listener has beaten once or twice before
      beats.insert(theirs->sharing()->pulse(led.id(), {}, {}).beats.at(event.trial.id));
      std::this_thread::sleep_for(10ms);
    }
    changes = static_cast<int>(beats.size());
  };
  run({.listener = blocking}, led, space, *samplers::table().make("grid"), {},
      [&](RunningTrial& job) -> Outcome { return {.values = {value_of(job)}}; });
  EXPECT_EQ(changes, 8);
}

// A strategy that decides step by step has the same answer with any number of processes, and shares each step's work.
void expect_sequences_agree(Place& place) {
  const Space space = Space::parse({{"a", {0, 1, 2, 3, 4, 5, 6, 7}}, {"b", {0, 1, 2, 3, 4, 5, 6, 7}}});
  const auto objective = [](RunningTrial& job) -> Outcome {
    const double a = job.point().find("a")->get<double>(), b = job.point().find("b")->get<double>();
    std::this_thread::sleep_for(2ms);
    return {.values = {(a - 5) * (a - 5) + (b - 2) * (b - 2)}};
  };
  // Coordinate descent.
  const auto descend = [&](Study& study) {
    Sequence sequence({}, study, space, {}, objective);
    Point best = space.at(0);
    for (const bool along_a : {true, false}) {
      std::vector<Point> points;
      for (int value = 0; value < 8; ++value)
        points.push_back(along_a ? Point{{"a", value}, {"b", *best.find("b")}} : Point{{"a", *best.find("a")}, {"b", value}});
      double least = 1e9;
      for (const Trial& trial : sequence.evaluate(points)) {
        if (trial.values.front() < least) best = trial.point, least = trial.values.front();
      }
    }
    return best;
  };
  std::mutex guard;
  std::vector<Point> answers;
  std::set<size_t> sizes;
  in_processes(place, place.study(), 3, [&](size_t, Study& study) {
    const Point answer = descend(study);
    const std::scoped_lock lock(guard);
    answers.push_back(answer);
    sizes.insert(study.trials().size());
  });
  EXPECT_EQ(answers, std::vector<Point>(3, Point{{"a", 5}, {"b", 2}}));
  EXPECT_EQ(sizes, std::set<size_t>{15});
}

// When the leader ends, its workers end too: a running trial waits for whoever continues the search.
void expect_the_end_reaches_workers(Place& place) {
  const Space space = space_of(1000);
  const std::string name = place.study();
  const auto leader = place.open();
  std::jthread worker;
  std::atomic<int> begun = 0;
  {
    Study led(*leader.storage, joining(name, false));
    worker = std::jthread([&] {
      const auto mine = place.open();
      Study study(*mine.storage, joining(name, true));
      const auto result = run({}, study, space, *samplers::table().make("grid"), {}, [&](RunningTrial& job) -> Outcome {
        ++begun;
        while (!job.stop().stop_requested()) std::this_thread::sleep_for(1ms);
        throw Cancelled("stopped");
      });
      EXPECT_EQ(result.end, RunResult::End::condition);
      EXPECT_EQ(result.reason, "the search has ended: enough");
    });
    while (begun == 0) std::this_thread::sleep_for(1ms);
    led.announce("ended", "enough");
  }
  worker.join();
  Study again(*leader.storage, joining(name, false));
  EXPECT_EQ(again.waiting(space, ""), std::vector<int64_t>{0});
}

// A worker whose disk is full leaves, and what it was running is run by the others.
void expect_broken_workers_leave(Place& place) {
  const Space space = space_of(12);
  in_processes(place, place.study(), 2, [&](size_t process, Study& study) {
    const auto all = [&] {
      return run({}, study, space, *samplers::table().make("grid"), {}, [&](RunningTrial& job) -> Outcome {
        if (process == 1) throw Error("the disk is full", Blame::world);
        std::this_thread::sleep_for(20ms);
        return {.values = {value_of(job)}};
      });
    };
    if (process == 1) {
      const std::string message = test::error_of(all);
      EXPECT_NE(message.find("start this worker again"), std::string::npos) << message;
    } else {
      EXPECT_EQ(all().counts.complete, 12u);
    }
  });
}

// All take the same for dead: a worker has its leader's heartbeat, also of the leader that continues.
void expect_one_pulse(Place& place) {
  const std::string name = place.study();
  const auto leader = place.open(), theirs = place.open();
  std::optional<Study> led(std::in_place, *leader.storage, joining(name, false));
  Study worker(*theirs.storage, {.name = name, .worker = true});
  EXPECT_EQ(worker.heartbeat().interval, quick.interval);
  EXPECT_EQ(worker.heartbeat().grace, quick.grace);
  EXPECT_EQ(worker.heartbeat().max_retry, quick.max_retry);
  led.reset();
  const HeartbeatOptions other{.interval = 1, .grace = 7, .max_retry = 3};
  led.emplace(*leader.storage, StudyOptions{.name = name, .resume = true, .heartbeat = other});
  worker.refresh();
  EXPECT_EQ(worker.leader_message().heartbeat.grace, 7);
  EXPECT_EQ(led->leader_message().heartbeat.grace, 7);
}

// A point that another process makes ready is begun by that process alone, and whoever waits has time for later ones until the
// trial has ended.
void expect_what_is_ready_is_left(Place& place) {
  const Space space = space_of(4);
  std::mutex guard;
  std::map<double, std::set<size_t>> tried;
  std::array<std::atomic<int>, 2> pieces{0, 0};
  in_processes(place, place.study(), 2, [&](size_t process, Study& study) {
    const auto wait_for_the_end = [&](const std::function<bool()>& waits) {
      ++pieces.at(process);
      while (waits()) std::this_thread::sleep_for(1ms);
      return true;
    };
    const auto is_theirs = [&](const Point& point) { return static_cast<size_t>(point.find("a")->get<int>()) % 2 != process; };
    Sequence sequence({.stage = "s"}, study, space, {}, [&](RunningTrial& job) -> Outcome {
      while (pieces.at(1 - process) < 1) std::this_thread::sleep_for(1ms);  // the other has nothing else to do
      const std::scoped_lock lock(guard);
      tried[value_of(job)].insert(process);
      return {.values = {value_of(job)}};
    });
    for (uint64_t i = 0; i < 4; ++i) {
      EXPECT_EQ(sequence.evaluate(space.at(i), "", {wait_for_the_end, is_theirs}).values.front(), static_cast<double>(i));
    }
  });
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(tried[static_cast<double>(i)], std::set<size_t>{i % 2}) << i;
}

// Nothing comes of what fails ahead; the trial is tried all the same.
void expect_failures_ahead_do_no_harm(Place& place) {
  const Space space = space_of(3);
  std::atomic<int> trials = 0;
  in_processes(place, place.study(), 2, [&](size_t, Study& study) {
    Sequence sequence({.stage = "s"}, study, space, {}, [&](RunningTrial& job) -> Outcome {
      ++trials;
      std::this_thread::sleep_for(20ms);
      return {.values = {value_of(job)}};
    });
    const Ahead failing{[](const auto& waits) -> bool { throw Error(waits() ? "it waits" : "it does not"); }, {}};
    for (uint64_t i = 0; i < 3; ++i) EXPECT_EQ(sequence.evaluate(space.at(i), "", failing).number, static_cast<int64_t>(i));
  });
  EXPECT_EQ(trials, 3);
}

void expect_all(Place& place) {
  expect_what_is_ready_is_left(place);
  expect_failures_ahead_do_no_harm(place);
  expect_broken_workers_leave(place);
  expect_one_pulse(place);
  expect_no_point_twice(place);
  expect_no_plan_twice(place);
  expect_the_dead_are_found(place);
  expect_late_results_count(place);
  expect_late_results_count_once(place);
  expect_beats_beside_a_listener_that_blocks(place);
  expect_sequences_agree(place);
  expect_the_end_reaches_workers(place);
}

TEST(Shared, InMemory) {
  Place place{.server = nullptr, .memory = storage::table().make("memory", {{"shared", true}})};
  expect_all(place);
}

TEST(Shared, OnPostgresql) {
  Place place{.server = servers::Postgresql::start(), .memory = nullptr};
  if (!place.server) GTEST_SKIP() << "no PostgreSQL server can be started here";
  expect_all(place);
}

}  // namespace
}  // namespace quasar::search
