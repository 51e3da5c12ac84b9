// TPE must learn, and must know what it may not repeat.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "quasar/search/models/parzen.hpp"
#include "quasar/search/sampler.hpp"

namespace quasar::search {
namespace {

using Objective = double (*)(const Point&);

double real(const Point& point, const char* name) {
  return point.find(name)->get<double>();
}

double sphere(const Point& p) {
  double sum = 0;
  for (const char* name : {"p_a", "p_b", "p_c", "p_d", "p_e"}) sum += std::pow(real(p, name) - 1, 2);
  return sum;
}

double conditional_value(const Point& p) {
  if (*p.find("kind") == "far") return 5 + std::abs(real(p, "far_x"));
  return std::pow(real(p, "near_x") - 2, 2) + 0.1 * std::abs(real(p, "near_n") - 7);
}

Space sphere_space() {
  Json group = {{"only_if", "on"}};
  for (const char* name : {"a", "b", "c", "d", "e"}) group[name] = {{"type", "float"}, {"low", -5.0}, {"high", 5.0}};
  return Space::parse({{"on", {true}}, {"p", group}});
}

Space conditional_space() {
  return Space::parse(parse_json(R"({"kind": ["near", "far", "far2"],
    "near": {"x": {"type": "float", "low": -5, "high": 5}, "n": {"type": "int", "low": 1, "high": 50}, "only_if": {"kind": "near"}},
    "far": {"x": {"type": "float", "low": -5, "high": 5}, "only_if": {"kind": "far"}}})",
                                 "test"));
}

double conditional_or_flat(const Point& p) {
  return *p.find("kind") == "far2" ? 8 : conditional_value(p);
}

double best_of(const char* sampler, const Space& space, Objective objective, Direction direction, uint64_t seed,
               uint64_t trials_in_all = 60) {
  const auto made = samplers::table().make(sampler);
  const Cost cost;
  const Direction directions[] = {direction};
  const double sign = direction == Direction::minimize ? 1 : -1;
  std::vector<Trial> trials;
  double best = 1e300;
  for (uint64_t i = 0; i < trials_in_all; ++i) {
    Rng rng(seed * 1000 + i);
    Trial trial;
    trial.number = static_cast<int64_t>(i);
    trial.point = *made->next({space, trials, directions, cost}, rng);
    trial.state = State::complete;
    const double value = objective(trial.point);
    best = std::min(best, value);
    trial.values = {sign * value};
    trials.push_back(trial);
  }
  return best;
}

double median_of_seeds(const char* sampler, const Space& space, Objective objective, Direction direction) {
  std::vector<double> best;
  for (uint64_t seed = 1; seed <= 11; ++seed) best.push_back(best_of(sampler, space, objective, direction, seed));
  std::ranges::nth_element(best, best.begin() + 5);
  return best[5];
}

TEST(Tpe, BeatsRandomInBothDirections) {
  for (const Direction direction : {Direction::minimize, Direction::maximize}) {
    EXPECT_LT(median_of_seeds("tpe", sphere_space(), sphere, direction),
              0.6 * median_of_seeds("random", sphere_space(), sphere, direction));
    EXPECT_LT(median_of_seeds("tpe", conditional_space(), conditional_or_flat, direction),
              0.6 * median_of_seeds("random", conditional_space(), conditional_or_flat, direction));
  }
}

// As many trials as the presets have, on a space like theirs: 720 configurations of choices.
double preset_like(const Point& p) {
  const double method = real(p, "method"), layers = real(p, "layers"), width = real(p, "width");
  const bool channel = *p.find("channel") == true, symmetric = *p.find("symmetric") == true,
             equalized = *p.find("equalized") == true;
  return std::abs(method - 3) + (channel ? 0 : 4) + (symmetric == channel ? 0 : 1.5) + (equalized && !channel ? -1 : 0) +
         0.7 * std::abs(layers - 2) + 0.3 * width;
}

TEST(Tpe, LearnsWithinTwentyTrials) {
  const Space space = Space::parse({{"channel", {true, false}},
                                    {"symmetric", {true, false}},
                                    {"equalized", {true, false}},
                                    {"method", {0, 1, 2, 3, 4, 5}},
                                    {"layers", {0, 1, 2, 3, 4}},
                                    {"width", {0, 1, 2}}});
  double tpe = 0, random = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    tpe += best_of("tpe", space, preset_like, Direction::minimize, seed, 20) / 40;
    random += best_of("random", space, preset_like, Direction::minimize, seed, 20) / 40;
  }
  EXPECT_LT(tpe, 0.75 * random);
}

TEST(Tpe, DensityOfOneNumberIntegratesToOne) {
  const Space space =
      Space::parse({{"on", {true}}, {"g", {{"x", {{"type", "float"}, {"low", 2.0}, {"high", 4.0}}}, {"only_if", "on"}}}});
  const Coordinates a = coordinates(space, {{"on", true}, {"g_x", 2.1}}), b = coordinates(space, {{"on", true}, {"g_x", 3.0}});
  const Coordinates* observed[] = {&a, &b};
  const Parzen parzen(space, observed);
  double sum = 0;
  for (int i = 0; i < 1000; ++i) sum += std::exp(parzen.log_density({0, (i + 0.5) / 1000})) / 1000;
  EXPECT_NEAR(sum, 1, 1e-4);
}

// Trials of an earlier stage, of which this space knows parameters that its own points cannot have.
TEST(Tpe, ItsRandomStartCountsItsOwnTrials) {
  const Space whole =
      Space::parse({{"method", {"a", "b"}}, {"g", {{"x", {1, 2, 3}}, {"only_if", {{"method", "b"}}}}}, {"y", {0, 1, 2, 3}}});
  const Space space = whole.pinned({{"method", "a"}});
  for (const double x : coordinates(space, {{"method", "b"}, {"g_x", 2}})) EXPECT_TRUE(std::isnan(x));
}

TEST(Tpe, UsesEveryPointOnceWhateverBecameOfIt) {
  const Space space = Space::parse({{"a", {1, 2, 3, 4}}, {"b", {"x", "y", nullptr}}});
  const auto made = samplers::table().make("tpe", {{"n_startup_trials", 2}});
  const Cost cost;
  const Direction directions[] = {Direction::minimize};
  std::vector<Trial> trials;
  for (size_t i = 0; i < 12; ++i) {
    Rng rng(i);
    Trial trial;
    trial.number = static_cast<int64_t>(i);
    trial.point = *made->next({space, trials, directions, cost}, rng);
    for (const Trial& t : trials) EXPECT_NE(t.point, trial.point);
    const State states[] = {State::complete, State::failed, State::pruned, State::running};
    trial.state = states[i % 4];
    if (i % 4 == 0) trial.values = {i == 4 ? std::nan("") : i == 8 ? INFINITY : 1.0};
    if (i % 8 == 2) trial.intermediate = {{0, 3.0}};
    trials.push_back(trial);
  }
  Rng rng(99);
  EXPECT_EQ(made->next({space, trials, directions, cost}, rng), std::nullopt);
}

}  // namespace
}  // namespace quasar::search
