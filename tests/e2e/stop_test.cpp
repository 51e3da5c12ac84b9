// Searches that are stopped in every phase, by the user and by the clock: what they leave is whole, and says what happened.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <thread>

#include "e2e/program.hpp"
#include "quasar/base/machine.hpp"
#include "quasar/report/result.hpp"
#include "quasar/runtime/session.hpp"
#include "quasar/search/storage.hpp"
#include "quasar/strategy/parse_job.hpp"
#include "quasar/tune/search.hpp"

namespace quasar::e2e {
namespace {
namespace fs = std::filesystem;

struct Stop : testing::Test {
  static constexpr size_t points = 8;  // of the space, with one algorithm

  Json words(const Json& algorithms) const {
    const auto reader = [](const char* file) { return Json{{"reader", "npz"}, {"path", digits(file)}, {"labels", "label"}}; };
    return {{"model_input", digits("digits.onnx")},
            {"calib_data_reader", reader("calibration.npz")},
            {"eval_data_reader", reader("evaluation.npz")},
            {"holdout_data_reader", reader("holdout.npz")},
            {"search_metric", {"L2", "top1"}},
            {"output_dir", out.string()},
            {"search_algo", "Random"},
            {"n_trials", 20},
            {"search_space",
             {{"activation", {"UInt8Spec", "Int8Spec"}},
              {"activation_params",
               {{"symmetric", {true, false}}, {"calibration_method", {"MinMax", "Entropy"}}, {"only_if", "activation"}}},
              {"weight", {"Int8Spec"}},
              {"algorithms", algorithms}}}};
  }

  tune::Job job(const Json& algorithms = {nullptr}) const { return tune::parse_job(words(algorithms), folder.path()); }

  // Whatever there is in the folder can be read, and nothing is half written.
  void expect_whole() const {
    for (const auto& file : fs::directory_iterator(out)) {
      const std::string name = file.path().filename().string();
      EXPECT_EQ(name.find(".part"), std::string::npos) << name;
      if (file.path().extension() == ".onnx") {
        EXPECT_NO_THROW(runtime::Session(file.path())) << name;
      }
      if (file.path().extension() == ".json") {
        EXPECT_NO_THROW(read_json(file.path())) << name;
      }
    }
    if (!fs::exists(out / "auto_search.db")) return;
    const auto storage = search::open_storage((out / "auto_search.db").string());
    for (const auto& study : storage->studies()) {
      for (const auto& trial : storage->trials(study.id)) EXPECT_NE(trial.state, search::State::running) << trial.number;
    }
  }

  // A summary and the files that it speaks of.
  void expect_fits(const tune::Summary& summary) const {
    expect_whole();
    EXPECT_FALSE(summary.reason.empty());
    EXPECT_EQ(summary.best.has_value(), fs::exists(out / "best.onnx"));
    EXPECT_EQ(summary.best.has_value(), fs::exists(out / "best_config.yaml"));
    EXPECT_EQ(summary.best.has_value(), summary.counts.complete > 0);
    EXPECT_NO_THROW(report::result_json(job(), summary).dump());
  }

  TemporaryFolder folder;
  fs::path out = folder.path() / "out";
};

TEST_F(Stop, ByTheUserBeforeCalibration) {
  std::stop_source stop;
  const auto baseline = [&](const tune::Measured&) { stop.request_stop(); };
  EXPECT_THROW(tune::search(job(), {.stop = stop.get_token(), .baseline = baseline}), Cancelled);
  expect_whole();
  EXPECT_FALSE(fs::exists(out / "auto_search.db"));  // there is nothing to resume
}

// Where a trial is at that moment is left to chance: between its start and its end lie rounding, building and evaluation.
TEST_F(Stop, ByTheUserInATrial) {
  for (const int microseconds : {0, 2000, 9000, 30000}) {
    fs::remove_all(out);
    std::stop_source stop;
    std::jthread stopper;
    const auto listener = [&](const search::Event& event) {
      if (event.kind != search::Event::Kind::started) return;
      while (event.trial.number > 5 && !stop.stop_requested()) std::this_thread::yield();  // the search does not end before it
      if (event.trial.number != 2) return;
      stopper = std::jthread([&stop, microseconds] {
        std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
        stop.request_stop();
      });
    };
    const auto summary = tune::search(job({"adaround"}), {.listener = listener, .stop = stop.get_token()});
    EXPECT_EQ(summary.status, tune::Status::interrupted);
    EXPECT_GE(summary.counts.finished(), 2U);
    expect_fits(summary);
    const size_t waiting = static_cast<size_t>(
        std::ranges::count_if(summary.trials, [](const auto& trial) { return trial.state == search::State::waiting; }));
    EXPECT_EQ(summary.trials.size(), summary.counts.finished() + waiting);
    EXPECT_FALSE(summary.best->holdout);
    tune::Job again = job({"adaround"});
    again.study.load_if_exists = true;
    const auto whole = tune::search(again, {});
    EXPECT_EQ(whole.status, tune::Status::ok);
    EXPECT_EQ(whole.trials.size(), points);
    EXPECT_TRUE(whole.best->holdout);
  }
}

TEST_F(Stop, ByTheUserWhileTheWinnerIsMeasured) {
  std::stop_source stop;
  const auto listener = [&](const search::Event& event) {
    if (event.kind == search::Event::Kind::finished && event.counts.finished() == points) stop.request_stop();
  };
  const auto summary = tune::search(job(), {.listener = listener, .stop = stop.get_token()});
  EXPECT_EQ(summary.status, tune::Status::interrupted);
  EXPECT_EQ(summary.counts.finished(), points);
  EXPECT_GT(summary.best->latency.median_ms, 0);
  expect_fits(summary);
}

// From before the beginning to after the end: the limit falls into preparation, the float model's run, calibration, rounding,
// evaluation and the winner's measuring.
TEST_F(Stop, ByTheClockInEveryPhase) {
  const auto whole = tune::search(job({"adaround"}), {});
  ASSERT_EQ(whole.status, tune::Status::ok);
  const double last = 1.1 * whole.seconds;
  size_t empty = 0, some = 0, timed_on_all = 0;
  for (int i = 0; i <= 6; ++i) {
    fs::remove_all(out);
    Json limited = words({"adaround"});
    limited["search_stop_condition"] = {{"time_limit", 1e-6 + last * i / 6}};
    const auto summary = tune::search(tune::parse_job(limited, folder.path()), {});
    expect_fits(summary);
    EXPECT_NE(summary.status, tune::Status::interrupted);
    if (summary.counts.finished() < points) {
      EXPECT_NE(summary.reason.find("time_limit"), std::string::npos) << summary.reason;
    }
    if (summary.best) {
      EXPECT_TRUE(summary.best->holdout);
      timed_on_all += summary.best->speed.on_all ? 1 : 0;
      ++some;
    } else {
      EXPECT_EQ(summary.status, tune::Status::no_candidate);
      ++empty;
    }
  }
  EXPECT_GT(empty, 0U);
  EXPECT_EQ(some + empty, 7U);
  EXPECT_EQ(timed_on_all > 0, cores() > 1) << "a busy machine may lack the time for some";
}

// Limits hold for the trials that enqueue puts before the second stage too.
TEST_F(Stop, AmongEnqueuedTrials) {
  Json limited = words({nullptr, "adaround"});
  limited["two_stage_search"] = true;
  limited["search_space"]["adaround_params"] = {{"damping", {{"type", "float"}, {"low", 0.1}, {"high", 10.0}}},
                                                {"only_if", {{"algorithms", "adaround"}}}};
  for (int i = 1; i <= 30; ++i)
    limited["enqueue"].push_back({{"algorithms", "adaround"}, {"adaround_params", {{"damping", 0.3 * i}}}});
  limited["search_stop_condition"] = {{"iteration_limit", 14}};
  const auto summary = tune::search(tune::parse_job(limited, folder.path()), {});
  EXPECT_EQ(summary.counts.executed(), 14U);
  expect_fits(summary);
}

// timeout(1) signals the process and then its group, so that it is told twice; only what a user does afterwards ends it at once.
TEST_F(Stop, ASignalThatComesTwiceAtOnceIsOne) {
  Json endless = words({"adaround"});
  endless["search_space"]["adaround_params"] = {{"damping", {{"type", "float"}, {"low", 0.1}, {"high", 10.0}}},
                                                {"only_if", {{"algorithms", "adaround"}}}};
  write_file(folder.path() / "search.json", endless.dump());
  const std::string config = (folder.path() / "search.json").string();
  const pid_t child = fork();
  if (child == 0) {
    hear_signals();
    (void)!freopen("/dev/null", "w", stdout);
    (void)!freopen("/dev/null", "w", stderr);
    execl(program().c_str(), "quasar", "search", config.c_str(), "--set", "n_trials=1000000", nullptr);
    _exit(127);
  }
  const auto log = [&] { return fs::exists(out / "auto_search.log") ? read_file(out / "auto_search.log") : std::string(); };
  while (log().find("trial 0") == std::string::npos) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  // Both wait for it when it goes on: the time between them is not this machine's. Two of the same kind would become one.
  for (const int number : {SIGSTOP, SIGTERM, SIGINT, SIGCONT}) kill(child, number);
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130);
  ASSERT_TRUE(fs::exists(out / "result.json"));
  EXPECT_EQ(read_json(out / "result.json")["status"], "interrupted");
}

// As a user presses Ctrl-C: at any moment of the program's life.
TEST_F(Stop, BySignalAtAnyMoment) {
  write_file(folder.path() / "search.json", words({nullptr, "adaround"}).dump());
  for (const int milliseconds : {1, 60, 150, 250, 400}) {
    fs::remove_all(out);
    const std::string config = (folder.path() / "search.json").string();
    const pid_t child = fork();
    if (child == 0) {
      hear_signals();
      (void)!freopen("/dev/null", "w", stdout);
      (void)!freopen("/dev/null", "w", stderr);
      execl(program().c_str(), "quasar", "search", config.c_str(), nullptr);
      _exit(127);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    kill(child, SIGINT);
    int status = 0;
    waitpid(child, &status, 0);
    SCOPED_TRACE("after " + std::to_string(milliseconds) + " ms");
    if (!WIFEXITED(status)) {  // it had not begun to listen, nor to write
      EXPECT_FALSE(fs::exists(out));
      continue;
    }
    ASSERT_TRUE(WEXITSTATUS(status) == 130 || WEXITSTATUS(status) == 0) << WEXITSTATUS(status);
    expect_whole();
    if (!fs::exists(out / "result.json")) {  // before the first trial
      EXPECT_EQ(WEXITSTATUS(status), 130);
      EXPECT_FALSE(fs::exists(out / "best.onnx"));
      continue;
    }
    const Json result = read_json(out / "result.json");
    EXPECT_EQ(result["status"], WEXITSTATUS(status) == 0 ? "ok" : "interrupted");
    EXPECT_EQ(fs::exists(out / "best.onnx"), result["trials"]["complete"] > 0);
    EXPECT_TRUE(fs::exists(out / "report.html"));
  }
}

}  // namespace
}  // namespace quasar::e2e
