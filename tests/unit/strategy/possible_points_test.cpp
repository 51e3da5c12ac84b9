#include "quasar/strategy/possible_points.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "quasar/job/precision.hpp"

namespace quasar::tune {
namespace {

const search::Space& space() {
  static const search::Space all = search::Space::parse(
      Json{{"node a", {quantized, in_float}}, {"node b", {quantized, in_float}}, {"node c", {quantized, in_float}}});
  return all;
}

// Wants everything in float, and after that the points of the space from the last one on.
struct Stubborn final : search::Sampler {
  std::optional<search::Point> next(const search::History& history, Rng&) override {
    for (uint64_t i = *space().size(); i-- > 0;) {
      const auto is_known = [&](const search::Trial& trial) { return trial.point == space().at(i); };
      if (std::ranges::none_of(history.trials, is_known)) return space().at(i);
    }
    return std::nullopt;
  }
};

// Operator c alone makes no quantized model.
bool something_left(const search::Point& point) {
  return precision_at(point, "a") == quantized || precision_at(point, "b") == quantized;
}

TEST(PossiblePoints, ProposeWhatCanBeTriedUntilNothingIsLeft) {
  Stubborn inner;
  size_t asked = 0;
  const auto sampler = possible_points(inner, [&](const search::Point& point) {
    asked++;
    return something_left(point);
  });
  std::vector<search::Trial> trials;
  const std::vector<Direction> directions{Direction::minimize};
  const search::Cost cost;
  Rng rng(1);
  for (;;) {
    const auto point = sampler->next({space(), trials, directions, cost, 0}, rng);
    if (!point) break;
    EXPECT_TRUE(something_left(*point));
    for (const auto& trial : trials) EXPECT_FALSE(trial.point == *point) << "tried again";
    if (trials.empty()) {
      EXPECT_EQ(float_nodes(*point).size(), 2U) << "next to the one that was wanted";
    }
    trials.emplace_back();
    trials.back().number = static_cast<int64_t>(trials.size()) - 1;
    trials.back().state = search::State::complete;
    trials.back().point = *point;
    ASSERT_LE(trials.size(), 6U);
  }
  EXPECT_EQ(trials.size(), 6U);
  EXPECT_EQ(asked, 8U) << "each point once";
}

}  // namespace
}  // namespace quasar::tune
