#include "quasar/tune/continuation.hpp"

#include <gtest/gtest.h>

namespace quasar::tune {
namespace {

Job job_of(const std::string& space) {
  Job job;
  job.spaces = {parse_json(space, "space")};
  return job;
}

search::StudyRecord study(const std::string& name, const std::string& predecessor = "") {
  search::StudyRecord out;
  out.name = name;
  if (!predecessor.empty()) out.user_attributes[predecessor_attribute] = predecessor;
  return out;
}

TEST(Continuation, OrderInTheFileIsNoOtherChoice) {
  const Json one = choices_of(job_of(R"({"activation": ["Int8Spec"], "activation_params": {"symmetric": [true, false],
    "calibration_method": ["MinMax"], "only_if": "activation"}, "weight": ["Int8Spec"]})"));
  const Json same = choices_of(job_of(R"({"weight": ["Int8Spec"], "activation_params": {"only_if": "activation",
    "calibration_method": ["MinMax"], "symmetric": [true, false]}, "activation": ["Int8Spec"]})"));
  EXPECT_EQ(one, same);
}

TEST(Continuation, ValuesRangesAndConditionsAreChoices) {
  const std::string words = R"({"activation": ["Int8Spec", "UInt8Spec"], "algorithms": ["adaround", null],
    "adaround_params": {"num_iterations": {"type": "int", "low": 1, "high": 8}, "only_if": {"algorithms": "adaround"}}})";
  const Json before = choices_of(job_of(words));
  for (const auto& [old, changed] : std::vector<std::pair<std::string, std::string>>{
           {"\"UInt8Spec\"", "\"Int16Spec\""},
           {"\"high\": 8", "\"high\": 9"},
           {"\"only_if\": {\"algorithms\": \"adaround\"}",
            "\"only_if\": {\"algorithms\": \"adaround\", \"activation\": \"Int8Spec\"}"}}) {
    std::string other = words;
    other.replace(other.find(old), old.size(), changed);
    EXPECT_NE(choices_of(job_of(other)), before) << changed;
  }
  Job narrowed = job_of(words);
  narrowed.tuning.op_types = {{"Conv", Json::object()}};
  EXPECT_NE(choices_of(narrowed), before);
}

TEST(Continuation, TheNewestIsAtTheEndOfTheChain) {
  const std::vector<search::StudyRecord> studies{study("a"), study("a-3", "a-2"), study("a-2", "a"), study("b")};
  EXPECT_EQ(newest(studies, "a")->name, "a-3");
  EXPECT_EQ(newest(studies, "a-2")->name, "a-3");
  EXPECT_EQ(newest(studies, "b")->name, "b");
  EXPECT_EQ(newest(studies, "c"), nullptr);
  const std::vector<search::StudyRecord> circle{study("a", "b"), study("b", "a")};
  EXPECT_NE(newest(circle, "a"), nullptr);  // and it ends
}

}  // namespace
}  // namespace quasar::tune
