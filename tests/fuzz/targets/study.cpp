// The bytes as a study of somebody else: an SQLite file, or, as files of pages are hard to make by chance, statements that change
// a good study before it is read.
#include "quasar/search/study.hpp"

#include <sqlite3.h>

#include "fuzz/target.hpp"
#include "quasar/search/distribution.hpp"
#include "quasar/search/prior_trials.hpp"
#include "quasar/search/tracker.hpp"
#include "quasar/studies/past_study.hpp"
#include "quasar/studies/warm_start.hpp"

namespace quasar::fuzz {
namespace {

// A study with two trials.
std::string good_study() {
  const auto path = scratch() / "good.db";
  {
    const auto storage = search::open_storage(path.string());
    const auto study = storage->create("s", {Direction::minimize});
    storage->set_attribute(study.id, "metric", "L2");
    for (const double value : {0.5, 0.25}) {
      search::Trial trial;
      trial.point.set("a", "x");
      trial.point.set("b", 3);
      trial.point.set("c", value);
      trial.distributions = {std::make_shared<search::Distribution>(search::Categorical{{"x", nullptr}}),
                             std::make_shared<search::Distribution>(search::Integer{1, 9, 2, false}),
                             std::make_shared<search::Distribution>(search::Real{0, 1, 0.25, false})};
      storage->start(study.id, trial);
      trial.state = search::State::complete;
      trial.values = {value};
      trial.intermediate[1] = value;
      trial.user_attributes = {{"plan_hash", "h"}, {"candidate", true}, {"config", {{"activation", "Int8Spec"}}}};
      trial.system_attributes = {{"constraints", {0.5}}};
      storage->finish(study.id, trial);
    }
  }
  return read_file(path);
}

// Only what changes this one database; nothing that could run for long.
int allowed(void*, int action, const char*, const char*, const char*, const char*) {
  return action == SQLITE_ATTACH || action == SQLITE_DETACH || action == SQLITE_PRAGMA || action == SQLITE_RECURSIVE ? SQLITE_DENY
                                                                                                                     : SQLITE_OK;
}

void change(const std::filesystem::path& path, const std::string& statements) {
  sqlite3* database = nullptr;
  expect(sqlite3_open(path.c_str(), &database) == SQLITE_OK, "a good study can be opened");
  sqlite3_set_authorizer(database, allowed, nullptr);
  sqlite3_limit(database, SQLITE_LIMIT_LENGTH, 1 << 20);
  sqlite3_progress_handler(
      database, 100'000, [](void*) { return 1; }, nullptr);
  sqlite3_exec(database, statements.c_str(), nullptr, nullptr, nullptr);
  sqlite3_close(database);
}

std::string read(const std::filesystem::path& path) {
  return refusal([&] {
    const tune::PastStudy past = tune::past_study(path.string(), "");
    for (const auto& trial : past.trials) {
      trial.seconds();
      trial.violation();
      trial.is_candidate();
      for (size_t i = 0; i < trial.distributions.size(); ++i) {
        search::cardinality(*trial.distributions[i]);
        search::position_of(*trial.distributions[i], trial.point.values()[i].second);
      }
    }
    if (!past.record.directions.empty()) search::Tracker(past.trials, "", past.record.directions);
    tune::Job job;
    job.base = scratch();
    job.warm_start.place = path.string();
    job.aim.goals.objectives = {{"L2", Direction::minimize}};
    const auto trials = tune::earlier_trials(job);
    search::best_points(trials, Direction::minimize);
    search::Space space = search::Space::parse({{"a", {"x", nullptr}}, {"b", {1, 3}}});
    search::fitting(trials, space);
  });
}

// As --resume does.
void resume(const std::filesystem::path& path) {
  const auto storage = search::open_storage(path.string());
  for (const auto& record : storage->studies()) {
    const search::StudyOptions options{.name = record.name, .directions = record.directions, .resume = true};
    const search::Study study(*storage, options);
  }
}

}  // namespace
}  // namespace quasar::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace quasar;
  static const std::string good = fuzz::good_study();
  const std::string bytes = fuzz::text_of(data, size);
  const bool is_file = bytes.starts_with("SQLite format 3");
  for (const char* rest : {"study.db-wal", "study.db-shm", "study.db-journal"}) std::filesystem::remove(fuzz::scratch() / rest);
  const auto path = fuzz::file("study.db", is_file ? bytes : good);
  if (!is_file) fuzz::change(path, bytes);
  const std::string why = fuzz::read(path);
  if (why.empty()) fuzz::refusal([&] { fuzz::resume(path); });
  fuzz::expect(why.empty() || why.find("study.db") != std::string::npos, "a refusal names the database");
  return 0;
}
