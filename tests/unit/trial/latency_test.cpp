#include <gtest/gtest.h>

#include "quasar/trial/trial.hpp"
#include "unit/tune/made_up_trials.hpp"

namespace quasar::tune {
namespace {

double latency_of_float(double float_ms) {
  Json words = digits_words();
  words["objectives"] = {{{"metric", "latency"}}};
  const MadeUpTrials trials(words);
  TrialContext context = trials.trial_context();
  context.float_ms = float_ms;
  Undisturbed::Work work(context.undisturbed);
  return measured(context, context.model, {}, work, runtime::Device()).at("latency");
}

// A trial's latency is told by the pace at which the study began: how many times as long as the float model beside it.
TEST(Latency, IsMeasuredInTurnsWithTheFloatModel) {
  constexpr double made_up = 1e6;  // no machine takes a quarter of an hour for the digits
  EXPECT_GT(latency_of_float(made_up), made_up / 5);
  EXPECT_LT(latency_of_float(made_up), made_up * 5);
}

TEST(Latency, IsThatOfThisMomentWhereTheStudyKnowsNone) {
  EXPECT_LT(latency_of_float(0), 1e5);
  EXPECT_GT(latency_of_float(0), 0);
}

}  // namespace
}  // namespace quasar::tune
