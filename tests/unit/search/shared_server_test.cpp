// What several processes on one study need of its storage: to be told, few connections, and a study that they may join.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <mutex>

#include "quasar/base/error.hpp"
#include "quasar/search/sequence.hpp"
#include "unit/error_of.hpp"
#include "unit/search/processes.hpp"

namespace quasar::search {
namespace {

using namespace std::chrono_literals;

// Workers wait for each other's trials without asking: a heartbeat of minutes holds nobody up.
TEST(Shared, WhoeverWaitsIsTold) {
  Place place{.server = servers::Postgresql::start(), .memory = nullptr};
  if (!place.server) GTEST_SKIP() << "no PostgreSQL server can be started here";
  const Space space = space_of(40);
  const std::string name = place.study();
  const auto slow = [&](bool worker) {
    return StudyOptions{.name = name, .resume = true, .worker = worker, .heartbeat = {.interval = 600, .grace = 3600}};
  };
  const auto leader = place.open(), theirs = place.open();
  Study led(*leader.storage, slow(false)), joined(*theirs.storage, slow(true));
  std::array<std::atomic<int>, 2> mine = {};
  const auto walk = [&](size_t process, Study& study) {
    Sequence sequence({}, study, space, {}, [&](RunningTrial& job) -> Outcome {
      ++mine.at(process);
      // The first trial of each step lasts until the other process has the second one.
      if (mine[0] + mine[1] == 1) {
        for (int i = 0; i < 60000 && mine[0] + mine[1] < 2; ++i) std::this_thread::sleep_for(1ms);
      }
      return {.values = {value_of(job)}};
    });
    for (uint64_t step = 0; step < 10; ++step) {
      const std::vector<Point> points{space.at(4 * step), space.at(4 * step + 1), space.at(4 * step + 2), space.at(4 * step + 3)};
      EXPECT_EQ(sequence.evaluate(points).size(), 4u);
    }
  };
  {
    const std::jthread other([&] { walk(1, joined); });
    walk(0, led);
  }
  EXPECT_EQ(mine[0] + mine[1], 40);
  EXPECT_GT(mine[0], 0);
  EXPECT_GT(mine[1], 0);
}

// What others do is news for whoever follows the study, and what this process does is none.
TEST(Shared, NewsOfOthers) {
  Place place{.server = servers::Postgresql::start(), .memory = nullptr};
  if (!place.server) GTEST_SKIP() << "no PostgreSQL server can be started here";
  constexpr double long_time = 600;  // seconds, after which nothing was told
  const Space space = space_of(4);
  const std::string name = place.study();
  const auto leader = place.open(), theirs = place.open();
  Study led(*leader.storage, joining(name, false)), joined(*theirs.storage, joining(name, true));
  Sharing& mine = *leader->sharing();
  const auto hear = [&](double seconds) { return mine.wait_for_news(led.id(), seconds, {}); };
  const auto one = [&](Study& study, bool ended) {
    const auto transaction = study.transaction();
    study.refresh();
    Trial trial = study.start(space, space.at(static_cast<uint64_t>(study.trials().size())));
    transaction->commit();
    trial.state = State::complete;
    trial.values = {1};
    ended ? study.finish(trial) : study.release(trial.number);
  };
  EXPECT_TRUE(hear(long_time).words);  // what was said before it listened
  EXPECT_FALSE(hear(0).words);
  mine.follow(led.id(), true);
  for (const bool ended : {true, false}) {
    one(joined, ended);
    EXPECT_TRUE(hear(long_time).trials);
  }
  one(led, true);
  led.announce("running");
  const News own = hear(0.2);
  EXPECT_FALSE(own.trials || own.words);
  mine.follow(led.id(), false);
  one(joined, true);
  theirs->set_attribute(led.id(), stop_attribute, "whoever");
  const News words = hear(long_time);
  EXPECT_TRUE(words.words);
  EXPECT_FALSE(words.trials);  // it does not follow them any more
}

// What another program enqueues is run once, by whoever comes first, and counts towards the limits.
TEST(Shared, EnqueuedTrialsRun) {
  Place place{.server = servers::Postgresql::start(), .memory = nullptr};
  if (!place.server) GTEST_SKIP() << "no PostgreSQL server can be started here";
  const Space space = space_of(20);
  const std::string name = place.study();
  const auto leader = place.open(), theirs = place.open();
  Study led(*leader.storage, joining(name, false)), joined(*theirs.storage, joining(name, true));
  const auto enqueue = [&](Storage& into, int value) {
    Trial trial;
    trial.state = State::waiting;
    trial.system_attributes["fixed_params"] = {{"a", value}};
    into.start(led.id(), trial);
  };
  enqueue(*leader.storage, 11);
  enqueue(*leader.storage, 99);  // no point
  std::atomic<int> tried = 0;
  std::once_flag during;
  const auto work = [&](Study& study) {
    return run({}, study, space, *samplers::table().make("grid"), stop_conditions({{"n_trials", 6}}),
               [&](RunningTrial& job) -> Outcome {
                 ++tried;
                 std::call_once(during, [&] { enqueue(*leader.storage, 17); });  // the other waits, so that trials are left
                 return {.values = {value_of(job)}};
               });
  };
  {
    const std::jthread other([&] { EXPECT_EQ(work(joined).counts.complete, 6u); });
    EXPECT_EQ(work(led).counts.complete, 6u);
  }
  EXPECT_EQ(tried, 6);
  std::multiset<double> values;
  for (const Trial& trial : leader->trials(led.id())) {
    if (trial.state == State::complete) values.insert(trial.point.find("a")->get<double>());
  }
  EXPECT_EQ(values.size(), 6u);
  EXPECT_EQ(values.count(11), 1u);
  EXPECT_EQ(values.count(17), 1u);
  EXPECT_EQ(leader->trials(led.id()).at(1).state, State::waiting);
}

// A process needs one connection.
TEST(Shared, AFewConnectionsAreEnough) {
  Place place{.server = servers::Postgresql::start(), .memory = nullptr};
  if (!place.server) GTEST_SKIP() << "no PostgreSQL server can be started here";
  ASSERT_TRUE(place.server->run("CREATE USER few PASSWORD 'few' CONNECTION LIMIT 3"));
  ASSERT_TRUE(place.server->run("CREATE DATABASE few OWNER few"));
  std::string url = place.server->url("few");
  const std::string login = std::string(servers::Postgresql::user) + ":" + servers::Postgresql::encoded;
  url.replace(url.find(login), login.size(), "few:few");
  const Space space = space_of(30);
  const auto work = [&](Study& study) {
    return run({}, study, space, *samplers::table().make("random"), {}, [&](RunningTrial& job) -> Outcome {
      EXPECT_EQ(job.claim(std::to_string(job.number())), std::nullopt);
      return {.values = {value_of(job)}};
    });
  };
  const auto storage = open_storage(url);
  Study led(*storage, joining("few", false));
  std::vector<std::jthread> workers;
  for (int i = 0; i < 2; ++i) {
    workers.emplace_back([&] {
      const auto mine = open_storage(url);
      Study study(*mine, joining("few", true));
      EXPECT_EQ(work(study).counts.complete, 30u);
    });
  }
  EXPECT_EQ(work(led).counts.complete, 30u);
}

TEST(Shared, WorkersNeedASharedStorageAndAStudy) {
  const auto alone = open_storage("memory");
  EXPECT_THROW(Study(*alone, {.worker = true}), Error);
  const auto shared = storage::table().make("memory", {{"shared", true}});
  EXPECT_THROW(Study(*shared, {.worker = true}), Error);
  const Study led(*shared, {});
  EXPECT_NO_THROW(Study(*shared, {.worker = true}));
  EXPECT_THROW(Study(*shared, {.resume = true}), Error);  // one leads
}

// Words of a leader that died are not those of the next one.
TEST(Shared, ALeaderSaysWhenWorkersMayCome) {
  const auto storage = storage::table().make("memory", {{"shared", true}});
  const auto said = [&] { return storage->studies().front().user_attributes[search_attribute]; };
  std::string run;
  {
    Study led(*storage, {.launch = "one"});
    EXPECT_TRUE(storage->sharing()->is_locked(led.id()));
    EXPECT_EQ(said()["state"], "preparing");
    led.announce("running");
    EXPECT_EQ(said()["launch"], "one");
    run = said()["run"];
  }
  EXPECT_EQ(said()["state"], "running");  // it died
  EXPECT_FALSE(storage->sharing()->is_locked(storage->studies().front().id));
  Study led(*storage, {.resume = true, .launch = "two"});
  EXPECT_EQ(said()["state"], "preparing");
  EXPECT_EQ(said()["launch"], "two");
  EXPECT_NE(said()["run"], run);
}
}  // namespace
}  // namespace quasar::search
