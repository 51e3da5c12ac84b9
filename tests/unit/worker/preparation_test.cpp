#include "quasar/worker/preparation.hpp"

#include <gtest/gtest.h>

#include "quasar/search/study.hpp"
#include "quasar/worker/said.hpp"
#include "quasar/worker/watch.hpp"
#include "servers/postgresql.hpp"
#include "unit/error_of.hpp"

namespace quasar::tune {
namespace {

using namespace std::chrono_literals;

struct Preparations : testing::Test {
  Preparations() {
    job.strategy = "flat";
    job.spaces = {Json::object()};
  }

  Job job;
  std::unique_ptr<search::Storage> storage = search::storage::table().make("memory", {{"shared", true}});
};

TEST_F(Preparations, EndWithTheirSearch) {
  SearchToJoin early(job, *storage, {});
  EXPECT_EQ(early.over(), std::nullopt);  // there is none yet
  search::Study led(*storage, {.name = job.study.name});
  SearchToJoin awaited(job, *storage, {});
  Preparation preparation(awaited, 0.05, {});
  led.announce("running");
  std::this_thread::sleep_for(200ms);
  EXPECT_FALSE(preparation.token().stop_requested());
  EXPECT_EQ(early.over(), std::nullopt);
  led.announce("ended", "n_trials of 4 reached");
  for (int i = 0; i < 100000 && !preparation.token().stop_requested(); ++i) std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(preparation.token().stop_requested());
  EXPECT_EQ(preparation.reason(), "n_trials of 4 reached");
  EXPECT_EQ(early.over(), "n_trials of 4 reached");
  SearchToJoin late(job, *storage, {});
  EXPECT_EQ(late.over(), std::nullopt);  // an earlier run
}

TEST_F(Preparations, StopFromOutsideAndNotWhenTheyAreDone) {
  search::Study led(*storage, {.name = job.study.name});
  SearchToJoin awaited(job, *storage, {});
  std::stop_source outer;
  Preparation preparation(awaited, 0.05, outer.get_token());
  preparation.is_done();
  std::this_thread::sleep_for(100ms);
  led.announce("ended", "n_trials of 4 reached");
  std::this_thread::sleep_for(200ms);
  EXPECT_FALSE(preparation.token().stop_requested());
  outer.request_stop();
  EXPECT_TRUE(preparation.token().stop_requested());
  EXPECT_EQ(preparation.reason(), std::nullopt);
}

// It was told of a search that ran, which has ended while it fetched files, say.
TEST_F(Preparations, OfASearchThatWasOfferedSayAtOnceThatItHasEnded) {
  search::Study led(*storage, {.name = job.study.name});
  led.announce("running");
  const std::string run = Said(storage->studies().front()).run;
  led.announce("ended", "n_trials of 4 reached");
  EXPECT_EQ(SearchToJoin(job, *storage, {.run = run}).wait(3600, {}).ended, "n_trials of 4 reached");
  EXPECT_EQ(SearchToJoin(job, *storage, {.run = run}).over(), "n_trials of 4 reached");
  EXPECT_EQ(SearchToJoin(job, *storage, {}).over(), std::nullopt);
}

// Nobody could lead it, however long a worker waits.
TEST_F(Preparations, OfADamagedStudyEndAtOnce) {
  const auto server = servers::Postgresql::start();
  if (!server) GTEST_SKIP() << "no PostgreSQL server can be started here";
  const auto shared = search::open_storage(server->url());
  job.study.name = "mine";
  const auto study = shared->create(job.study.name, {Direction::minimize});
  search::Trial trial;
  shared->start(study.id, trial);
  trial.state = search::State::complete;
  trial.values = {1};
  shared->finish(study.id, trial);
  ASSERT_TRUE(server->run("UPDATE trial_values SET value = 'NaN'"));
  const std::string said = test::error_of([&] { SearchToJoin(job, *shared, {}); });
  EXPECT_NE(said.find("study 'mine': trial 0: its value is nan"), std::string::npos) << said;
}

// Its leader was killed, or could not go on, before it had trials to run.
TEST_F(Preparations, ThatNobodyLeadsAnyMoreAreToBeContinued) {
  job.study.name = "mine";
  { const search::Study gone(*storage, {.name = job.study.name}); }
  const std::string said = test::error_of([&] { SearchToJoin(job, *storage, {}).wait(0, {}); });
  EXPECT_NE(said.find("`quasar search --resume` to continue the study 'mine'"), std::string::npos) << said;
  EXPECT_NE(said.find("whoever led its search is not there any more"), std::string::npos) << said;
}

TEST_F(Preparations, OfALaunchAreForItsOwnSearch) {
  search::Study led(*storage, {.name = job.study.name, .launch = "mine"});
  SearchToJoin awaited(job, *storage, {.launch = "mine"}), other(job, *storage, {.launch = "another"});
  led.announce("ended", "n_trials of 4 reached");
  EXPECT_EQ(awaited.over(), "n_trials of 4 reached");
  EXPECT_EQ(other.over(), std::nullopt);
  SearchToJoin late(job, *storage, {.launch = "mine"});  // began when the search had ended
  EXPECT_EQ(late.over(), "n_trials of 4 reached");
  EXPECT_EQ(late.wait(0, {}).ended, "n_trials of 4 reached");
  EXPECT_NE(id_of_launch("mine"), id_of_launch("another"));
  EXPECT_GT(id_of_launch("mine"), 1'000'000'000);
  EXPECT_LE(id_of_launch("mine"), INT32_MAX);
}

}  // namespace
}  // namespace quasar::tune
