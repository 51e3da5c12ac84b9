// What processes that come to a shared search refuse, and what makes them leave.

#include <sstream>

#include "e2e/workers.hpp"
#include "quasar/base/secrets.hpp"
#include "quasar/base/version.hpp"

namespace quasar::e2e {
namespace {

// Whoever can write to a database can have written what its studies name.
TEST_F(Workers, ADatabaseRunsNothing) {
  const std::string ran = file("ran").string();
  const std::string evaluator = "search_evaluator={command: 'echo \"by $WORKER\" >> " + ran + "; : {model}; echo 0.5'}";
  Child leader(search({"--set", "n_trials=100000", "--set", evaluator}), file("leader"));
  ASSERT_TRUE(wait_for_trials(2)) << leader.output();
  const auto called = [](const char* name) { return [name] { return setenv("WORKER", name, 1) == 0; }; };
  Child refused({"worker", server->url()}, file("refused"), called("refused"));
  EXPECT_EQ(refused.wait(), 1);
  EXPECT_NE(refused.output().find("has a search_evaluator, which runs what the study names"), std::string::npos)
      << refused.output();
  EXPECT_EQ(read_file(ran).find("by refused"), std::string::npos);
  Child allowed({"worker", server->url(), "--allow-code", "--until-idle", "600"}, file("allowed"), called("allowed"));
  for (int i = 0; i < 6000 * patience && allowed.output().find("trial ") == std::string::npos; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_NE(read_file(ran).find("by allowed"), std::string::npos) << allowed.output();
  // Another model is not the search's, and one that is not here is asked for by its option.
  Child other({"worker", server->url(), "--allow-code", "--model", digits("demo.onnx")}, file("other"));
  EXPECT_EQ(other.wait(), 1);
  EXPECT_NE(other.output().find("is another one than that of the study 'AutoSearch'"), std::string::npos) << other.output();
  Child absent({"worker", server->url(), "--allow-code", "--calib", "absent.npz"}, file("absent"));
  EXPECT_EQ(absent.wait(), 1);
  EXPECT_NE(absent.output().find("which is not on this machine; give --calib DATA"), std::string::npos) << absent.output();
  // Which of two searches is meant has to be said.
  Child second(search({"--set", "n_trials=100000", "--set", evaluator, "--set", "study_name=Second", "--set",
                       "output_dir=" + file("second_out").string()}),
               file("second"));
  for (int i = 0; i < 6000 * patience && second.output().find("trial ") == std::string::npos; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  Child unsure({"worker", server->url(), "--allow-code"}, file("unsure"));
  EXPECT_EQ(unsure.wait(), 1);
  EXPECT_NE(unsure.output().find("AutoSearch, Second; say for which to work (--study NAME)"), std::string::npos)
      << unsure.output();
}

TEST_F(Workers, ADatabaseLoadsNoOperators) {
  Child leader(search({"--set", "n_trials=100000", "--set", std::string("custom_op_library=") + QUASAR_OPERATOR_LIBRARY}),
               file("leader"));
  ASSERT_TRUE(wait_for_trials(2)) << leader.output();
  Child refused({"worker", server->url()}, file("refused"));
  EXPECT_EQ(refused.wait(), 1);
  EXPECT_NE(refused.output().find("has a custom_op_library, whose code the study names"), std::string::npos) << refused.output();
  Child allowed({"worker", server->url(), "--allow-code", "--until-idle", "600"}, file("allowed"));
  for (int i = 0; i < 6000 * patience && allowed.output().find("trial ") == std::string::npos; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_NE(allowed.output().find("trial "), std::string::npos) << allowed.output();
}

TEST_F(Workers, WhatDoesNotFitIsAnError) {
  const auto fails = [&](const std::vector<std::string>& arguments, const std::string& what) {
    Child child(arguments, file("error"));
    EXPECT_EQ(child.wait(), 1);
    EXPECT_NE(child.output().find(what), std::string::npos) << child.output();
  };
  fails(worker("", {"--wait", "nan"}), "--wait is nan, but must be a number of seconds from 0 to 1e9");
  fails(worker("", {"--wait", "1e18"}), "--wait is 1e+18, but must be");
  fails(worker("", {"--wait", "0"}), "start `quasar search` with the same storage");
  fails({"worker", config.string()}, "postgresql://");
  fails({"worker"}, "give the search's address: quasar worker postgresql://user@host:port/database");
  for (const char* other : {"sqlite:///study.db", "study.db", "mysql://server/studies"})
    fails({"worker", other}, "is no database that several processes share: a worker needs postgresql://");
  fails({"worker", "--storage", "study.db"}, "--storage is 'study.db', but that is no database that several processes share");
  Child leader(search({"--set", "n_trials=100000"}), file("leader"));
  ASSERT_TRUE(wait_for_trials(2)) << leader.output();
  fails(worker(), "n_trials: " + std::to_string(all_trials));
  const auto joins = [&](const std::string& setting) { return worker("", {"--set", "n_trials=100000", "--set", setting}); };
  fails(joins("search_space.activation=[UInt8Spec]"), "search_space");
  fails(
      joins("search_space.adaround_params.damping.high=20"),  // the difference alone
      "this worker's configuration has search_space.adaround_params.damping.high: 20, but the search that it joins has 10; give");
  fails(joins("seed=6"), "seed: 6");
  fails(joins("heartbeat_interval=0.4"), "heartbeat_interval: 0.4, but the search that it joins has 0.2");
  fails(joins("grace_period=5"), "grace_period: 5.0, but the search that it joins has 1.0");
  fails(joins("target=ort_cuda"), "has target: \"ort_cuda\", but the search that it joins has no such key; give it the same");
  fails(joins("constraints=[{metric: cos, min: 0.5}]"),
        "has constraints: [{\"metric\":\"cos\",\"min\":0.5}], but the search that it joins has no such key");
  fails(joins("output_weights={probabilities: 2}"),
        "has output_weights: {\"probabilities\":2}, but the search that it joins has no such key");
  fails(joins("search_metric=cos"), "other objectives or directions than this worker; give it the same");
  fails(search({"--set", "output_dir=" + file("elsewhere").string()}), "exists already");
  fails(search({"--resume", "--set", "output_dir=" + file("elsewhere").string()}), "in use by process");
  // As though an older Quasar led.
  const auto storage = search::open_storage(server->url());
  storage->set_attribute(storage->studies().front().id, "quasar.version", "0.0.9");
  const std::string why = "is led by quasar 0.0.9, and this is quasar " + version() + ": they may make different models";
  fails(worker("", {"--set", "n_trials=100000"}), why);
  fails({"worker", server->url()}, why);
  // As though a Python program led, with a function of its own.
  storage->set_attribute(storage->studies().front().id, "quasar.version", version());
  Json job = storage->studies().front().user_attributes["job"];
  job["search_evaluator"] = {{"python_evaluator_1", "__main__.score (model)"}, {"direction", "maximize"}};
  storage->set_attribute(storage->studies().front().id, "job", job);
  for (const bool allowed : {false, true})
    fails(allowed ? std::vector<std::string>{"worker", server->url(), "--allow-code"}
                  : std::vector<std::string>{"worker", server->url()},
          "is a function of a Python program, which a study cannot hold: start that program by mpirun or srun");
}

// The configuration is the same: a script beside it is another version, and says something else.
TEST_F(Workers, AnotherEvaluatorIsRefused) {
  const auto scoring = [&](const std::string& place, const std::string& text) {
    fs::create_directories(file(place));
    fs::copy_file(config, file(place) / "search.yaml");
    write_file(file(place) / "score.sh", "#!/bin/sh\n" + text + "\n");
    fs::permissions(file(place) / "score.sh", fs::perms::owner_all);
  };
  const auto in = [&](const std::string& place, std::vector<std::string> words) {
    std::ranges::replace(words, config.string(), (file(place) / "search.yaml").string());
    for (const char* word : {"--set", "n_trials=100000", "--set", "search_evaluator={command: [./score.sh, '{model}']}"})
      words.emplace_back(word);
    return words;
  };
  scoring("here", "echo 0.5");
  scoring("other", "echo 0.9");
  scoring("comment", "echo 0.5 # of the float model");
  Child leader(in("here", search()), file("leader"));
  ASSERT_TRUE(wait_for_trials(2)) << leader.output();
  Child other(in("other", worker()), file("other.txt")), comment(in("comment", worker()), file("comment.txt"));
  EXPECT_EQ(other.wait(), 1);
  const std::string what = "another one than the search's: ./score.sh is another file";
  const std::string refused = what + " and the float model's score is 0.9 (there 0.5); give it the same files";
  EXPECT_NE(other.output().find(refused), std::string::npos) << other.output();
  for (int i = 0; i < 12000 * patience && comment.output().find(what) == std::string::npos; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_NE(comment.output().find("may be " + what), std::string::npos) << comment.output();
  leader.signal(SIGINT);
  EXPECT_EQ(leader.wait(), 130);
  EXPECT_EQ(comment.wait(), 130) << comment.output();
}

// Before the user's own program has scored the float model.
TEST_F(Workers, AnAddressOrStudyThatDoesNotFitIsSaidFirst) {
  const std::string evaluator =
      "search_evaluator={command: [sh, -c, 'touch " + file("mark").string() + "; echo 1', sh, '{model}']}";
  const auto fails = [&](const std::string& url, const std::string& what) {
    Child child(search({"--set", "storage=" + url, "--set", evaluator, "--set", "n_trials=1"}), file("error"));
    EXPECT_EQ(child.wait(), 1);
    EXPECT_NE(child.output().find(what), std::string::npos) << child.output();
    EXPECT_FALSE(fs::exists(file("mark"))) << child.output();
  };
  fails(server->url("nowhere"), "create it first (createdb)");
  fails(with(server->url(), servers::Postgresql::encoded, "guess"), "give the password in the address");
  search::open_storage(server->url())->create("AutoSearch", {Direction::minimize});
  fails(server->url(), "the study 'AutoSearch' exists already");
}

// A worker needs a connection.
TEST_F(Workers, AServerWithoutRoomIsNamed) {
  ASSERT_TRUE(server->run("CREATE ROLE few LOGIN PASSWORD 'few' CONNECTION LIMIT 1; GRANT quasar_test TO few"));
  Child leader(search({"--set", "n_trials=100000"}), file("leader"));
  ASSERT_TRUE(wait_for_trials(2)) << leader.output();
  const std::string url = "postgresql://few:few@127.0.0.1:" + std::to_string(server->port()) + "/postgres";
  const auto held = search::open_storage(url);
  Child one(worker(url, {"--set", "n_trials=100000", "--wait", "1"}), file("one"));
  EXPECT_EQ(one.wait(), 75);
  for (const char* said : {"too many connections for role", "every worker needs a connection"})
    EXPECT_NE(one.output().find(said), std::string::npos) << one.output();
  EXPECT_EQ(one.output().find("start `quasar search`"), std::string::npos) << one.output();
}

// It takes the search that it can work for, whatever else runs, and says what it left.
TEST_F(Workers, OneThatStandsTakesWhatItCan) {
  const auto also = [&](const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> all{"search",       config.string(),
                                 "--output-dir", file("out_" + name).string(),
                                 "--set",        "storage=" + server->url(),
                                 "--set",        "study_name=" + name,
                                 "--set",        "n_trials=100000"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const auto wait_for_a_trial = [](const Child& child) {
    for (int i = 0; i < 600 * patience && child.output().find("trial ") == std::string::npos; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_NE(child.output().find("trial "), std::string::npos) << child.output();
  };
  Child foreign(also("foreign", {"--set", "search_evaluator={command: 'sleep 0.2; echo 1; : {model}'}"}), file("foreign"));
  Child leader(also("plain", {}), file("leader"));
  for (const Child* one : {&foreign, &leader}) wait_for_a_trial(*one);
  Child standing({"worker", server->url(), "--until-idle", "1", "--json"}, file("standing"));
  wait_for_a_trial(standing);
  Child wrong({"worker", server->url(), "--until-idle", "1", "--set", "misspelt=1"}, file("wrong"));
  EXPECT_EQ(wrong.wait(), 1) << "its own mistake is no search that it leaves to others: " << wrong.output();
  EXPECT_NE(wrong.output().find("misspelt"), std::string::npos) << wrong.output();
  EXPECT_EQ(run("study stop '" + server->url() + "' plain").code, 0);
  EXPECT_EQ(leader.wait(), 0) << leader.output();
  EXPECT_EQ(standing.wait(), 0) << standing.output();
  foreign.signal(SIGTERM);
  EXPECT_EQ(foreign.wait(), 130) << foreign.output();
  const std::string said = standing.output();
  EXPECT_NE(said.find("give --allow-code"), std::string::npos) << said;
  std::vector<Json> documents;
  std::istringstream lines(said);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("{")) documents.push_back(parse_json(line, "worker --json"));
  }
  ASSERT_EQ(documents.size(), 2U) << said;
  EXPECT_GT(documents[0]["executed"], 0) << said;
  EXPECT_EQ(documents[1]["reason"], "there was nothing to do");
}

}  // namespace
}  // namespace quasar::e2e
