// What every sampler, storage and stop condition promises.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"
#include "quasar/search/pruner.hpp"
#include "quasar/search/run.hpp"
#include "servers/postgresql.hpp"

namespace quasar::search {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Space finite_space() {
  return Space::parse(parse_json(R"({"algorithms": ["adaround", "adaquant", null], "exclude": [null, ["conv1"], "conv2"],
    "activation_params": {"symmetric": [true, false], "percentile": [99.9, 99.99, 100], "only_if": "activation"}, "activation": ["Int8Spec", null],
    "adaround_params": {"NumIterLR": [[3000, 0.1], [1000, 0.2]], "only_if": {"algorithms": "adaround"}}})",
                                 "test"));
}

Space mixed_space() {
  return Space::parse(
      parse_json(R"({"a": ["x", "y"], "x_params": {"only_if": {"a": "x"}, "n": {"type": "int", "low": 10, "high": 50, "step": 10},
    "lr": {"type": "float", "low": 1e-6, "high": 1e-2, "log": true}}})",
                 "test"));
}

// The points of a search with a plain objective, as configurations.
std::vector<Json> configurations(const std::string& sampler, const Space& space, uint64_t seed, int n_trials) {
  const auto storage = open_storage("memory");
  Study study(*storage, {});
  const auto made = samplers::table().make(sampler);
  run({.seed = seed}, study, space, *made, stop_conditions({{"n_trials", n_trials}}), [&](Job& job) -> Outcome {
    space.check(job.point());
    return {.values = {static_cast<double>(space.decode(job.point()).dump().size())}};
  });
  std::vector<Json> out;
  for (const Trial& trial : study.trials()) {
    EXPECT_EQ(trial.state, State::complete) << sampler;
    out.push_back(space.decode(trial.point));
  }
  return out;
}

bool takes(const std::string& sampler, const Space& space) {
  try {
    samplers::table().make(sampler)->check(space);
    return true;
  } catch (const Error&) {
    return false;
  }
}

TEST(SamplerContract, FiniteSpacesAreExhaustedExactlyOnce) {
  const Space space = finite_space();
  for (const auto& name : samplers::table().names()) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(takes(name, space));
    const auto tried = configurations(name, space, 3, 1000);
    EXPECT_EQ(tried.size(), *space.size());
    std::set<std::string> different;
    for (const Json& c : tried) different.insert(c.dump());
    EXPECT_EQ(different.size(), tried.size());
  }
}

TEST(SamplerContract, EqualSeedsGiveEqualPoints) {
  for (const auto& name : samplers::table().names()) {
    for (const Space& space : {finite_space(), mixed_space()}) {
      if (!takes(name, space)) continue;
      EXPECT_EQ(configurations(name, space, 11, 40), configurations(name, space, 11, 40)) << name;
    }
  }
}

TEST(SamplerContract, PinnedParametersStay) {
  const Space space = finite_space().pinned({{"activation", "Int8Spec"}, {"activation_params_percentile", 99.99}});
  for (const auto& name : samplers::table().names()) {
    for (const Json& c : configurations(name, space, 1, 1000)) EXPECT_EQ(c["activation_params"]["percentile"], 99.99) << name;
  }
}

// As a search with several workers asks: trials end in another order than they began, some fail, some never end.
TEST(SamplerContract, RunningAndFailedTrialsAreNotRepeatedAndDoNoHarm) {
  for (const auto& [name, entry] : samplers::table().items()) {
    SCOPED_TRACE(name);
    for (const Space& space : {finite_space(), mixed_space()}) {
      if (!takes(name, space)) continue;
      const auto made = samplers::table().make(name);
      const Direction directions[] = {Direction::maximize};
      const Cost cost;
      std::vector<Trial> trials;
      for (size_t i = 0; i < 30; ++i) {
        Rng rng(i);
        Trial trial;
        trial.number = static_cast<int64_t>(i);
        trial.point = *made->next({space, trials, directions, cost, 5}, rng);
        space.check(trial.point);
        for (const Trial& other : trials) EXPECT_TRUE(!space.size() || other.point != trial.point);
        trials.push_back(trial);
        if (i < 3) continue;
        Trial& ended = trials[i - 3];
        if (i % 7 == 0) continue;  // runs for ever
        ended.state = i % 5 == 0 ? State::failed : State::complete;
        if (ended.state == State::complete) ended.values = {static_cast<double>(i * 37 % 11)};
      }
    }
  }
}

// A search that was killed goes on with a sampler that has seen none of it: it asks what the first one would have asked.
TEST(SamplerContract, ContinuedSearchesGoTheSameWay) {
  const Direction directions[] = {Direction::minimize};
  const Cost cost;
  for (const auto& name : samplers::table().names()) {
    for (const Space& space : {finite_space(), mixed_space()}) {
      if (!takes(name, space)) continue;
      const auto undisturbed = samplers::table().make(name);
      std::vector<Trial> trials;
      for (int64_t i = 0; i < 60; ++i) {
        SCOPED_TRACE(name + ", trial " + std::to_string(i));
        const auto next = [&](Sampler& sampler) {
          Rng rng(static_cast<uint64_t>(i));
          return *sampler.next({space, trials, directions, cost, 5}, rng);
        };
        Trial trial;
        trial.number = i;
        trial.point = next(*undisturbed);
        ASSERT_EQ(next(*samplers::table().make(name)), trial.point);
        trial.state = i % 9 == 4 ? State::failed : i % 7 == 3 ? State::pruned : State::complete;
        if (trial.state != State::failed)
          trial.values = {static_cast<double>(space.decode(trial.point).dump().size() * 37 % 101)};
        if (trial.state == State::complete) trial.system_attributes["constraints"] = {static_cast<double>(i % 5) - 3};
        trials.push_back(std::move(trial));
      }
    }
  }
}

// Of pruned trials samplers know the value that they had when they were given up.
TEST(SamplerContract, PrunedTrialsTeachThoseThatLearn) {
  const Space space = Space::parse({{"on", {true}},
                                    {"p",
                                     {{"x", {{"type", "float"}, {"low", 0.0}, {"high", 1.0}}},
                                      {"y", {{"type", "float"}, {"low", 0.0}, {"high", 1.0}}},
                                      {"only_if", "on"}}}});
  const Direction directions[] = {Direction::minimize};
  const Cost cost;
  for (const char* name : {"TPE", "GP", "NSGA_II", "CMA_ES"}) {
    const auto sampler = samplers::table().make(name);
    std::vector<Trial> trials;
    double late = 0;
    for (int64_t i = 0; i < 120; ++i) {
      Rng rng(static_cast<uint64_t>(i));
      Trial trial;
      trial.number = i;
      trial.point = *sampler->next({space, trials, directions, cost}, rng);
      const double x = trial.point.find("p_x")->get<double>(), y = trial.point.find("p_y")->get<double>();
      trial.state = i == 0 ? State::complete : State::pruned;
      trial.values = {std::abs(x - 0.9) + std::abs(y - 0.1)};
      if (i >= 90) late += trial.values.front() / 30;
      trials.push_back(std::move(trial));
    }
    EXPECT_LT(late, 0.5) << name << " (0.82 on average without learning)";
  }
}

// Of a space that nobody could look through, a cheap point comes quickly.
TEST(SamplerContract, RandomNeedsNoLookAtAllPoints) {
  Json space = {{"first", Json::array()}};
  for (const char* key : {"a", "b", "c", "d", "e"}) {
    for (int i = 0; i < 100; ++i) space[key].push_back(i);
  }
  space.erase("first");
  const Space large = Space::parse(space);
  const Direction directions[] = {Direction::minimize};
  size_t asked = 0;
  const Cost cost = [&](const Point& point) {
    ++asked;
    return point.find("a")->get<double>() + 1;
  };
  const auto sampler = samplers::table().make("random");
  double a = 0;
  std::vector<Trial> trials;
  for (int64_t i = 0; i < 100; ++i) {
    Rng rng(static_cast<uint64_t>(i));
    Trial trial;
    trial.number = i;
    trial.point = *sampler->next({large, trials, directions, cost}, rng);
    trial.state = State::complete;
    trial.values = {1};
    a += trial.point.find("a")->get<double>() / 100;
    trials.push_back(std::move(trial));
  }
  EXPECT_LT(asked, 10000U);
  EXPECT_LT(a, 35) << "cheap ones more often; 49.5 when all are alike";
}

TEST(SamplerContract, SeveralObjectivesAreServedOrRefused) {
  for (const auto& name : samplers::table().names()) {
    SCOPED_TRACE(name);
    const Space space = finite_space();
    const auto storage = open_storage("memory");
    Study study(*storage, {.directions = {Direction::minimize, Direction::maximize}});
    const auto made = samplers::table().make(name);
    const auto search = [&] {
      run({.seed = 1}, study, space, *made, stop_conditions({{"n_trials", 40}}), [&](Job& job) -> Outcome {
        const double length = static_cast<double>(space.decode(job.point()).dump().size());
        return {.values = {length, -std::abs(length - 90)}, .constraints = {length - 110}};
      });
    };
    if (made->takes_several_objectives()) {
      search();
      ASSERT_EQ(study.trials().size(), 40u);
      EXPECT_EQ(study.trials()[39].system_attributes["constraints"].size(), 1u);
      EXPECT_EQ(study.best()->violation(), 0);
    } else {
      EXPECT_THROW(search(), Error);
      EXPECT_TRUE(study.trials().empty());
    }
  }
}

TEST(SamplerContract, TheSeedsSpellingsAreKnown) {
  for (const char* name : {"TPE", "Random", "grid_search", "CmaEs", "GPS", "NSGAII", "QMC", "TPESampler", "CmaEsSampler",
                           "GPSampler", "NSGAIISampler", "QMCSampler"}) {
    EXPECT_NE(samplers::table().try_find(name), nullptr) << name;
  }
}

TEST(SamplerContract, HelpIsThere) {
  for (const auto& [name, entry] : samplers::table().items()) EXPECT_FALSE(entry.help.empty()) << name;
  for (const auto& [name, entry] : storage::table().items()) EXPECT_FALSE(entry.help.empty()) << name;
  for (const auto& [name, entry] : stop::table().items()) EXPECT_FALSE(entry.help.empty()) << name;
  EXPECT_EQ(samplers::table().resolve("Grid-Search"), "grid");
}

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
  const std::vector<double> values[] = {{0.1 + 0.2, 1e-300 / 3}, {infinity, -infinity}, {}, {5e-324, 1.7976931348623157e308}};
  const State states[] = {State::complete, State::complete, State::failed, State::pruned};
  trial.values = values[trial.number % 4];
  trial.state = states[trial.number % 4];
  trial.intermediate = {{0, std::nan("")}, {1, infinity}, {7, 0.1}, {1000000, -infinity}};
  trial.user_attributes["stage"] = "overwritten";
  trial.user_attributes["text"] = "ä \"quoted\" 'single'\n; DROP TABLE trials; --" + std::string(100000, 'x');
  trial.user_attributes["metrics"] = {{"L2", {{"value", 0.1}}}, {"list", {1, nullptr, true}}};
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
