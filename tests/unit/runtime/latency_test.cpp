#include "quasar/runtime/latency.hpp"

#include <gtest/gtest.h>

#include <array>

#include "models.hpp"
#include "quasar/base/error.hpp"
#include "quasar/base/stopwatch.hpp"

namespace quasar::runtime {
namespace {
using namespace quasar::test;

class Fixed final : public data::Dataset {
 public:
  explicit Fixed(size_t size) : size_(size) {}
  size_t size() const override { return size_; }
  data::Sample at(size_t index) const override { return {random_tensor({1, 3}, index)}; }
  std::optional<int64_t> label(size_t) const override { return std::nullopt; }
  std::string source() const override { return "fixed"; }

 private:
  size_t size_;
};

TEST(Latency, MedianAndTail) {
  const Latency measured = latency(relu_times_two(), Fixed(3), {.turns = 20});
  EXPECT_EQ(measured.runs, 20U);
  EXPECT_GT(measured.median_ms, 0);
  EXPECT_GE(measured.p90_ms, measured.median_ms);
  EXPECT_THROW(latency(relu_times_two(), Fixed(0)), Error);
}

TEST(Latency, TurnsMeetAllModels) {
  const graph::Model model = relu_times_two();
  const std::array models{&model, &model, &model};
  const auto times = times_in_turn(models, Fixed(2), {.turns = 5});
  ASSERT_EQ(times.size(), 3U);
  for (const auto& of_model : times) EXPECT_EQ(of_model.size(), 5U);
  constexpr double at_least = 0.05;
  const Stopwatch watch;
  const auto longer = times_in_turn(models, Fixed(2), {.turns = 5, .at_least = at_least});
  EXPECT_GE(watch.seconds(), at_least);
  EXPECT_EQ(longer.front().size(), longer.back().size());
  EXPECT_THROW(times_in_turn(models, Fixed(0), {.turns = 5}), Error);
}

TEST(Latency, ARatioIsThatOfTheSameTurns) {
  // The machine is three times as slow in the second half, which meets both.
  std::vector<double> one, other;
  for (int i = 0; i < 40; i++) {
    other.push_back((i < 20 ? 1 : 3) * (1 + 0.01 * (i % 5)));
    one.push_back(1.5 * other.back() * (i % 2 == 0 ? 1.02 : 0.98));
  }
  const Ratio ratio = ratio_of(one, other);
  EXPECT_GT(ratio.median, 1.46);
  EXPECT_LT(ratio.median, 1.54);
  EXPECT_LE(ratio.low, ratio.median);
  EXPECT_GE(ratio.high, ratio.median);
  const Ratio alone = ratio_of(std::vector{3.0}, std::vector{2.0});
  EXPECT_EQ(alone.low, 1.5);
  EXPECT_EQ(alone.high, 1.5);
}

TEST(Latency, EndsWhenTheMedianIsKnown) {
  std::vector<double> quiet(20, 3.0), restless;
  for (int i = 0; i < 20; i++) restless.push_back(2 + i % 7 * 0.3);
  quiet[3] = 90, quiet[11] = 80;  // two interruptions say nothing of the median
  EXPECT_TRUE(is_settled(quiet));
  EXPECT_FALSE(is_settled(restless));
  quiet.pop_back();
  EXPECT_FALSE(is_settled(quiet)) << "too few";
}

// One kind of runs for all models that are compared.
TEST(Latency, ShortRunsAreMadeTwice) {
  EXPECT_TRUE(run_twice({{0.3, 40, 0.2}, {4.8, 4.9, 4.7}}));
  EXPECT_FALSE(run_twice({{0.3, 0.3, 0.2}, {5.5, 5.6, 5.7}}));
}

// One time of each model and turn, as with one thread; the turns are longer, as other models' threads have to go to sleep: three
// times, as the second turn begins with the model that ended the first.
TEST(Latency, OnSeveralThreadsATurnIsARowOfRuns) {
  const graph::Model model = relu_times_two();
  const std::array models{&model, &model};
  const Stopwatch watch;
  const auto times = times_in_turn(models, Fixed(2), {.turns = 2, .threads = 2});
  ASSERT_EQ(times.size(), 2U);
  for (const auto& of_model : times) {
    ASSERT_EQ(of_model.size(), 2U);
    for (const double time : of_model) EXPECT_GT(time, 0);
  }
  constexpr double sleeping = 0.04;
  EXPECT_GE(watch.seconds(), 3 * sleeping);
}

}  // namespace
}  // namespace quasar::runtime
