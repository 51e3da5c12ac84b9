// A search killed at any moment loses its running trials at most.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <thread>

#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"
#include "quasar/search/run.hpp"

namespace quasar::search {
namespace {

using namespace std::chrono_literals;

Space space() {
  return Space::parse({{"a", {0, 1, 2, 3, 4, 5}}, {"b", {0, 1, 2, 3, 4, 5}}});
}

// The search of the child: tells the pipe every trial whose end it has stored.
void search_in_child(const std::string& path, int told) {
  const auto storage = open_storage(path);
  Study study(*storage, {.resume = true, .heartbeat = {.max_retry = 100}});
  const auto grid = samplers::table().make("grid");
  RunOptions options{.n_jobs = 2};
  options.listener = [&](const Event& event) {
    const int64_t number = event.trial.number;
    if (event.kind == Event::Kind::finished && write(told, &number, sizeof(number)) != sizeof(number)) _exit(2);
  };
  run(options, study, space(), *grid, {}, [](RunningTrial& job) -> Outcome {
    std::this_thread::sleep_for(2ms);
    return {.values = {job.point().find("a")->get<double>()}, .user_attributes = {{"note", std::string(2000, 'x')}}};
  });
}

// Forks a search, kills it after `life` (0: lets it end), and returns the numbers of the trials it reported as finished.
std::vector<int64_t> run_child(const std::string& path, std::chrono::microseconds life) {
  int ends[2];
  if (pipe(ends) != 0) throw Error("no pipe");
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    try {
      search_in_child(path, ends[1]);
    } catch (...) {
      _exit(1);
    }
    _exit(0);
  }
  close(ends[1]);
  if (life.count() > 0) {
    std::this_thread::sleep_for(life);
    kill(child, SIGKILL);
  }
  std::vector<int64_t> out;
  for (int64_t number; read(ends[0], &number, sizeof(number)) == sizeof(number);) out.push_back(number);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(life.count() > 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
  return out;
}

TEST(Kill, LosesRunningTrialsAtMost) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "study.db").string();
  Rng rng(static_cast<uint64_t>(getpid()));
  std::set<int64_t> finished;
  for (int i = 0; i < 21; ++i) {
    const bool last = i == 20;
    const auto life = last ? 0us : std::chrono::microseconds(1 + rng.below(12000));
    for (const int64_t number : run_child(path, life)) finished.insert(number);
    const auto storage = open_storage(path);
    const auto studies = storage->studies();
    if (studies.empty()) continue;  // killed before the study was made
    std::set<int64_t> complete;
    for (const Trial& trial : storage->trials(studies.front().id)) {
      if (trial.state == State::complete) complete.insert(trial.number);
    }
    for (const int64_t number : finished) EXPECT_TRUE(complete.contains(number)) << "trial " << number << " lost, kill " << i;
  }
  const auto storage = open_storage(path);
  std::set<uint64_t> points;
  size_t complete = 0;
  for (const Trial& trial : storage->trials(storage->studies().front().id)) {
    EXPECT_EQ(trial.state, State::complete);
    ++complete;
    points.insert(*space().index_of(trial.point));
    EXPECT_EQ(trial.values, std::vector<double>{trial.point.find("a")->get<double>()});
    EXPECT_EQ(trial.user_attributes["note"].get<std::string>().size(), 2000u);
  }
  EXPECT_EQ(complete, 36u);
  EXPECT_EQ(points.size(), 36u);
}

}  // namespace
}  // namespace quasar::search
