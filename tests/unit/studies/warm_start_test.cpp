#include "quasar/studies/warm_start.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "quasar/base/file.hpp"
#include "quasar/search/prior_trials.hpp"
#include "quasar/studies/past_study.hpp"
#include "unit/error_of.hpp"

namespace quasar::tune {
namespace {

search::Trial tried(const search::Space& space, const Json& words) {
  search::Trial trial;
  trial.point = space.encode(words);
  for (const auto& [name, value] : trial.point.values()) trial.distributions.push_back(space.find(name)->distribution);
  return trial;
}

search::Space space_of(const char* words) {
  return search::Space::parse(parse_json(words, "space"));
}

TEST(WarmStart, ParametersOfOneChoiceMayBeNewOrGone) {
  const search::Space old = space_of(R"({"activation": ["Int8Spec", "UInt8Spec"], "weight": ["Int8Spec"]})");
  const std::vector<search::Trial> trials{tried(old, {{"activation", "UInt8Spec"}})};
  const auto more = search::fitting(trials, space_of(R"({"activation": ["UInt8Spec", "Int16Spec"], "CalibDataSize": [50]})"));
  ASSERT_EQ(more.size(), 1U);
  EXPECT_EQ(*more[0].point.find("CalibDataSize"), 50);
  EXPECT_EQ(more[0].point.find("weight"), nullptr);
}

TEST(WarmStart, ValuesOutsideAndParametersOfSeveralChoicesStayOutside) {
  const search::Space old = space_of(R"({"activation": ["Int8Spec", "UInt8Spec"]})");
  const std::vector<search::Trial> trials{tried(old, {{"activation", "UInt8Spec"}})};
  EXPECT_TRUE(search::fitting(trials, space_of(R"({"activation": ["Int8Spec", "Int16Spec"]})")).empty());
  EXPECT_TRUE(search::fitting(trials, space_of(R"({"activation": ["UInt8Spec"], "CalibDataSize": [50, 60]})")).empty());
  EXPECT_TRUE(search::fitting(trials, space_of(R"({"weight": ["Int8Spec", "UInt8Spec"]})")).empty());
}

search::Trial complete(double bytes, std::map<std::string, double> metrics) {
  search::Trial trial;
  trial.state = search::State::complete;
  trial.values = {bytes};
  trial.point.set("trial", static_cast<int64_t>(bytes));
  trial.user_attributes["metrics"] = metrics;
  trial.system_attributes[search::constraints_attribute] = std::vector<double>{-1.0};
  return trial;
}

// The bounds may have changed since the trials were made.
TEST(WarmStart, EarlierTrialsAreJudgedByTheConstraintsOfToday) {
  Job job;
  job.aim.goals.objectives = {{"bytes", Direction::minimize}};
  job.aim.goals.constraints = {{"L2", Bound::max, 2.0}};
  const auto judged =
      judged_anew({complete(1, {{"L2", 4.0}}), complete(2, {{"L2", 1.0}}), complete(3, {{"cos", 1.0}})}, job.aim, {});
  ASSERT_EQ(judged.size(), 2U);
  EXPECT_EQ(judged[0].violation(), 1.0);
  EXPECT_EQ(judged[1].violation(), 0.0);
  const auto first = search::best_points(judged, Direction::minimize);
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(first[0].values().front().second, 2) << "what keeps them comes before what costs less";
  job.aim.goals.constraints.clear();
  EXPECT_EQ(judged_anew({complete(1, {{"L2", 4.0}})}, job.aim, {})[0].violation(), 0.0);
}

// Whoever made the folder would be sent the user's password.
TEST(PastStudies, AServerThatOnlyAFileNamesIsNotCalled) {
  const TemporaryFolder folder;
  write_file(folder.path() / "result.json", R"({"study": "postgresql://me:hush@127.0.0.1:1/db", "study_name": "mine"})");
  const std::string place = folder.path().string();
  const std::string refused = test::error_of([&] { past_study(place, ""); });
  EXPECT_NE(refused.find("postgresql://me:***@127.0.0.1:1/db"), std::string::npos) << refused;
  EXPECT_NE(refused.find("--storage"), std::string::npos) << refused;
  EXPECT_EQ(server_named_in(place), "postgresql://me:hush@127.0.0.1:1/db");

  const std::string other = (folder.path() / "other").string();  // no .db, which the folder would be taken for
  search::open_storage(other)->create("mine", {Direction::minimize});
  search::open_storage(other)->create("another", {Direction::minimize});
  EXPECT_EQ(past_study({place, "sqlite:///" + other}, "").record.name, "mine");
}

// A server holds many; which one is said by a key of the configuration, or by an option of the command line.
TEST(PastStudies, OneOfManyIsNamed) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "study.db").string();
  const auto storage = search::open_storage(file);
  for (int i = 0; i < 20; ++i) storage->create("c" + std::to_string(i), {Direction::minimize});
  const std::string several = file + " holds several studies";
  const std::string some = "'c0', 'c1', 'c2', 'c3', 'c4', 'c5', 'c6', 'c7', 'c8', 'c9' and 10 more";
  EXPECT_EQ(test::error_of([&] { past_study(file, ""); }), several + ": " + some + "; name one of them (--study-name)");
  EXPECT_EQ(test::error_of([&] {
              past_study({file, "", "warm_start_study"}, "", "mine");
            }),
            several + ", none of them 'mine': " + some + "; name one of them (warm_start_study)");
  EXPECT_EQ(test::error_of([&] { past_study(file, "x"); }), "there is no study 'x' in " + file + "; there are " + some);
  EXPECT_EQ(past_study(file, "", "c3").record.name, "c3");

  Job job;
  job.aim.goals.objectives = {{"L2", Direction::minimize}};
  job.warm_start.place = file;
  job.words["study_name"] = job.study.name = "mine";
  EXPECT_NE(test::error_of([&] { earlier_trials(job); }).find("(warm_start_study)"), std::string::npos);
  job.warm_start.study = "c19";
  EXPECT_EQ(test::error_of([&] { earlier_trials(job); }), "no error");
}

TEST(PastStudies, WhatNoSearchWritesIntoResultsIsNamed) {
  const TemporaryFolder folder;
  search::open_storage((folder.path() / "study.db").string())->create("mine", {Direction::minimize});
  const auto said = [&](const std::string& text) {
    write_file(folder.path() / "result.json", text);
    return test::error_of([&] { past_study(folder.path().string(), ""); });
  };
  const std::string place = "result.json of '" + folder.path().string() + "'";
  EXPECT_EQ(said("[]"), place + " must be an object: it is damaged");
  EXPECT_EQ(said(R"({"best": []})"), place + ": best must be an object, or null: the file is damaged");
  EXPECT_EQ(said(R"({"best": {"layers": [5]}})"), place + ": best.layers must be a list of objects: the file is damaged");
  EXPECT_EQ(said(R"({"study": null})"), place + ": study must be a text: the file is damaged");
  EXPECT_EQ(said(R"({"best": null, "study_name": "mine"})"), "no error");
}

// Optuna's users may store one.
TEST(PastStudies, InfiniteValuesCountAsFailed) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "study.db").string();
  const auto storage = search::open_storage(file);
  const auto study = storage->create("mine", {Direction::minimize});
  search::Trial trial = complete(-INFINITY, {});
  trial.point = {};
  trial.state = search::State::running;
  storage->start(study.id, trial);
  trial.state = search::State::complete;
  storage->finish(study.id, trial);
  const auto past = past_study(file, "");
  ASSERT_EQ(past.trials.size(), 1u);
  EXPECT_EQ(past.trials[0].state, search::State::failed);
  EXPECT_TRUE(past.trials[0].values.empty());
  EXPECT_EQ(past.trials[0].user_attributes[search::attribute::error], search::infinite_value(-INFINITY));
}

TEST(PastStudies, NothingIsMadeOrChanged) {
  const TemporaryFolder folder;
  const auto file = [&](const char* name) { return (folder.path() / name).string(); };
  const auto files = [&] { return std::distance(std::filesystem::directory_iterator(folder.path()), {}); };
  EXPECT_NE(test::error_of([&] { past_study("sqlite:///" + file("typo.db"), ""); }).find("there is no study database"),
            std::string::npos);
  EXPECT_EQ(files(), 0);
  write_file(file("empty.db"), "");
  EXPECT_NE(test::error_of([&] { past_study(file("empty.db"), ""); }).find("holds no study"), std::string::npos);
  EXPECT_EQ(read_file(file("empty.db")), "");
  search::open_storage(file("study.db"))->create("mine", {Direction::minimize});
  const std::string before = read_file(file("study.db"));
  EXPECT_EQ(past_study(file("study.db"), "").record.name, "mine");
  EXPECT_EQ(read_file(file("study.db")), before);
  EXPECT_EQ(files(), 2);
}

}  // namespace
}  // namespace quasar::tune
