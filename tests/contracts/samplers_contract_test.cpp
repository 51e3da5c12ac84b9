// What every sampler promises.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "contracts/search_spaces.hpp"
#include "quasar/base/error.hpp"
#include "quasar/search/run.hpp"

namespace quasar::search {
namespace {

// The points of a search with a plain objective, as configurations.
std::vector<Json> configurations(const std::string& sampler, const Space& space, uint64_t seed, int n_trials) {
  const auto storage = open_storage("memory");
  Study study(*storage, {});
  const auto made = samplers::table().make(sampler);
  run({.seed = seed}, study, space, *made, stop_conditions({{"n_trials", n_trials}}), [&](RunningTrial& job) -> Outcome {
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
      run({.seed = 1}, study, space, *made, stop_conditions({{"n_trials", 40}}), [&](RunningTrial& job) -> Outcome {
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

// Optuna stores Infinity, and null where its function failed.
TEST(SamplerContract, ConstraintsMayBeInfiniteOrUnknown) {
  const Direction directions[] = {Direction::minimize};
  const Cost cost;
  const double largest = std::numeric_limits<double>::max();
  const Json kinds[] = {Json::array({nullptr}), nullptr,           Json::array({-largest}),
                        Json::array({largest}), Json::array({-1}), Json::array({1})};
  const Space space = mixed_space();
  for (const auto& name : samplers::table().names()) {
    if (!takes(name, space)) continue;
    SCOPED_TRACE(name);
    const auto sampler = samplers::table().make(name);
    std::vector<Trial> trials;
    for (size_t i = 0; i < 40; ++i) {
      Rng rng(i);
      Trial trial;
      trial.number = static_cast<int64_t>(i);
      trial.point = *sampler->next({space, trials, directions, cost, 5}, rng);
      trial.state = State::complete;
      trial.values = {static_cast<double>(space.decode(trial.point).dump().size() * 37 % 101)};
      trial.system_attributes[constraints_attribute] = kinds[i % std::size(kinds)];
      trials.push_back(std::move(trial));
    }
    EXPECT_EQ(trials[3].violation(), largest);
    EXPECT_EQ(trials[0].violation(), 0);
  }
  Trial trial;
  trial.set_constraints({std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(), 0.5});
  EXPECT_EQ(trial.constraints(), (std::vector<double>{largest, -largest, 0.5}));
}

TEST(SamplerContract, TheSeedsSpellingsAreKnown) {
  for (const char* name : {"TPE", "Random", "grid_search", "CmaEs", "GPS", "NSGAII", "QMC", "TPESampler", "CmaEsSampler",
                           "GPSampler", "NSGAIISampler", "QMCSampler"}) {
    EXPECT_NE(samplers::table().try_find(name), nullptr) << name;
  }
}

TEST(SamplerContract, HelpIsThere) {
  for (const auto& [name, entry] : samplers::table().items()) EXPECT_FALSE(entry.help.empty()) << name;
  EXPECT_EQ(samplers::table().resolve("Grid-Search"), "grid");
}

}  // namespace
}  // namespace quasar::search
