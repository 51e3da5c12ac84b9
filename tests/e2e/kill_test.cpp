// Searches that are killed again and again, and two that want the same study.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <map>
#include <thread>

#include "e2e/program.hpp"
#include "quasar/base/rng.hpp"
#include "quasar/search/storage.hpp"

namespace quasar::e2e {
namespace {
namespace fs = std::filesystem;

// A search as a process of its own, whose messages this one reads.
class KilledSearch {
 public:
  explicit KilledSearch(const std::vector<std::string>& arguments) {
    int ends[2];
    if (pipe(ends) != 0) throw Error("no pipe", Blame::world);
    std::vector<char*> words{const_cast<char*>("quasar")};
    for (const auto& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      (void)!freopen("/dev/null", "w", stdout);
      dup2(ends[1], STDERR_FILENO);
      close(ends[0]);
      close(ends[1]);
      execv(program().c_str(), words.data());
      _exit(127);
    }
    close(ends[1]);
    messages_ = fdopen(ends[0], "r");
  }
  ~KilledSearch() {
    if (pid_ > 0) end(SIGKILL);
    fclose(messages_);
  }
  KilledSearch(const KilledSearch&) = delete;
  KilledSearch& operator=(const KilledSearch&) = delete;

  // Waits for the ends of so many trials; false: it ended before.
  bool hear_trials(size_t count) {
    char line[4096];
    while (count > 0) {
      if (fgets(line, sizeof(line), messages_) == nullptr) return false;
      if (std::string_view(line).starts_with("trial ")) --count;
    }
    return true;
  }

  int end(int signal) {
    kill(pid_, signal);
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  FILE* messages_ = nullptr;
};

// What a finished trial is known by.
std::map<int64_t, std::string> finished_trials(const fs::path& database) {
  std::map<int64_t, std::string> out;
  if (!fs::exists(database)) return out;
  const auto storage = search::open_storage(database.string());
  const auto studies = storage->studies();
  if (studies.empty()) return out;
  for (const auto& trial : storage->trials(studies.front().id)) {
    if (!trial.finished()) continue;
    Json facts{{"state", static_cast<int>(trial.state)}, {"values", trial.values}, {"params", Json::object()}};
    for (const auto& [name, value] : trial.point.values()) facts["params"][name] = value;
    for (const char* key : {"plan_hash", "duplicate_of", "config", "metrics", "pruned"})
      facts[key] = trial.user_attributes.value(key, Json());
    out[trial.number] = facts.dump();
  }
  return out;
}

struct Kill : testing::Test {
  Kill() {
    write_file(config, "model_input: " + digits("digits.onnx") +
                           "\ncalib_data_reader: {reader: npz, path: " + digits("calibration.npz") +
                           ", limit: 40}\neval_data_reader: {reader: npz, path: " + digits("evaluation.npz") + R"(, limit: 200}
n_trials: 60
max_retry: 1000
seed: 5
search_space:
  activation: [UInt8Spec, Int8Spec]
  activation_params: {symmetric: [true, false], calibration_method: [MinMax, Percentile, Entropy], only_if: activation}
  weight: [Int8Spec]
  weight_params: {quant_granularity: [Tensor, Channel], only_if: weight}
  algorithms: [null, adaround]
  adaround_params:
    num_iterations: {type: int, low: 1, high: 8}
    damping: {type: float, low: 0.1, high: 10, log: true}
    only_if: {algorithms: adaround}
)");
  }

  std::vector<std::string> arguments(const fs::path& out) const {
    return {"search", config.string(), "--output-dir", out.string(), "--resume"};
  }
  static std::string joined_arguments(const std::vector<std::string>& all) {
    std::string text;
    for (const auto& word : all) text += "'" + word + "' ";
    return text;
  }

  TemporaryFolder folder;
  fs::path config = folder.path() / "search.yaml";
};

TEST_F(Kill, TwentyInARowLoseNothingAndTheEndIsThatOfAnUnbrokenSearch) {
  const fs::path whole = folder.path() / "whole", broken = folder.path() / "broken";
  ASSERT_EQ(run(joined_arguments(arguments(whole))).code, 0);
  const auto expected = finished_trials(whole / "auto_search.db");
  ASSERT_EQ(expected.size(), 60U);
  Rng rng(static_cast<uint64_t>(getpid()));
  SCOPED_TRACE("seed " + std::to_string(getpid()));
  std::map<int64_t, std::string> known;
  for (int i = 0; i < 20; ++i) {
    KilledSearch child(arguments(broken));
    // Some die before their first trial, most among their trials.
    if (rng.below(4) > 0) child.hear_trials(1 + rng.below(5));
    std::this_thread::sleep_for(std::chrono::microseconds(rng.below(20000)));
    child.end(SIGKILL);
    const auto now = finished_trials(broken / "auto_search.db");
    for (const auto& [number, facts] : known) {
      ASSERT_TRUE(now.contains(number)) << "trial " << number << " was lost by kill " << i;
      EXPECT_EQ(now.at(number), facts) << "trial " << number << " was changed by kill " << i;
    }
    known = now;
  }
  EXPECT_GT(known.size(), 10U);
  const Ran last = run(joined_arguments(arguments(broken)));
  ASSERT_EQ(last.code, 0) << last.err;
  EXPECT_EQ(finished_trials(broken / "auto_search.db"), expected);
  EXPECT_EQ(read_file(broken / "best.onnx"), read_file(whole / "best.onnx"));
  EXPECT_EQ(read_file(broken / "best_config.yaml"), read_file(whole / "best_config.yaml"));
  const Json result = read_json(broken / "result.json"), other = read_json(whole / "result.json");
  EXPECT_EQ(result["best"]["trial"], other["best"]["trial"]);
  EXPECT_EQ(result["best"]["metrics"], other["best"]["metrics"]);
  EXPECT_EQ(result["trials"], other["trials"]);
  for (const auto& file : fs::directory_iterator(broken)) {
    EXPECT_EQ(file.path().filename().string().find(".part"), std::string::npos) << file.path();
  }
}

TEST_F(Kill, ASecondSearchOfTheSameStudyIsToldWhoHasIt) {
  const fs::path first = folder.path() / "first", second = folder.path() / "second";
  const std::string database = "sqlite:///" + (folder.path() / "shared.db").string();
  const auto with_database = [&](const fs::path& out) {
    std::vector<std::string> all = arguments(out);
    all.insert(all.end(), {"--set", "study_storage_db=" + database, "--set", "n_trials=100000", "--set", "search_algo=Random"});
    return all;
  };
  KilledSearch child(with_database(first));
  ASSERT_TRUE(child.hear_trials(1));
  kill(child.pid(), SIGSTOP);  // so that it is still there
  const std::string holder = "process " + std::to_string(child.pid());
  for (const auto& [out, what] : {std::pair{first, "output_dir '"}, std::pair{second, "the study 'AutoSearch'"}}) {
    const Ran refused = run(joined_arguments(with_database(out)));
    EXPECT_EQ(refused.code, 1) << refused.err;
    EXPECT_NE(refused.err.find(what), std::string::npos) << refused.err;
    EXPECT_NE(refused.err.find("in use by " + holder), std::string::npos) << refused.err;
  }
  child.end(SIGKILL);
  EXPECT_EQ(run(joined_arguments(with_database(second)) + " --set n_trials=2").code, 0);
}

}  // namespace
}  // namespace quasar::e2e
