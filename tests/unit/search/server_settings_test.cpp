// Servers whose databases have other defaults than PostgreSQL's own.
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "quasar/search/run.hpp"
#include "servers/postgresql.hpp"
#include "unit/error_of.hpp"

namespace quasar::search {
namespace {
using namespace std::chrono_literals;

TEST(ServerSettings, DefaultsOfADatabaseChangeNothing) {
  const auto server = servers::Postgresql::start();
  if (!server) GTEST_SKIP() << "no PostgreSQL server can be started here";
  for (const char* isolation : {"repeatable read", "serializable"}) {
    SCOPED_TRACE(isolation);
    const std::string database = isolation[0] == 'r' ? "repeatable" : "serial";
    ASSERT_TRUE(server->run("CREATE DATABASE " + database));
    const std::vector<std::string> settings{std::string("default_transaction_isolation = '") + isolation + "'",
                                            "lock_timeout = '20ms'", "idle_session_timeout = '300ms'"};
    for (const auto& setting : settings) ASSERT_TRUE(server->run("ALTER DATABASE " + database + " SET " + setting));
    const std::string url = server->url(database);
    const auto storage = open_storage(url);
    Study led(*storage, {.name = "s"});
    Json values = Json::array();
    for (int i = 0; i < 48; ++i) values.push_back(i);
    const Space space = Space::parse({{"a", values}});
    const auto work = [&](Study& study) {
      run({.seed = 1}, study, space, *samplers::table().make("grid"), {}, [](RunningTrial& job) -> Outcome {
        std::this_thread::sleep_for(2ms);
        return {.values = {job.point().find("a")->get<double>()}};
      });
    };
    {
      std::vector<std::jthread> workers;
      for (int i = 0; i < 3; ++i) {
        workers.emplace_back([&] {
          EXPECT_EQ(test::error_of([&] {
                      const auto own = open_storage(url);
                      Study study(*own, {.name = "s", .resume = true, .worker = true});
                      work(study);
                    }),
                    "no error");
        });
      }
      work(led);
    }
    const auto trials = storage->trials(led.id());
    EXPECT_EQ(trials.size(), 48U);
    for (size_t i = 0; i < trials.size(); ++i) EXPECT_EQ(trials[i].number, static_cast<int64_t>(i));
    std::this_thread::sleep_for(700ms);  // a long trial, in which the leader's connection is silent
    const auto other = open_storage(url);
    EXPECT_NE(test::error_of([&] { Study(*other, {.name = "s", .resume = true}); }).find("in use by process"), std::string::npos);
  }
}

}  // namespace
}  // namespace quasar::search
