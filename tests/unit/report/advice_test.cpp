// What is advised is true of this search.
#include "quasar/report/advice.hpp"

#include <gtest/gtest.h>

#include "quasar/report/contents.hpp"
#include "unit/report/trials.hpp"

namespace quasar::report {
namespace {

std::string advice_of(const Json& result, const std::vector<search::Trial>& trials = grid_trials(),
                      const Json& words = Json::object()) {
  return contents_of(result, trials, words)["advice"].dump();
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

constexpr const char* more_accuracy = "per-channel weights";

TEST(Advice, OnAMissedAccuracyIsMorePrecision) {
  Json result = small_result();
  result["status"] = "goal_missed";
  EXPECT_TRUE(says(advice_of(result), more_accuracy)) << advice_of(result);
}

// 16 bits and float cost more.
TEST(Advice, OnAMissedCostIsNotMorePrecision) {
  Json result = small_result();
  result["status"] = "goal_missed";
  result["constraints"] = {{{"metric", "bytes"}, {"max", 70000}}};
  auto trials = grid_trials();
  trials[0].user_attributes["metrics"] = {{"L2", 0.1}, {"bytes", 78119}};
  const std::string text = advice_of(result, trials);
  EXPECT_FALSE(says(text, more_accuracy)) << text;
  EXPECT_TRUE(says(text, "constraint on bytes (max 70000, is 78119)")) << text;
  result["constraints"].push_back({{"metric", "cos"}, {"min", 0.99}});
  trials[0].user_attributes["metrics"]["cos"] = 0.9;
  EXPECT_TRUE(says(advice_of(result, trials), more_accuracy)) << "the accuracy is missed, too";
}

TEST(Advice, WithoutATrialIsAboutTheReason) {
  Json result = small_result();
  result["status"] = "no_candidate";
  result["best"] = nullptr;
  result["reason"] = "time_limit of 1 s reached before the first trial";
  result["trials"] = {{"executed", 0}, {"complete", 0}, {"failed", 0}};
  EXPECT_TRUE(says(advice_of(result, {}), "a longer `time_limit`")) << advice_of(result, {});
  result["reason"] = "timeout of 60 s reached before the first trial";
  EXPECT_TRUE(says(advice_of(result, {}), "a longer `time_limit`")) << advice_of(result, {});
  EXPECT_FALSE(says(advice_of(result, {}), more_accuracy));
  result["reason"] = "n_trials of 3 reached";
  result["trials"] = {{"executed", 3}, {"complete", 0}, {"failed", 3}};
  EXPECT_TRUE(says(advice_of(result, {}), "Every trial failed")) << advice_of(result, {});
  EXPECT_FALSE(says(advice_of(result, {}), more_accuracy));
}

TEST(Advice, OnHoldOutSamplesKnowsWhetherThereAreSome) {
  Json result = small_result();
  const Json words{{"holdout_data_reader", {{"reader", "npz"}}}};
  EXPECT_TRUE(says(advice_of(result), "There are no hold-out samples"));
  EXPECT_FALSE(says(advice_of(result, grid_trials(), words), "hold-out"));
  result["status"] = "interrupted";
  EXPECT_TRUE(says(advice_of(result, grid_trials(), words), "were not scored, as the search was interrupted"));
  EXPECT_FALSE(says(advice_of(result, grid_trials(), words), "There are no"));
  result["best"].erase("bytes");  // a study knows nothing of them
  EXPECT_FALSE(says(advice_of(result), "There are no hold-out"));
}

TEST(Advice, OnAnInterruptedSearchKnowsWhetherItCanGoOn) {
  Json result = small_result();
  result["status"] = "interrupted";
  EXPECT_TRUE(says(advice_of(result), "--resume"));
  result["study"] = "memory";
  EXPECT_FALSE(says(advice_of(result), "--resume")) << advice_of(result);
}

TEST(Advice, OnConvergenceKnowsTheStrategyAndTheReason) {
  std::vector<search::Trial> trials = grid_trials(), more = grid_trials();
  for (auto& trial : more) trial.number += 12;
  trials.insert(trials.end(), more.begin(), more.end());
  Json result = small_result();
  result["best"]["trial"] = 22;
  result["environment"] = {{"strategy", "flat"}, {"search_algo", "TPE"}};
  const auto told = [&] { return says(advice_of(result, trials), "one of the last"); };
  result["reason"] = "n_trials of 24 reached";
  EXPECT_TRUE(told());
  for (const char* strategy : {"repair", "mse_v2", "budget"}) {
    result["environment"]["strategy"] = strategy;
    EXPECT_FALSE(told()) << strategy;
  }
  result["environment"] = {{"strategy", "flat"}, {"search_algo", "Grid"}};
  EXPECT_FALSE(told()) << "a grid's order means nothing";
  result["environment"] = {{"strategy", "flat"}, {"search_algo", "TPE"}};
  for (const char* reason : {"the accuracy criterion is met", "every point of the search space was tried"}) {
    result["reason"] = reason;
    EXPECT_FALSE(told()) << reason;
  }
}

TEST(Advice, TellsSizesWithoutExponents) {
  Json result = small_result();
  result["baseline"]["bytes"] = 1e8;
  result["best"]["bytes"] = 1.025e8;
  EXPECT_TRUE(says(advice_of(result), "larger than float: 102 MB against 100 MB")) << advice_of(result);
}

// What is said to help helps this model.
TEST(Advice, OnAModelThatIsNotFaster) {
  Json result = small_result();
  result["faster"] = false;
  result["best"]["time_of_float"] = {{"value", 1.2}};
  result["best"]["operators"] = {{"quantized", 30}, {"float", 4}};
  EXPECT_TRUE(says(advice_of(result), "`--set speed_gate=1.02` leaves operators in float")) << advice_of(result);
  result["best"]["operators"] = {{"quantized", 3}, {"float", 31}};
  EXPECT_TRUE(says(advice_of(result), "unpack weights of few bits at every run")) << advice_of(result);
  result["speed_gate"] = {{"planned", 1.26}, {"gated", 1.19}};
  EXPECT_TRUE(says(advice_of(result), "faster in float are there already")) << advice_of(result);
  result["best"]["time_of_float"] = {{"value", 7.5}};
  EXPECT_FALSE(says(advice_of(result), "there already")) << "the gate measured another form than the best model has";
}

TEST(Advice, OfAStudyAloneSaysWhereMoreIs) {
  Json result = small_result();
  result["best"].erase("bytes");
  result["status"] = "ended";
  EXPECT_TRUE(says(advice_of(result), "output folder of its leader")) << advice_of(result);
  EXPECT_FALSE(says(advice_of(result), "--resume"));
  result["status"] = "unknown";
  EXPECT_TRUE(says(advice_of(result), "does not say how its search ended")) << advice_of(result);
}

}  // namespace
}  // namespace quasar::report
