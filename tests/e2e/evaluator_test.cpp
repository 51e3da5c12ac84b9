// Searches with the user's own score, by a program and on another machine.
#include <gtest/gtest.h>

#include <fstream>

#include "e2e/program.hpp"
#include "quasar/base/version.hpp"
#include "quasar/search/storage.hpp"

namespace quasar::e2e {
namespace {
namespace fs = std::filesystem;

const char* const space =
    "search_algo: Grid\nsearch_space:\n"
    "  activation: [UInt8Spec]\n"
    "  activation_params: {calibration_method: [MinMax, Percentile], only_if: activation}\n"
    "  weight: [Int8Spec]\n"
    "  weight_params: {quant_granularity: [Tensor, Channel], only_if: weight}\n";

struct OwnEvaluator : testing::Test {
  TemporaryFolder folder;
  fs::path out = folder.path() / "out";

  std::string words(const std::string& evaluator) const {
    return "model_input: " + digits("digits.onnx") + "\ncalib_data_reader: {reader: npz, path: " + digits("calibration.npz") +
           ", labels: label}\neval_data_reader: {reader: npz, path: " + digits("evaluation.npz") +
           ", labels: label, limit: 100}\n" + space + evaluator;
  }
  Ran search(const std::string& evaluator, const std::string& arguments = "", const std::string& environment = "") {
    write_file(folder.path() / "search.yaml", words(evaluator));
    return run("search " + (folder.path() / "search.yaml").string() + " --output-dir " + out.string() + " " + arguments,
               environment);
  }
  void script(const std::string& name, const std::string& text) const {
    write_file(folder.path() / name, "#!/bin/sh\n" + text + "\n");
    fs::permissions(folder.path() / name, fs::perms::owner_all);
  }
  Json result() const { return read_json(out / "result.json"); }
  std::vector<search::Trial> trials() const {
    const auto storage = search::open_storage((out / "auto_search.db").string());
    return storage->trials(storage->studies().at(0).id);
  }
};

// The program's own `evaluate` as somebody else's score: what it says is what a built-in metric would have said.
TEST_F(OwnEvaluator, ACommandDecidesWithItsOwnMetric) {
  script("score.sh", program() + " evaluate $1 --data " + digits("evaluation.npz") +
                         " --metric top1 --json | "
                         "python3 -c \"import json, sys; print(json.dumps({'accuracy': json.load(sys.stdin)"
                         "['metrics']['top1']['value'], 'samples': 700, 'note': 'x'}))\"");
  const Ran ran = search(
      "search_evaluator: {command: [./score.sh, '{model}'], metrics: [accuracy]}\nsearch_metric: [accuracy, L2]\nn_jobs: 2\n"
      "search_metric_tolerance: 0.01\n");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json found = result();
  EXPECT_EQ(found["objectives"][0]["name"], "accuracy");
  EXPECT_EQ(found["objectives"][0]["direction"], "maximize");
  EXPECT_NEAR(found["baseline"]["metrics"]["accuracy"]["value"].get<double>(), 0.9843, 1e-4);
  EXPECT_GT(found["best"]["metrics"]["accuracy"]["value"].get<double>(), 0.97);
  EXPECT_EQ(found["best"]["metrics"]["samples"]["value"], 700);
  EXPECT_GT(found["candidates"].size(), 0u);
  for (const auto& trial : trials()) {
    if (trial.is_duplicate()) continue;
    EXPECT_EQ(trial.values.at(0), trial.user_attributes["metrics"]["accuracy"].get<double>());
    EXPECT_LE(trial.values.at(0), found["best"]["metrics"]["accuracy"]["value"].get<double>());
    EXPECT_EQ(trial.is_candidate(), trial.values.at(0) >= found["baseline"]["metrics"]["accuracy"]["value"].get<double>() - 0.01);
  }
  EXPECT_NE(read_file(out / "report.html").find("accuracy"), std::string::npos);
}

// What the evaluator said stays, also of a model that misses the goal: it may take hours, and `timeout` ends the search.
TEST_F(OwnEvaluator, TheWinnerIsNotScoredAgain) {
  script("score.sh", "echo x >> calls; case $(wc -l < calls) in 1|5) echo 1;; *) echo 0.$(wc -l < calls);; esac");
  const std::string tuning = "accuracy_criterion: {tolerable_loss: 0.01}\nstrategy: sigopt\ntuning_criterion: {timeout: 100, ";
  write_file(folder.path() / "search.yaml", "model_input: " + digits("digits.onnx") +
                                                "\ncalib_data_reader: {reader: npz, path: " + digits("calibration.npz") +
                                                ", labels: label, limit: 20}\n" + tuning +
                                                "max_trials: 3}\nsearch_evaluator: {command: [./score.sh, '{model}']}\n");
  const std::string command = "search " + (folder.path() / "search.yaml").string() + " --output-dir " + out.string();
  const Ran ran = run(command);
  EXPECT_EQ(ran.code, 2) << ran.err;
  EXPECT_EQ(read_file(folder.path() / "calls"), "x\nx\nx\nx\n") << "the float model and three trials";
  const Json first = result();
  EXPECT_EQ(run(command + " --resume").code, 2);
  EXPECT_EQ(read_file(folder.path() / "calls"), "x\nx\nx\nx\nx\n") << "and the float model again";
  EXPECT_EQ(result()["best"]["metrics"], first["best"]["metrics"]);
  EXPECT_EQ(result()["warnings"].dump().find("optimistic"), std::string::npos) << "the program has its own samples";
}

TEST_F(OwnEvaluator, NorIsItWhereBuiltInMetricsStandBesideIt) {
  script("score.sh", "echo x >> calls; echo '{\"a\": 0.'$(wc -l < calls)', \"samples\": 7}'");
  const std::string evaluator = "search_evaluator: {command: [./score.sh, '{model}'], metrics: [a]}\nsearch_metric: [L2, a]\n";
  ASSERT_EQ(search(evaluator).code, 0);
  const std::string calls = read_file(folder.path() / "calls");
  const Json first = result();
  const Ran again = search(evaluator, "--resume");
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(read_file(folder.path() / "calls"), calls + "x\n") << "the float model alone";
  EXPECT_EQ(result()["best"]["metrics"], first["best"]["metrics"]);
}

TEST_F(OwnEvaluator, AFailureIsAFailedTrialThatKeepsItsStandardError) {
  script("score.sh",
         "n=$(cat count 2>/dev/null || echo 0); echo $((n+1)) > count\n"
         "[ $n = 1 ] && { echo 'the board is asleep' >&2; exit 7; }\n"
         "[ $n = 2 ] && sleep 3600\n"
         "echo $n");
  const Ran ran = search("search_evaluator: {command: [./score.sh, '{model}'], timeout: 10}\ndirection: minimize\n");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto all = trials();
  EXPECT_EQ(all.at(0).state, search::State::failed);
  EXPECT_EQ(all[0].user_attributes["error"], "the evaluator ended with exit code 7");
  EXPECT_EQ(all[0].user_attributes["stderr"], "the board is asleep\n");
  EXPECT_NE(all.at(1).user_attributes["error"].get<std::string>().find("timeout of 10"), std::string::npos);
  EXPECT_EQ(all.at(2).values, std::vector<double>{3});
  EXPECT_EQ(result()["best"]["trial"], 2);
  EXPECT_EQ(result()["trials"]["failed"], 2);
}

// The first trial is cut short by the limit; a search without a model would be of no use.
TEST_F(OwnEvaluator, ATimeLimitLeavesOneModelAtLeast) {
  script("score.sh",
         "n=$(cat count 2>/dev/null || echo 0); echo $((n+1)) > count\n"
         "[ $n = 1 ] && sleep 3600\n"
         "echo 0.$n");
  const std::string evaluator =
      "search_evaluator: {command: [./score.sh, '{model}']}\ndirection: minimize\nsearch_stop_condition: {time_limit: 10}\n";
  for (const char* more : {"", "two_stage_search: true\n"}) {
    fs::remove(folder.path() / "count");
    fs::remove_all(out);
    const Ran ran = search(evaluator + more);
    ASSERT_EQ(ran.code, 0) << ran.err;
    const Json found = result();
    EXPECT_EQ(found["reason"], "time_limit of 10.0 s reached");
    EXPECT_NE(found["warnings"].dump().find("one is made all the same"), std::string::npos) << found["warnings"];
    EXPECT_EQ(found["trials"]["complete"], 1) << more;
    EXPECT_TRUE(fs::exists(out / "best.onnx"));
  }
}

// The folder of temporary files is not there for a while: that is no result of whatever was being scored.
TEST_F(OwnEvaluator, AFolderOfTemporaryFilesThatFailsEndsTheSearchAndNoTrial) {
  const fs::path place = folder.path() / "tmp", away = folder.path() / "away";
  fs::create_directory(place);
  script("score.sh",
         "n=$(cat count 2>/dev/null || echo 0); echo $((n+1)) > count\n"
         "[ $n = 2 ] && { mv " +
             place.string() + " " + away.string() + "; exit 1; }\necho $n");
  const std::string words = "search_evaluator: {command: [./score.sh, '{model}']}\n";
  const Ran ran = search(words, "", "TMPDIR=" + place.string());
  EXPECT_EQ(ran.code, 1) << ran.out;
  EXPECT_NE(ran.err.find("; that is no result of trial 1, which waits to be run again"), std::string::npos) << ran.err;
  fs::rename(away, place);
  const Ran again = search(words, "--resume", "TMPDIR=" + place.string());
  EXPECT_EQ(again.code, 0) << again.err;
  const auto all = trials();
  EXPECT_EQ(all.size(), 4u);
  for (const auto& trial : all) EXPECT_EQ(trial.state, search::State::complete) << trial.user_attributes.dump();
}

// There is no room while the model lies there, and some again as soon as it is gone.
TEST_F(OwnEvaluator, AFullFolderOfTemporaryFilesFailsNoTrial) {
  const fs::path place = folder.path() / "tmp";
  fs::create_directory(place);
  // Of 1536 kB this leaves 80 kB: enough for a model, and not for one and a look whether there is room.
  script("score.sh", "[ -e $TMPDIR/full ] && exit 1\nhead -c 1456k /dev/zero > $TMPDIR/full; echo 0.5");
  write_file(folder.path() / "search.yaml", words("search_evaluator: {command: [./score.sh, '{model}']}\n"));
  if (std::system(("unshare -m mount -t tmpfs none " + place.string() + " 2> /dev/null").c_str()) != 0)
    GTEST_SKIP() << "nothing can be mounted here";
  const fs::path said = folder.path() / "said";
  const std::string search = program() + " search " + (folder.path() / "search.yaml").string() + " --output-dir " + out.string();
  const int status = std::system(("unshare -m sh -c 'mount -t tmpfs -o size=1536k none " + place.string() +
                                  " && TMPDIR=" + place.string() + " exec " + search + "' > " + said.string() + " 2>&1")
                                     .c_str());
  EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 75);
  EXPECT_NE(read_file(said).find("cannot use the folder of temporary files (TMPDIR)"), std::string::npos) << read_file(said);
  for (const auto& trial : trials()) EXPECT_NE(trial.state, search::State::failed) << trial.user_attributes.dump();
}

TEST_F(OwnEvaluator, WhatCannotScoreTheFloatModelIsAnErrorBeforeAnythingIsWritten) {
  const Ran ran = search("search_evaluator: {command: 'echo no board >&2; false {model}'}\n");
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("search_evaluator cannot score the float model: the evaluator ended with exit code 1\n  no board"),
            std::string::npos)
      << ran.err;
  EXPECT_FALSE(fs::exists(out / "auto_search.db"));
}

// Its words are the same. What is another is told, as it may be a comment or noise.
TEST_F(OwnEvaluator, AnotherVersionIsToldWhenASearchGoesOn) {
  const std::string evaluator = "search_evaluator: {command: [./score.sh, '{model}']}\n";
  const auto warning = [&] { return result()["warnings"].dump(); };
  script("score.sh", "echo 0.5");
  ASSERT_EQ(search(evaluator + "n_trials: 1\n").code, 0);
  ASSERT_EQ(search(evaluator + "n_trials: 2\n", "--resume").code, 0);
  EXPECT_EQ(warning().find("score.sh"), std::string::npos) << warning();
  script("score.sh", "echo 0.5 # as before");
  ASSERT_EQ(search(evaluator + "n_trials: 2\n", "--resume").code, 0);
  EXPECT_NE(warning().find("may be another one than in the run before: ./score.sh is another file."), std::string::npos)
      << warning();
  script("score.sh", "echo 0.75");
  ASSERT_EQ(search(evaluator + "n_trials: 2\n", "--resume").code, 0);
  EXPECT_NE(warning().find("./score.sh is another file and the float model's score is 0.75 (there 0.5)"), std::string::npos)
      << warning();
}

TEST_F(OwnEvaluator, AStudyOfAnotherVersionIsToldWhenItGoesOn) {
  const std::string evaluator = "search_evaluator: {command: [./score.sh, '{model}']}\n";
  const auto warning = [&] { return result()["warnings"].dump(); };
  script("score.sh", "echo 0.5");
  ASSERT_EQ(search(evaluator + "n_trials: 1\n").code, 0);
  ASSERT_EQ(search(evaluator + "n_trials: 2\n", "--resume").code, 0);
  EXPECT_EQ(warning().find("another version"), std::string::npos) << warning();
  {
    const auto storage = search::open_storage((out / "auto_search.db").string());
    storage->set_attribute(storage->studies().front().id, "quasar.version", "0.0.9");
    storage->set_attribute(storage->studies().front().id, "onnxruntime.version", "1.12.0");
  }
  ASSERT_EQ(search(evaluator + "n_trials: 2\n", "--resume").code, 0);
  EXPECT_NE(warning().find("goes on with another version: its trials are of quasar 0.0.9 and ONNX Runtime 1.12.0, this is " +
                           version() + " and "),
            std::string::npos)
      << warning();
}

TEST_F(OwnEvaluator, ArgumentsMayBeEmpty) {
  script("score.sh", "[ $# = 3 ] && [ -z \"$2\" ] && [ \"$3\" = last ] && echo 1");
  const Ran ran = search("search_evaluator: {command: [./score.sh, '{model}', '', last]}\n");
  EXPECT_EQ(ran.code, 0) << ran.err;
  const Ran nobody = search("search_evaluator: {command: ['', '{model}']}\n");
  EXPECT_NE(nobody.err.find("names no program"), std::string::npos) << nobody.err;
}

TEST_F(OwnEvaluator, GoalsNameItsMetrics) {
  script("score.sh", "bytes=$(wc -c < $1); echo \"{\\\"a\\\": $bytes, \\\"b\\\": $((bytes / 1000))}\"");
  const std::string evaluator = "search_evaluator: {command: [./score.sh, '{model}'], metrics: {a: minimize, b: minimize}}\n";
  const Ran ran = search(
      evaluator + "objectives: [{metric: L2}, {metric: a}]\nconstraints: [{metric: b, max: 100}, {metric: b, max_drop: 0}]\n");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(result()["front"][0]["values"].size(), 2u);
  fs::remove_all(out);
  const Ran wrong = search(evaluator + "objectives: [{metric: c}]\n");
  EXPECT_EQ(wrong.code, 1);
  EXPECT_NE(wrong.err.find("unknown metric 'c'"), std::string::npos) << wrong.err;
  EXPECT_NE(search(evaluator + "direction: maximize\n").err.find("direction contradicts"), std::string::npos);
}

// ssh and scp that stay on this machine, in front of the real ones.
TEST_F(OwnEvaluator, TheRemoteExampleScoresOnABoard) {
  fs::create_directories(folder.path() / "bin");
  fs::create_directories(folder.path() / "board");
  const std::string board = (folder.path() / "board").string();
  script("bin/ssh", "while [ \"$1\" = -o ]; do shift 2; done\n[ \"$1\" = user@board ] && cd " + board + " && exec sh -c \"$2\"");
  script("bin/scp",
         "[ \"$1\" = -q ] && shift; while [ \"$1\" = -o ]; do shift 2; done\nexec cp \"$1\" \"" + board + "/${2#user@board:}\"");
  write_file(folder.path() / "board" / "score.sh", "echo \"{\\\"board_top1\\\": $(wc -c < \"$1\"), \\\"board_ms\\\": 1}\"\n");
  const std::string example = QUASAR_SOURCE_DIR "/examples/remote_evaluator/";
  const Ran ran = search("search_evaluator:\n  command: [" + example +
                             "evaluate_on_board.sh, '{model}', user@board, 'sh score.sh {}']\n"
                             "  metrics: {board_top1: minimize, board_ms: minimize}\nn_jobs: 2\n",
                         "", "PATH=" + (folder.path() / "bin").string() + ":$PATH");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(result()["best"]["metrics"]["board_top1"]["value"], result()["best"]["bytes"]);
  size_t left = 0;
  for (const auto& entry : fs::directory_iterator(board)) left += entry.path().extension() == ".onnx" ? 1 : 0;
  EXPECT_EQ(left, 0u);
  EXPECT_EQ(run("search " + example + "search.yaml --dry-run --output-dir " + (folder.path() / "other").string()).code, 0);
}

}  // namespace
}  // namespace quasar::e2e
