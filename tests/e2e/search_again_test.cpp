// What a search left, taken up again: its study, its best configuration, its trials.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <set>
#include <thread>

#include "e2e/search_job.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/runtime/session.hpp"
#include "quasar/search/storage.hpp"

namespace quasar::e2e {
namespace {

TEST_F(Search, BestConfigurationMakesTheSameModelAgain) {
  ASSERT_EQ(search(words(small_space)).code, 0);
  const fs::path again = folder.path() / "again.onnx", trial = folder.path() / "trial.onnx";
  const std::string data = " --calib " + digits("calibration.npz") + " -o ";
  ASSERT_EQ(
      run("quantize " + digits("digits.onnx") + " --config " + (out / "best_config.yaml").string() + data + again.string()).code,
      0);
  EXPECT_EQ(read_file(again), read_file(out / "best.onnx"));
  const std::string number = std::to_string(result()["best"]["trial"].get<int>());
  ASSERT_EQ(
      run("quantize " + digits("digits.onnx") + " --from-study " + out.string() + " --trial " + number + data + trial.string())
          .code,
      0);
  EXPECT_EQ(read_file(trial), read_file(out / "best.onnx"));
}

// The study knows the search's model and samples.
TEST_F(Search, ATrialIsMadeAgainFromTheModelAndTheSamplesOfTheSearch) {
  const std::string reader = "calib_data_reader: {reader: npz, path: calibration.npz, limit: 60}\n";
  fs::copy(digits("calibration.npz"), folder.path() / "calibration.npz");
  std::string job = words(small_space);
  const size_t begin = job.find("calib_data_reader");
  ASSERT_NE(begin, std::string::npos);
  job.replace(begin, job.find('\n', begin) + 1 - begin, reader);
  ASSERT_EQ(search(job).code, 0);
  const fs::path again = folder.path() / "again.onnx";
  const auto quantize = [&](const std::string& model, const std::string& more = "") {
    return run("quantize " + model + " --from-study " + out.string() + " --trial " +
               std::to_string(result()["best"]["trial"].get<int>()) + " -o " + again.string() + more);
  };
  const std::string best = read_file(out / "best.onnx"), known = "this is another model than that of trial ";
  const Ran alike = quantize(digits("digits.onnx"));
  EXPECT_EQ(alike.code, 0) << alike.err;
  EXPECT_EQ(read_file(again), best);
  EXPECT_EQ(alike.out.find(known), std::string::npos) << alike.out;
  const Ran same = quantize("");
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_EQ(read_file(again), best) << "of the search's own model";
  fs::remove(again);
  const Ran unnamed = run("quantize --from-study " + out.string() + " -o " + again.string());
  EXPECT_EQ(unnamed.code, 0) << unnamed.err;
  EXPECT_EQ(read_file(again), best) << "the best trial, unless another one is named";
  const Ran database = run("quantize --from-study " + (out / "auto_search.db").string() + " -o " + again.string());
  EXPECT_EQ(database.code, 1);
  EXPECT_NE(database.err.find("name one by --trial N"), std::string::npos) << database.err;
  const Ran others = quantize(digits("digits.onnx"), " --calib " + digits("calibration.npz"));
  EXPECT_EQ(others.code, 0) << others.err;
  EXPECT_NE(others.out.find(known), std::string::npos) << others.out;
  const Ran other = quantize((out / "best.onnx").string());
  EXPECT_EQ(other.code, 1);
  EXPECT_NE(other.err.find("of the study 'AutoSearch' in "), std::string::npos) << other.err;
  EXPECT_NE(other.err.find(" is of another model than "), std::string::npos) << other.err;
  fs::remove(folder.path() / "calibration.npz");
  const Ran gone = quantize(digits("digits.onnx"));
  EXPECT_EQ(gone.code, 1);
  EXPECT_NE(gone.err.find("cannot be read again; give them by --calib"), std::string::npos) << gone.err;
}

// The same configuration makes another model for another target: the search's holds, unless another is asked for.
TEST_F(Search, BestConfigurationIsQuantizedForTheTargetOfTheSearch) {
  const Ran ran = search(words("  activation: [XInt8Spec]\n  weight: [XInt8Spec]\n"));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.err.find("target is xint8: "), std::string::npos) << ran.err;
  EXPECT_NE(ran.out.find("34 nodes in integers as planned for the NPU, 0 in float, 0 of its rules broken"), std::string::npos)
      << ran.out;
  EXPECT_EQ(result()["best"]["broken_rules"], 0);
  EXPECT_EQ(result()["best"]["operators"], (Json{{"quantized", 34}, {"float", 0}, {"by", "plan"}}))
      << "as planned: a CPU only simulates it";
  const std::string number = std::to_string(result()["best"]["trial"].get<int>());
  const fs::path again = folder.path() / "again.onnx";
  const auto quantize = [&](const std::string& from) {
    return run("quantize " + digits("digits.onnx") + " --calib " + digits("calibration.npz") + " -o " + again.string() + " " +
               from);
  };
  const std::string study = "--from-study " + out.string() + " --trial " + number;
  for (const std::string& from : {study, "--config " + (out / "best_config.yaml").string()}) {
    const Ran ran = quantize(from);
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(read_file(again), read_file(out / "best.onnx")) << from;
    EXPECT_EQ(ran.out.find("found for"), std::string::npos) << ran.out;
  }
  const Ran seen = run("inspect " + digits("digits.onnx") + " --config " + (out / "best_config.yaml").string());
  EXPECT_EQ(seen.code, 0) << seen.err;
  const Ran other = quantize(study + " --target generic");
  ASSERT_EQ(other.code, 0) << other.err;
  EXPECT_NE(read_file(again), read_file(out / "best.onnx"));
  EXPECT_NE(other.out.find("target is generic, but the configuration was found for xint8"), std::string::npos) << other.out;
}

TEST_F(Search, SameJobSameStudy) {
  std::vector<std::string> studies;
  for (const char* name : {"a", "b"}) {
    out = folder.path() / name;
    ASSERT_EQ(search(words(small_space, "n_trials: 6\n"), "--set search_algo=Random --set seed=3").code, 0);
    const auto storage = search::open_storage((out / "auto_search.db").string());
    std::string text;
    for (const auto& trial : storage->trials(storage->studies().at(0).id)) {
      for (const auto& [parameter, value] : trial.point.values()) text += parameter + "=" + value.dump() + " ";
      text += std::to_string(trial.values.at(0)) + "\n";
    }
    studies.push_back(text);
  }
  EXPECT_EQ(studies[0], studies[1]);
}

TEST_F(Search, ResumesWithoutRepeatingAFinishedTrial) {
  ASSERT_EQ(search(words(small_space, "n_trials: 5\n")).code, 0);
  const Ran refused = search(words(small_space));
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("--resume"), std::string::npos) << refused.err;
  ASSERT_EQ(search(words(small_space), "--resume").code, 0);
  EXPECT_EQ(result()["trials"]["requested"], 16);
  const auto storage = search::open_storage((out / "auto_search.db").string());
  std::set<std::string> points;
  const auto trials = storage->trials(storage->studies().at(0).id);
  for (const auto& trial : trials) {
    std::string text;
    for (const auto& [parameter, value] : trial.point.values()) text += parameter + "=" + value.dump() + " ";
    EXPECT_TRUE(points.insert(text).second) << "tried twice: " << text;
  }
  EXPECT_EQ(trials.size(), 16U);
}

// Kills a search in the middle, five times, and resumes it: every point is finished exactly once.
TEST_F(Search, SurvivesKill) {
  write_file(config, words(small_space));
  for (int round = 0; round < 5; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      (void)!freopen("/dev/null", "w", stdout);
      (void)!freopen("/dev/null", "w", stderr);
      execl(program().c_str(), "quasar", "search", config.c_str(), "--output-dir", out.c_str(), "--resume", nullptr);
      _exit(127);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(60 + 70 * round));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  const Ran ran = run("search " + config.string() + " --output-dir " + out.string() + " --resume");
  ASSERT_EQ(ran.code, 0) << ran.err;
  std::multiset<std::string> finished;
  const auto storage = search::open_storage((out / "auto_search.db").string());
  for (const auto& trial : storage->trials(storage->studies().at(0).id)) {
    // On a loaded machine all five kills may meet the same trial, which is given up then.
    const bool died =
        trial.user_attributes.value(search::attribute::error, std::string()).starts_with("the process that ran it died");
    if (trial.state != search::State::complete && trial.state != search::State::pruned && !died) continue;
    std::string text;
    for (const auto& [parameter, value] : trial.point.values()) text += parameter + "=" + value.dump() + " ";
    finished.insert(text);
  }
  EXPECT_EQ(finished.size(), 16U);
  EXPECT_EQ(std::set<std::string>(finished.begin(), finished.end()).size(), 16U);
}

TEST_F(Search, CtrlCKeepsTheResults) {
  write_file(config, words(small_space));
  const pid_t child = fork();
  if (child == 0) {
    hear_signals();
    (void)!freopen((folder.path() / "err").c_str(), "w", stderr);
    (void)!freopen("/dev/null", "w", stdout);
    execl(program().c_str(), "quasar", "search", config.c_str(), "--output-dir", out.c_str(), nullptr);
    _exit(127);
  }
  // Interrupt as soon as the first trial has finished.
  const auto finished_one = [&] {
    return fs::exists(folder.path() / "err") && read_file(folder.path() / "err").find("trial 0: ") != std::string::npos;
  };
  for (int i = 0; i < 120000 * patience && !finished_one(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  kill(child, SIGINT);
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 0) GTEST_SKIP() << "the search was faster than the interruption";
  EXPECT_EQ(WEXITSTATUS(status), 130);
  EXPECT_EQ(result()["status"], "interrupted");
  EXPECT_TRUE(fs::exists(out / "best.onnx"));
}

// Measured once: whoever goes on with the study has the same operators in float, whatever his machine would say.
TEST_F(Search, WhatTheSpeedGateDecidedHoldsForTheWholeStudy) {
  const std::string gated =
      "  algorithms: [null, adaround]\ntwo_stage_search: true\nspeed_gate: 1.02\nsearch_stop_condition: {iteration_limit: ";
  ASSERT_EQ(search(words(small_space, gated + "1}\n")).code, 0);
  const Json first = result();
  ASSERT_TRUE(first["speed_gate"].is_object());
  EXPECT_NE(first["speed_gate"]["told"].get<std::string>().find("the float model's time"), std::string::npos);
  Json decided = first["speed_gate"];
  decided["regions"] = {{"stem/conv", {"stem/conv", "stem/relu6"}}};
  {
    const auto storage = search::open_storage((out / "auto_search.db").string());
    storage->set_attribute(storage->studies().front().id, "speed_gate", decided);
  }
  ASSERT_EQ(search(words(small_space, gated + "12}\n"), "--resume").code, 0);
  EXPECT_EQ(result()["speed_gate"], decided);
  const auto trials = search::open_storage((out / "auto_search.db").string())->trials(1);
  std::set<std::string> stages;
  for (size_t i = 2; i < trials.size(); i++) {
    stages.insert(trials[i].user_attributes["stage"]);
    ASSERT_NE(trials[i].point.find("region stem/conv"), nullptr) << i;
    EXPECT_EQ(*trials[i].point.find("region stem/conv"), Json({"stem/conv", "stem/relu6"}));
    EXPECT_EQ(trials[i].user_attributes["config"]["exclude"], Json({"stem/conv", "stem/relu6"}));
  }
  EXPECT_EQ(stages.size(), 2U) << trials.size();
}

// Paths in a file start from its folder; what is typed starts where it is typed.
TEST_F(Search, OneOfSeveralStudiesIsChosenByName) {
  const std::string database = " --set study_storage_db=" + (folder.path() / "both.db").string();
  ASSERT_EQ(search(words(small_space, "n_trials: 1\n"), database + " --set study_name=first").code, 0);
  const fs::path first = out;
  out = folder.path() / "second";
  ASSERT_EQ(search(words(small_space, "n_trials: 2\n"), database + " --set study_name=second").code, 0);
  const std::string quantize = "quantize " + digits("digits.onnx") + " --calib " + digits("calibration.npz") + " -o " +
                               (folder.path() / "trial.onnx").string() + " --trial 1 --from-study ";
  const std::string both = (folder.path() / "both.db").string();
  const Ran unclear = run(quantize + both);
  EXPECT_EQ(unclear.code, 1);
  EXPECT_NE(unclear.err.find("'first'"), std::string::npos) << unclear.err;
  EXPECT_NE(unclear.err.find("'second'"), std::string::npos) << unclear.err;
  EXPECT_EQ(run(quantize + both + " --study-name second").code, 0);
  EXPECT_NE(run(quantize + both + " --study-name first").err.find("has no trial 1"), std::string::npos);
  EXPECT_NE(run(quantize + both + " --study-name secnd").err.find("did you mean 'second'?"), std::string::npos);
  fs::copy(both, first / "a.db");  // a folder with several databases
  fs::copy(both, first / "b.db");
  EXPECT_NE(run(quantize + first.string() + " --study-name second").err.find("name the database file"), std::string::npos);
}
}  // namespace
}  // namespace quasar::e2e
