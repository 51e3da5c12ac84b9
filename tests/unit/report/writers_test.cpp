// Tables of one search, and of two that are about different things.
#include <gtest/gtest.h>

#include "quasar/report/contents.hpp"
#include "quasar/report/writer.hpp"
#include "unit/report/trials.hpp"

namespace quasar::report {
namespace {

std::string written(const char* form, const std::vector<Json>& searches) {
  return writers::table().make(form)->write(searches);
}

bool shows(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Json contents(const Json& result, const std::vector<search::Trial>& trials = grid_trials()) {
  return contents_of(result, trials, Json::object());
}

// Another objective, which the first search does not have.
Json other_result() {
  Json result = small_result();
  result["objectives"] = {{{"name", "top1"}, {"direction", "maximize"}}, {{"name", "cos"}, {"direction", "maximize"}}};
  result["best"]["metrics"] = {{"cos", {{"value", 0.75}}}};
  result["baseline"]["metrics"] = {{"cos", {{"value", 1.0}}}};
  return result;
}

TEST(Writers, TellSizesAndTimesWithoutExponents) {
  Json result = small_result();
  result["baseline"]["bytes"] = 410.4e6;
  result["best"]["bytes"] = 102.5e6;
  result["best"]["latency_ms"] = {{"median", 12345.6}};
  result["seconds"] = 1234;
  const std::string text = written("markdown", {contents(result)});
  EXPECT_TRUE(shows(text, "| size, MB | 410.4 | 102.5 |")) << text;
  EXPECT_TRUE(shows(text, "| latency, ms | – | 12346 |")) << text;
  EXPECT_TRUE(shows(text, "20.6 min.")) << text;
  EXPECT_FALSE(shows(text, "e+0")) << text;
}

TEST(Writers, TimesOfAnotherProcessorAreCalledSo) {
  Json result = small_result();
  result["faster"] = true;
  EXPECT_FALSE(shows(written("markdown", {contents(result)}), "not the target"));
  result["faster"] = nullptr;
  EXPECT_TRUE(shows(written("markdown", {contents(result)}), "| latency, ms (this machine, not the target) |"));
}

TEST(Writers, EverySearchHasColumnsOfItsOwnObjectives) {
  auto trials = grid_trials();
  for (auto& trial : trials) trial.values = {0.5, 0.25};
  Json first = contents(small_result()), second = contents(other_result(), trials);
  first["name"] = "a";
  second["name"] = "b";
  const std::string text = written("csv", {first, second});
  EXPECT_TRUE(text.starts_with("search,trial,state,objective L2,objective top1,objective cos,seconds")) << text;
  EXPECT_TRUE(shows(text, "\r\na,0,complete,0.0,,,")) << text;
  EXPECT_TRUE(shows(text, "\r\nb,0,complete,,0.5,0.25,")) << text;
  const std::string tables = written("markdown", {first, second});
  EXPECT_TRUE(shows(tables, "| cos | – | – | 1 | 0.75 |")) << tables;
  EXPECT_TRUE(shows(tables, "| L2 | 0 | 0.1 [0.05, 0.2] | – | – |")) << tables;
}

// The study has the best trial's metrics, and nothing of the float model.
TEST(Writers, MetricsOfTheBestAreToldWithoutTheFloatModels) {
  Json result = small_result();
  result["status"] = "running";
  result["reason"] = "";
  result["baseline"] = {{"model", "net.onnx"}, {"metrics", Json::object()}};
  result["best"] = {{"trial", 0}, {"params", Json::object()}, {"metrics", {{"top1", {{"value", 0.9762}}}}}};
  const Json all = contents(result);
  EXPECT_TRUE(all["metrics"]["top1"]["proportion"]);
  EXPECT_TRUE(shows(written("markdown", {all}), "Status **running**. 12 trials"));
  EXPECT_TRUE(shows(written("markdown", {all}), "| top1 | – | 97.62 % |")) << written("markdown", {all});
}

TEST(Writers, TrialsThatBreakConstraintsAreToldApart) {
  auto trials = grid_trials();
  EXPECT_FALSE(contents(small_result())["trials"][0].contains("violation"));
  EXPECT_FALSE(shows(written("csv", {contents(small_result())}), "violation"));
  trials[0].set_constraints({0.25, 0.5});
  trials[1].set_constraints({-1, 0});
  const Json all = contents(small_result(), trials);
  EXPECT_EQ(all["trials"][0]["violation"], 0.75);
  EXPECT_FALSE(all["trials"][1].contains("violation"));
  const std::string text = written("csv", {all});
  EXPECT_TRUE(text.starts_with("trial,state,objective L2,seconds,duplicate_of,error,violation,a,b,c")) << text;
  EXPECT_TRUE(shows(text, "\r\n0,complete,0.0,,,,0.75,0,")) << text;
}

TEST(Writers, ParametersAreJsonInCsv) {
  auto trials = grid_trials();
  trials[0].point = {{"a", -1}, {"b", "=x"}, {"c", -0.5}};
  const std::string text = written("csv", {contents(small_result(), trials)});
  EXPECT_TRUE(shows(text, ",-1,\"\"\"=x\"\"\",-0.5\r\n")) << text;
}

}  // namespace
}  // namespace quasar::report
