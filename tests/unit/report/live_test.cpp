// The page of a search that runs, and the time that it says is left.
#include "quasar/report/live.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "quasar/base/file.hpp"
#include "quasar/base/json.hpp"
#include "unit/report/trials.hpp"

namespace quasar::report {
namespace {

constexpr auto a_moment = std::chrono::microseconds(100);  // so short that trials cannot have run beside each other

search::Trial ended(int64_t number) {
  search::Trial trial = complete_trial(number, {{"a", 1}}, {search::Categorical{{1, 2}}}, 0.5);
  trial.start = search::now();
  trial.complete = *trial.start + a_moment;
  return trial;
}

// 90 of 100 trials are of an earlier run, and cost nothing now.
TEST(TimeLeft, CountsWhatThisRunsTrialsCost) {
  TimeLeft left;
  search::Counts counts;
  counts.complete = 91;
  const search::Trial first = ended(90), second = ended(91);
  left.hear({search::Event::Kind::finished, first, nullptr, counts, 100});
  EXPECT_NEAR(left.seconds().value(), 9 * 1e-4, 1e-9);
  ++counts.duplicates;
  search::Trial copy = ended(91);
  copy.user_attributes[search::attribute::duplicate_of] = 90;
  left.hear({search::Event::Kind::finished, copy, nullptr, counts, 100});
  EXPECT_NEAR(left.seconds().value(), 8 * 1e-4 / 2, 1e-9) << "every second one is a duplicate";
  counts = {};
  left.hear({search::Event::Kind::started, second, nullptr, counts, 100});
  EXPECT_FALSE(left.seconds()) << "of a new stage nothing is known";
}

TEST(LiveReport, HasTheTrialsOfEarlierRuns) {
  const TemporaryFolder folder;
  const auto space = search::Space::parse({{"a", {1, 2, 3}}});
  tune::Job job;
  job.study = {.name = "AutoSearch", .storage = (folder.path() / "auto_search.db").string(), .folder = folder.path()};
  job.study.load_if_exists = true;
  job.aim.goals.objectives = {{"L2", Direction::minimize}};
  {
    const auto storage = search::open_storage(job.study.storage);
    search::Study study(*storage, {});
    for (const int a : {1, 2}) {
      search::Trial trial = study.start(space, search::Point{{"a", a}});
      trial.state = search::State::complete;
      trial.values = {0.25};
      study.finish(trial);
    }
  }
  LiveReport live(job, folder.path() / "report.html");
  std::this_thread::sleep_for(std::chrono::milliseconds(1010));  // no page before
  search::Counts counts;
  counts.complete = 3;
  const search::Trial trial = ended(2);
  live.hear({search::Event::Kind::finished, trial, nullptr, counts, 10});
  const std::string page = read_file(folder.path() / "report.html");
  for (const char* number : {"\"number\":0,", "\"number\":1,", "\"number\":2,"})
    EXPECT_NE(page.find(number), std::string::npos) << number;
}

}  // namespace
}  // namespace quasar::report
