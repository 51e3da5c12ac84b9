// Work in parts that processes of one study do together.
#include "quasar/trial/shared_work.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>

#include "quasar/job/precision.hpp"
#include "quasar/rounding/refinement_check.hpp"
#include "quasar/trial/ranking.hpp"
#include "unit/tune/scored_trials.hpp"
#include "unit/tune/shared_in_memory.hpp"

namespace quasar::tune {
namespace {

constexpr WorkShares impatient{.seconds = 0.01, .little = 0, .patience = 0.02};

// Part i gives i + 1 numbers.
struct Counted {
  PartedWork work(size_t parts) {
    found.assign(parts, {});
    return {.name = "roots",
            .parts = parts,
            .threads = 2,
            .numbers = [](size_t part) { return part + 1; },
            .work =
                [this](size_t part) {
                  done++;
                  std::this_thread::sleep_for(std::chrono::microseconds(pause));
                  std::vector<double> out;
                  for (size_t i = 0; i <= part; i++) out.push_back(std::sqrt(static_cast<double>(part)) / (1.0 + i));
                  return out;
                },
            .tell =
                [this](size_t part, std::span<const double> numbers) {
                  told++;
                  found[part].assign(numbers.begin(), numbers.end());
                  return told < most;
                }};
  }

  std::vector<std::vector<double>> found;
  std::atomic<size_t> done = 0;
  size_t told = 0, most = SIZE_MAX;
  int pause = 0;  // microseconds
};

std::vector<std::vector<double>> done_alone(size_t parts) {
  Counted alone;
  do_parts(Sharer(), alone.work(parts));
  EXPECT_EQ(alone.done, parts);
  return alone.found;
}

TEST(SharedWork, IsDoneOnceAndComesOutAlikeEverywhere) {
  for (const size_t parts : {1U, 5U, 16U, 50U}) {
    SharedInMemory shared;
    const Sharer sharer = sharer_with({&shared, 1}, {.seconds = 0.01, .little = 0, .patience = 600});
    Counted one, two;
    one.pause = two.pause = 2000;
    {
      const std::jthread other([&] { do_parts(sharer, two.work(parts)); });
      do_parts(sharer, one.work(parts));
    }
    EXPECT_EQ(one.found, done_alone(parts));
    EXPECT_EQ(two.found, done_alone(parts));
    EXPECT_EQ(one.done + two.done, parts) << "no part twice";
    EXPECT_LE(shared.taken(), 16U) << "rows in the study";
    Counted late;
    do_parts(sharer, late.work(parts));
    EXPECT_EQ(late.found, one.found);
    EXPECT_EQ(late.done, 0U) << "all of it was known";
  }
}

TEST(SharedWork, AProcessThatDiesCostsTimeOnly) {
  SharedInMemory shared;
  shared.dead = 3;
  Counted one;
  one.pause = 500;
  do_parts(sharer_with({&shared, 1}, impatient), one.work(20));
  EXPECT_EQ(one.found, done_alone(20));
  EXPECT_EQ(one.done, 20U);
}

TEST(SharedWork, EndsWhereTheRestIsNotNeeded) {
  SharedInMemory shared;
  Counted one;
  one.most = 3;
  one.pause = 5000;
  do_parts(sharer_with({&shared, 1}, impatient), one.work(50));
  EXPECT_EQ(one.told, 3U);
  EXPECT_LT(one.done, 50U);
}

TEST(SharedWork, BelievesNoAnswerThatMakesNoSense) {
  for (const Json& nonsense : {Json("yes"), Json{1.0}, Json{1, 2, 3, "4"}, Json{1, 2, 3, nullptr}, Json::object()}) {
    SharedInMemory shared;
    shared.say("roots 3", nonsense);
    Counted one;
    one.pause = 2000;
    do_parts(sharer_with({&shared, 1}, impatient), one.work(5));
    EXPECT_EQ(one.found, done_alone(5)) << nonsense;
  }
}

TEST(SharedWork, IsDoneHereWhereTheStudyTellsAnError) {
  SharedInMemory shared;
  shared.broken = true;
  Counted one;
  do_parts(sharer_with({&shared, 1}, impatient), one.work(5));
  EXPECT_EQ(one.found, done_alone(5));
  EXPECT_FALSE(sharer_with({})) << "nobody to share with";
}

TEST(SharedWork, WhatFailsIsLeftToOthers) {
  SharedInMemory shared;
  Counted one;
  PartedWork work = one.work(5);
  work.work = [](size_t) -> std::vector<double> { throw Error("no such operator"); };
  EXPECT_THROW(do_parts(sharer_with({&shared, 1}, impatient), work), Error);
  EXPECT_EQ(shared.taken(), 0U);
}

TEST(SharedWork, WhatIsAtHandIsToldAtOnce) {
  SharedInMemory shared;
  Counted one, two;
  PartedWork known = one.work(40);
  known.at_hand = true;
  do_parts(sharer_with({&shared, 1}, impatient), known);
  EXPECT_EQ(shared.asked, 0U);
  do_parts(sharer_with({&shared, 1}, impatient), two.work(40));
  EXPECT_EQ(two.found, done_alone(40));
  EXPECT_EQ(two.done, 0U);
}

// Asking takes longer than what is left.
TEST(SharedWork, LittleWorkIsNotShared) {
  SharedInMemory shared;
  Counted one;
  do_parts(sharer_with({&shared, 1}, {.little = 1e9}), one.work(16));
  EXPECT_EQ(one.found, done_alone(16));
  EXPECT_EQ(shared.asked, 1U);
}

// By node: the errors by which operators are ranked.
std::map<std::string, std::vector<double>> ranked(const Sharer& sharer) {
  const MadeUpTrials trials(digits_words());
  const TrialContext& context = trials.trial_context();
  std::set<std::string> nodes;
  for (const auto& node : context.model.nodes) nodes.insert(node.name);
  std::map<std::string, std::vector<double>> out;
  const data::DatasetPtr few = data::first(data::DatasetPtr(data::DatasetPtr(), &context.samples), 5);
  for (const UnitError& unit : by_gain(context, trials.default_point(), nodes, *few, sharer))
    out[unit.unit.node] = {unit.work, unit.noise_to_signal, unit.output_error};
  return out;
}

TEST(SharedWork, RanksOperatorsAlike) {
  SharedInMemory shared;
  const Sharer sharer = sharer_with({&shared, 1}, impatient);
  const auto alone = ranked({});
  EXPECT_GT(alone.size(), 3U);
  EXPECT_EQ(ranked(sharer), alone);
  const size_t given = shared.given.size();
  EXPECT_GT(given, 0U);
  EXPECT_EQ(ranked(sharer), alone);
  EXPECT_EQ(shared.given.size(), given) << "all of it was known";
}

// A plan's hash does not know of refined scales.
TEST(SharedWork, RefinedModelsHaveNamesOfTheirOwn) {
  const MadeUpTrials trials(digits_words());
  const TrialContext& context = trials.trial_context();
  quant::Plan plan = plan_of(context, quant::parse_config(words_of(context.space, trials.default_point())));
  std::set<std::string> names;
  const Sharer sharer = [&](const PartedWork& work) {
    names.insert(work.name);
    do_parts(work);
  };
  RefinementCheck check(context.model, trials.setting.samples.calibration, 1, size_t{1} << 20, sharer);
  const double before = check.error_of(plan);
  quant::QuantParams wider = plan.values.begin()->second;
  wider.scales[0] *= 16;
  plan.refined[plan.values.begin()->first] = wider;
  EXPECT_NE(check.error_of(plan), before);
  EXPECT_EQ(names.size(), 2U);
}

// Hash of the model, with scales of activations and codes.
std::string refined(const Sharer& sharer) {
  const MadeUpTrials trials(digits_words());
  const TrialContext& context = trials.trial_context();
  const Variants::SharedRounding rounding(context.variants, sharer);
  const search::Point point = with(trials, {{"algorithms", "adaquant"}, {"adaquant_params_refine_activations", true}});
  const quant::Config config = quant::parse_config(words_of(context.space, point));
  return content_of(build(context, config, plan_of(context, config)).model, {});
}

TEST(SharedWork, RefinesScalesAlike) {
  SharedInMemory shared;
  const Sharer sharer = sharer_with({&shared, 1}, impatient);
  const std::string alone = refined({});
  EXPECT_EQ(refined(sharer), alone);
  const size_t given = shared.given.size();
  EXPECT_GT(given, 0U);
  EXPECT_EQ(refined(sharer), alone);
  EXPECT_EQ(shared.given.size(), given) << "all of it was known";
}

}  // namespace
}  // namespace quasar::tune
