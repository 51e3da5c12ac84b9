// A search reports the metric of the model's head, and decides as it would without.
#include <gtest/gtest.h>

#include <algorithm>

#include "quasar/inspect/inspect.hpp"
#include "quasar/report/result.hpp"
#include "quasar/strategy/parse_job.hpp"
#include "quasar/studies/comparable.hpp"
#include "quasar/tune/search.hpp"
#include "unit/tune/made_up_trials.hpp"

namespace quasar::tune {
namespace {

Job digits_search(const TemporaryFolder& folder, Json more = Json::object()) {
  Json words = digits_words();
  for (const char* key : {"strategy", "accuracy_criterion"}) words.erase(key);
  words["n_trials"] = 3;
  words["output_dir"] = (folder.path() / "out").string();
  words["search_space"] = {{"scheme", {"A8W8", "U8S8_CHANNEL", "S8S8_AAWS"}}};
  words["search_algo"] = "Grid";
  words["pruner"] = "none";
  words.update(more);
  return parse_job(words, folder.path());
}

TEST(WithHead, ItsMetricIsReported) {
  const TemporaryFolder folder;
  const Job job = digits_search(folder);
  const Summary summary = search(job, {});
  EXPECT_EQ(summary.head["name"], "classes");
  EXPECT_EQ(summary.head["metric"], "agreement");
  ASSERT_TRUE(summary.best);
  EXPECT_EQ(summary.baseline.metrics.at("agreement").value, 1);
  EXPECT_TRUE(summary.best->metrics.contains("agreement"));
  ASSERT_EQ(summary.trials.size(), 3U);
  for (const auto& trial : summary.trials)
    EXPECT_TRUE(trial.user_attributes["metrics"].contains("agreement")) << trial.user_attributes.dump();
  const auto best = std::ranges::min_element(summary.trials, {}, [](const auto& trial) { return trial.values.front(); });
  EXPECT_EQ(summary.best->trial.number, best->number) << "by L2";
  EXPECT_EQ(report::result_json(job, summary)["head"], summary.head);
  EXPECT_NE(report::result_table(job.aim, summary).find("\n  agreement"), std::string::npos);
}

TEST(WithHead, AStudyIsContinuedAsBefore) {
  const TemporaryFolder folder;
  search(digits_search(folder), {});
  Summary more = search(digits_search(folder, {{"load_study_if_exists", true}, {"n_trials", 4}}), {});
  ASSERT_TRUE(more.best);
  EXPECT_TRUE(more.best->metrics.contains("agreement"));
}

// What is compared between studies is what the user wrote.
TEST(WithHead, TheGoalOfAStudyDoesNotKnowOfIt) {
  const TemporaryFolder folder;
  const Job job = digits_search(folder);
  const PreparedJob setting = prepare(job);
  Job judged = with_head(job, evaluator_of(job, setting));
  EXPECT_EQ(judged.aim.metrics.size(), job.aim.metrics.size() + 1);
  judged.aim.head_decoder = "fastestdet";
  EXPECT_EQ(goal_of(judged, setting.samples), goal_of(job, setting.samples));
  EXPECT_EQ(evaluator_options(judged, setting.chosen.judged, true).decoder, "fastestdet");
}

TEST(WithHead, InspectNamesIt) {
  const Json head = inspect({.model = QUASAR_SOURCE_DIR "/examples/digits/digits.onnx"})["head"];
  EXPECT_EQ(head["name"], "classes");
  EXPECT_EQ(head["metric"], "agreement");
  const Json data{{"reader", "npz"}, {"path", QUASAR_SOURCE_DIR "/examples/digits/calibration.npz"}};
  const Json seen = inspect({.model = QUASAR_SOURCE_DIR "/examples/digits/digits.onnx", .data = data})["head"];
  EXPECT_EQ(seen["name"], "classes");
}

}  // namespace
}  // namespace quasar::tune
