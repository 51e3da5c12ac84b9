#include "quasar/studies/same_evaluator.hpp"

#include <gtest/gtest.h>

#include "quasar/base/file.hpp"
#include "quasar/job/evaluator_files.hpp"

namespace quasar::tune {
namespace {

Json facts(double value, const Json& files) {
  return {{"metric", "map50"}, {"value", value}, {"files", files}};
}

TEST(SameEvaluator, FilesAndTheFloatModelsValueTell) {
  const Json known = facts(0.5, {{"score.py", "a"}});
  const auto said = [&](const Json& now) { return other_evaluator(known, now); };
  EXPECT_EQ(said(known).what, "");
  EXPECT_EQ(said(facts(0.5004, {{"score.py", "a"}})).what, "") << "other kernels";
  EXPECT_EQ(said(facts(0.5, {{"score.py", "b"}})).what, "score.py is another file");
  EXPECT_FALSE(said(facts(0.5, {{"score.py", "b"}})).certain) << "maybe a comment";
  EXPECT_EQ(said(facts(0.51, {{"score.py", "a"}})).what, "the float model's map50 is 0.51 (there 0.5)");
  EXPECT_FALSE(said(facts(0.51, {{"score.py", "a"}})).certain) << "maybe noise";
  const auto both = said(facts(0.75, {{"a.npz", "b"}, {"score.py", "c"}}));
  EXPECT_EQ(both.what, "a.npz, score.py are other files and the float model's map50 is 0.75 (there 0.5)");
  EXPECT_TRUE(both.certain);
  EXPECT_EQ(other_evaluator(facts(0, Json::object()), facts(0, Json::object())).what, "");
  for (const Json& nothing : {Json(), Json("x"), Json::object(), Json{{"metric", "map50"}}, Json{{"metric", 3}}})
    EXPECT_EQ(other_evaluator(nothing, known).what, "") << nothing;
}

TEST(SameEvaluator, WhatIsRunIsRead) {
  const TemporaryFolder folder;
  for (const char* name : {"score.sh", "score.py", "a b.npz", "log", "sh"}) write_file(folder.path() / name, name);
  const auto found = [&](const Json& words) {
    std::string out;
    for (const auto& [name, file] : evaluator_files(words, folder.path())) out += name + ";";
    return out;
  };
  EXPECT_EQ(found(Json{"./score.sh", "{model}", "a b.npz", "none"}), "./score.sh;a b.npz;");
  EXPECT_EQ(found("score.py:accuracy"), "score.py;");
  EXPECT_EQ(found("./score.sh {model} 2>> log | python3 'score.py' --data=score.sh"), "./score.sh;score.py;score.sh;");
  EXPECT_EQ(found(Json{{"library", "score.sh"}, {"options", {{"data", "score.py"}}}}), "score.py;score.sh;");

  Job job;
  job.base = folder.path();
  job.words["search_evaluator"] = {{"command", {"./score.sh", "{model}", "a b.npz", "log"}}, {"timeout", 5}};
  EXPECT_TRUE(evaluator_facts(job, {{"score", {.value = 0.5}}}).is_null()) << "no evaluator of the user's own";
  job.aim.evaluator = eval::custom_evaluator(job.words["search_evaluator"]);
  const Json before = evaluator_facts(job, {{"score", {.value = 0.5}}, {"L2", {.value = 0}}});
  EXPECT_EQ(before["value"], 0.5);
  EXPECT_EQ(before["files"].size(), 1U) << "what it reads and writes may be large, or another file each time";
  write_file(folder.path() / "score.sh", "another");
  EXPECT_EQ(other_evaluator(before, evaluator_facts(job, {{"score", {.value = 0.5}}})).what, "./score.sh is another file");
}

}  // namespace
}  // namespace quasar::tune
