#include "quasar/report/svg.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace quasar::report {
namespace {

Json history(const std::vector<std::pair<double, std::string>>& trials) {
  Json out{{"objectives", {{{"name", "L2"}, {"direction", "minimize"}}}}, {"trials", Json::array()}};
  for (const auto& [value, state] : trials)
    out["trials"].push_back({{"number", out["trials"].size()}, {"state", state}, {"values", {value}}});
  return out;
}

bool has(const std::string& svg, const std::string& label) {
  return svg.find(">" + label + "</text>") != std::string::npos;
}

TEST(HistorySvg, AxesHaveRoundNumbers) {
  const std::string wide = history_svg(history({{0.211, "complete"}, {0.0015, "complete"}}));
  for (const char* label : {"1", "0.1", "0.01", "0.001"}) EXPECT_TRUE(has(wide, label)) << label << wide;
  const std::string narrow = history_svg(history({{0.52, "complete"}, {0.61, "complete"}}));
  for (const char* label : {"0.52", "0.54", "0.6", "0.62"}) EXPECT_TRUE(has(narrow, label)) << label << narrow;
  EXPECT_TRUE(has(history_svg(history({{-3, "complete"}, {3, "complete"}})), "0"));
  EXPECT_TRUE(has(history_svg(history({{5, "complete"}})), "5"));
}

TEST(HistorySvg, OnlyWholeTrialsAreTheBest) {
  const std::string with = history_svg(history({{0.5, "complete"}, {0.1, "pruned"}, {0.4, "complete"}}));
  const std::string line = with.substr(with.rfind("<path", with.find("#0b7a53")));
  EXPECT_EQ(std::count(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(line.find("fill")), 'V'), 1) << line;
}

TEST(HistorySvg, WhatBreaksAConstraintIsNotTheBest) {
  Json contents = history({{0.5, "complete"}, {0.1, "complete"}, {0.4, "complete"}});
  contents["trials"][1]["violation"] = 0.2;
  const std::string with = history_svg(contents);
  const std::string line = with.substr(with.rfind("<path", with.find("#0b7a53")));
  EXPECT_EQ(std::count(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(line.find("fill")), 'V'), 1) << line;
}

}  // namespace
}  // namespace quasar::report
