// What a study tells of a search that runs.
#include "quasar/report/study_view.hpp"

#include <gtest/gtest.h>

#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"
#include "quasar/search/space.hpp"
#include "quasar/search/study.hpp"
#include "quasar/tune/told_limits.hpp"
#include "unit/error_of.hpp"

namespace quasar::report {
namespace {
using test::error_of;

search::Trial finished(search::Trial trial, double value) {
  trial.state = search::State::complete;
  trial.values = {value};
  trial.complete = *trial.start + std::chrono::seconds(2);
  trial.user_attributes[search::attribute::plan_hash] = "plan " + std::to_string(trial.number);
  return trial;
}

TEST(StudyView, TellsWhatASearchDoes) {
  const auto storage = search::storage::table().make("memory", {{"shared", true}});
  EXPECT_NE(error_of([&] { study_in(*storage, ""); }).find("holds no study"), std::string::npos);
  const auto space = search::Space::parse({{"a", {1, 2, 3, 4, 5}}});
  std::optional<search::Study> led(std::in_place, *storage, search::StudyOptions{.name = "led"});
  { search::Study other(*storage, {.name = "other"}); }
  led->set_attribute("job", {{"n_trials", 8}, {"model_input", "net.onnx"}});
  led->set_attribute("metric", "distance");
  led->announce("running");
  for (const int a : {1, 2, 3}) led->start(space, search::Point{{"a", a}});
  led->finish(finished(led->at(0), 0.5));
  led->finish(finished(led->at(1), 0.25));

  EXPECT_EQ(study_in(*storage, "").name, "led");  // and not the last one
  EXPECT_NE(error_of([&] { study_in(*storage, "lad"); }).find("did you mean 'led'"), std::string::npos);
  const Json status = study_status(*storage, study_in(*storage, ""));
  EXPECT_EQ(status["state"], "running");
  EXPECT_EQ(status["trials"]["complete"], 2);
  EXPECT_EQ(status["trials"]["running"], 1);
  EXPECT_EQ(status["total"], 8);
  EXPECT_EQ(status["best"]["trial"], 1);
  EXPECT_EQ(status["objectives"][0]["name"], "distance");
  EXPECT_GT(status["rate"].get<double>(), 0);
  EXPECT_NEAR(status["left_s"].get<double>() * status["rate"].get<double>(), 6, 1e-6);
  ASSERT_EQ(status["workers"].size(), 1u);
  EXPECT_EQ(status["workers"][0]["finished"], 2);
  EXPECT_EQ(status["workers"][0]["running"], Json({2}));
  EXPECT_NEAR(status["workers"][0]["busy_s"].get<double>(), 2, 1);  // beside each other
  EXPECT_EQ(status["workers"][0]["lost"], 0);
  const std::string table = status_table(status);
  EXPECT_NE(table.find("2 of 8 trials, 1 running"), std::string::npos) << table;
  EXPECT_NE(table.find("best: trial 1, distance 0.25"), std::string::npos) << table;

  const Json contents = study_contents(*storage, study_in(*storage, ""));
  EXPECT_EQ(contents["running"], true);
  EXPECT_EQ(contents["trials"].size(), 2u);
  EXPECT_EQ(contents["result"]["best"]["trial"], 1);
  EXPECT_EQ(contents["title"], "net.onnx");
  EXPECT_EQ(contents["timeline"]["workers"].size(), 1u);
  EXPECT_EQ(contents["timeline"]["running"].size(), 1u);
  EXPECT_EQ(contents["trials"][0]["worker"], status["workers"][0]["name"]);

  led.reset();  // as a leader that died
  EXPECT_EQ(study_status(*storage, study_in(*storage, "led"))["state"], "left");
}

// What the configuration asks for is not all that ends a search: its leader knows.
TEST(StudyView, TotalAndTimeLeftAreTheLeaders) {
  const auto storage = search::storage::table().make("memory", {{"shared", true}});
  const auto space = search::Space::parse({{"a", {1, 2, 3, 4, 5}}});
  search::Study led(*storage, {});
  led.set_attribute("job", {{"n_trials", 40}});
  led.announce("running");
  const auto try_point = [&](int a, const char* stage) {
    search::Trial trial = finished(led.start(space, search::Point{{"a", a}}, {{search::attribute::stage, stage}}), 0.5);
    led.finish(std::move(trial));
  };
  const auto status = [&] { return study_status(*storage, study_in(*storage, "")); };
  try_point(1, "first");
  led.set_attribute(tune::limits_attribute, {{"stage", "second"}, {"total", 5}, {"until_us", nullptr}});
  try_point(2, "second");
  EXPECT_EQ(status()["total"], 6);  // one of the stage before
  EXPECT_GT(status()["left_s"], 0);
  const Json over = search::now().time_since_epoch().count();
  led.set_attribute(tune::limits_attribute, {{"stage", "second"}, {"total", nullptr}, {"until_us", over}});
  EXPECT_EQ(status()["total"], nullptr);
  EXPECT_EQ(status()["left_s"], 0);
  // Another program's, which has neither stage nor plan: no limit counts it.
  search::Trial foreign = finished(led.start(space, search::Point{{"a", 3}}), 0.5);
  foreign.user_attributes = Json::object();
  led.finish(std::move(foreign));
  EXPECT_EQ(status()["trials"]["complete"], 2);
  EXPECT_EQ(status()["trials"]["of_other_programs"], 1);
  EXPECT_NE(status_table(status()).find("2 trials, 1 more of other programs"), std::string::npos) << status_table(status());
}

search::Trial ended_at(search::Trial trial, search::Time end, int seconds) {
  trial.state = search::State::complete;
  trial.values = {0.5};
  trial.start = end - std::chrono::seconds(seconds);
  trial.complete = end;
  return trial;
}

// `workers` processes run trials of so many seconds, beside each other.
double rate_with(int workers, int trials, int seconds) {
  Json choices = Json::array();
  for (int i = 0; i < trials; ++i) choices.push_back(i);
  const auto storage = search::storage::table().make("memory", {{"shared", true}});
  const auto space = search::Space::parse(Json{{"a", choices}});
  search::Study study(*storage, {});
  const search::Time begin = search::now() - std::chrono::hours(10);
  for (int i = 0; i < trials; ++i) {
    const search::Trial& trial = study.start(space, search::Point{{"a", i}});
    study.finish(ended_at(trial, begin + std::chrono::seconds(seconds * (i / workers + 1)), seconds));
  }
  return study_status(*storage, study_in(*storage, ""))["rate"];
}

TEST(StudyView, RateOfLongTrials) {
  EXPECT_NEAR(rate_with(1, 1, 300), 1 / 300.0, 1e-6);
  EXPECT_NEAR(rate_with(1, 10, 300), 1 / 300.0, 1e-6);
  EXPECT_NEAR(rate_with(4, 12, 300), 4 / 300.0, 1e-6);
  EXPECT_NEAR(rate_with(1, 200, 1), 1, 0.02);
}

TEST(StudyView, SaysWhetherASearchRunsInAFile) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "auto_search.db").string();
  const auto state = [&] {
    const auto storage = search::open_to_read(file);
    return study_status(*storage, study_in(*storage, ""))["state"].get<std::string>();
  };
  {
    const auto storage = search::open_storage(file);
    const search::Study study(*storage, {});
    EXPECT_EQ(state(), "running");
    EXPECT_EQ(contents_at(file, "", "")["result"]["status"], "running");
    EXPECT_EQ(contents_at(folder.path().string(), "", "")["result"]["status"], "running");
  }
  EXPECT_EQ(state(), "");
  EXPECT_EQ(contents_at(file, "", "")["result"]["status"], "unknown");
  EXPECT_EQ(contents_at("sqlite:///" + file, "", "")["result"]["status"], "unknown");
  EXPECT_EQ(contents_at(folder.path().string(), "", "")["result"]["status"], "interrupted") << "it has no result.json";
}

TEST(StudyView, AnEndedSearchIsNotInterrupted) {
  const auto storage = search::storage::table().make("memory", {{"shared", true}});
  std::optional<search::Study> study(std::in_place, *storage, search::StudyOptions{});
  const auto status = [&] { return study_contents(*storage, study_in(*storage, ""))["result"]["status"]; };
  study->announce("running");
  EXPECT_EQ(status(), "running");
  study->announce("ended", "n_trials of 8 reached");
  EXPECT_EQ(status(), "ended");
  study->announce("ended", "it was interrupted");
  EXPECT_EQ(status(), "interrupted");
  study->announce("running");
  study.reset();
  EXPECT_EQ(status(), "interrupted") << "its leader died";
}

}  // namespace
}  // namespace quasar::report
