// The best model for a budget, as a user asks for it.
#include "e2e/search_job.hpp"

namespace quasar::e2e {
namespace {

struct BudgetSearch : Search {
  Ran within(const std::string& budget, const std::string& arguments = "") {
    return search("model_input: " + digits("digits.onnx") +
                      "\ncalib_data_reader: {reader: npz, path: " + digits("calibration.npz") +
                      ", labels: label}\neval_data_reader: {reader: npz, path: " + digits("evaluation.npz") +
                      ", labels: label}\nleast_agreement: 0\nsearch_metric: [L2, top1]\nbudget: " + budget + "\n",
                  arguments);
  }
  // What the page shows.
  Json page() const {
    const std::string text = read_file(out / "report.html"), begin = "<script type=\"application/json\" id=\"data\">";
    const size_t start = text.find(begin) + begin.size();
    return parse_json(text.substr(start, text.find("</script>", start) - start), "report.html");
  }
};

TEST_F(BudgetSearch, IsMetWithTheFrontAndWhatMoreWouldBring) {
  const Ran ran = within("{bytes: 0.6, groups: 4}", "--set n_trials=8");
  if (ran.err.find("no solver for integer programs") != std::string::npos) GTEST_SKIP() << "this build has no solver";
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json found = result(), told = found["tuning"]["budget"];
  EXPECT_EQ(found["status"], "ok");
  EXPECT_LE(found["best"]["bytes"].get<double>(), told["bounds"]["bytes"].get<double>());
  EXPECT_FALSE(told["front"]["bytes"].empty());
  ASSERT_EQ(told["more"].size(), 1U) << told;
  EXPECT_EQ(told["more"][0]["more_of"], "bytes");
  EXPECT_NE(ran.err.find("a tenth more of bytes would take an estimated "), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("integer programs: "), std::string::npos) << ran.err;
  EXPECT_EQ(page()["searches"][0]["result"]["tuning"]["budget"]["more"], told["more"]);
}

// No model takes a hundredth of float's time.
TEST_F(BudgetSearch, ThatNothingKeepsIsAGoalMissedWithTheNearest) {
  const Ran ran = within("{latency: 0.01, groups: 4}", "--set n_trials=3");
  if (ran.err.find("no solver for integer programs") != std::string::npos) GTEST_SKIP() << "this build has no solver";
  EXPECT_EQ(ran.code, 2) << ran.err;
  EXPECT_EQ(result()["status"], "goal_missed");
  EXPECT_TRUE(fs::exists(out / "best.onnx"));
  EXPECT_GT(result()["tuning"]["budget"]["least_latency_ms"], 0);
  const size_t told = ran.err.find("but the fastest assignment is estimated to take ");
  ASSERT_NE(told, std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("most likely no model keeps it", told), std::string::npos) << ran.err;
}

TEST_F(BudgetSearch, BelowTheSmallestModelIsRefusedWithTheBounds) {
  const Ran ran = within("{bytes: 0.05, groups: 4}");
  if (ran.err.find("no solver for integer programs") != std::string::npos) GTEST_SKIP() << "this build has no solver";
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("(5 % of float), but the smallest model has "), std::string::npos) << ran.err;
  EXPECT_FALSE(fs::exists(out / "best.onnx"));
}

}  // namespace
}  // namespace quasar::e2e
