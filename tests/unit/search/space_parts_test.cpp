// What a space leaves out, what shows all of it, and several spaces in one study.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "quasar/base/error.hpp"
#include "quasar/search/run.hpp"
#include "quasar/search/sampler.hpp"

namespace quasar::search {
namespace {

std::string odd(const Point& point) {
  const int64_t sum = point.find("a")->get<int64_t>() + point.find("b")->get<int64_t>();
  return sum % 2 == 1 ? "the sum is odd" : "";
}

TEST(Forbidden, PointsAreNeverTriedAndNotCounted) {
  Space space = Space::parse({{"a", {0, 1, 2}}, {"b", {0, 1, 2}}});
  space.forbid(odd);
  EXPECT_EQ(space.size(), 9u);
  EXPECT_EQ(space.valid(), 5u);
  EXPECT_EQ(space.forbidden().size(), 4u);
  for (const char* sampler : {"grid", "random", "tpe"}) {
    const auto storage = open_storage("memory");
    Study study(*storage, {});
    const StopConditions none;
    const RunResult result = run({}, study, space, *samplers::table().make(sampler), none, [](RunningTrial& job) {
      EXPECT_EQ(odd(job.point()), "");
      return Outcome{.values = {0}};
    });
    EXPECT_EQ(result.end, RunResult::End::exhausted) << sampler;
    EXPECT_EQ(result.counts.finished(), 5u) << sampler;
  }
}

TEST(Forbidden, PointsOfAContinuousSpaceAreDrawnAgain) {
  Space space =
      Space::parse({{"on", {true}}, {"p", {{"x", {{"type", "float"}, {"low", 0.0}, {"high", 1.0}}}, {"only_if", "on"}}}});
  space.forbid([](const Point& point) { return point.find("p_x")->get<double>() < 0.5 ? "too small" : ""; });
  EXPECT_FALSE(space.valid());
  const auto storage = open_storage("memory");
  Study study(*storage, {});
  const auto conditions = stop_conditions({{"n_trials", 30}});
  run({}, study, space, *samplers::table().make("tpe"), conditions, [](RunningTrial& job) {
    const double x = job.point().find("p_x")->get<double>();
    EXPECT_GE(x, 0.5);
    return Outcome{.values = {x}};
  });
  EXPECT_EQ(study.trials().size(), 30u);
}

// Too many points to be looked through: what is refused is known when it is drawn.
TEST(Forbidden, PointsOfALargeSpaceAreEachTriedOnceInOrder) {
  Json numbers = Json::array();
  for (int i = 0; i < 160; ++i) numbers.push_back(i);
  Space space = Space::parse({{"a", numbers}, {"b", numbers}});
  space.forbid([](const Point& point) {
    const int a = point.find("a")->get<int>(), b = point.find("b")->get<int>();
    return a == b && a % 40 == 0 ? "" : "off the diagonal";
  });
  ASSERT_TRUE(space.forbidden().empty()) << "this test wants a larger space";
  for (const char* sampler : {"grid", "one_by_one"}) {
    const auto storage = open_storage("memory");
    Study study(*storage, {});
    std::vector<int> tried;
    const RunResult result = run({}, study, space, *samplers::table().make(sampler), {}, [&](RunningTrial& job) {
      tried.push_back(job.point().find("a")->get<int>());
      return Outcome{.values = {1.0}};
    });
    EXPECT_EQ(result.end, RunResult::End::exhausted) << sampler;
    EXPECT_EQ(tried, (std::vector<int>{0, 40, 80, 120})) << sampler;
  }
}

TEST(Cover, ShowsEveryPairThatCanStandTogether) {
  const Space space = Space::parse(parse_json(R"({
    "a": [1, 2, 3], "b": ["x", "y", null], "c": [true, false],
    "g": {"m": [10, 20], "r": {"type": "float", "low": 0.5, "high": 2.0}, "only_if": {"b": "y"}},
    "h": {"n": [5, 6], "only_if": {"g_m": 20}}
  })",
                                              "test"));
  std::set<std::string> pairs;
  for (const Point& point : space.cover()) {
    EXPECT_NO_THROW(space.check(point));
    for (const auto& [name, value] : point.values()) {
      for (const auto& [other, second] : point.values()) pairs.insert(name + value.dump() + "|" + other + second.dump());
    }
  }
  for (int a : {1, 2, 3}) {
    EXPECT_TRUE(pairs.contains("a" + std::to_string(a) + "|h_n6")) << a;  // two conditions deep
    EXPECT_TRUE(pairs.contains("a" + std::to_string(a) + "|g_r0.5")) << a;
    EXPECT_TRUE(pairs.contains("a" + std::to_string(a) + "|g_r2.0")) << a;
  }
  EXPECT_TRUE(pairs.contains("bnull|cfalse"));
  EXPECT_FALSE(pairs.contains("bnull|g_m10"));
}

TEST(Together, SpacesShareAStudyWhateverTheirChoices) {
  const Space first = Space::parse({{"a", {1, 2}}, {"b", {"x"}}}), second = Space::parse({{"a", {2, 3}}, {"c", {true, false}}});
  const Space all = Space::together({first, second});
  EXPECT_EQ(std::get<Categorical>(*all.find("a")->distribution).choices, (std::vector<Json>{1, 2, 3}));
  const auto storage = open_storage("memory");
  Study study(*storage, {});
  const StopConditions none;
  for (const Space& space : {first, second}) {
    const Space recorded = space.recorded_as(all);
    run({}, study, recorded, *samplers::table().make("grid"), none, [&](RunningTrial& job) {
      EXPECT_NO_THROW(all.decode(job.point()));
      return Outcome{.values = {1}};
    });
  }
  ASSERT_EQ(study.trials().size(), 6u);
  for (const Trial& trial : study.trials()) EXPECT_EQ(*trial.distributions[0], *all.find("a")->distribution);
  EXPECT_EQ(study.trials()[0].point.values()[0].second, 1);
  EXPECT_EQ(study.trials()[5].point.values()[0].second, 3);
}

TEST(Together, AListHereAndARangeThereIsAnError) {
  const Space list = Space::parse({{"on", {true}}, {"g", {{"x", {1, 2}}, {"only_if", "on"}}}});
  const Space range =
      Space::parse({{"on", {true}}, {"g", {{"x", {{"type", "int"}, {"low", 1}, {"high", 9}}}, {"only_if", "on"}}}});
  EXPECT_THROW(Space::together({list, range}), Error);
}

TEST(RandomSampler, PrefersCheapPointsUnlessItIsUniform) {
  const Space space = Space::parse({{"a", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}}});
  const Cost cost = [](const Point& point) { return point.find("a")->get<int>() < 5 ? 1.0 : 9.0; };
  const auto cheap_among_first = [&](const Json& options) {
    int cheap = 0;
    for (uint64_t seed = 0; seed < 400; ++seed) {
      const auto sampler = samplers::table().make("random", options);
      const std::vector<Direction> directions{Direction::minimize};
      Rng rng(seed);
      const auto point = sampler->next({space, {}, directions, cost}, rng);
      cheap += point->find("a")->get<int>() < 5 ? 1 : 0;
    }
    return cheap;
  };
  EXPECT_NEAR(cheap_among_first(Json::object()), 360, 25);  // weights 1 : 1/9
  EXPECT_NEAR(cheap_among_first({{"uniform", true}}), 200, 40);
}

TEST(Prior, TrialsOfAnEarlierStudyTeachButAreTriedAgain) {
  const Space space = Space::parse({{"a", {0, 1, 2, 3}}});
  RunOptions options;
  for (int a : {0, 1, 2, 3}) {
    Trial trial;
    trial.state = State::complete;
    trial.point = Point{{"a", a}};
    trial.distributions.assign(1, space.find("a")->distribution);
    trial.values = {static_cast<double>(a)};
    options.prior.push_back(trial);
  }
  const auto storage = open_storage("memory");
  Study study(*storage, {});
  const StopConditions none;
  run(options, study, space, *samplers::table().make("tpe", {{"n_startup_trials", 4}}), none,
      [](RunningTrial& job) { return Outcome{.values = {job.point().find("a")->get<double>()}}; });
  EXPECT_EQ(study.trials().size(), 4u);
}

}  // namespace
}  // namespace quasar::search
