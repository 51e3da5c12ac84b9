#include "quasar/search/storage.hpp"

#include <grp.h>
#include <gtest/gtest.h>
#include <soci/soci.h>
#include <soci/sqlite3/soci-sqlite3.h>

#include <filesystem>
#include <iostream>
#include <limits>
#include <thread>

#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"
#include "quasar/search/optuna/optuna_format.hpp"
#include "quasar/search/study.hpp"
#include "unit/error_of.hpp"

namespace quasar::search {
namespace {
using test::error_of;

TEST(OptunaFormat, DistributionsAsOptunaWritesThem) {
  // Texts taken from a database that Optuna 5.0 made.
  const std::pair<Distribution, const char*> table[] = {
      {Categorical{{"x", nullptr, true, 1.5}},
       R"({"name": "CategoricalDistribution", "attributes": {"choices": ["x", null, true, 1.5]}})"},
      {Integer{1, 10, 3, false}, R"({"name": "IntDistribution", "attributes": {"log": false, "step": 3, "low": 1, "high": 10}})"},
      {Integer{1, 64, 1, true}, R"({"name": "IntDistribution", "attributes": {"log": true, "step": 1, "low": 1, "high": 64}})"},
      {Real{1e-3, 1, {}, true},
       R"({"name": "FloatDistribution", "attributes": {"step": null, "low": 0.001, "high": 1.0, "log": true}})"},
      {Real{0, 1, 0.25, false},
       R"({"name": "FloatDistribution", "attributes": {"step": 0.25, "low": 0.0, "high": 1.0, "log": false}})"},
  };
  for (const auto& [distribution, text] : table) {
    EXPECT_EQ(Json::parse(optuna::text_of(distribution)), Json::parse(text));
    EXPECT_EQ(optuna::distribution_of(text), distribution);
    EXPECT_EQ(optuna::distribution_of(optuna::text_of(distribution)), distribution);
  }
}

TEST(OptunaFormat, ListsAndMappingsAreTextsThere) {
  const Distribution pairs =
      Categorical{{Json::parse("[3000, 0.1]"), Json::parse(R"({"regex": "^conv"})"), "[not json", "[1]", "\"", nullptr}};
  const Json stored = Json::parse(optuna::text_of(pairs));
  for (const Json& choice : stored["attributes"]["choices"]) EXPECT_TRUE(choice.is_string() || choice.is_null());
  EXPECT_EQ(stored["attributes"]["choices"][0], "[3000,0.1]");
  EXPECT_EQ(optuna::distribution_of(stored.dump()), pairs);
}

TEST(OptunaFormat, TimesKeepMicroseconds) {
  for (const char* text : {"2026-01-31 23:59:59.123456", "2026-07-01 00:00:00.000001", "1999-12-31 12:00:00.999999"}) {
    EXPECT_EQ(optuna::text_of(optuna::time_of(text)), text);
  }
  EXPECT_EQ(optuna::time_of("2026-01-31 10:00:01.5") - optuna::time_of("2026-01-31 10:00:00"), std::chrono::milliseconds(1500));
}

TEST(Sqlite, FilesThatAreNotStudies) {
  const TemporaryFolder folder;
  const auto path = [&](const char* name) { return (folder.path() / name).string(); };
  write_file(path("text.db"), std::string_view("this is a text, and long enough to be mistaken for a database header by nobody"));
  EXPECT_NE(error_of([&] { open_storage(path("text.db")); }).find(path("text.db")), std::string::npos);
  {
    soci::session other(soci::sqlite3, "dbname=" + path("other.db"));
    other << "CREATE TABLE mine (x INTEGER)";
  }
  EXPECT_EQ(error_of([&] { open_storage(path("other.db")); }), path("other.db") + " is an SQLite file, but not a study database");
  EXPECT_NE(error_of([&] { open_storage(path("missing/study.db")); }).find(path("missing/study.db")), std::string::npos);
  EXPECT_NE(error_of([&] { open_storage("mysql://host/db"); }).find("not supported"), std::string::npos);
  EXPECT_NE(error_of([&] { storage::table().make("sqlite"); }).find("'path' is missing"), std::string::npos);
}

TEST(Sqlite, OfAnotherVersionOfTheSchema) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "study.db").string();
  open_storage(path);
  const auto after = [&](const std::string& change) {
    soci::session(soci::sqlite3, "dbname=" + path) << change;
    const std::string said = error_of([&] { open_storage(path); });
    EXPECT_EQ(error_of([&] { open_to_read(path); }), said);
    return said;
  };
  EXPECT_EQ(
      after("UPDATE version_info SET schema_version = 11"),
      path + " has version 11 of Optuna's schema, but Quasar needs version 12; run 'optuna storage upgrade --storage sqlite:///" +
          path + "' or choose another database");
  EXPECT_EQ(after("UPDATE version_info SET schema_version = 13"),
            path + " has version 13 of Optuna's schema, which is newer than Quasar's 12; choose another database");
  soci::session(soci::sqlite3, "dbname=" + path) << "UPDATE version_info SET schema_version = 12";
  EXPECT_EQ(after("UPDATE alembic_version SET version_num = 'v2.6.0.a'"),
            path +
                " has the tables of an older Optuna (v2.6.0.a, and Quasar needs v3.2.0.a); run 'optuna storage upgrade "
                "--storage sqlite:///" +
                path + "' or choose another database");
  EXPECT_EQ(after("UPDATE alembic_version SET version_num = 'v9.9.0.a'"),
            path +
                " has the tables of a version of Optuna that Quasar does not know (v9.9.0.a, and Quasar needs v3.2.0.a); "
                "choose another database");
  const std::string none = path + " is damaged: it does not say of which version it is";
  EXPECT_EQ(after("UPDATE version_info SET schema_version = 0"), none);
  EXPECT_EQ(after("DELETE FROM version_info"), none);
}

// Files of others: each is refused by name, or what is not Quasar's in it is passed over.
TEST(Sqlite, StudiesWithRowsThatMakeNoSense) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "study.db").string();
  const auto after = [&](const std::string& change) {
    std::filesystem::remove(path);
    const auto storage = open_storage(path);
    const StudyRecord study = storage->create("s", {Direction::minimize});
    Trial trial;
    trial.point.set("a", "x");
    trial.distributions = {std::make_shared<Distribution>(Categorical{{"x"}})};
    trial.user_attributes = {{attribute::plan_hash, "h"}};
    storage->start(study.id, trial);
    trial.state = State::complete;
    trial.values = {1};
    trial.intermediate = {{3, 0.5}};
    storage->finish(study.id, trial);
    soci::session(soci::sqlite3, "dbname=" + path) << change;
    return error_of([&] {
      const auto damaged = open_storage(path);
      damaged->studies();
      damaged->trials(study.id);
    });
  };
  const auto with = [](const char* distribution) {
    return std::string("UPDATE trial_params SET distribution_json = '") + distribution + "'";
  };
  for (const auto& [change, message] : std::vector<std::pair<std::string, std::string>>{
           {"UPDATE trial_params SET param_value = -1",
            "the value of 'a' is -1.0, which is the position of none of its choices, 0 to 0"},
           {with(R"({"name": "IntDistribution", "attributes": {"low": 1, "high": 5, "step": 0}})"), "is no distribution"},
           {with(R"({"name": "FloatDistribution", "attributes": {"low": 0}})"), "is no distribution"},
           {with("[]"), "is no distribution"},
           {"UPDATE trials SET datetime_start = '99999999-01-01 00:00:00'", "is no time"},
           {"UPDATE trials SET state = 'LOST'", "unknown trial state LOST"},
           {"UPDATE trials SET number = -1", "trial number -1 is negative"},
           {"UPDATE trials SET number = 9223372036854775807", "trial number 9223372036854775807 is larger than any"},
           {"UPDATE trial_values SET value = NULL", "study 's': trial 0: its value is missing"},
           {"UPDATE trial_values SET value = 9e999", "study 's': trial 0: its value is inf, but must be finite"},
           {"UPDATE trial_values SET value = -9e999", "study 's': trial 0: its value is -inf, but must be finite"},
           {"UPDATE trial_values SET value = 'abc'", "study 's': trial 0: its value is 'abc', which is no number"},
           {"UPDATE trial_values SET value = x'31'", "study 's': trial 0: its value is '1', which is no number"},
           {"UPDATE trial_values SET value_type = 'MUCH'", "study 's': trial 0: its value is of the unknown type 'MUCH'"},
           {"UPDATE trial_values SET objective = 1", "trial 0: it has a value of objective 1, but none of 0"},
           {"UPDATE trial_values SET objective = 'abc'", "the number of an objective is 'abc', which is no whole number"},
           {"UPDATE trial_intermediate_values SET intermediate_value = 'abc'", "its intermediate value at step 3 is 'abc'"},
           {"UPDATE trial_intermediate_values SET intermediate_value = 9e999", "its intermediate value at step 3 is inf"},
           {"UPDATE trial_intermediate_values SET step = 1.5", "the step of an intermediate value is '1.5'"},
           {"UPDATE trial_params SET param_value = 'abc'", "study 's': trial 0: the value of 'a' is 'abc', which is no number"},
           {"UPDATE trial_params SET param_value = 9e999", "the value of 'a' is inf"},
           {"UPDATE trial_params SET param_value = 0.5", "trial 0: the value of 'a' is 0.5, which is the position of none"},
           {"UPDATE trials SET number = 'abc'", "a trial's number is 'abc', which is no whole number"},
           {"UPDATE trials SET number = NULL", "a trial's number is missing"},
           {"UPDATE study_directions SET direction = 'UP'", "study 's': unknown direction UP"},
           {"INSERT INTO trial_system_attributes (trial_id, \"key\", value_json) VALUES (1, 'constraints', '[NaN]')",
            "study 's': trial 0: its constraints are [NaN], but must be a list of numbers"},
           {"INSERT INTO trial_system_attributes (trial_id, \"key\", value_json) VALUES (1, 'constraints', '[\"a\"]')",
            "trial 0: its constraints are [\"a\"], but must be a list of numbers"},
           {"INSERT INTO trial_user_attributes (trial_id, \"key\", value_json) VALUES (1, 'metrics', '{\"L2\": 9e999}')",
            "study 's': trial 0: attribute 'metrics': not valid JSON"},
           {"DELETE FROM trial_values", "trial 0 is complete, but has 0 of 1 value: the study is damaged"},
           {"INSERT INTO study_directions (direction, study_id, objective) VALUES ('MINIMIZE', 1, 1)", "has 1 of 2 values"},
           {"UPDATE trial_user_attributes SET value_json = '{'", "attribute 'plan_hash': not valid JSON"},
           {"CREATE VIEW v AS SELECT 1", "holds views, triggers or virtual tables"}}) {
    const std::string found = after(change);
    EXPECT_NE(found.find(message), std::string::npos) << change << ": " << found;
    EXPECT_NE(found.find(path), std::string::npos) << change << ": " << found;
    if (!change.starts_with("CREATE")) {
      EXPECT_NE(found.find("the study is damaged: restore it from a backup"), std::string::npos) << change << ": " << found;
    }
  }
  EXPECT_EQ(after("UPDATE trial_user_attributes SET value_json = '5'"), "no error");
  const auto metrics_of = [&](const std::string& text) {
    EXPECT_EQ(after("UPDATE trial_user_attributes SET \"key\" = 'metrics', value_json = '" + text + "'"), "no error");
    const auto storage = open_storage(path);
    return storage->trials(storage->studies().at(0).id).at(0).user_attributes.value("metrics", Json());
  };
  EXPECT_EQ(metrics_of(R"({"L2": 0.5})"), (Json{{"L2", 0.5}}));
  for (const char* foreign : {R"({"L2": "abc"})", R"({"L2": null})", R"({"L2": [1]})", "[]"})
    EXPECT_TRUE(metrics_of(foreign).is_null()) << foreign;
}

// Python's json module writes them and Optuna reads them. What is not Quasar's stays as it is.
TEST(Sqlite, NumbersThatJsonDoesNotKnowAreOthers) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "study.db").string();
  const int64_t study = open_storage(path)->create("s", {Direction::minimize}).id;
  Trial trial;
  open_storage(path)->start(study, trial);
  soci::session sql(soci::sqlite3, "dbname=" + path);
  const auto insert = [&](const std::string& owner, const std::string& key, const std::string& text) {
    sql << "INSERT INTO " << owner << "_attributes (" << owner.substr(0, 5) << "_id, \"key\", value_json) VALUES (1, '" << key
        << "', '" << text << "')";
  };
  insert("study_user", "odd", R"({"x": NaN, "y": [-Infinity, "NaN"]})");
  insert("trial_user", "odd", "NaN");
  insert("trial_user", "metrics", R"({"L2": Infinity})");
  insert("trial_user", "fine", R"("NaN")");
  insert("trial_system", "completed_rung_0", "NaN");
  insert("trial_system", "constraints", "[Infinity, -Infinity, -1.5]");
  const auto others = [&] {
    std::string all;
    for (const std::string owner : {"study_user", "trial_user", "trial_system"}) {
      std::string text;
      sql << "SELECT COALESCE(GROUP_CONCAT(\"key\" || value_json), '') FROM " << owner
          << "_attributes WHERE \"key\" != 'constraints'",
          soci::into(text);
      all += text + "\n";
    }
    return all;
  };
  const std::string before = others();

  const auto storage = open_storage(path);
  EXPECT_EQ(storage->studies().at(0).user_attributes, Json::object());
  Trial read = storage->trials(study).at(0);
  EXPECT_EQ(read.user_attributes, (Json{{"fine", "NaN"}}));
  constexpr double largest = std::numeric_limits<double>::max();
  EXPECT_EQ(read.system_attributes, (Json{{constraints_attribute, {largest, -largest, -1.5}}}));
  EXPECT_EQ(read.violation(), largest);
  storage->release(study, read);
  storage->resume(study, read);
  read.state = State::complete;
  read.values = {1};
  storage->finish(study, read);
  EXPECT_EQ(others(), before);
}

// Reads as somebody who may not write, in a process of its own, and ends with what was found, or the error.
[[noreturn]] void read_only(const std::string& path) {
  constexpr uid_t nobody = 65534;
  if (geteuid() == 0 && (setgroups(0, nullptr) != 0 || setgid(nobody) != 0 || setuid(nobody) != 0)) _exit(2);
  const std::string said = error_of([&] {
    const auto storage = open_to_read(path);
    std::cerr << storage->trials(storage->studies().at(0).id).size() << " trials; ";
    open_storage(path);
  });
  std::cerr << said;
  _exit(0);
}

TEST(Sqlite, IsReadByThoseWhoMayNotWrite) {
  using std::filesystem::perms;
  const TemporaryFolder outer;
  const auto folder = outer.path() / "study %41 ? #";
  std::filesystem::create_directory(folder);
  std::filesystem::permissions(outer.path(), perms::owner_all | perms::others_exec);
  const std::string path = (folder / "study.db").string();
  {
    const auto storage = open_storage(path);
    Trial trial;
    storage->start(storage->create("s", {Direction::minimize}).id, trial);
  }
  const auto allow = [&](bool to_write) {
    const auto all = perms::owner_read | perms::owner_exec | perms::others_read | perms::others_exec;
    std::filesystem::permissions(folder, to_write ? all | perms::owner_write : all);
  };
  allow(false);
  const auto files = [&] { return std::distance(std::filesystem::directory_iterator(folder), {}); };
  const auto before = files();
  EXPECT_EXIT(read_only(path), testing::ExitedWithCode(0), "^1 trials; study database .*, may not be written to$");
  EXPECT_EQ(files(), before);
  // The newest trials are in a log that a writer has left behind.
  allow(true);
  write_file(path + "-wal", std::string(4152, 'x'));
  allow(false);
  EXPECT_EXIT(read_only(path), testing::ExitedWithCode(0), "^the newest trials of the study database .* are in .*-wal");
  allow(true);
}

TEST(Sqlite, WhatIsMissingIsSaidInWords) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "study.db").string();
  for (const char* change : {"DROP TABLE trials", "ALTER TABLE trials RENAME COLUMN state TO condition"}) {
    const auto study = open_storage(path)->create("s", {Direction::minimize});
    soci::session(soci::sqlite3, "dbname=" + path) << change;
    const std::string said = error_of([&] { open_to_read(path)->trials(study.id); });
    EXPECT_NE(said.find("study database " + path + " is damaged, or was made by another version of Optuna"), std::string::npos)
        << said;
    EXPECT_EQ(said.find("SELECT"), std::string::npos) << said;
    std::filesystem::remove(path);
  }
}

TEST(Sqlite, RowsThatContradictEachOtherAreDamage) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "study.db").string();
  open_storage(path)->create("s", {Direction::minimize});
  soci::session(soci::sqlite3, "dbname=" + path) << "DELETE FROM studies";  // the directions stay
  const std::string said = error_of([&] { open_storage(path)->create("s", {Direction::minimize}); });
  EXPECT_NE(said.find("study database " + path + " is damaged"), std::string::npos) << said;
}

// Some databases end a name there.
TEST(Sqlite, NamesWithNulAreRefused) {
  const TemporaryFolder folder;
  const auto storage = open_storage((folder.path() / "study.db").string());
  const std::string name("a\0b", 3);
  EXPECT_NE(error_of([&] { storage->create(name, {Direction::minimize}); }).find("must not hold a NUL"), std::string::npos);
  Trial trial;
  trial.point.set(name, "x");
  trial.distributions = {std::make_shared<Distribution>(Categorical{{"x"}})};
  const int64_t study = storage->create("s", {Direction::minimize}).id;
  EXPECT_NE(error_of([&] { storage->start(study, trial); }).find("a parameter's name is \"a\\u0000b\""), std::string::npos);
  EXPECT_TRUE(storage->trials(study).empty());
}

TEST(Sqlite, LockedByAnotherProgram) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "study.db").string();
  const auto storage = storage::table().make("sqlite", {{"path", path}, {"timeout", 0}});
  const StudyRecord study = storage->create("s", {Direction::minimize});
  soci::session other(soci::sqlite3, "dbname=" + path);
  other << "BEGIN IMMEDIATE";
  Trial trial;
  const std::string message = error_of([&] { storage->start(study.id, trial); });
  EXPECT_NE(message.find(path), std::string::npos);
  EXPECT_NE(message.find("another program is writing"), std::string::npos);
  other << "COMMIT";
  EXPECT_NO_THROW(storage->start(study.id, trial));
}

TEST(Study, ExistingStudyNeedsResume) {
  const auto storage = open_storage("memory");
  Study(*storage, {.name = "a"});
  EXPECT_NE(error_of([&] { Study(*storage, {.name = "a"}); }).find("exists already"), std::string::npos);
  EXPECT_NE(error_of([&] { storage->create("a", {Direction::minimize}); }).find("--resume"), std::string::npos);
  EXPECT_NO_THROW(Study(*storage, {.name = "a", .resume = true}));
  EXPECT_NO_THROW(Study(*storage, {.name = "b", .resume = true}));
  EXPECT_NE(error_of([&] {
              Study(*storage, {.name = "a", .directions = {Direction::maximize}, .resume = true});
            }).find("other objectives"),
            std::string::npos);
}

TEST(Study, TrialsOfADeadProcessWaitAndRunAgain) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "study.db").string();
  const Space space = Space::parse({{"a", {1, 2, 3}}});
  {
    const auto storage = open_storage(path);
    Study study(*storage, {});
    Trial done = study.start(space, space.at(0));
    done.state = State::complete;
    done.values = {0.5};
    study.finish(done);
    study.start(space, space.at(1));
  }
  const auto storage = open_storage(path);
  Study study(*storage, {.resume = true});
  ASSERT_EQ(study.trials().size(), 2u);
  EXPECT_EQ(study.trials()[0].state, State::complete);
  EXPECT_EQ(study.trials()[1].state, State::waiting);
  ASSERT_NE(study.best(), nullptr);
  EXPECT_EQ(study.best()->number, 0);
  const auto stored = [&] { return storage->trials(storage->studies().front().id)[1]; };
  EXPECT_EQ(stored().state, State::waiting);
  EXPECT_FALSE(stored().start);
  EXPECT_EQ(study.waiting(space, ""), std::vector<int64_t>{1});
  EXPECT_TRUE(study.waiting(space, "another stage").empty());
  EXPECT_TRUE(study.waiting(Space::parse({{"a", {1, 2}}}), "").empty());
  Trial again = study.resume(1, space, "");
  EXPECT_EQ(again.point, space.at(1));
  EXPECT_EQ(stored().state, State::running);
  EXPECT_TRUE(stored().start);
  EXPECT_THROW(study.resume(1, space, ""), Error);
  again.state = State::complete;
  again.values = {0.25};
  study.finish(again);
  EXPECT_THROW(study.release(1), Error);
  EXPECT_EQ(stored().values, std::vector<double>{0.25});
}

// A trial that kills its process must not stop the search for ever.
TEST(Study, TrialsThatKillTheirProcessFailInTheEnd) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "study.db").string();
  const Space space = Space::parse({{"a", {1, 2, 3}}});
  const StudyOptions options{.resume = true, .heartbeat = {.max_retry = 2}};
  for (int death = 0; death < 3; ++death) {
    const auto storage = open_storage(path);
    Study study(*storage, options);
    if (death == 0) {
      study.start(space, space.at(1));
    } else {
      ASSERT_EQ(study.trials()[0].state, State::waiting) << death;
      study.resume(0, space, "");
    }
  }
  const auto storage = open_storage(path);
  const Study study(*storage, options);
  ASSERT_EQ(study.trials().size(), 1u);
  const Trial stored = storage->trials(study.id()).front();
  for (const Trial& trial : {study.trials()[0], stored}) {
    EXPECT_EQ(trial.state, State::failed);
    EXPECT_EQ(trial.user_attributes.value(attribute::error, ""), "the process that ran it died, 3 times in a row (max_retry)");
  }
  EXPECT_TRUE(study.waiting(space, "").empty());
  EXPECT_EQ(study.died_too_often(), std::vector<int64_t>{0});
  EXPECT_EQ(error_of([&] { study.at(5); }), "the study 'AutoSearch' in " + path + " has no trial 5");
}

TEST(Study, LongNamesComeBack) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "study.db").string();
  std::string name;
  for (int i = 0; i < 300; ++i)
    name +=
        "\xC3\xA9"
        "a";
  const Space space = Space::parse({{name, {1, 2, 3}}, {name + "b", {4, 5}}});
  const auto storage = open_storage(path);
  Study study(*storage, {});
  study.start(space, space.at(5));
  const Trial back = storage->trials(study.id()).front();
  EXPECT_EQ(back.point, space.at(5));
  EXPECT_EQ(optuna::characters_of(name), 600u);
  EXPECT_EQ(optuna::characters_of(optuna::short_name_of(name)), longest_name);
  EXPECT_NE(optuna::short_name_of(name), optuna::short_name_of(name + "b"));
  EXPECT_NE(error_of([&] { Study(*storage, {.name = std::string(513, 'x')}); }).find("512 at most"), std::string::npos);
}

TEST(Study, AnotherProcessThatContinuesItGetsTheNameOfTheFirst) {
  const TemporaryFolder folder;
  for (const std::string& path : {(folder.path() / "study.db").string(), std::string("memory")}) {
    const auto first = open_storage(path);
    const auto second = path == "memory" ? nullptr : open_storage(path);
    Storage& theirs = second ? *second : *first;
    {
      const Study mine(*first, {});
      const std::string message = error_of([&] { const Study other(theirs, {.resume = true}); });
      EXPECT_NE(message.find("'AutoSearch'"), std::string::npos) << message;
      EXPECT_NE(message.find(path == "memory" ? "this process" : "process " + std::to_string(getpid())), std::string::npos)
          << message;
      EXPECT_NO_THROW(Study(theirs, {.name = "another one"}));
    }
    EXPECT_NO_THROW(Study(theirs, {.resume = true}));
  }
}

TEST(Study, ChangedChoicesContradict) {
  const auto storage = open_storage("memory");
  Study study(*storage, {});
  const Space space = Space::parse({{"a", {1, 2}}, {"b", {1}}});
  Trial done = study.start(space, space.at(0));
  done.state = State::complete;
  done.values = {1};
  study.finish(done);
  EXPECT_NO_THROW(study.check(space));
  EXPECT_NO_THROW(study.check(Space::parse({{"a", {1, 2}}, {"c", {7}}})));
  EXPECT_NE(error_of([&] { study.check(Space::parse({{"a", {1, 2, 3}}, {"b", {1}}})); }).find("'a'"), std::string::npos);
}

}  // namespace
}  // namespace quasar::search
