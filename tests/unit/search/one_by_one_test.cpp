#include <gtest/gtest.h>

#include <cmath>

#include "quasar/base/error.hpp"
#include "quasar/search/run.hpp"
#include "unit/error_of.hpp"

namespace quasar::search {
namespace {

using Measured = std::function<std::pair<double, double>(const Point&)>;  // loss, and how far beyond a constraint

// Four parameters of which `a` has a choice that only helps beside another one's.
Space four() {
  return Space::parse(parse_json(R"({"a": [0, 1, 2], "b": [0, 1], "c": [0, 1], "d": [0, 1, 2]})", "the test"));
}

std::vector<Trial> tried(const Space& space, size_t trials, const Measured& measured) {
  const auto sampler = samplers::table().make("one_by_one");
  const Direction directions[] = {Direction::minimize};
  const Cost cost;
  std::vector<Trial> out;
  while (out.size() < trials) {
    Rng rng(out.size());
    const auto point = sampler->next({space, out, directions, cost, 5}, rng);
    if (!point) break;
    Trial trial;
    trial.number = static_cast<int64_t>(out.size());
    trial.point = *point;
    trial.state = State::complete;
    const auto [loss, beyond] = measured(*point);
    trial.values = {loss};
    trial.set_constraints({beyond});
    out.push_back(std::move(trial));
  }
  return out;
}

double at(const Point& point, const char* name) {
  return point.find(name)->get<double>();
}

size_t changes(const Point& a, const Point& b) {
  size_t out = 0;
  for (const auto& [name, value] : a.values()) out += *b.find(name) != value ? 1 : 0;
  return out;
}

// A sum of parts has its least value where each part has: after one round, which takes one trial for each other choice.
TEST(OneByOne, FindsTheBestOfASumInOneRound) {
  const auto loss = [](const Point& p) {
    return std::abs(at(p, "a") - 2) + (1 - at(p, "b")) + at(p, "c") + std::abs(at(p, "d") - 1);
  };
  const auto trials = tried(four(), 7, [&](const Point& p) { return std::pair(loss(p), 0.0); });
  ASSERT_EQ(trials.size(), 7U);
  double least = 10;
  for (const auto& trial : trials) least = std::min(least, trial.values[0]);
  EXPECT_EQ(least, 0);
}

// Each trial differs from the best one before it in one parameter, as long as such points are left.
TEST(OneByOne, ChangesOneParameterAtATime) {
  const auto loss = [](const Point& p) { return std::sin(3 * at(p, "a") + 5 * at(p, "b") + 7 * at(p, "c") + 2 * at(p, "d")); };
  const auto trials = tried(four(), 100, [&](const Point& p) { return std::pair(loss(p), 0.0); });
  ASSERT_EQ(trials.size(), 36U);  // all of them, once
  size_t best = 0;
  for (size_t i = 1; i < trials.size(); i++) {
    const size_t count = changes(trials[i].point, trials[best].point);
    if (count != 1) {
      for (size_t k = 0; k < 36; k++) {
        const Point other = four().at(k);
        const bool known = std::any_of(trials.begin(), trials.begin() + static_cast<ptrdiff_t>(i),
                                       [&](const auto& t) { return t.point == other; });
        EXPECT_TRUE(known || changes(other, trials[best].point) >= count) << i;
      }
    }
    if (trials[i].values[0] < trials[best].values[0]) best = i;
  }
}

// What helps stays only within the constraint; the turn goes on behind it.
TEST(OneByOne, KeepsWithinConstraints) {
  const auto measured = [](const Point& p) {
    const double bytes = at(p, "a") * 2 + at(p, "b") * 3 + at(p, "c") * 1 + at(p, "d") * 2;
    return std::pair(-bytes, bytes - 4.5);
  };
  const auto trials = tried(four(), 12, measured);
  const Trial* best = &trials.front();
  for (const auto& trial : trials) {
    if (trial.violation() == 0 && trial.values[0] < best->values[0]) best = &trial;
  }
  EXPECT_EQ(best->values[0], -4);
  EXPECT_GT(std::ranges::count_if(trials, [](const auto& trial) { return trial.violation() > 0; }), 1);
}

TEST(OneByOne, WhatItCannotDoIsSaid) {
  const auto sampler = samplers::table().make("coordinate_descent");
  const Space ranges = Space::parse(
      parse_json(R"({"a": [0, 1], "a_params": {"x": {"type": "float", "low": 0, "high": 1}, "only_if": "a"}})", "the test"));
  EXPECT_NE(test::error_of([&] { sampler->check(ranges); }).find("a_params_x"), std::string::npos);
  const Direction two[] = {Direction::minimize, Direction::minimize};
  EXPECT_NE(test::error_of([&] { check_objectives(*sampler, two); }).find("tpe"), std::string::npos);
}

}  // namespace
}  // namespace quasar::search
