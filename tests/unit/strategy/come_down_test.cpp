// Operators return from float by fewer trials where foresight can tell what each is worth.
#include "quasar/strategy/come_down.hpp"

#include <gtest/gtest.h>

#include "quasar/job/precision.hpp"
#include "quasar/trial/ranking.hpp"
#include "unit/tune/scored_trials.hpp"

namespace quasar::tune {
namespace {

// Everything but the first operator is in float at the start.
class FromTheTop final : public Strategy {
 public:
  explicit FromTheTop(size_t quick, bool as_foreseen = false) : quick_(quick), as_foreseen_(as_foreseen) {}
  void check(const Job& /*job*/, const Spaces& /*spaces*/) const override {}

  Finding run(const StrategyContext& context) const override {
    const Json& first = context.job.spaces.front();
    RepairNotes notes(context,
                      rungs_of(context.job.tuning.approach, first, context.trial_context->model, context.trial_context->target));
    search::Sequence sequence({.stage = "repair"}, context.study, context.space, {}, context.objective);
    Changes changes{{"algorithms", "adaquant"}};
    const search::Point rounded = changed(context.space, tune::default_point(context.space), changes);
    const std::set<std::string>& nodes = notes.rungs().back().nodes;
    for (const auto& unit : by_gain(*context.trial_context, rounded, nodes, *context.samples)) {
      if (unit.unit.node != "stem/conv") changes.emplace_back(precision_of(unit.unit.node), in_float);
    }
    notes.note_ranking(by_gain(*context.trial_context, rounded, nodes, *context.samples));
    notes.note(sequence.evaluate(changed(context.space, rounded, changes)), "fall back", {});
    Foresight foresight(*context.trial_context, quick_);
    TrialsAhead ahead(sequence, context.study, foresight);
    if (as_foreseen_) {
      EXPECT_EQ(come_down_as_foreseen(context.space, ahead, notes, foresight), quick_ == 0);
    } else {
      come_down(context.space, ahead, notes, foresight);
    }
    Finding finding;
    finding.winner = notes.ground().number;
    return finding;
  }

 private:
  size_t quick_;
  bool as_foreseen_;
};

struct Found {
  size_t trials, in_float;
  double value;
};

Found from_the_top(double goal, size_t quick, bool as_foreseen = false) {
  Json words = digits_words();
  words["accuracy_criterion"]["tolerable_loss"] = goal;
  words["eval_data_reader"]["limit"] = 16;  // all of which foresight looks at
  MadeUpTrials trials(words);
  const Finding finding =
      trials.run(FromTheTop(quick, as_foreseen), [&](const search::Point& point) { return scored(trials, point); });
  const search::Trial winner = trials.study.at(*finding.winner);
  return {trials.study.trials().size(), float_nodes(winner.point).size(), winner.values.front()};
}

TEST(ComeDown, WhatForesightPromisesReturnsTogether) {
  Json words = digits_words();
  words["eval_data_reader"]["limit"] = 16;
  const MadeUpTrials trials(words);
  const double all_rounded = scored(trials, with(trials, {{"algorithms", "adaquant"}})).at("L2");
  const Found slow = from_the_top(1.05 * all_rounded, 1000), quick = from_the_top(1.05 * all_rounded, 0);
  EXPECT_LE(quick.in_float, slow.in_float);
  EXPECT_LT(quick.trials, slow.trials);
  EXPECT_LE(quick.trials, 4U);
}

TEST(ComeDown, ForesightEndsWhereTrialsDo) {
  const Found slow = from_the_top(0.0005, 1000), quick = from_the_top(0.0005, 0);
  EXPECT_LE(quick.in_float, slow.in_float + 1);
  EXPECT_LE(quick.value, 0.0005);
}

// Those that foresight only nearly promises are left for later.
TEST(ComeDown, TheBeginningIsWhatIsForeseen) {
  const Found untold = from_the_top(0.0005, 1000, true);
  EXPECT_EQ(untold.trials, 1U) << "nothing is foreseen, and nothing tried";
  const Found begun = from_the_top(0.0005, 0, true), whole = from_the_top(0.0005, 0);
  EXPECT_LT(begun.in_float, untold.in_float);
  EXPECT_LE(begun.value, 0.0005);
  EXPECT_LE(begun.trials, whole.trials);
  EXPECT_GE(begun.in_float, whole.in_float);
}

TEST(ComeDown, ForesightGoesTheSameWayEveryTime) {
  const Found one = from_the_top(0.0005, 0), two = from_the_top(0.0005, 0);
  EXPECT_EQ(one.trials, two.trials);
  EXPECT_EQ(one.value, two.value);
}

}  // namespace
}  // namespace quasar::tune
