// What every storage, pruner and stop condition promises.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "contracts/search_spaces.hpp"
#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"
#include "quasar/search/pruner.hpp"
#include "quasar/search/run.hpp"
#include "servers/postgresql.hpp"

namespace quasar::search {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

bool equal(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

void expect_equal(const Trial& a, const Trial& b) {
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(a.number, b.number);
  EXPECT_EQ(a.state, b.state);
  EXPECT_EQ(a.point, b.point);
  ASSERT_EQ(a.distributions.size(), b.distributions.size());
  for (size_t i = 0; i < a.distributions.size(); ++i) EXPECT_EQ(*a.distributions[i], *b.distributions[i]);
  EXPECT_EQ(a.values, b.values);
  ASSERT_EQ(a.intermediate.size(), b.intermediate.size());
  for (const auto& [step, value] : a.intermediate) EXPECT_TRUE(equal(value, b.intermediate.at(step)));
  EXPECT_EQ(a.user_attributes, b.user_attributes);
  EXPECT_EQ(a.system_attributes, b.system_attributes);
  EXPECT_EQ(a.start, b.start);
  EXPECT_EQ(a.complete, b.complete);
}

// A trial with everything that a trial can have.
Trial rich_trial(uint64_t seed) {
  const Space spaces[] = {finite_space(), mixed_space()};
  const Space& space = spaces[seed % 2];
  Rng rng(seed);
  Trial trial;
  trial.point = space.sample(rng);
  for (const auto& [name, value] : trial.point.values()) trial.distributions.push_back(space.find(name)->distribution);
  trial.start = now();
  trial.user_attributes = {{"stage", "calibration"}};
  return trial;
}

void end(Trial& trial) {
  const std::vector<double> values[] = {{0.1 + 0.2, 1e-300 / 3}, {-2e200, 3}, {}, {5e-324, 1.7976931348623157e308}};
  const State states[] = {State::complete, State::complete, State::failed, State::pruned};
  trial.values = values[trial.number % 4];
  trial.state = states[trial.number % 4];
  trial.intermediate = {{0, std::nan("")}, {1, infinity}, {7, 0.1}, {1000000, -infinity}};
  trial.user_attributes["stage"] = "overwritten";
  trial.user_attributes["text"] = "ä \"quoted\" 'single'\n; DROP TABLE trials; --" + std::string(100000, 'x');
  trial.user_attributes["metrics"] = {{"L2", 0.1}};
  trial.user_attributes["facts"] = {{"L2", {{"value", 0.1}}}, {"list", {1, nullptr, true}}};
  trial.system_attributes["constraints"] = {-0.5, 0.25};
  trial.complete = *trial.start + std::chrono::microseconds(1234567);
}

void expect_everything_comes_back(const std::function<std::unique_ptr<Storage>()>& make, bool outlives_the_process) {
  auto storage = make();
  const StudyRecord other = storage->create("other", {Direction::minimize});
  const StudyRecord study = storage->create("Ä 'study'", {Direction::maximize, Direction::minimize});
  EXPECT_THROW(storage->create("other", {Direction::minimize}), Error);
  storage->set_attribute(study.id, "config", {{"a", 1}});
  storage->set_attribute(study.id, "config", {{"a", 2}});
  std::vector<Trial> expected;
  for (int64_t i = 0; i < 9; ++i) {
    Trial trial = rich_trial(static_cast<uint64_t>(i));
    storage->start(study.id, trial);
    EXPECT_EQ(trial.number, i);
    Trial elsewhere;
    elsewhere.start = now();
    storage->start(other.id, elsewhere);
    EXPECT_EQ(elsewhere.number, i);
    if (i % 3 == 0) {
      storage->release(study.id, trial);
      EXPECT_THROW(storage->release(study.id, trial), TrialChanged);  // it is not running
      storage->resume(study.id, trial);
      EXPECT_THROW(storage->resume(study.id, trial), TrialChanged);
    }
    if (i < 8) {
      end(trial);
      storage->finish(study.id, trial);
      EXPECT_THROW(storage->finish(study.id, trial), TrialChanged);  // finished is finished
    }
    expected.push_back(trial);
  }
  if (outlives_the_process) storage = make();
  const auto studies = storage->studies();
  ASSERT_EQ(studies.size(), 2u);
  EXPECT_EQ(studies[1].name, "Ä 'study'");
  EXPECT_EQ(studies[1].directions, study.directions);
  EXPECT_EQ(studies[1].user_attributes, (Json{{"config", {{"a", 2}}}}));
  const auto trials = storage->trials(studies[1].id);
  ASSERT_EQ(trials.size(), expected.size());
  for (size_t i = 0; i < trials.size(); ++i) expect_equal(trials[i], expected[i]);
  // One of them goes for ever, unless somebody has it; the other stays as it is.
  {
    const auto another = outlives_the_process ? make() : nullptr;
    const auto held = (another ? *another : *storage).lock(studies[1]);
    EXPECT_THROW(storage->remove(studies[1]), Error);
  }
  storage->remove(studies[1]);
  ASSERT_EQ(storage->studies().size(), 1u);
  EXPECT_EQ(storage->studies()[0].name, studies[0].name);
  EXPECT_EQ(storage->trials(studies[0].id).size(), 9u);
  const auto again = storage->create(studies[1].name, studies[1].directions);
  EXPECT_TRUE(storage->trials(again.id).empty());
}

TEST(StorageContract, HelpIsThere) {
  for (const auto& [name, entry] : storage::table().items()) EXPECT_FALSE(entry.help.empty()) << name;
}

TEST(StorageContract, EverythingComesBack) {
  const TemporaryFolder folder;
  for (const auto& [name, entry] : storage::table().items()) {
    if (name == "postgresql") continue;  // below
    SCOPED_TRACE(name);
    const auto make = [&, kind = name] {
      return kind == "memory" ? storage::table().make(kind)
                              : storage::table().make(kind, {{"path", (folder.path() / "a study's.db").string()}});
    };
    expect_everything_comes_back(make, name != "memory");
  }
}

TEST(StorageContract, EverythingComesBackFromPostgresql) {
  const auto server = servers::Postgresql::start();
  if (!server) GTEST_SKIP() << "no PostgreSQL server can be started here";
  expect_everything_comes_back([&] { return open_storage(server->url()); }, true);
}

TEST(PrunerContract, NobodyIsGivenUpWithoutAReason) {
  const std::vector<double> losses(64, 0.5), worse(64, 0.7), better(64, 0.3);
  for (const auto& [name, entry] : pruners::table().items()) {
    SCOPED_TRACE(name);
    EXPECT_FALSE(entry.help.empty());
    const auto pruner = pruners::table().make(name);
    for (size_t seen : {1u, 16u, 63u}) {
      const auto so_far = std::span(losses).first(seen);
      EXPECT_FALSE(pruner->gives_up({.losses = so_far, .total = 64}));  // the first trial
      EXPECT_FALSE(pruner->gives_up(
          {.losses = so_far, .total = 64, .incumbent = worse, .rivals = 64, .reached = worse, .completed = worse}));
      EXPECT_FALSE(pruner->gives_up({.losses = so_far,  // not the best, but what the user asked for
                                     .total = 64,
                                     .incumbent = better,
                                     .rivals = 64,
                                     .good_enough = 0.5,
                                     .reached = better,
                                     .completed = better}));
    }
    const Race lost{.losses = losses, .total = 65, .incumbent = better, .rivals = 64, .reached = better, .completed = better};
    if (name == "confidence") continue;  // wants the incumbent's losses of all samples
    EXPECT_EQ(pruner->gives_up(lost), name != "none");
  }
}

TEST(StopContract, OffByMinusOneAndNullAndNotMetAtTheStart) {
  for (const auto& name : stop::table().names()) {
    SCOPED_TRACE(name);
    EXPECT_FALSE(stop::table().try_find(name)->second.help.empty());
    EXPECT_TRUE(stop_conditions({{name, -1}}).empty());
    EXPECT_TRUE(stop_conditions({{name, nullptr}}).empty());
    EXPECT_THROW(stop_conditions({{name, "many"}}), Error);
    const auto conditions = stop_conditions({{name, 3}});
    ASSERT_EQ(conditions.size(), 1u);
    EXPECT_EQ(conditions.front()->met(Progress{}), std::nullopt);
    Progress late;
    late.counts = {.running = 0, .duplicates = 1, .complete = 3, .pruned = 1, .failed = 1};
    late.seconds = 4;
    late.candidates = 3;
    late.best_candidate = 2.5;
    late.since_best = 3;
    const auto reason = conditions.front()->met(late);
    ASSERT_TRUE(reason);
    EXPECT_NE(reason->find(name), std::string::npos);
    EXPECT_NE(reason->find('3'), std::string::npos);
  }
  EXPECT_THROW(stop_conditions({{"find_n_candidate", 1}}), Error);
  EXPECT_TRUE(stop_conditions(Json()).empty());
  EXPECT_EQ(stop_conditions({{"time_limit", 7}}).front()->deadline(), 7.0);
  EXPECT_EQ(stop_conditions({{"n_trials", 7}}).front()->limit(), 7u);
}

}  // namespace
}  // namespace quasar::search
