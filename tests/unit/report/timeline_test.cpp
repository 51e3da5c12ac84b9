// Which process ran which trial, and how much of its time that was.
#include "quasar/report/timeline.hpp"

#include <gtest/gtest.h>

#include "quasar/search/storage.hpp"

namespace quasar::report {
namespace {

const search::Time origin{std::chrono::hours(24 * 365 * 40)};

search::Time at(double seconds) {
  return origin + std::chrono::microseconds(static_cast<int64_t>(seconds * 1e6));
}

search::Trial ran(int64_t number, const std::string& worker, double begin, double end) {
  search::Trial trial;
  trial.number = number;
  trial.state = search::State::complete;
  trial.start = at(begin);
  trial.complete = at(end);
  if (!worker.empty()) trial.system_attributes[search::worker_attribute] = worker;
  return trial;
}

TEST(Timeline, OneTrialAfterTheOtherHasNone) {
  const std::vector<search::Trial> trials{ran(0, "", 0, 1), ran(1, "", 1, 2), ran(2, "", 5, 6)};
  EXPECT_TRUE(timeline_json(trials, origin).is_null());
  EXPECT_TRUE(timeline_json({}, origin).is_null());
}

TEST(Timeline, ThreadsOfOneProcessRunTrialsBesideEachOther) {
  const std::vector<search::Trial> trials{ran(0, "", 0, 2), ran(1, "", 0, 4), ran(2, "", 6, 8)};
  const Json timeline = timeline_json(trials, origin);
  ASSERT_EQ(timeline["workers"].size(), 1u);
  EXPECT_EQ(timeline["workers"][0]["name"], "");
  EXPECT_DOUBLE_EQ(timeline["workers"][0]["busy_s"].get<double>(), 6);  // 0 to 4, and 6 to 8
  EXPECT_DOUBLE_EQ(timeline["share"].get<double>(), 0.75);
  EXPECT_DOUBLE_EQ(timeline["at_once"].get<double>(), 8.0 / 6);
}

TEST(Timeline, ProcessesHaveTheirShares) {
  std::vector<search::Trial> trials{ran(0, "late", 4, 8), ran(1, "early", 0, 4), ran(2, "early", 6, 8)};
  search::Trial duplicate = ran(3, "early", 0.5, 7);  // it waited for another trial
  duplicate.user_attributes[search::attribute::duplicate_of] = 0;
  trials.push_back(duplicate);
  search::Trial running = ran(4, "early", 8, 8);
  running.state = search::State::running;
  running.complete.reset();
  trials.push_back(running);
  const Json timeline = timeline_json(trials, origin);
  const Json& workers = timeline["workers"];
  ASSERT_EQ(workers.size(), 2u);
  EXPECT_EQ(workers[0]["name"], "early");  // by their first trial
  EXPECT_EQ(workers[0]["finished"], 3);
  EXPECT_DOUBLE_EQ(workers[0]["busy_s"].get<double>(), 6);
  EXPECT_DOUBLE_EQ(workers[0]["share"].get<double>(), 0.75);
  EXPECT_DOUBLE_EQ(workers[1]["first_s"].get<double>(), 4);
  EXPECT_DOUBLE_EQ(workers[1]["share"].get<double>(), 1);
  EXPECT_DOUBLE_EQ(timeline["share"].get<double>(), 10.0 / 12);
  EXPECT_EQ(timeline["running"], Json::array({{{"number", 4}, {"worker", "early"}, {"start_s", 8.0}}}));
}

TEST(Timeline, RunsThatEndedWithTheirProcessAreTold) {
  search::Trial again = ran(0, "second", 9, 11);
  again.system_attributes[search::lost_runs_attribute] =
      search::with_lost_run(Json(), {.worker = "first", .start = at(0), .found = at(8)});
  search::Trial copy = ran(1, "second", 11, 11);  // has its original's attributes
  copy.user_attributes[search::attribute::duplicate_of] = 0;
  copy.system_attributes = again.system_attributes;
  const std::vector<search::Trial> trials{again, copy};
  const Json timeline = timeline_json(trials, origin);
  ASSERT_EQ(timeline["workers"].size(), 2u);
  EXPECT_EQ(timeline["workers"][0], Json({{"name", "first"},
                                          {"finished", 0},
                                          {"first_s", 0.0},
                                          {"last_s", nullptr},
                                          {"busy_s", 0.0},
                                          {"share", nullptr},
                                          {"lost", 1}}));
  EXPECT_EQ(timeline["lost"], Json::array({{{"trial", 0}, {"worker", "first"}, {"start_s", 0.0}, {"found_s", 8.0}}}));
}

// A database is not trusted.
TEST(Timeline, AttributesThatMakeNoSenseAreLeftOut) {
  for (const Json& strange : {Json("text"), Json(7), Json::array({1, "x", nullptr}), Json::array({Json::object()}),
                              Json::array({{{"worker", 5}, {"found_us", "soon"}}}), Json::array({{{"found_us", INT64_MAX}}}),
                              Json::array({{{"found_us", INT64_MIN}}}), Json::array({{{"found_us", UINT64_MAX}}})}) {
    search::Trial trial = ran(0, "one", 0, 1);
    trial.system_attributes[search::lost_runs_attribute] = strange;
    EXPECT_TRUE(search::lost_runs_of(trial).empty()) << strange;
  }
  search::Trial trial = ran(0, "one", 0, 1);
  trial.system_attributes[search::worker_attribute] = Json::array({1});
  EXPECT_EQ(worker_of(trial), "");
}

}  // namespace
}  // namespace quasar::report
