// What is foreseen of a model without rounding it.
#include "quasar/trial/foresight.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "quasar/job/precision.hpp"
#include "unit/tune/scored_trials.hpp"

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

// What another process would have taken and answered, in memory.
class SharedInMemory final : public search::Answers {
 public:
  Known ask(int64_t /*study*/, std::span<const std::string> questions) override {
    Known out;
    for (const auto& question : questions) {
      const auto found = said_.find(question);
      if (found != said_.end() && !found->second.is_null()) out.answers.insert(*found);
      const bool is_free = found == said_.end();
      if (!is_free || out.mine) continue;
      said_[question] = nullptr;
      if (leave_first && std::exchange(leave_first, false)) continue;  // another process has just taken it
      out.mine = question;
    }
    return out;
  }
  void answer(int64_t /*study*/, const std::string& question, const Json& answer) override {
    given.push_back(question);
    if (said_[question].is_null()) said_[question] = answer;
  }
  void forget(int64_t /*study*/, const std::string& question) override { said_.erase(question); }
  void say(const std::string& question, const Json& answer) { said_[question] = answer; }

  std::vector<std::string> given;
  bool leave_first = false;

 private:
  std::map<std::string, Json> said_;
};

struct Walker {
  explicit Walker(const MadeUpTrials& trials, SharedInMemory* shared)
      : foresight(trials.trial_context(), 0, {.answers = shared, .study = 1}) {
    const search::Point from = with(trials, rounded);
    EXPECT_TRUE(foresight.begin(finished(from, scored(trials, from))));
    for (const char* node : {"softmax", "head/fc", "stem/conv"})
      points.push_back(with(trials, {{"algorithms", "adaquant"}, {precision_of(node), in_float}}));
  }
  std::vector<bool> go() {
    std::vector<bool> heard;
    foresight.go([&](const Foresight::Asking& meets) {
      heard.clear();
      for (const auto& point : points) heard.push_back(meets(point, 1));
    });
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
  shared.leave_first = true;
  EXPECT_EQ(one.go(), expected);
  EXPECT_EQ(shared.given.size(), expected.size()) << "what another process took and never answered is looked at, too";
  EXPECT_EQ(two.go(), expected);
  EXPECT_EQ(two.foresight.samples_run(), 0U) << "all of it was known";
}

// Where others look at all that comes after a no, this process looks at what comes after a yes.
TEST(Foresight, GoesOnBehindWhatOthersLookAt) {
  const MadeUpTrials trials(words_for(1.1 * distance(softmax_in_float, 16), 16));
  SharedInMemory shared, taken;
  Walker one(trials, &shared), two(trials, &taken);
  const auto asked_behind = [](Walker& walker) {
    std::vector<bool> heard;
    walker.foresight.go([&](const Foresight::Asking& meets) {
      heard = {meets(walker.points[0], 1)};
      if (heard.front()) heard.push_back(meets(walker.points[1], 1));
    });
    return heard;
  };
  const std::vector<bool> expected = asked_behind(one);
  ASSERT_EQ(expected.size(), 2U) << "the first is a yes";
  ASSERT_EQ(shared.given.size(), 2U);
  taken.say(shared.given[0], nullptr);
  EXPECT_EQ(asked_behind(two), expected);
  ASSERT_EQ(taken.given.size(), 2U);
  EXPECT_EQ(taken.given[0], shared.given[1]) << "before it looks at what another has taken";
}

TEST(Foresight, BelievesNoAnswerThatMakesNoSense) {
  const MadeUpTrials trials(words_for(1.1 * distance(softmax_in_float, 16), 16));
  SharedInMemory first, forged;
  Walker alone(trials, nullptr), one(trials, &first), two(trials, &forged);
  const std::vector<bool> expected = alone.go();
  one.go();
  const std::vector<Json> nonsense{"yes", {0.0, true}, {0.0}};
  ASSERT_EQ(first.given.size(), nonsense.size());
  for (size_t i = 0; i < nonsense.size(); ++i) forged.say(first.given[i], nonsense[i]);
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
