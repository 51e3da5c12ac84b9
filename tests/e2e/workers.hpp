// A search and its workers as processes that share a PostgreSQL server.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <set>
#include <thread>

#include "e2e/program.hpp"
#include "quasar/search/storage.hpp"
#include "servers/postgresql.hpp"

namespace quasar::e2e {
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
    hear_signals();
    (void)!freopen(output_.c_str(), "w", stdout);
    dup2(STDOUT_FILENO, STDERR_FILENO);
    if (before && !before()) _exit(125);
    execv(program().c_str(), words.data());
    _exit(127);
  }
  ~Child() {
    if (pid_ > 0) kill(pid_, SIGKILL), wait();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void signal(int number) const { kill(pid_, number); }
  pid_t pid() const { return pid_; }
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
    write_file(config, "model_input: " + digits("digits.onnx") +
                           "\ncalib_data_reader: {reader: npz, path: " + digits("calibration.npz") +
                           ", limit: 40}\neval_data_reader: {reader: npz, path: " + digits("evaluation.npz") +
                           ", limit: 200}\nn_trials: " + std::to_string(all_trials) + R"(
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
  // Kills the process; true: while it ran a trial, for which it is stopped again and again.
  bool kill_within_a_trial(Child& child) const {
    const std::string name = "process " + std::to_string(child.pid()) + " on ";
    const auto runs_one = [&] {
      return std::ranges::any_of(trials(), [&](const auto& trial) {
        return trial.state == search::State::running &&
               trial.system_attributes.value(search::worker_attribute, std::string()).starts_with(name);
      });
    };
    bool found = false;
    for (int i = 0; i < 40 && !found; ++i) {
      child.signal(SIGSTOP);
      found = runs_one();
      if (!found) child.signal(SIGCONT);
      if (!found) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    child.signal(SIGKILL);
    child.wait();
    return found;
  }

  // Waits until that many trials are finished; false: not for as long as a test may take.
  bool wait_for_trials(size_t count) const {
    for (int i = 0; i < 6000 * patience; ++i) {
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
    EXPECT_DOUBLE_EQ(result["best"]["metrics"]["parts"]["value"], best);
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

  static constexpr size_t all_trials = 36;
  std::unique_ptr<servers::Postgresql> server;
  TemporaryFolder folder;
  fs::path config = folder.path() / "search.yaml", out = folder.path() / "out";
};

}  // namespace quasar::e2e
