// The table at the end of a search.
#include "quasar/report/result.hpp"

#include <gtest/gtest.h>

namespace quasar::report {
namespace {

tune::Summary summary_of(uintmax_t bytes) {
  tune::Summary out;
  out.baseline.metrics = {{"L2", {.value = 0}}};
  out.baseline.bytes = 4 * bytes;
  out.baseline.latency.median_ms = 10;
  out.best.emplace();
  out.best->metrics = {{"L2", {.value = 12345.6}}};
  out.best->bytes = bytes;
  out.best->latency.median_ms = 17;
  out.best->speed.of_float = {.median = 1.7, .low = 1.6, .high = 1.8};
  return out;
}

std::string table_of(const tune::Summary& summary) {
  tune::Aim aim;
  aim.goals.objectives = {{"L2", Direction::minimize}};
  aim.metrics = {"L2"};
  return result_table(aim, summary);
}

TEST(ResultTable, HasNoExponentsForOrdinarySizes) {
  const std::string text = table_of(summary_of(102'500'000));
  for (const char* part : {"size, MB ", " 410 ", " 102.5\n"}) EXPECT_NE(text.find(part), std::string::npos) << part << text;
  EXPECT_NE(text.find("12346"), std::string::npos) << text;
  EXPECT_EQ(text.find("e+0"), std::string::npos) << text;
  EXPECT_NE(table_of(summary_of(92'560)).find("size, KB "), std::string::npos);
}

TEST(ResultTable, JudgesNoTimeOfAnotherProcessor) {
  tune::Summary summary = summary_of(1000);
  EXPECT_NE(table_of(summary).find("[1.6, 1.8] × float"), std::string::npos);
  summary.best->speed.counts = false;
  EXPECT_EQ(table_of(summary).find("× float"), std::string::npos) << table_of(summary);
  EXPECT_NE(table_of(summary).find("not the target's"), std::string::npos) << table_of(summary);
}

}  // namespace
}  // namespace quasar::report
