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
  EXPECT_EQ(drained.output().find("given back"), std::string::npos) << drained.output();  // it took nothing more
  leader.signal(SIGINT);
  EXPECT_EQ(leader.wait(), 130) << leader.output();
  EXPECT_EQ(early.wait(), 130) << early.output();  // so that launchers start it again
  EXPECT_NE(early.output().find("the search has ended: it was interrupted"), std::string::npos) << early.output();
  std::set<std::string> workers;
  for (const auto& trial : trials()) {
    if (trial.finished()) workers.insert(trial.system_attributes.value(search::worker_attribute, std::string()));
    EXPECT_NE(trial.state, search::State::failed) << trial.user_attributes.dump();
  }
  EXPECT_EQ(workers.size(), 3u);
  expect_no_password({&leader, &early, &drained});
  Child idle({"worker", "--storage", server->url(), "--study", "AutoSearch", "--until-idle", "1"}, file("idle"));
  EXPECT_EQ(idle.wait(), 0) << idle.output();
  EXPECT_NE(idle.output().find("there was nothing to do"), std::string::npos) << idle.output();
  Child waits({"worker", server->url(), "--drain", "60"}, file("waits"));
  const std::string what = "where none runs now: that of 'AutoSearch' has ended, it was interrupted";
  for (int i = 0; i < 6000 * patience && waits.output().find(what) == std::string::npos; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_NE(waits.output().find(what), std::string::npos) << waits.output();
  waits.signal(SIGTERM);
  EXPECT_EQ(waits.wait(), 0) << waits.output();
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
  EXPECT_NE(run("study stop " + address + " AutoSearch --study other").err.find("named twice"), std::string::npos);
  const Ran stopped = run("study stop " + address + " --study AutoSearch");
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
  EXPECT_EQ(one.wait(), 130) << one.output();
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
  EXPECT_EQ(one.wait(), 130) << one.output();
  EXPECT_NE(one.output().find("; the search has ended: it was interrupted"), std::string::npos) << one.output();
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
