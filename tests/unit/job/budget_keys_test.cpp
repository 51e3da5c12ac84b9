#include <gtest/gtest.h>

#include "quasar/base/file.hpp"
#include "quasar/graph/files_of.hpp"
#include "quasar/job/budget.hpp"

namespace quasar::tune {
namespace {

struct BudgetKeys : testing::Test {
  BudgetKeys() { write_file(model(), std::string(1000, 'x')); }
  std::filesystem::path model() const { return folder.path() / "model.onnx"; }
  Budget parsed(const Json& words) const {
    return parse_budget(words, [&] { return graph::bytes_on_disk(model()); });
  }
  std::string refusal(const Json& words) const {
    try {
      parsed(words);
      return "";
    } catch (const Error& e) {
      return e.what();
    }
  }
  TemporaryFolder folder;
};

TEST_F(BudgetKeys, AreSharesOfFloatOrAbsolute) {
  EXPECT_EQ(parsed({{"bytes", 0.3}}).bytes, 300);
  EXPECT_EQ(parsed({{"bytes", "0.5 kB"}}).bytes, 500);
  EXPECT_EQ(parsed({{"bytes", "0.5KiB"}}).bytes, 512);
  EXPECT_EQ(parsed({{"bytes", "900 bytes"}}).bytes, 900);
  EXPECT_EQ(parsed({{"bytes", " 900 bytes "}}).bytes, 900);
  EXPECT_EQ(parsed({{"latency", 0.6}}).relative_latency, 0.6);
  EXPECT_EQ(parsed({{"latency", "4 ms"}}).milliseconds, 4);
  EXPECT_EQ(parsed({{"latency", "500 us"}}).milliseconds, 0.5);
  EXPECT_EQ(parsed({{"latency", "1.5s"}}).milliseconds, 1500);
  EXPECT_EQ(parsed({{"bytes", 1}, {"groups", 8}}).groups, 8U);
  EXPECT_EQ(parsed({{"bytes", 1}, {"precisions", {"int4", "quantized"}}}).precisions,
            (std::vector<std::string>{"int4", "quantized"}));
}

TEST_F(BudgetKeys, WithAnAccuracyACostIsMadeSmall) {
  const Json accuracy{{"criterion", "absolute"}, {"tolerable_loss", 0.01}};
  struct {
    Json words;
    std::string least, objective;
  } const table[] = {
      {{{"accuracy", accuracy}}, "bytes", "bytes"},
      {{{"accuracy", accuracy}, {"bytes", 0.5}}, "latency", "relative_latency"},
      {{{"accuracy", accuracy}, {"latency", 0.9}}, "bytes", "bytes"},
      {{{"accuracy", accuracy}, {"latency", "4 ms"}, {"bytes", 0.5}}, "bytes", "bytes"},
      {{{"accuracy", accuracy}, {"minimize", "latency"}}, "latency", "relative_latency"},
      {{{"accuracy", accuracy}, {"latency", "4 ms"}, {"minimize", "latency"}}, "latency", "latency"},
      {{{"bytes", 0.5}}, "", ""},
  };
  for (const auto& row : table) {
    const Budget budget = parsed(row.words);
    EXPECT_EQ(budget.least, row.least) << row.words;
    EXPECT_EQ(budget.weighs_bytes(), row.words.contains("bytes") || row.least == "bytes");
    EXPECT_EQ(budget.weighs_latency(), row.words.contains("latency") || row.least == "latency");
    const auto other = accuracy_of_budget(row.words);
    ASSERT_EQ(other.has_value(), !row.least.empty());
    if (!other) continue;
    EXPECT_EQ(other->criterion, accuracy);
    EXPECT_EQ(other->objectives, Json::array({{{"metric", row.objective}}}));
  }
  EXPECT_THROW(accuracy_of_budget({{"accuracy", 0.01}}), Error);
}

TEST_F(BudgetKeys, BecomeConstraints) {
  const auto constraints = constraints_of(parsed({{"bytes", 0.3}, {"latency", 0.6}}));
  ASSERT_EQ(constraints.size(), 2U);
  EXPECT_EQ(constraints[0].metric, "bytes");
  EXPECT_EQ(constraints[0].value, 300);
  EXPECT_EQ(constraints[1].metric, "relative_latency");
  EXPECT_EQ(constraints[1].value, 0.6);
}

TEST_F(BudgetKeys, ThatMakeNoSenseAreRefusedWithWhatDoes) {
  const std::vector<std::pair<Json, std::string>> all{
      {{{"bytes", 0}}, "a share must be above 0 and at most 1"},
      {{{"bytes", -0.5}}, "budget.bytes is -0.5"},
      {{{"bytes", 1.5}}, "such as '12 MB'"},
      {{{"latency", 4}}, "such as '4 ms'"},
      {{{"bytes", "0 MB"}}, "must be above 0"},
      {{{"bytes", "-1 MB"}}, "must be above 0"},
      {{{"bytes", "12"}}, "has no unit"},
      {{{"bytes", "0.1 Mb2"}}, "unknown unit 'Mb2'; units: bytes, B, kB, MB"},
      {{{"latency", "4 mss"}}, "did you mean 'ms'?"},
      {{{"latency", "fast"}}, "begins with no number"},
      {{{"latency", "nan ms"}}, "begins with no number"},
      {{{"bytes", true}}, "budget.bytes is true"},
      {{{"bytes", "2 kB"}}, "more than the float model's 1000 bytes"},
      {{{"byte", 0.3}}, "unknown key 'budget.byte'; did you mean 'bytes'?"},
      {{{"groups", 8}}, "neither bytes nor latency"},
      {{{"bytes", 1}, {"minimize", "latency"}}, "without it the loss is made small"},
      {{{"accuracy", {{"tolerable_loss", 0.01}}}, {"minimize", "byte"}}, "must be one of bytes, latency; did you mean 'bytes'?"},
      {{{"bytes", 1}, {"groups", 1}}, "from 2 to 1000"},
      {{{"bytes", 1}, {"groups", 2.5}}, "from 2 to 1000"},
      {{{"bytes", 1}, {"precisions", {"int5", "quantized"}}}, "unknown precision 'int5'"},
      {{{"bytes", 1}, {"precisions", {"int4"}}}, "must hold quantized and at least one more"},
      {{{"bytes", 1}, {"precisions", "int4"}}, "must be a list"},
      {{{"bytes", 1}, {"precisions", {"int4", "int4"}}}, "names int4 twice"},
      {Json::object(), "neither bytes nor latency"},
      {0.3, "must be a mapping"}};
  for (const auto& [words, text] : all)
    EXPECT_NE(refusal(words).find(text), std::string::npos) << words << ": " << refusal(words);
}

}  // namespace
}  // namespace quasar::tune
