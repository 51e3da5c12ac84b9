// A search and its workers as processes that share a PostgreSQL server, one of them killed, some on hosts of their own.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <set>
#include <thread>

#include "e2e/program.hpp"
#include "quasar/base/secrets.hpp"
#include "quasar/search/storage.hpp"
#include "servers/postgresql.hpp"

namespace quasar::e2e {
namespace {
namespace fs = std::filesystem;

// A process whose output goes into a file.
class Child {
 public:
  // `before`: what the new process does first; false: it gives up with 125.
  Child(const std::vector<std::string>& arguments, const fs::path& output, const std::function<bool()>& before = {})
      : output_(output) {
    std::vector<char*> words{const_cast<char*>("quasar")};
    for (const auto& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    pid_ = fork();
    if (pid_ != 0) return;
    (void)!freopen(output_.c_str(), "w", stdout);
    dup2(STDOUT_FILENO, STDERR_FILENO);
    if (before && !before()) _exit(125);
    execv(QUASAR_PROGRAM, words.data());
    _exit(127);
  }
  ~Child() {
    if (pid_ > 0) kill(pid_, SIGKILL), wait();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void signal(int number) const { kill(pid_, number); }
  // Its exit code; -1 when a signal ended it.
  int wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string output() const { return fs::exists(output_) ? read_file(output_) : ""; }

 private:
  fs::path output_;
  pid_t pid_ = -1;
};

struct Workers : testing::Test {
  void SetUp() override {
    server = servers::Postgresql::start();
    if (!server) GTEST_SKIP() << "no PostgreSQL server can be started here";
    write_file(config, "model_input: " + digits("digits.onnx") + "\ncalib_data_reader: " + digits("calibration.npz") +
                           "\neval_data_reader: " + digits("evaluation.npz") + R"(
n_trials: 60
seed: 5
search_algo: Random
heartbeat_interval: 0.2
grace_period: 1
pruner: none
search_space:
  activation: [UInt8Spec, Int8Spec]
  activation_params: {symmetric: [true, false], calibration_method: [MinMax, Percentile, Entropy], only_if: activation}
  weight: [Int8Spec]
  weight_params: {quant_granularity: [Tensor, Channel], only_if: weight}
  algorithms: [adaround]
  adaround_params:
    num_iterations: {type: int, low: 8, high: 30}
    damping: {type: float, low: 0.1, high: 10, log: true}
    only_if: {algorithms: adaround}
)");
  }

  std::vector<std::string> search(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all{"search", config.string(), "--output-dir", out.string(), "--set", "storage=" + server->url()};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  std::vector<std::string> worker(const std::string& url = "", const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all{"worker",  "--storage",  url.empty() ? server->url() : url,
                                 "--study", "AutoSearch", config.string()};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  fs::path file(const std::string& name) const { return folder.path() / name; }

  std::vector<search::Trial> trials() const {
    const auto storage = search::open_storage(server->url());
    const auto studies = storage->studies();
    return studies.empty() ? std::vector<search::Trial>() : storage->trials(studies.front().id);
  }
  // Waits until that many trials are finished; false: 60 s have passed.
  bool wait_for_trials(size_t count) const {
    for (int i = 0; i < 600; ++i) {
      if (static_cast<size_t>(std::ranges::count_if(trials(), [](const auto& t) { return t.finished(); })) >= count) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return false;
  }

  // Finished trials are whole, plans are made once, and result.json says what the study says.
  void expect_whole(size_t count) const {
    const auto all = trials();
    std::set<std::string> plans, workers;
    size_t finished = 0;
    for (const auto& trial : all) {
      if (!trial.finished()) continue;
      ++finished;
      workers.insert(trial.system_attributes.value(search::worker_attribute, std::string()));
      if (!trial.is_duplicate() && trial.state == search::State::complete) {
        EXPECT_TRUE(plans.insert(trial.user_attributes[search::attribute::plan_hash].get<std::string>()).second) << trial.number;
        EXPECT_TRUE(trial.user_attributes.contains("config")) << trial.number;
      }
      EXPECT_EQ(trial.state, search::State::complete) << trial.user_attributes.dump();
    }
    EXPECT_GE(finished, count);
    EXPECT_GE(workers.size(), 2U);
    const Json result = read_json(out / "result.json");
    EXPECT_EQ(result["trials"]["requested"], finished);
    EXPECT_EQ(result["status"], "ok");
    EXPECT_TRUE(fs::exists(out / "best.onnx"));
    double best = 1e9;
    for (const auto& trial : all) best = trial.state == search::State::complete ? std::min(best, trial.values.front()) : best;
    EXPECT_DOUBLE_EQ(result["best"]["metrics"]["L2"]["value"], best);
  }

  // The password is nowhere but where the user wrote it.
  void expect_no_password(const std::vector<const Child*>& children) const {
    for (const char* secret : {servers::Postgresql::password, servers::Postgresql::encoded}) {
      for (const auto& entry : fs::recursive_directory_iterator(out)) {
        if (!entry.is_regular_file()) continue;
        EXPECT_EQ(read_file(entry.path()).find(secret), std::string::npos) << entry.path();
      }
      for (const Child* child : children) EXPECT_EQ(child->output().find(secret), std::string::npos);
      const auto storage = search::open_storage(server->url());
      for (const auto& study : storage->studies()) EXPECT_EQ(study.user_attributes.dump().find(secret), std::string::npos);
    }
  }

  std::unique_ptr<servers::Postgresql> server;
  TemporaryFolder folder;
  fs::path config = folder.path() / "search.yaml", out = folder.path() / "out";
};

TEST_F(Workers, OneIsKilledAndNothingIsLost) {
  Child early(worker(), file("early"));  // before there is a search
  Child leader(search(), file("leader"));
  Child killed(worker(), file("killed")), other(worker("", {"--output-dir", file("worker").string()}), file("other"));
  ASSERT_TRUE(wait_for_trials(20)) << leader.output() << early.output();
  killed.signal(SIGKILL);
  killed.wait();
  EXPECT_EQ(leader.wait(), 0) << leader.output();
  EXPECT_EQ(early.wait(), 0) << early.output();
  EXPECT_EQ(other.wait(), 0) << other.output();
  expect_whole(60);
  EXPECT_NE(early.output().find("trials executed here"), std::string::npos) << early.output();
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

// The search itself may die: its workers go on, and it is continued.
TEST_F(Workers, TheLeaderIsKilledAndContinued) {
  std::optional<Child> leader(std::in_place, search(), file("leader"));
  Child one(worker(), file("one")), two(worker(), file("two"));
  ASSERT_TRUE(wait_for_trials(20)) << leader->output();
  leader->signal(SIGKILL);
  leader->wait();
  const size_t then = trials().size();
  EXPECT_TRUE(wait_for_trials(then + 10)) << one.output();
  leader.emplace(search({"--resume"}), file("again"));
  EXPECT_EQ(leader->wait(), 0) << leader->output();
  EXPECT_EQ(one.wait(), 0) << one.output();
  EXPECT_EQ(two.wait(), 0) << two.output();
  expect_whole(60);
}

// Workers that are there before a search is continued wait for its leader, whatever the study says of the run before.
TEST_F(Workers, WaitForTheSearchToBeContinued) {
  const std::vector<std::string> few{"--set", "n_trials=4"}, more{"--set", "n_trials=24"};
  Child first(search(few), file("first"));
  ASSERT_EQ(first.wait(), 0) << first.output();
  Child early(worker("", more), file("early"));
  while (early.output().find("waiting for `quasar search --resume`") == std::string::npos)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  Child leader(search({"--resume", "--set", "n_trials=24"}), file("leader"));
  EXPECT_EQ(leader.wait(), 0) << leader.output();
  EXPECT_EQ(early.wait(), 0) << early.output();
  EXPECT_EQ(early.output().find("; the search has ended"), std::string::npos) << early.output();
  expect_whole(24);
}

// As mpirun starts them: the others belong to the leader of their own launch.
TEST_F(Workers, OfOneLaunchFollowItsLeader) {
  const auto launched = [&](const std::string& launch, int rank, const std::string& trials,
                            std::vector<std::string> settings = {}) {
    std::vector<std::string> words = search({"--resume", "--set", "n_trials=" + trials});
    words.insert(words.end(), settings.begin(), settings.end());
    return std::make_unique<Child>(words, file(launch + std::to_string(rank)), [launch, rank] {
      return setenv("PMIX_NAMESPACE", launch.c_str(), 1) == 0 && setenv("PMIX_RANK", std::to_string(rank).c_str(), 1) == 0;
    });
  };
  const auto run_all = [&](const std::string& launch, const std::string& trials, const std::vector<std::string>& settings = {}) {
    std::vector<std::unique_ptr<Child>> all;
    for (const int rank : {1, 2}) all.push_back(launched(launch, rank, trials, settings));
    std::this_thread::sleep_for(std::chrono::seconds(1));
    all.push_back(launched(launch, 0, trials, settings));
    for (const auto& child : all) EXPECT_EQ(child->wait(), 0) << launch << ": " << child->output();
  };
  run_all("first", "4");
  run_all("second", "30");
  // Other choices go on in another study.
  run_all("third", "36", {"--set", "search_space.activation=[UInt8Spec]"});
  const auto studies = search::open_storage(server->url())->studies();
  ASSERT_EQ(studies.size(), 2U);
  EXPECT_EQ(studies[0].user_attributes["search"]["launch"], "second");
  EXPECT_EQ(studies[1].user_attributes["search"]["launch"], "third");
}

// Where the folder lies is each machine's own business.
TEST_F(Workers, StatisticsAreObservedOnce) {
  fs::create_directories(file("here"));
  fs::create_symlink(file("here"), file("there"));
  const auto sharing = [&](const std::string& name, const std::string& own) {
    return worker("",
                  {"--set", "statistics_dir=" + file(name).string(), "--set", "n_trials=30", "--output-dir", file(own).string()});
  };
  Child leader(search({"--set", "statistics_dir=" + file("here").string(), "--set", "n_trials=30"}), file("leader"));
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
  expect_whole(30);
}

// The limit is the leader's, and counts from its own beginning: this worker has waited longer than that.
TEST_F(Workers, TheTimeLimitIsTheLeaders) {
  const std::vector<std::string> limits{"--set", "n_trials=100000", "--set", "search_stop_condition.time_limit=8"};
  Child early(worker("", limits), file("early"));
  std::this_thread::sleep_for(std::chrono::seconds(9));
  Child leader(search(limits), file("leader"));
  EXPECT_EQ(leader.wait(), 0) << leader.output();
  EXPECT_EQ(early.wait(), 0) << early.output();
  EXPECT_NE(early.output().find("; the search has ended: time_limit of 8.0 s reached"), std::string::npos) << early.output();
}

TEST_F(Workers, CtrlCOfTheSearchEndsItsWorkers) {
  Child leader(search({"--set", "n_trials=100000"}), file("leader")), one(worker("", {"--set", "n_trials=100000"}), file("one"));
  ASSERT_TRUE(wait_for_trials(10)) << leader.output() << one.output();
  leader.signal(SIGINT);
  EXPECT_EQ(leader.wait(), 130) << leader.output();
  EXPECT_EQ(one.wait(), 0) << one.output();
  for (const auto& trial : trials()) EXPECT_NE(trial.state, search::State::running) << trial.number;
}

TEST_F(Workers, WhatDoesNotFitIsAnError) {
  const auto fails = [&](const std::vector<std::string>& arguments, const std::string& what) {
    Child child(arguments, file("error"));
    EXPECT_EQ(child.wait(), 1);
    EXPECT_NE(child.output().find(what), std::string::npos) << child.output();
  };
  fails(worker("", {"--wait", "nan"}), "--wait must be");
  fails(worker("", {"--wait", "0"}), "start `quasar search` with the same storage");
  fails({"worker", config.string()}, "postgresql://");
  Child leader(search({"--set", "n_trials=100000"}), file("leader"));
  ASSERT_TRUE(wait_for_trials(2)) << leader.output();
  fails(worker(), "n_trials: 60");
  const auto joins = [&](const std::string& setting) { return worker("", {"--set", "n_trials=100000", "--set", setting}); };
  fails(joins("search_space.activation=[UInt8Spec]"), "search_space");
  fails(joins("seed=6"), "seed: 6");
  fails(joins("heartbeat_interval=0.4"), "heartbeat_interval: 0.4, but the search that it joins has 0.2");
  fails(joins("grace_period=5"), "grace_period: 5.0, but the search that it joins has 1.0");
  fails(joins("target=ort_cuda"), "another target");
  fails(joins("search_metric=cos"), "other objectives");
  fails(search({"--set", "output_dir=" + file("elsewhere").string()}), "exists already");
  fails(search({"--resume", "--set", "output_dir=" + file("elsewhere").string()}), "in use by process");
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
  const bool begun = wait_for_trials(10);
  EXPECT_TRUE(begun) << leader.output() << one.output();
  // The cable is cut in the middle: this worker is dead for the others. When it is back, it goes on.
  shell("ip netns exec " + name + " ip link set " + there + " down");
  const bool went_on = wait_for_trials(25);
  shell("ip netns exec " + name + " ip link set " + there + " up");
  EXPECT_TRUE(went_on) << leader.output();
  EXPECT_EQ(leader.wait(), 0) << leader.output();
  one.signal(SIGTERM);
  one.wait();
  expect_whole(60);
  server.reset();
  clean();
}

// Started several times by mpirun, the first process leads and the others work for it.
TEST_F(Workers, StartedByMpirun) {
  if (std::system("mpirun --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no mpirun (Debian's package openmpi-bin)";
  const auto started = [&](int count, const std::string& more) {
    std::string words;
    for (const auto& word : search()) words += "'" + word + "' ";
    const std::string command =
        "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 120 mpirun --oversubscribe -np " +
        std::to_string(count) + " " + QUASAR_PROGRAM + " " + words + more + " > " + file("mpirun").string() + " 2>&1 < /dev/null";
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  EXPECT_EQ(started(3, ""), 0) << read_file(file("mpirun"));
  expect_whole(60);
  // Without a storage that all share, they would be three searches.
  EXPECT_NE(started(2, "--set storage=study.db --set output_dir=" + file("alone").string()), 0);
  EXPECT_NE(read_file(file("mpirun")).find("a storage that all share"), std::string::npos) << read_file(file("mpirun"));
  EXPECT_EQ(started(1, "--set storage=study.db --set n_trials=5 --set output_dir=" + file("one").string()), 0)
      << read_file(file("mpirun"));
}

}  // namespace
}  // namespace quasar::e2e
