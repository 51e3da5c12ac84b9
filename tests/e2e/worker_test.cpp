// A search and its workers as processes that share a PostgreSQL server, one of them killed, some on hosts of their own.
#include <fcntl.h>
#include <sched.h>

#include <map>
#include <sstream>

#include "e2e/workers.hpp"
#include "quasar/base/secrets.hpp"
#include "quasar/base/version.hpp"

namespace quasar::e2e {
namespace {

TEST_F(Workers, OneIsKilledAndNothingIsLost) {
  Child early(worker(), file("early"));  // before there is a search
  Child leader(search(), file("leader"));
  Child killed(worker(), file("killed")), other(worker("", {"--output-dir", file("worker").string(), "--json"}), file("other"));
  ASSERT_TRUE(wait_for_trials(10)) << leader.output() << early.output();
  const bool had_one = kill_within_a_trial(killed);
  EXPECT_EQ(leader.wait(), 0) << leader.output();
  EXPECT_EQ(early.wait(), 0) << early.output();
  EXPECT_EQ(other.wait(), 0) << other.output();
  expect_whole(all_trials);
  if (had_one) {  // whoever sees it first says so
    EXPECT_NE((leader.output() + early.output() + read_file(file("worker") / "worker.log"))
                  .find("has died, as its heartbeat has stopped"),
              std::string::npos);
  }
  EXPECT_NE(early.output().find("trials executed here"), std::string::npos) << early.output();
  EXPECT_NE(other.output().find("\"interrupted\": false"), std::string::npos) << other.output();
  EXPECT_TRUE(fs::exists(file("worker") / "worker.log"));
  expect_no_password({&leader, &early, &other});
  // The report finds the study again, with the password from where it belongs.
  const std::string secret = std::string("PGPASSWORD='") + servers::Postgresql::password + "'";
  const std::string agreed = " --storage " + without_login(server->url());
  const Ran report = run("report " + out.string() + agreed, secret);
  EXPECT_EQ(report.code, 0) << report.err;
  const Ran unasked = run("report " + out.string(), secret);
  EXPECT_EQ(unasked.code, 1) << unasked.out;
  EXPECT_NE(unasked.err.find("--storage ADDRESS"), std::string::npos) << unasked.err;
  // The study is used through the folder, as one in a file is.
  const Ran again =
      run("quantize " + digits("digits.onnx") + " --calib " + digits("calibration.npz") + " --from-study " + out.string() +
              agreed + " --trial " + std::to_string(trials().front().number) + " -o " + file("again.onnx").string(),
          secret);
  EXPECT_EQ(again.code, 0) << again.err;
  // A worker that comes too late waits for --resume, and is told so.
  Child late(worker("", {"--wait", "1"}), file("late"));
  EXPECT_EQ(late.wait(), 0);
  EXPECT_NE(late.output().find("waiting for `quasar search --resume`"), std::string::npos) << late.output();
  EXPECT_NE(late.output().find("the search has ended"), std::string::npos) << late.output();
}

// A worker needs an address and nothing else, before the search too. It finishes its trial when it is asked to end.
TEST_F(Workers, OneAddressIsEnough) {
  Child early({"worker", server->url()}, file("early"));
  const std::vector<std::string> many{"--set", "n_trials=100000"};
  Child leader(search(many), file("leader"));
  Child drained({"worker", server->url(), "--drain", "600", "--json"}, file("drained"));
  for (int i = 0; i < 6000 * patience && drained.output().find("trial ") == std::string::npos; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  drained.signal(SIGTERM);
  EXPECT_EQ(drained.wait(), 0) << drained.output();
  EXPECT_NE(drained.output().find("has finished what it ran"), std::string::npos) << drained.output();
  leader.signal(SIGINT);
  EXPECT_EQ(leader.wait(), 130) << leader.output();
  EXPECT_EQ(early.wait(), 0) << early.output();
  EXPECT_NE(early.output().find("the search has ended: it was interrupted"), std::string::npos) << early.output();
  std::set<std::string> workers;
  for (const auto& trial : trials()) {
    if (trial.finished()) workers.insert(trial.system_attributes.value(search::worker_attribute, std::string()));
    EXPECT_NE(trial.state, search::State::failed) << trial.user_attributes.dump();
  }
  EXPECT_EQ(workers.size(), 3u);
  expect_no_password({&leader, &early, &drained});
  Child idle({"worker", server->url(), "--until-idle", "1"}, file("idle"));
  EXPECT_EQ(idle.wait(), 0) << idle.output();
  EXPECT_NE(idle.output().find("there was nothing to do"), std::string::npos) << idle.output();
}

// From any machine one sees what a search does, ends it, and removes what is not needed any more.
TEST_F(Workers, AreSeenAndStoppedFromElsewhere) {
  const std::string address = "'" + server->url() + "'";
  const std::vector<std::string> many{"--set", "n_trials=100000"};
  Child leader(search(many), file("leader")), one(worker("", many), file("one"));
  ASSERT_TRUE(wait_for_trials(10)) << leader.output();
  for (int i = 0; i < 6000 * patience && one.output().find("trial ") == std::string::npos; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const Ran seen = run("status " + address + " --json");
  ASSERT_EQ(seen.code, 0) << seen.err;
  const Json status = parse_json(seen.out, "status");
  EXPECT_EQ(status["state"], "running");
  EXPECT_EQ(status["total"], 100000);
  size_t alive = 0;
  for (const Json& process : status["workers"]) alive += process["alive"] == true ? 1 : 0;
  EXPECT_EQ(alive, 2u) << seen.out;
  const Ran page = run("report " + address + " -o " + file("page.html").string());
  EXPECT_EQ(page.code, 0) << page.err;
  EXPECT_TRUE(fs::exists(file("page.html")));
  const Ran early = run("report " + out.string() + " --storage " + address + " --format csv");  // there is no result.json yet
  EXPECT_EQ(early.code, 0) << early.err;
  EXPECT_EQ(run("study remove " + address + " AutoSearch").code, 1);  // it is in use
  const Ran stopped = run("study stop " + address);
  EXPECT_EQ(stopped.code, 0) << stopped.err;
  EXPECT_EQ(leader.wait(), 0) << leader.output();
  EXPECT_EQ(one.wait(), 0) << one.output();
  EXPECT_NE(one.output().find("quasar study stop"), std::string::npos) << one.output();
  EXPECT_TRUE(fs::exists(out / "best.onnx"));
  EXPECT_EQ(parse_json(run("report " + address + " --json").out, "report")["result"]["status"], "ended");
  EXPECT_EQ(run("study stop " + address).code, 1);
  EXPECT_EQ(run("study remove " + address + " AutoSearch").code, 0);
  EXPECT_EQ(parse_json(run("study list " + address + " --json").out, "list"), Json::array());
  for (const Ran& ran : {seen, page, early, stopped})
    EXPECT_EQ((ran.out + ran.err).find(servers::Postgresql::encoded), std::string::npos) << ran.out;
}

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

// The search itself may die: its workers go on, and it is continued.
TEST_F(Workers, TheLeaderIsKilledAndContinued) {
  std::optional<Child> leader(std::in_place, search(), file("leader"));
  Child one(worker(), file("one")), two(worker(), file("two"));
  ASSERT_TRUE(wait_for_trials(10)) << leader->output();
  leader->signal(SIGKILL);
  leader->wait();
  const size_t then = trials().size();
  EXPECT_TRUE(wait_for_trials(std::min(then + 6, all_trials))) << one.output();
  leader.emplace(search({"--resume"}), file("again"));
  EXPECT_EQ(leader->wait(), 0) << leader->output();
  EXPECT_EQ(one.wait(), 0) << one.output();
  EXPECT_EQ(two.wait(), 0) << two.output();
  expect_whole(all_trials);
}

// Workers that are there before a search is continued wait for its leader, whatever the study says of the run before.
TEST_F(Workers, WaitForTheSearchToBeContinued) {
  const std::vector<std::string> few{"--set", "n_trials=4"}, more{"--set", "n_trials=12"};
  Child first(search(few), file("first"));
  ASSERT_EQ(first.wait(), 0) << first.output();
  Child early(worker("", more), file("early"));
  while (early.output().find("waiting for `quasar search --resume`") == std::string::npos)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  Child leader(search({"--resume", "--set", "n_trials=12"}), file("leader"));
  EXPECT_EQ(leader.wait(), 0) << leader.output();
  EXPECT_EQ(early.wait(), 0) << early.output();
  EXPECT_EQ(early.output().find("; the search has ended: n_trials of 4"), std::string::npos) << early.output();
  expect_whole(12);
}

// Where the folder lies is each machine's own business.
TEST_F(Workers, StatisticsAreObservedOnce) {
  fs::create_directories(file("here"));
  fs::create_symlink(file("here"), file("there"));
  const auto sharing = [&](const std::string& name, const std::string& own) {
    return worker("",
                  {"--set", "statistics_dir=" + file(name).string(), "--set", "n_trials=16", "--output-dir", file(own).string()});
  };
  Child leader(search({"--set", "statistics_dir=" + file("here").string(), "--set", "n_trials=16"}), file("leader"));
  Child one(sharing("here", "one"), file("one.txt")), two(sharing("there", "two"), file("two.txt"));
  EXPECT_EQ(leader.wait(), 0) << leader.output();
  EXPECT_EQ(one.wait(), 0) << one.output();
  EXPECT_EQ(two.wait(), 0) << two.output();
  size_t observed = 0, read = 0;
  for (const auto& log : {out / "auto_search.log", file("one") / "worker.log", file("two") / "worker.log"}) {
    observed += read_file(log).find("tensors observed") != std::string::npos ? 1 : 0;
    read += read_file(log).find("tensors read from") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(observed, 1U);
  EXPECT_EQ(read, 2U);
  expect_whole(16);
}

// The limit is the leader's, and counts from its own beginning: this worker has waited longer than that.
TEST_F(Workers, TheTimeLimitIsTheLeaders) {
  const int limit = 8 * patience;
  const std::vector<std::string> limits{"--set", "n_trials=100000", "--set",
                                        "search_stop_condition.time_limit=" + std::to_string(limit)};
  Child early(worker("", limits), file("early"));
  std::this_thread::sleep_for(std::chrono::seconds(limit + 1));
  Child leader(search(limits), file("leader"));
  EXPECT_EQ(leader.wait(), 0) << leader.output();
  EXPECT_EQ(early.wait(), 0) << early.output();
  const std::string reason = "; the search has ended: time_limit of " + std::to_string(limit) + ".0 s reached";
  EXPECT_NE(early.output().find(reason), std::string::npos) << early.output();
}

// They hear of it long before the next heartbeat, and what they finish meanwhile stands in the results.
TEST_F(Workers, CtrlCOfTheSearchEndsItsWorkers) {
  const std::vector<std::string> slow{"--set", "n_trials=100000", "--set", "heartbeat_interval=60", "--set", "grace_period=300"};
  Child leader(search(slow), file("leader")), one(worker("", slow), file("one"));
  ASSERT_TRUE(wait_for_trials(10)) << leader.output() << one.output();
  for (int i = 0; i < 6000 * patience && one.output().find("trial ") == std::string::npos; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  leader.signal(SIGINT);
  EXPECT_EQ(leader.wait(), 130) << leader.output();
  const size_t finished = static_cast<size_t>(std::ranges::count_if(trials(), [](const auto& t) { return t.finished(); }));
  EXPECT_EQ(one.wait(), 0) << one.output();
  for (const auto& trial : trials()) EXPECT_NE(trial.state, search::State::running) << trial.number;
  EXPECT_EQ(static_cast<size_t>(std::ranges::count_if(trials(), [](const auto& t) { return t.finished(); })), finished);
  EXPECT_EQ(read_json(out / "result.json")["trials"]["requested"], finished);
}

// A server that is stopped keeps its connections and answers nothing: that is said, and holds nobody.
TEST_F(Workers, ASilentServerHoldsNobody) {
  const std::vector<std::string> long_ago{"--set", "n_trials=100000"};
  Child leader(search(long_ago), file("leader")), one(worker("", long_ago), file("one"));
  ASSERT_TRUE(wait_for_trials(6)) << leader.output() << one.output();
  server->freeze(true);
  for (const Child* child : {&leader, &one}) {
    for (int i = 0; i < 6000 * patience && child->output().find("has not answered for") == std::string::npos; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_NE(child->output().find("has not answered for"), std::string::npos) << child->output();
  }
  leader.signal(SIGTERM);
  one.signal(SIGTERM);
  EXPECT_EQ(leader.wait(), 130) << leader.output();  // while nothing answers
  EXPECT_EQ(one.wait(), 130) << one.output();
  server->freeze(false);
  Child again(search({"--resume", "--set", "n_trials=12"}), file("again"));
  EXPECT_EQ(again.wait(), 0) << again.output();
}

// So do commands that only read. A locked table holds them until the server stops.
TEST_F(Workers, ASilentServerIsSaidByCommandsThatRead) {
  Child leader(search({"--set", "n_trials=2"}), file("leader"));
  ASSERT_EQ(leader.wait(), 0) << leader.output();
  std::jthread holder([&] { server->run("BEGIN; LOCK TABLE trials IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(36000)"); });
  const auto waiting = [&] { return server->ask("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"); };
  const auto wait_until = [](const auto& is_so) {
    for (int i = 0; i < 6000 * patience && !is_so(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  };
  wait_until([&] { return server->ask("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") == "1\n"; });
  Child list({"study", "list", server->url()}, file("list"));
  Child page({"report", server->url(), "-o", file("page.html").string()}, file("page"));
  wait_until([&] { return waiting() == "2\n"; });
  EXPECT_EQ(waiting(), "2\n") << list.output() << page.output();
  server->freeze(true);
  for (const Child* child : {&list, &page}) {
    wait_until([&] { return child->output().find("has not answered for") != std::string::npos; });
    EXPECT_NE(child->output().find("has not answered for"), std::string::npos) << child->output();
  }
  server->freeze(false);
  EXPECT_TRUE(server->run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"));
  EXPECT_EQ(list.wait(), 0) << list.output();
  EXPECT_EQ(page.wait(), 0) << page.output();
}

// Whose lines stand between each other's says whose each is, as `quasar status` calls it. One process alone has no others.
TEST_F(Workers, LinesCarryTheNameOfTheirProcess) {
  Child one(worker("", {"--output-dir", file("one").string()}), file("one.txt"));
  Child leader(search(), file("leader"));
  EXPECT_EQ(leader.wait(), 0) << leader.output();
  EXPECT_EQ(one.wait(), 0) << one.output();
  std::map<std::string, size_t> ended;
  for (const auto& trial : trials()) ++ended[trial.system_attributes.value(search::worker_attribute, std::string())];
  ASSERT_EQ(ended.size(), 2U) << leader.output() << one.output();
  const std::string first = ended.begin()->first, second = ended.rbegin()->first;
  const auto lines_of = [](const std::string& text, const std::string& begin) {
    size_t count = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) count += line.starts_with(begin) ? 1 : 0;
    return count;
  };
  for (const std::string& text : {leader.output(), one.output()}) {
    const bool is_first = lines_of(text, first + ": trial ") > 0;
    const std::string &name = is_first ? first : second, &other = is_first ? second : first;
    size_t by_other = 0;  // the leader tells of those too
    for (size_t at = text.find(" (by " + other + ")"); at != std::string::npos; at = text.find(" (by " + other + ")", at + 1))
      ++by_other;
    EXPECT_EQ(lines_of(text, name + ": trial "), ended[name] + by_other) << text;
    EXPECT_EQ(text.find(" (by " + name), std::string::npos) << text;
    EXPECT_EQ(lines_of(text, "trial ") + lines_of(text, other), 0U) << text;
  }
  EXPECT_NE(leader.output().find(" (by process "), std::string::npos) << leader.output();
  EXPECT_NE(leader.output().substr(0, leader.output().find(" on ")), one.output().substr(0, one.output().find(" on ")));
  for (const fs::path& log : {out / "auto_search.log", file("one") / "worker.log"})
    EXPECT_NE(read_file(log).find("] [process "), std::string::npos) << read_file(log);
  const Ran alone = run("search " + config.string() + " --set n_trials=2 --output-dir " + file("alone").string());
  EXPECT_EQ(alone.code, 0) << alone.err;
  EXPECT_EQ(lines_of(alone.err, "trial "), 2U) << alone.err;
  EXPECT_EQ((alone.err + read_file(file("alone") / "auto_search.log")).find("process "), std::string::npos);
}

// Also one that has not joined it, because its evaluator hangs on the float model.
TEST_F(Workers, EndWithTheSearchWhateverTheyPrepare) {
  const std::string hung = file("hung").string();
  const std::string evaluator = "search_evaluator={command: '[ -z \"$HANG\" ] || { touch " + hung +
                                "; sleep 36000; }; : {model}; echo 0.5', timeout: 40000}";
  const std::vector<std::string> more{"--set", "n_trials=100000", "--set", evaluator};
  Child leader(search(more), file("leader"));
  ASSERT_TRUE(wait_for_trials(2)) << leader.output();
  Child one(worker("", more), file("one"), [] { return setenv("HANG", "1", 1) == 0; });
  for (int i = 0; i < 6000 * patience && !fs::exists(hung); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_TRUE(fs::exists(hung)) << one.output();
  leader.signal(SIGINT);
  EXPECT_EQ(leader.wait(), 130) << leader.output();
  EXPECT_EQ(one.wait(), 0) << one.output();
  EXPECT_NE(one.output().find("; the search has ended: it was interrupted"), std::string::npos) << one.output();
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
  EXPECT_EQ(comment.wait(), 0) << comment.output();
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
  EXPECT_EQ(one.wait(), 1);
  for (const char* said : {"too many connections for role", "every worker needs a connection"})
    EXPECT_NE(one.output().find(said), std::string::npos) << one.output();
  EXPECT_EQ(one.output().find("start `quasar search`"), std::string::npos) << one.output();
}

// One connection each, and one to spare.
TEST_F(Workers, ARoleWithFiveConnectionsIsEnoughForALeaderAndThreeWorkers) {
  ASSERT_TRUE(server->run("CREATE ROLE few LOGIN PASSWORD 'few' CONNECTION LIMIT 5; GRANT quasar_test TO few"));
  const std::string url = "postgresql://few:few@127.0.0.1:" + std::to_string(server->port()) + "/postgres";
  std::vector<std::unique_ptr<Child>> workers;
  for (const char* name : {"one", "two", "three"}) workers.push_back(std::make_unique<Child>(worker(url), file(name)));
  Child leader(search({"--set", "storage=" + url}), file("leader"));
  EXPECT_EQ(leader.wait(), 0) << leader.output();
  for (const auto& child : workers) {
    EXPECT_EQ(child->wait(), 0) << child->output();
    EXPECT_NE(child->output().find(" trials executed here (0 failed)"), std::string::npos) << child->output();
  }
  expect_whole(all_trials);
}

TEST_F(Workers, OnAnotherHost) {
  // A host of its own: a network namespace with a cable (veth) to this one.
  if (geteuid() != 0 || std::system("ip -V > /dev/null 2>&1") != 0) GTEST_SKIP() << "network namespaces need root and ip";
  const std::string name = "quasar" + std::to_string(getpid() % 10000), here = name + "a", there = name + "b";
  const auto shell = [](const std::string& command) { return std::system((command + " 2> /dev/null").c_str()) == 0; };
  const auto clean = [&] {
    shell("ip netns delete " + name);
    shell("ip link delete " + here);
  };
  const std::string net = "10.199." + std::to_string(getpid() % 250) + ".";
  if (!shell("ip netns add " + name) || !shell("ip link add " + here + " type veth peer name " + there) ||
      !shell("ip link set " + there + " netns " + name) || !shell("ip address add " + net + "1/24 dev " + here) ||
      !shell("ip link set " + here + " up") || !shell("ip netns exec " + name + " ip address add " + net + "2/24 dev " + there) ||
      !shell("ip netns exec " + name + " ip link set " + there + " up")) {
    clean();
    GTEST_SKIP() << "network namespaces cannot be made here";
  }
  auto far = servers::Postgresql::start(net + "1");
  if (!far) {
    clean();
    GTEST_SKIP() << "no server beyond the local host";
  }
  server = std::move(far);
  Child leader(search(), file("leader"));
  const auto into = [&] {
    const int file = open(("/run/netns/" + name).c_str(), O_RDONLY | O_CLOEXEC);
    return file >= 0 && setns(file, CLONE_NEWNET) == 0;
  };
  Child one(worker(), file("one"), into);
  const bool begun = wait_for_trials(6);
  EXPECT_TRUE(begun) << leader.output() << one.output();
  // The cable is cut in the middle: this worker is dead for the others. When it is back, it goes on.
  shell("ip netns exec " + name + " ip link set " + there + " down");
  const bool went_on = wait_for_trials(15);
  shell("ip netns exec " + name + " ip link set " + there + " up");
  EXPECT_TRUE(went_on) << leader.output();
  EXPECT_EQ(leader.wait(), 0) << leader.output();
  one.signal(SIGTERM);
  one.wait();
  expect_whole(all_trials);
  server.reset();
  clean();
}

}  // namespace
}  // namespace quasar::e2e
