// What is foreseen of a model without rounding it.
#include "quasar/trial/foresight.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "quasar/job/precision.hpp"
#include "unit/tune/scored_trials.hpp"
#include "unit/tune/shared_in_memory.hpp"

namespace quasar::tune {
namespace {

using Changes = std::vector<std::pair<std::string, Json>>;

const Changes rounded{{"algorithms", "adaquant"}};
const Changes softmax_in_float{{"algorithms", "adaquant"}, {precision_of("softmax"), in_float}};

Json words_for(double tolerable, int samples) {
  Json words = digits_words();
  words["accuracy_criterion"]["tolerable_loss"] = tolerable;
  words["eval_data_reader"]["limit"] = samples;
  return words;
}

search::Trial finished(const search::Point& point, const Measures& measures) {
  search::Trial trial;
  trial.number = 3;
  trial.state = search::State::complete;
  trial.point = point;
  trial.values = {measures.at("L2")};
  trial.user_attributes = {{"metrics", measures}};
  return trial;
}

double distance(const Changes& changes, int samples) {
  const MadeUpTrials trials(words_for(1, samples));
  return scored(trials, with(trials, changes)).at("L2");
}

// Whether a model is foreseen, from that with all layers rounded, to lose no more than this.
bool meets(const Changes& changes, double tolerable, int samples) {
  const MadeUpTrials trials(words_for(tolerable, samples));
  Foresight foresight(trials.trial_context(), 0);
  const search::Point from = with(trials, rounded);
  EXPECT_TRUE(foresight.begin(finished(from, scored(trials, from))));
  return foresight.meets(with(trials, changes));
}

TEST(Foresight, OfTheTrialItselfIsWhatItScored) {
  const double value = distance(rounded, 16);
  EXPECT_TRUE(meets(rounded, 1.0001 * value, 16));
  EXPECT_FALSE(meets(rounded, 0.9999 * value, 16));
}

// No layer stands behind the Softmax: rounding chooses the same codes with it in float.
TEST(Foresight, IsExactWhereNoLayerSeesTheChange) {
  const double value = distance(softmax_in_float, 16);
  EXPECT_LT(value, 0.9 * distance(rounded, 16));
  EXPECT_TRUE(meets(softmax_in_float, 1.0001 * value, 16));
  EXPECT_FALSE(meets(softmax_in_float, 0.9999 * value, 16));
}

TEST(Foresight, SomeOfManySamplesAreEnough) {
  const double value = distance(softmax_in_float, 300);
  EXPECT_TRUE(meets(softmax_in_float, 1.3 * value, 300));
  EXPECT_FALSE(meets(softmax_in_float, 0.7 * value, 300));
}

// Whether operators are given up before or after rounding makes no other model of the same codes.
TEST(Foresight, LooksAtEqualPlansOnce) {
  const MadeUpTrials trials(words_for(1, 16));
  Foresight foresight(trials.trial_context(), 0);
  const search::Point from = with(trials, rounded);
  ASSERT_TRUE(foresight.begin(finished(from, scored(trials, from))));
  EXPECT_TRUE(foresight.meets(with(trials, softmax_in_float)));
  EXPECT_EQ(foresight.samples_run(), 16u);
  Changes before = softmax_in_float;
  before.emplace_back(fallback_parameter, fallback_before_rounding);
  EXPECT_TRUE(foresight.meets(with(trials, before)));
  EXPECT_EQ(foresight.samples_run(), 16u);
}

TEST(Foresight, RefusesAsSoonAsNoRestCanHelp) {
  const double value = distance(softmax_in_float, 40);
  const MadeUpTrials trials(words_for(0.2 * value, 40));
  Foresight foresight(trials.trial_context(), 0);
  const search::Point from = with(trials, rounded), point = with(trials, softmax_in_float);
  ASSERT_TRUE(foresight.begin(finished(from, scored(trials, from))));
  EXPECT_FALSE(foresight.meets(point));
  const size_t first = foresight.samples_run();
  EXPECT_GT(first, 0u);
  EXPECT_LE(first, 20u) << "a fifth of the loss is reached on the hardest samples";
  EXPECT_FALSE(foresight.meets(point, 0.201)) << "what was seen so far is no value";
  EXPECT_GT(foresight.samples_run(), first);
  EXPECT_TRUE(foresight.meets(point, 0.199));
}

struct Walker {
  explicit Walker(const MadeUpTrials& trials, SharedInMemory* shared)
      : foresight(trials.trial_context(), 0, sharer_with({shared, 1}, {.little = 0, .patience = 0.02})) {
    const search::Point from = with(trials, rounded);
    EXPECT_TRUE(foresight.begin(finished(from, scored(trials, from))));
    for (const char* node : {"softmax", "head/fc", "stem/conv"})
      points.push_back(with(trials, {{"algorithms", "adaquant"}, {precision_of(node), in_float}}));
  }
  std::vector<bool> go() {
    std::vector<bool> heard;
    for (const auto& point : points) heard.push_back(foresight.meets(point));
    return heard;
  }
  Foresight foresight;
  std::vector<search::Point> points;
};

TEST(Foresight, IsSharedWithOtherProcesses) {
  const MadeUpTrials trials(words_for(1.1 * distance(softmax_in_float, 16), 16));
  SharedInMemory shared;
  Walker alone(trials, nullptr), one(trials, &shared), two(trials, &shared);
  const std::vector<bool> expected = alone.go();
  EXPECT_NE(std::ranges::count(expected, true), 0);
  EXPECT_NE(std::ranges::count(expected, false), 0);
  shared.dead = 2;
  EXPECT_EQ(one.go(), expected) << "what another process took and never answered is looked at, too";
  const size_t given = shared.given.size();
  EXPECT_GT(given, 0U);
  EXPECT_EQ(two.go(), expected);
  EXPECT_EQ(shared.given.size(), given) << "all of it was known";
}

// A trial that this process has scored tells others what its model has on each sample.
TEST(Foresight, TellsWhatTheTrialHadOnEachSample) {
  const MadeUpTrials trials(words_for(1, 16));
  const TrialContext& context = trials.trial_context();
  search::Trial trial = finished(with(trials, rounded), scored(trials, with(trials, rounded)));
  const quant::Config config = quant::parse_config(words_of(context.space, trial.point));
  const quant::Plan plan = plan_of(context, config);
  const graph::Model model = build(context, config, plan).model;
  trial.user_attributes[content_attribute] = content_of(model, plan);
  SharedInMemory shared;
  Foresight first(context, 0, sharer_with({&shared, 1}, {.little = 0})),
      second(context, 0, sharer_with({&shared, 1}, {.little = 0}));
  keep(context, trial.number, context.evaluator.score(model), trial.values.front(), model);
  ASSERT_TRUE(first.begin(trial));
  EXPECT_EQ(shared.given.size(), 16U);
  EXPECT_EQ(shared.asked, 0U) << "nothing was run for it";
  ASSERT_TRUE(second.begin(trial));
  const search::Point point = with(trials, softmax_in_float);
  Foresight alone(context, 0);
  ASSERT_TRUE(alone.begin(trial));
  EXPECT_EQ(second.meets(point), alone.meets(point));
  search::Trial other = trial;
  other.user_attributes[content_attribute] = "another model";
  Foresight third(context, 0, sharer_with({&shared, 1}, {.little = 0}));
  EXPECT_TRUE(third.begin(other)) << "it is looked at";
  EXPECT_GT(shared.asked, 0U);
}

TEST(Foresight, BelievesNoAnswerThatMakesNoSense) {
  const MadeUpTrials trials(words_for(1.1 * distance(softmax_in_float, 16), 16));
  SharedInMemory first, forged;
  Walker alone(trials, nullptr), one(trials, &first), two(trials, &forged);
  const std::vector<bool> expected = alone.go();
  one.go();
  ASSERT_FALSE(first.given.empty());
  for (const auto& question : first.given) forged.say(question, {0.0, true});
  EXPECT_EQ(two.go(), expected);
}

TEST(Foresight, SaysNothingWhereTrialsAreQuick) {
  const MadeUpTrials trials(words_for(1, 16));
  const search::Point nearest = trials.default_point(), from = with(trials, rounded);
  Foresight usual(trials.trial_context()), any(trials.trial_context(), 0);
  EXPECT_FALSE(any.begin(finished(nearest, scored(trials, nearest)))) << "nothing was rounded";
  EXPECT_FALSE(any.meets(nearest));
  EXPECT_FALSE(usual.begin(finished(from, scored(trials, from)))) << "the example's layers are few";
}

TEST(Foresight, SaysNothingOfATrialThatScoredOtherwise) {
  const MadeUpTrials trials(words_for(1, 16));
  Foresight foresight(trials.trial_context(), 0);
  const search::Point from = with(trials, rounded);
  Measures measures = scored(trials, from);
  measures["L2"] *= 1.001;
  EXPECT_FALSE(foresight.begin(finished(from, measures)));
  search::Trial failed;
  failed.state = search::State::failed;
  failed.point = from;
  EXPECT_FALSE(foresight.begin(failed));
}

// ONNX Runtime looks at models where OpenVINO judges; for the trial itself the difference of both is taken off.
TEST(Foresight, OnnxRuntimeStandsInForAnotherJudge) {
  if (const std::string why = runtime::obstacle_to(runtime::Library::openvino); !why.empty()) GTEST_SKIP() << why;
  const auto judged = [](const MadeUpTrials& trials, const search::Point& point) {
    const TrialContext& context = trials.trial_context();
    const quant::Config config = quant::parse_config(words_of(context.space, point));
    return measures_of(
        context.evaluator.score(build(context, config, plan_of(context, config)).model, 1, context.devices.first()));
  };
  const auto words = [](double tolerable) {
    Json out = words_for(tolerable, 16);
    out["target"] = out["runtime"] = "openvino";
    return out;
  };
  const MadeUpTrials measured(words(1));
  const double value = judged(measured, with(measured, rounded)).at("L2");
  EXPECT_NE(value, scored(measured, with(measured, rounded)).at("L2")) << "both compute alike here: nothing is tested";
  for (const auto& [part, is_enough] : {std::pair{1.0001, true}, std::pair{0.9999, false}}) {
    const MadeUpTrials trials(words(part * value));
    Foresight foresight(trials.trial_context(), 0);
    const search::Point from = with(trials, rounded);
    Measures measures = judged(trials, from);
    ASSERT_TRUE(foresight.begin(finished(from, measures)));
    EXPECT_EQ(foresight.meets(from), is_enough);
    measures["L2"] += 3 * value;
    Foresight far(trials.trial_context(), 0);
    EXPECT_FALSE(far.begin(finished(from, measures))) << "both differ by more than may be lost";
  }
}

TEST(Foresight, PromisesNothingOfAModelThatDoesNotRun) {
  const MadeUpTrials trials(words_for(1, 16));
  Foresight foresight(trials.trial_context(), 0);
  const search::Point from = with(trials, rounded);
  ASSERT_TRUE(foresight.begin(finished(from, scored(trials, from))));
  const auto graph = trials.trial_context().variants.graph_of(quant::parse_config(words_of(trials.setting.spaces.all, from)));
  const_cast<graph::Model&>(graph->model).nodes.back().op_type = "NoSuchOperator";
  EXPECT_FALSE(foresight.meets(with(trials, softmax_in_float)));
}

}  // namespace
}  // namespace quasar::tune
