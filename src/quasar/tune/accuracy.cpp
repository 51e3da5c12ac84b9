#include "quasar/tune/accuracy.hpp"

#include <cmath>
#include <limits>

#include "quasar/base/plugin.hpp"

namespace quasar::tune {
namespace {

const std::vector<OptionSpec>& keys_of_criterion() {
  static const std::vector<OptionSpec> all{
      {.name = "higher_is_better", .fallback = nullptr, .help = "true or false; the metric's own when left out"},
      {.name = "criterion", .fallback = "relative", .help = "what the loss is measured in", .choices = {"relative", "absolute"}},
      {.name = "tolerable_loss",
       .fallback = 0.01,
       .help = "what may be lost: 0.01 is 1 % (relative), or 0.01 of the metric",
       .low = 0}};
  return all;
}

}  // namespace

AccuracyCriterion parse_criterion(const Json& words, const std::string& metric, search::Direction own) {
  if (!words.is_object()) throw Error("accuracy_criterion must be a mapping, not " + words.dump());
  const Options keys(keys_of_criterion(), words, "accuracy_criterion");
  AccuracyCriterion criterion;
  criterion.direction = own;
  criterion.relative = normalized(keys.text("criterion")) == "relative";
  criterion.tolerable_loss = keys.real("tolerable_loss");
  if (!keys.has("higher_is_better")) return criterion;
  const Json& higher = keys.json("higher_is_better");
  if (!higher.is_boolean())
    throw Error("accuracy_criterion.higher_is_better is " + higher.dump() + ", but must be true or false");
  if (higher.get<bool>() != (criterion.direction == search::Direction::maximize)) {
    throw Error("accuracy_criterion.higher_is_better is " + higher.dump() + ", but metric " + metric + " is better when " +
                (higher.get<bool>() ? "lower" : "higher") + "; leave the key out");
  }
  return criterion;
}

double goal_of(const AccuracyCriterion& criterion, double baseline) {
  const double loss = criterion.relative ? criterion.tolerable_loss * std::abs(baseline) : criterion.tolerable_loss;
  return criterion.direction == search::Direction::maximize ? baseline - loss : baseline + loss;
}

void check_reachable(const AccuracyCriterion& criterion, const std::string& metric, double baseline) {
  if (!std::isfinite(baseline)) {
    throw Error("accuracy_criterion: the float model's " + metric +
                " is not finite, so no loss can be measured against it; choose "
                "another search_metric");
  }
  if (criterion.relative && baseline == 0 && criterion.direction == search::Direction::minimize) {
    throw Error("accuracy_criterion: the float model's " + metric +
                " is 0, and no share of 0 can be lost; use {criterion: absolute, tolerable_loss: …} in the metric's unit");
  }
}

bool meets(const AccuracyCriterion& criterion, double value, double goal) {
  const double slack = 8 * std::numeric_limits<double>::epsilon() * std::max(std::abs(value), std::abs(goal));
  return criterion.direction == search::Direction::maximize ? value >= goal - slack : value <= goal + slack;
}

}  // namespace quasar::tune
