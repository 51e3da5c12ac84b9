// A PostgreSQL server as storage: its addresses, what is wrong with it, and its outages.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/memory_cap.hpp"
#include "quasar/search/postgresql/postgresql_address.hpp"
#include "unit/error_of.hpp"
#include "unit/search/processes.hpp"

namespace quasar::search {
namespace {
using test::error_of;

using namespace std::chrono_literals;

TEST(Postgresql, AddressesAsUsersWriteThem) {
  const auto address = postgresql_address("postgresql://me:a%40b'c@host:5433/db?sslmode=disable");
  EXPECT_EQ(address.shown, "postgresql://host:5433/db");
  EXPECT_NE(address.connection.find("password=a%40b%27c&"), std::string::npos) << address.connection;
  EXPECT_NE(address.connection.find("sslmode=disable"), std::string::npos) << address.connection;
  EXPECT_EQ(address.for_others, "postgresql://me@host:5433/db?sslmode=disable");
  EXPECT_EQ(
      postgresql_address("postgresql+psycopg2://me:secret@[::1]:5433/my%20db?sslmode=require&channel_binding=require").for_others,
      "postgresql://me@[::1]:5433/my%20db?channel_binding=require&sslmode=require");
  // SOCI would put single spaces in place of any white space.
  const auto spaces = postgresql_address("postgresql://me:a%20%20%09b@host/db");
  EXPECT_EQ(spaces.connection.find_first_of(" \t"), std::string::npos) << spaces.connection;
  EXPECT_NE(spaces.connection.find("password=a%20%20%09b"), std::string::npos) << spaces.connection;
  const std::string wrong = error_of([] { postgresql_address("postgresql://me:hush@host/db?nonsense=1"); });
  EXPECT_NE(wrong.find("postgresql://me:***@host"), std::string::npos) << wrong;
  EXPECT_EQ(wrong.find("hush"), std::string::npos) << wrong;
  for (const char* url : {"postgresql://me:zw@heim@host/db", "postgresql://me:zw/heim@host/db",
                          "postgresql://me:zw@he/im@host/db", "postgresql://me:12/zw@heim@host:5/db"}) {
    const std::string said = error_of([&] { open_storage(url); });
    EXPECT_NE(said.find("postgresql://me:***@host"), std::string::npos) << said;
    EXPECT_NE(said.find("%40"), std::string::npos) << said;
    EXPECT_EQ(said.find("zw"), std::string::npos) << said;
    EXPECT_EQ(said.find("im@"), std::string::npos) << said;
  }
  const std::string two_ways = error_of([] { postgresql_address("postgresql://me:zwei@host/d@b"); });
  EXPECT_NE(two_ways.find("can be read in two ways"), std::string::npos) << two_ways;
  EXPECT_NE(two_ways.find("a database's name as %40"), std::string::npos) << two_ways;
  EXPECT_EQ(postgresql_address("postgresql://me:zwei@host/d%40b").shown, "postgresql://host/d@b");
  EXPECT_EQ(postgresql_address("postgresql://me:zwei@host/d/b").shown, "postgresql://host/d/b");
  EXPECT_EQ(postgresql_address("postgresql://me@host:5432/d@b").shown, "postgresql://host:5432/d@b");
  for (const char* url :
       {"postgresql://me:geheim@host:5432", "postgresql://me:geheim@host/", "postgresql://me:geheim@host?sslmode=require"}) {
    const std::string without = error_of([&] { postgresql_address(url); });
    EXPECT_NE(without.find("names no database"), std::string::npos) << without;
    EXPECT_EQ(without.find("geheim"), std::string::npos) << without;
  }
  EXPECT_EQ(postgresql_address("postgresql://me@host?dbname=q").shown, "postgresql://host/q");
  EXPECT_EQ(error_of([] { postgresql_address("postgresql://?service=studies"); }), "no error");
  EXPECT_TRUE(is_shared_storage("postgresql+psycopg2://me@host/db"));
  EXPECT_FALSE(is_shared_storage("sqlite:///postgresql.db"));
}

TEST(Postgresql, MisspeltAddressesAreNoFiles) {
  for (const char* place :
       {"postgresql:/me:geheim@host/db", "postgresql//me:geheim@host/db", "postgres:me:geheim@host/db",
        " PostgreSQL:\\\\me:geheim@host/db", "postgresql+psycopg2:/me:geheim@host/db", "host=127.0.0.1 password=geheim user=me",
        "password = 'geheim' host=h", "postgre:/me:geheim@h/q", "postgres //me:geheim@h/q", "postgresql;//me:geheim@h/q",
        "me:geheim@127.0.0.1:5432/q", "//me:geheim@h/q", "application_name=x password=geheim host=h"}) {
    const std::string said = error_of([&] { open_storage(place); });
    EXPECT_NE(said.find("postgresql://user@host:port/database"), std::string::npos) << said;
    EXPECT_EQ(said.find("geheim"), std::string::npos) << said;
    EXPECT_EQ(error_of([&] { open_to_read(place); }), said);
    EXPECT_FALSE(std::filesystem::exists(place));
  }
  for (const char* file : {"postgres.db", "postgresql/study.db", "runs/user=3/study.db", "hosts.db", "runs:3/me@home/study.db"})
    EXPECT_EQ(error_of([&] { storage_exists(file); }), "no error") << file;
  const TemporaryFolder folder;
  const std::string run = (folder.path() / "run_12:30@host").string();
  EXPECT_EQ(error_of([&] { storage_exists(run + "/study.db"); }), "no error") << "of a folder that is not there yet";
  EXPECT_NE(error_of([&] { storage_exists("/me:geheim@h/q"); }), "no error") << "no folder of the root";
  EXPECT_NE(error_of([&] { storage_exists("/me:geheim@h"); }), "no error");
}

TEST(Postgresql, WhatIsWrongIsSaidWithoutThePassword) {
  const auto server = servers::Postgresql::start();
  if (!server) GTEST_SKIP() << "no PostgreSQL server can be started here";
  const auto refused = [&](const std::string& url) {
    const std::string message = error_of([&] { open_storage(url); });
    EXPECT_EQ(message.find(servers::Postgresql::password), std::string::npos) << message;
    EXPECT_EQ(message.find("guess"), std::string::npos) << message;
    return message;
  };
  std::string wrong = server->url();
  wrong.replace(wrong.find(servers::Postgresql::encoded), std::string(servers::Postgresql::encoded).size(), "guess");
  EXPECT_NE(refused(wrong).find("PGPASSWORD"), std::string::npos);
  EXPECT_NE(refused(server->url("nowhere")).find("createdb"), std::string::npos);
  ASSERT_TRUE(server->run("CREATE DATABASE west ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"));
  const std::string west = refused(server->url("west"));
  EXPECT_NE(west.find("LATIN1"), std::string::npos) << west;
  EXPECT_NE(west.find("createdb --encoding UTF8"), std::string::npos) << west;
  EXPECT_NE(refused("postgresql://me:guess@127.0.0.1:1/db").find("127.0.0.1:1/db"), std::string::npos);
  const auto blame = [](const std::string& url) {
    try {
      open_storage(url);
    } catch (const Error& e) {
      return e.blame();
    }
    return Blame::user;
  };
  EXPECT_EQ(blame("postgresql://me:guess@127.0.0.1:1/db"), Blame::world);  // it may answer later
  for (const std::string& url : {wrong, server->url("nowhere")}) EXPECT_EQ(blame(url), Blame::setup) << url;

  EXPECT_EQ(open_to_read(server->url()), nullptr);
  EXPECT_EQ(open_to_read(server->url()), nullptr) << "to read makes no tables";
  const auto first = open_storage(server->url()), second = open_storage(server->url());
  EXPECT_TRUE(open_to_read(server->url())->studies().empty());
  const Study held(*first, {});
  const std::string busy = error_of([&] { Study(*second, {.resume = true}); });
  EXPECT_NE(busy.find("in use by process " + std::to_string(getpid())), std::string::npos) << busy;
  EXPECT_NE(busy.find("quasar worker"), std::string::npos) << busy;
  EXPECT_NE(busy.find(" on "), std::string::npos) << busy;
}

// All but one are told what to do, also those that looked before it was there.
TEST(Postgresql, SeveralMakeAStudyAtOnce) {
  const auto server = servers::Postgresql::start();
  if (!server) GTEST_SKIP() << "no PostgreSQL server can be started here";
  std::vector<std::unique_ptr<Storage>> storages(6);
  for (auto& storage : storages) storage = open_storage(server->url());
  for (int round = 0; round < 10; ++round) {
    std::vector<std::string> said(storages.size());
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < storages.size(); ++i) {
      threads.emplace_back(
          [&, i] { said[i] = error_of([&] { storages[i]->create("s" + std::to_string(round), {Direction::minimize}); }); });
    }
    threads.clear();
    EXPECT_EQ(std::ranges::count(said, "no error"), 1);
    for (const auto& one : said) {
      EXPECT_TRUE(one == "no error" || one.find("exists already; continue it with --resume") != std::string::npos) << one;
    }
  }
}

// PostgreSQL's numbers may be none at all.
TEST(Postgresql, NumbersThatMakeNoSense) {
  const auto server = servers::Postgresql::start();
  if (!server) GTEST_SKIP() << "no PostgreSQL server can be started here";
  const auto storage = open_storage(server->url());
  const auto study = storage->create("s", {Direction::minimize});
  Trial trial;
  trial.point.set("a", 0.5);
  trial.distributions = {std::make_shared<Distribution>(Real{0, 1})};
  storage->start(study.id, trial);
  trial.state = State::complete;
  trial.values = {1};
  trial.intermediate = {{0, 1}};
  storage->finish(study.id, trial);
  EXPECT_EQ(storage->trials(study.id).front().values, std::vector<double>{1});
  for (const auto& [change, message] : std::vector<std::pair<std::string, std::string>>{
           {"trial_values SET value = 'NaN'", "study 's': trial 0: its value is nan, but must be finite"},
           {"trial_values SET value = 'Infinity'", "study 's': trial 0: its value is inf, but must be finite"},
           {"trial_values SET value = NULL", "study 's': trial 0: its value is missing"},
           {"trial_params SET param_value = 'NaN'", "study 's': trial 0: the value of 'a' is nan"},
           {"trial_intermediate_values SET intermediate_value = '-Infinity'", "its intermediate value at step 0 is -inf"}}) {
    const std::string assignment = change.substr(change.find("SET "));
    const std::string column = assignment.substr(4, assignment.find(" =") - 4);
    ASSERT_TRUE(server->run("UPDATE " + change));
    const std::string said = error_of([&] { storage->trials(study.id); });
    EXPECT_NE(said.find(message), std::string::npos) << said;
    ASSERT_TRUE(server->run("UPDATE " + change.substr(0, change.find(' ')) + " SET " + column + " = 0.5"));
  }
  EXPECT_EQ(error_of([&] { storage->trials(study.id); }), "no error");
}

// In words for people: whom or what it is about, and nothing of the statement.
TEST(Postgresql, WhatTheServerRefusesIsSaidInWords) {
  const auto server = servers::Postgresql::start();
  if (!server) GTEST_SKIP() << "no PostgreSQL server can be started here";
  const auto storage = open_storage(server->url());
  Study study(*storage, {.name = "s"});
  const Space space = Space::parse({{"a", {1, 2, 3}}});
  Trial trial = study.start(space, space.at(0));
  trial.state = State::complete;
  trial.values = {1};
  study.finish(trial);
  const auto said = [&](const std::vector<std::string>& changes, const std::function<void()>& work) {
    for (const auto& change : changes) EXPECT_TRUE(server->run(change)) << change;
    const std::string message = error_of(work);
    for (const char* statement : {"LINE 1", "SELECT", "UPDATE", "VALUES"})
      EXPECT_EQ(message.find(statement), std::string::npos) << message;
    return message;
  };
  const auto has = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const std::string twice = said({"UPDATE trials SET state = 'RUNNING'"}, [&] { storage->finish(study.id(), trial); });
  has(twice, "the study 's' in the study database " + postgresql_address(server->url()).shown + " is damaged, its rows");
  has(twice, "(trial_id, objective)=(" + std::to_string(trial.id) + ", 0) already exists");
  Trial deleted = trial;
  deleted.id = 4711;
  has(said({}, [&] { storage->sharing()->note(deleted, "key", 1); }), "damaged, another program has deleted rows");
  has(said({"ALTER TABLE trial_params RENAME TO gone"}, [&] { storage->trials(study.id()); }), "its tables are not those");
  has(said({"ALTER TABLE gone RENAME TO trial_params", "ALTER TABLE trials RENAME COLUMN state TO gone"},
           [&] { storage->trials(study.id()); }),
      "state does not exist)");

  ASSERT_TRUE(server->run("ALTER TABLE trials RENAME COLUMN gone TO state"));
  ASSERT_TRUE(server->run("CREATE USER guest PASSWORD 'guess'"));
  std::string guest = server->url();
  guest.replace(guest.find(servers::Postgresql::user), std::string(servers::Postgresql::user).size(), "guest");
  guest.replace(guest.find(servers::Postgresql::encoded), std::string(servers::Postgresql::encoded).size(), "guess");
  const std::string denied = said({}, [&] { open_storage(guest); });
  has(denied, "permission denied");
  has(denied, "the user 'guest' needs the right");
  EXPECT_EQ(denied.find("guess"), std::string::npos) << denied;
  const std::string only =
      said({"ALTER USER " + std::string(servers::Postgresql::user) + " SET default_transaction_read_only = on"},
           [&] { open_storage(server->url())->create("t", {Direction::minimize}); });
  has(only, "nothing can be written there");
}

// It is said at once that a server is gone, and that it is back; a database that is gone is not waited for.
TEST(Postgresql, AnOutageIsTold) {
  const auto server = servers::Postgresql::start();
  if (!server) GTEST_SKIP() << "no PostgreSQL server can be started here";
  ASSERT_TRUE(server->run("CREATE DATABASE short"));
  const auto storage = open_storage(server->url()), other = open_storage(server->url("short"));
  std::vector<std::string> told;
  storage->tell_to([&](Level level, const std::string& text) {
    EXPECT_EQ(level, Level::warning);
    told.push_back(text);
  });
  server->stop(SIGINT);
  std::jthread later([&](const std::stop_token& over) {
    std::this_thread::sleep_for(500ms);
    EXPECT_TRUE(server->begin());
    while (!over.stop_requested()) std::this_thread::sleep_for(1ms);  // the server ends with the thread that started it
  });
  EXPECT_TRUE(storage->studies().empty());
  ASSERT_EQ(told.size(), 2u);
  EXPECT_NE(told[0].find("waiting up to 300"), std::string::npos) << told[0];
  EXPECT_NE(told[1].find("the server is back"), std::string::npos) << told[1];

  EXPECT_TRUE(other->studies().empty());  // connected again
  ASSERT_TRUE(server->run("DROP DATABASE short WITH (FORCE)"));
  other->tell_to([&](Level, const std::string& text) { ADD_FAILURE() << "nothing is waited for: " << text; });
  const std::string gone = error_of([&] { other->studies(); });
  EXPECT_NE(gone.find("does not exist"), std::string::npos) << gone;

  // Ctrl-C says what was waited for.
  server->stop(SIGINT);
  std::stop_source stop;
  const CancelScope scope(stop.get_token());
  storage->tell_to([&](Level, const std::string&) { stop.request_stop(); });  // it waits
  try {
    storage->studies();
    ADD_FAILURE() << "no error";
  } catch (const Cancelled& stopped) {
    EXPECT_NE(std::string(stopped.what()).find("--resume"), std::string::npos) << stopped.what();
    EXPECT_NE(std::string(stopped.what()).find("study database"), std::string::npos) << stopped.what();
  }
}

// A server that is stopped keeps its connections. Its silence is said, ends when it goes on, and holds nobody who is to end.
TEST(Postgresql, ASilentServerIsNoticed) {
  const auto server = servers::Postgresql::start();
  if (!server) GTEST_SKIP() << "no PostgreSQL server can be started here";
  const auto storage = open_storage(server->url());
  std::mutex guard;
  std::condition_variable heard;
  std::vector<std::string> told;
  storage->tell_to([&](Level, const std::string& text) {
    const std::scoped_lock lock(guard);
    told.push_back(text);
    heard.notify_all();
  });
  server->freeze(true);
  std::jthread asking([&] { EXPECT_TRUE(storage->studies().empty()); });
  {
    std::unique_lock lock(guard);
    heard.wait(lock, [&] { return !told.empty(); });
    EXPECT_NE(told.front().find("has not answered for"), std::string::npos) << told.front();
  }
  server->freeze(false);
  asking.join();
  ASSERT_EQ(told.size(), 2u);
  EXPECT_NE(told.back().find("answers again"), std::string::npos) << told.back();

  server->freeze(true);
  std::stop_source stop;
  std::jthread later([&] {
    std::this_thread::sleep_for(300ms);
    stop.request_stop();
  });
  {
    const CancelScope scope(stop.get_token());
    EXPECT_THROW(storage->studies(), Cancelled);
    EXPECT_THROW(open_storage(server->url()), Cancelled);
  }
  server->freeze(false);
  EXPECT_TRUE(storage->studies().empty());  // connected again
}

// A server that breaks a deadlock, or is told to cancel a statement, has rolled back what is done again.
TEST(Postgresql, WhatTheServerGivesUpIsDoneAgain) {
  Place place{.server = servers::Postgresql::start(), .memory = nullptr};
  if (!place.server) GTEST_SKIP() << "no PostgreSQL server can be started here";
  const auto cancel_who_waits_for = [&](const std::string& name) {
    std::jthread other([&, name] {
      EXPECT_TRUE(place.server->run("DO $$ DECLARE waiting int := 0; BEGIN LOCK TABLE " + name +
                                    " IN EXCLUSIVE MODE; WHILE waiting = 0 LOOP PERFORM pg_sleep(0.02); PERFORM "
                                    "pg_stat_clear_snapshot(); SELECT count(pg_cancel_backend(pid)) INTO waiting FROM "
                                    "pg_stat_activity WHERE wait_event_type = 'Lock'; END LOOP; END $$"));
    });
    const std::string held =
        "SELECT 1 / count(*) FROM pg_locks WHERE mode = 'ExclusiveLock' AND relation = '" + name + "'::regclass";
    for (int i = 0; i < 60000 && !place.server->run(held); ++i) std::this_thread::sleep_for(10ms);
    return other;
  };
  const Space space = space_of(5);
  const auto storage = place.open();
  Study study(*storage.storage, {.heartbeat = {.interval = 0.1, .grace = 60}});
  std::vector<std::jthread> others;
  const auto result = run({}, study, space, *samplers::table().make("grid"), {}, [&](RunningTrial& job) -> Outcome {
    if (job.number() == 1) others.push_back(cancel_who_waits_for("trial_user_attributes"));  // written in a turn
    EXPECT_EQ(job.claim(std::to_string(job.number())), std::nullopt);
    if (job.number() == 3) others.push_back(cancel_who_waits_for("trials"));  // written at the trial's end
    return {.values = {value_of(job)}};
  });
  EXPECT_EQ(result.counts.complete, 5u);
  EXPECT_EQ(study.trials().size(), 5u);
  EXPECT_EQ(study.at(1).user_attributes[attribute::plan_hash], "1");
}

// Books are kept without the limit of trials, but a wait for a server is long.
TEST(Postgresql, AMemoryLimitHoldsDuringAnOutage) {
  const auto server = servers::Postgresql::start();
  if (!server) GTEST_SKIP() << "no PostgreSQL server can be started here";
  const auto storage = open_storage(server->url());
  server->stop(SIGINT);
  const MemoryCap cap(size_t{1} << 30);
  std::stop_source stop;
  std::jthread waiting([&] {
    const CancelScope scope(stop.get_token());
    const Uncapped no_cap;
    EXPECT_THROW(storage->studies(), Cancelled);
  });
  bool held = false;
  for (int i = 0; i < 60000 && !held; ++i) {
    std::this_thread::sleep_for(10ms);
    rlimit limit{};
    getrlimit(RLIMIT_DATA, &limit);
    held = i > 20 && limit.rlim_cur == capped_memory();  // not before it waits
  }
  stop.request_stop();
  EXPECT_TRUE(held);
}

// What others try is read once; when it ends, only what has changed is read.
TEST(Postgresql, ParametersStayWithATrialThatEnds) {
  const auto server = servers::Postgresql::start();
  if (!server) GTEST_SKIP() << "no PostgreSQL server can be started here";
  const auto mine = open_storage(server->url()), theirs = open_storage(server->url());
  const Space space = Space::parse({{"a", {1, 2, 3}}, {"b", {4, 5}}});
  Study leader(*mine, {}), other(*theirs, {.worker = true});
  const Trial begun = leader.start(space, space.at(4));
  other.refresh();
  ASSERT_EQ(other.trials().size(), 1U);
  EXPECT_EQ(other.at(0).state, State::running);
  EXPECT_TRUE(server->run("DELETE FROM trial_params"));  // nobody asks for them again
  Trial ended = begun;
  ended.state = State::complete;
  ended.values = {0.5};
  leader.finish(ended);
  other.refresh();
  EXPECT_EQ(other.at(0).state, State::complete);
  EXPECT_EQ(other.at(0).point, space.at(4));
  EXPECT_EQ(other.at(0).distributions.size(), begun.distributions.size());
  EXPECT_EQ(other.numbers_at(space.at(4)), std::vector<int64_t>{0});
}

// Optuna's columns hold 512 characters.
TEST(Postgresql, LongNames) {
  const auto server = servers::Postgresql::start();
  if (!server) GTEST_SKIP() << "no PostgreSQL server can be started here";
  const auto storage = open_storage(server->url());
  const std::string name = std::string(600, 'a') + "\xC3\xA9", other = std::string(600, 'a') + "b";
  const Space space = Space::parse({{name, {1, 2, 3}}, {other, {4, 5}}});
  Study study(*storage, {});
  study.start(space, space.at(4));
  EXPECT_EQ(storage->trials(study.id()).front().point, space.at(4));
  EXPECT_NE(error_of([&] { Study(*storage, {.name = std::string(513, 'x')}); }).find("512 at most"), std::string::npos);
}

// A server that crashes, or is restarted, in the middle: nobody loses a trial, and the search goes on.
TEST(Postgresql, GoneAndBack) {
  Place place{.server = servers::Postgresql::start(), .memory = nullptr};
  if (!place.server) GTEST_SKIP() << "no PostgreSQL server can be started here";
  const Space space = space_of(150);
  std::atomic<bool> over = false;
  std::atomic<int> done = 0;
  std::jthread trouble([&] {
    for (const int signal : {SIGQUIT, SIGINT}) {
      const int before = done;
      while (done < before + 20 && !over) std::this_thread::sleep_for(1ms);
      if (over) return;
      place.server->stop(signal);
      std::this_thread::sleep_for(300ms);
      ASSERT_TRUE(place.server->begin()) << place.server->log();
    }
    while (!over) std::this_thread::sleep_for(1ms);  // the server ends with the thread that started it
  });
  const struct Ending {  // also where something is thrown
    std::atomic<bool>& over;
    ~Ending() { over = true; }
  } ending{over};
  in_processes(place, "study", 3, [&](size_t, Study& study) {
    const auto result = run({.n_jobs = 2}, study, space, *samplers::table().make("grid"), {}, [&](RunningTrial& job) -> Outcome {
      if (const auto other = job.claim("plan " + std::to_string(static_cast<int>(value_of(job)) / 2)))
        return {.duplicate_of = other};
      std::this_thread::sleep_for(5ms);
      ++done;
      return {.values = {value_of(job)}};
    });
    EXPECT_EQ(result.counts.finished(), 150u);
    EXPECT_EQ(result.counts.failed, 0u);
  });
}

}  // namespace
}  // namespace quasar::search
