// Searches on machines that fail: a trial fails for its own reasons only.
#include "e2e/search_job.hpp"
#include "quasar/search/storage.hpp"

namespace quasar::e2e {
namespace {

struct HardConditions : Search {
  std::vector<search::Trial> trials() const {
    const auto storage = search::open_storage((out / "auto_search.db").string());
    return storage->trials(storage->studies().at(0).id);
  }
};

// What stands where a kept model belongs cannot be replaced; a full disk fails at the same place (tests/faults).
TEST_F(HardConditions, AModelThatCannotBeKeptIsNoResult) {
  for (const std::string n_jobs : {"1", "3"}) {
    fs::create_directories(out / "trial_4.onnx");
    const std::string job = words(small_space, "keep_models: all\nn_jobs: " + n_jobs + "\n");
    const Ran ran = search(job);
    EXPECT_EQ(ran.code, 1) << ran.out;
    EXPECT_NE(ran.err.find("trial_4.onnx': Is a directory; that is no result of trial 4, which waits to be run again"),
              std::string::npos)
        << ran.err;
    for (const auto& trial : trials()) {
      EXPECT_NE(trial.state, search::State::failed) << trial.user_attributes.dump();
      EXPECT_NE(trial.state, search::State::running) << trial.number;
    }
    fs::remove(out / "trial_4.onnx");
    EXPECT_EQ(search(job, "--resume").code, 0);
    EXPECT_TRUE(fs::is_regular_file(out / "trial_4.onnx"));
    for (const auto& trial : trials()) {
      EXPECT_TRUE(trial.finished() && trial.state != search::State::failed) << trial.user_attributes.dump();
    }
    fs::remove_all(out);
  }
}

// Of a trial whose process died too often there is nothing else that tells.
TEST_F(HardConditions, ATrialThatKilledItsProcessIsInTheLog) {
  const std::string job = words(small_space, "n_trials: 2\nmax_retry: 0\n");
  ASSERT_EQ(search(job).code, 0);
  {
    const auto storage = search::open_storage((out / "auto_search.db").string());
    search::Trial dead = trials().at(0);
    dead.state = search::State::running;
    storage->start(storage->studies().at(0).id, dead);
  }
  const Ran ran = search(job, "--resume");
  EXPECT_EQ(ran.code, 0) << ran.err;
  const std::string line = "trial 2 has failed: the process that ran it died (max_retry)";
  EXPECT_NE(ran.err.find("warning: " + line), std::string::npos) << ran.err;
  EXPECT_NE(read_file(out / "auto_search.log").find(line), std::string::npos);
}

// Memory that is too little for many trials at a time makes some of them fail, and neither the threads that run them nor the
// study.
TEST_F(HardConditions, AMemoryLimitEndsTrialsAndNeverTheSearch) {
  for (const auto& [n_jobs, bytes] : {std::pair{"4", "20000000"}, {"32", "16777216"}}) {
    const Ran ran = search(words(small_space), "--set n_jobs=" + std::string(n_jobs) + " --set trial_memory_limit=" + bytes);
    EXPECT_TRUE(ran.code == 0 || ran.code == 2) << ran.code << ": " << ran.err;
    for (const auto& trial : trials()) EXPECT_TRUE(trial.finished()) << trial.number;
    EXPECT_EQ(trials().size(), 16u);
    fs::remove_all(out);
  }
}

}  // namespace
}  // namespace quasar::e2e
