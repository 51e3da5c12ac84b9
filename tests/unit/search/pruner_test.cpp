#include "quasar/search/pruner.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <numeric>

#include "quasar/base/rng.hpp"
#include "quasar/search/racer.hpp"

namespace quasar::search {
namespace {

using SampleLosses = std::vector<double>;

// SampleLosses of a population of samples, drawn anew for every seed.
SampleLosses drawn(size_t count, uint64_t seed, const std::function<double(Rng&)>& draw) {
  Rng rng(seed);
  SampleLosses out(count);
  for (double& loss : out) loss = draw(rng);
  return out;
}

SampleLosses in_order(const SampleLosses& losses, const std::vector<size_t>& order) {
  SampleLosses out;
  for (const size_t i : order) out.push_back(losses[i]);
  return out;
}

// The number of samples after which the pruner gives the trial up; all of them if it does not. Looks after every sample.
size_t scored(const Pruner& pruner, Race race, const SampleLosses& losses) {
  race.total = losses.size();
  for (size_t n = 1; n < losses.size(); ++n) {
    race.before = n - 1;
    race.losses = std::span(losses).first(n);
    if (pruner.gives_up(race)) return n;
  }
  return losses.size();
}

std::unique_ptr<Pruner> confidence(double alpha) {
  return pruners::table().make("confidence", {{"alpha", alpha}});
}

double bell(Rng& rng) {
  return 2 + 0.5 * rng.normal();
}

// The error rate at the edge of the hypothesis: equal means, as different as can be in every sample. The order is what is random.
TEST(Confidence, KeepsItsErrorRateForEveryDistribution) {
  const std::vector<std::pair<const char*, std::function<double(Rng&)>>> kinds{
      {"bell", [](Rng& rng) { return std::abs(bell(rng)); }},
      {"shares", [](Rng& rng) { return rng.uniform() < 0.3 ? 1.0 : 0.0; }},
      {"heavy tail", [](Rng& rng) { return std::pow(1 - rng.uniform(), -0.6); }},
  };
  constexpr size_t count = 200, runs = 1500;
  constexpr double alpha = 0.1;
  for (const auto& [name, draw] : kinds) {
    const SampleLosses incumbent = drawn(count, 1, draw);
    SampleLosses losses = in_order(incumbent, Rng(2).permutation(count));  // the same values at other samples: the same mean
    size_t lost = 0;
    for (size_t run = 0; run < runs; ++run) {
      const auto order = Rng(run + 10).permutation(count);
      const SampleLosses theirs = in_order(incumbent, order), mine = in_order(losses, order);
      // One look near the end finds what looks after every sample would have found.
      const auto seen = std::span(mine).first(count - 1);
      lost += confidence(alpha)->gives_up({.losses = seen, .total = count, .incumbent = theirs, .rivals = 1});
    }
    // Three standard deviations of the count above alpha.
    EXPECT_LE(static_cast<double>(lost), runs * alpha + 3 * std::sqrt(runs * alpha)) << name;
  }
}

TEST(Confidence, DropsWhatIsClearlyWorseSoon) {
  const SampleLosses incumbent = drawn(400, 1, [](Rng& rng) { return 0.12 + 0.05 * rng.uniform(); });
  const SampleLosses losses = drawn(400, 2, [](Rng& rng) { return 0.5 + 0.2 * rng.uniform(); });
  EXPECT_LT(scored(*confidence(0.05), {.incumbent = incumbent, .rivals = 20}, losses), 20u);
}

TEST(Confidence, KeepsWhatIsBetter) {
  const SampleLosses incumbent = drawn(400, 1, bell);
  SampleLosses losses = incumbent;
  for (double& loss : losses) loss *= 0.999;
  EXPECT_EQ(scored(*confidence(0.5), {.incumbent = incumbent, .rivals = 1}, losses), 400u);
  EXPECT_EQ(scored(*confidence(0.5), {.incumbent = incumbent, .rivals = 1}, incumbent), 400u);  // a tie
  EXPECT_EQ(scored(*confidence(0.5), {.rivals = 0}, losses), 400u);                             // nobody to lose against
}

TEST(Confidence, DropsWhatCannotCatchUpAnyMoreWhateverAlpha) {
  const SampleLosses incumbent(100, 1.0);
  SampleLosses losses(100, 0.9);
  losses[0] = 200;  // the other 99 cannot save more than 99
  EXPECT_EQ(scored(*confidence(1e-12), {.incumbent = incumbent, .rivals = 1}, losses), 1u);
}

TEST(Confidence, KeepsWhatMayBeACandidate) {
  const SampleLosses incumbent = drawn(400, 1, [](Rng& rng) { return 0.1 + 0.01 * rng.uniform(); });
  const SampleLosses losses = drawn(400, 2, [](Rng& rng) { return 0.2 + 0.01 * rng.uniform(); });
  EXPECT_LT(scored(*confidence(0.05), {.incumbent = incumbent, .rivals = 5}, losses), 100u);
  EXPECT_EQ(scored(*confidence(0.05), {.incumbent = incumbent, .rivals = 5, .good_enough = 0.21}, losses), 400u);
}

TEST(Confidence, ALargerFieldNeedsMoreEvidence) {
  const SampleLosses incumbent = drawn(2000, 1, bell), losses = drawn(2000, 2, [](Rng&rng) { return 2.15 + 0.5 * rng.normal(); });
  const size_t few = scored(*confidence(0.05), {.incumbent = incumbent, .rivals = 1}, losses);
  const size_t many = scored(*confidence(0.05), {.incumbent = incumbent, .rivals = 1000}, losses);
  EXPECT_LT(few, many);
  EXPECT_LT(many, 2000u);
}

TEST(Halving, OnlyTheBestShareGoesOn) {
  const auto pruner = pruners::table().make("halving", {{"reduction_factor", 4}, {"min_samples", 16}});
  const SampleLosses losses(16, 0.5);
  const SampleLosses reached{0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8};
  const auto gives_up = [&](const SampleLosses& others, size_t before) {
    return pruner->gives_up({.losses = losses, .before = before, .total = 400, .reached = others});
  };
  EXPECT_TRUE(gives_up(reached, 0));
  EXPECT_FALSE(gives_up(reached, 16));                             // between rungs nobody is judged
  EXPECT_FALSE(gives_up({0.6, 0.7}, 0));                           // the best of all
  EXPECT_FALSE(gives_up({0.4, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1}, 0));  // the second of eight
  EXPECT_FALSE(pruner->gives_up({.losses = losses, .total = 400, .good_enough = 0.5, .reached = reached}));
}

TEST(Median, WorseThanTheMedianOfCompleteTrialsIsGivenUp) {
  const auto pruner = pruners::table().make("median", {{"n_startup_trials", 3}});
  const SampleLosses losses(16, 0.5);
  const auto gives_up = [&](const SampleLosses& completed) {
    return pruner->gives_up({.losses = losses, .total = 400, .completed = completed});
  };
  EXPECT_TRUE(gives_up({0.1, 0.4, 0.9}));
  EXPECT_FALSE(gives_up({0.1, 0.6, 0.9}));
  EXPECT_TRUE(gives_up({0.1, 0.3, 0.6, 0.9}));
  EXPECT_FALSE(gives_up({0.1, 0.4}));
}

// A search over 20 configurations whose means lie close together, on a population of 240 samples.
struct Field {
  static constexpr size_t count = 240, configurations = 20;
  std::vector<SampleLosses> losses;
  size_t winner = 0;

  explicit Field(uint64_t seed) {
    const SampleLosses hard = drawn(count, seed, [](Rng& rng) { return 0.5 + rng.uniform(); });  // what all share
    for (size_t c = 0; c < configurations; ++c) {
      Rng rng(seed * 1000 + c);
      const double level = 1 + 0.5 * rng.uniform();
      losses.push_back(drawn(count, seed * 1000 + 500 + c, [&](Rng& noise) { return level + 0.4 * noise.normal(); }));
      for (size_t i = 0; i < count; ++i) losses[c][i] = std::max(0.0, losses[c][i]) * hard[i];
      if (mean_of(losses[c]) < mean_of(losses[winner])) winner = c;
    }
  }
};

struct Ran {
  int64_t best = -1;
  size_t pruned = 0, samples = 0;
};

Ran run_field(const Field& field, const std::string& pruner, uint64_t seed, size_t n_jobs = 1) {
  const auto order = Rng(seed).permutation(Field::count);
  std::vector<int> names(Field::configurations);
  std::iota(names.begin(), names.end(), 0);
  const Space space = Space::parse({{"c", names}});
  const auto storage = open_storage("memory");
  Study study(*storage, {});
  Racer racer(pruners::table().make(pruner), {}, study.trials());
  std::atomic<size_t> samples = 0;
  const auto random = samplers::table().make("random");
  run({.seed = seed, .n_jobs = n_jobs}, study, space, *random, {}, [&](RunningTrial& job) -> Outcome {
    const SampleLosses mine = in_order(field.losses[job.point().find("c")->get<size_t>()], order);
    for (size_t n = 24; n <= Field::count; n += 24) {
      const auto seen = std::span(mine).first(n);
      samples += 24;
      if (racer.gives_up(job, seen, Field::count)) return {.values = {mean_of(seen)}, .pruned = true};
    }
    return {.values = {mean_of(mine)}};
  });
  Ran out{.best = study.best()->point.find("c")->get<int64_t>(), .samples = samples};
  for (const Trial& trial : study.trials()) {
    out.pruned += trial.state == State::pruned;
    EXPECT_EQ(trial.intermediate.size(), trial.state == State::pruned ? trial.intermediate.rbegin()->first / 24 : 10);
  }
  return out;
}

// The promise: the winner of the search without pruning is lost with probability alpha (0.05) at most.
TEST(Racer, ConfidenceLosesTheWinnerNoMoreOftenThanAlpha) {
  constexpr size_t fields = 300;
  size_t lost = 0, pruned = 0, samples = 0;
  for (uint64_t seed = 0; seed < fields; ++seed) {
    const Field field(seed + 1);
    const Ran ran = run_field(field, "confidence", seed, seed % 4 == 0 ? 3 : 1);
    lost += ran.best != static_cast<int64_t>(field.winner);
    pruned += ran.pruned;
    samples += ran.samples;
  }
  EXPECT_LE(lost, fields * 0.05);
  EXPECT_GT(pruned, fields * Field::configurations / 2);
  EXPECT_LT(samples, fields * Field::configurations * Field::count * 7 / 10);
}

TEST(Racer, TheWinnerIsScoredInFullWhateverThePruner) {
  const Field field(3);
  for (const auto& name : pruners::table().names()) {
    const Ran ran = run_field(field, name, 5);
    EXPECT_GE(ran.best, 0) << name;
    EXPECT_EQ(ran.pruned > 0, name != "none") << name;
    if (name == "none") {
      EXPECT_EQ(ran.best, static_cast<int64_t>(field.winner));
    }
  }
}

struct FakeJob final : RunningTrial {
  explicit FakeJob(int64_t which = 0) : id(which) {}
  Point where;
  int64_t id;
  std::map<int64_t, double> reports;
  const Point& point() const override { return where; }
  int64_t number() const override { return id; }
  uint64_t seed() const override { return 0; }
  std::stop_token stop() const override { return {}; }
  std::optional<int64_t> claim(const std::string&) override { return std::nullopt; }
  void report(int64_t step, double value) override { reports[step] = value; }
};

// What another process has found is compared with as one's own; what is no race's values is passed over.
TEST(Racer, LearnsFromOtherProcesses) {
  const RacerOptions options{.direction = Direction::maximize, .best_possible = 1, .told = 64};
  Racer here(pruners::table().make("confidence"), options, {}), there(pruners::table().make("confidence"), options, {});
  const std::vector<double> good(64, 1), bad(64, 0);
  FakeJob best(0), poor(1), again(2);
  EXPECT_FALSE(there.gives_up(best, good, 64));
  Trial told;
  told.number = 0;
  told.state = State::complete;
  told.values = {1};
  EXPECT_TRUE(there.news_of(7).is_null());
  for (const Json& wrong : {Json("1"), Json::array({1, 2}), Json::array()}) {
    told.user_attributes[best_values_attribute] = wrong;
    here.learn(told);
    EXPECT_FALSE(here.gives_up(poor, std::span(bad).first(32), 64)) << wrong;
  }
  told.user_attributes[best_values_attribute] = there.news_of(0);
  ASSERT_EQ(told.user_attributes[best_values_attribute].size(), 64u);
  here.learn(told);
  EXPECT_TRUE(here.gives_up(again, std::span(bad).first(32), 64));
  EXPECT_TRUE(here.news_of(0).is_null());  // another process has told it
}

TEST(Racer, WhatIsSparedIsScoredInFull) {
  RacerOptions options{.direction = Direction::maximize, .best_possible = 1};
  bool spared = false;
  options.is_spared = [&](const Point&) { return spared; };
  Racer racer(pruners::table().make("confidence"), options, {});
  const std::vector<double> good(64, 1), bad(64, 0);
  FakeJob best(0), poor(1);
  racer.gives_up(best, good, 64);
  EXPECT_TRUE(racer.gives_up(poor, std::span(bad).first(32), 64));
  spared = true;
  EXPECT_FALSE(racer.gives_up(poor, std::span(bad).first(40), 64));
}

// A racer that begins with earlier trials answers as the one that has seen them run.
TEST(Racer, ResumedAnswersAreTheSame) {
  const SampleLosses shares = drawn(64, 1, [](Rng& rng) { return rng.uniform() < 0.8 ? 1.0 : 0.0; });
  const SampleLosses worse = drawn(64, 2, [](Rng& rng) { return rng.uniform() < 0.4 ? 1.0 : 0.0; });
  const RacerOptions options{.direction = Direction::maximize, .best_possible = 1};
  const auto race = [&](Racer& racer, FakeJob& job, const SampleLosses& values) {
    for (size_t n = 8; n <= values.size(); n += 8) {
      if (racer.gives_up(job, std::span(values).first(n), values.size())) return n;
    }
    return values.size();
  };
  for (const auto& name : pruners::table().names()) {
    Racer whole(pruners::table().make(name), options, {});
    FakeJob first, second;
    second.id = 1;
    EXPECT_EQ(race(whole, first, shares), 64u);
    const size_t expected = race(whole, second, worse);
    Trial done;
    done.number = 0;
    done.state = State::complete;
    done.values = {mean_of(shares)};
    done.intermediate = first.reports;
    Racer resumed(pruners::table().make(name), options, std::span(&done, 1));
    resumed.crown(shares);
    EXPECT_EQ(race(resumed, second, worse), expected) << name;
  }
}

}  // namespace
}  // namespace quasar::search
