#include "quasar/job/accuracy.hpp"

#include <algorithm>
#include <limits>

#include "quasar/base/as_written.hpp"
#include "quasar/base/digits.hpp"
#include "quasar/base/names.hpp"
#include "quasar/base/plugin.hpp"
#include "quasar/eval/share.hpp"

namespace quasar::tune {
namespace {

const std::vector<OptionSpec>& keys_of_criterion() {
  static const std::vector<OptionSpec> all{
      {.name = "higher_is_better", .fallback = nullptr, .help = "true or false; the metric's own when left out"},
      {.name = "criterion", .fallback = "relative", .help = "what the loss is measured in", .choices = {"relative", "absolute"}},
      {.name = "tolerable_loss",
       .fallback = 0.01,
       .help = "what may be lost: 0.01 is 1 % (relative), or 0.01 of the metric",
       .low = 0},
      {.name = "metrics",
       .fallback = nullptr,
       .help = "several metrics that count together: {top1: 2, agreement: 1}, or a list of equal ones"}};
  return all;
}

const char* const metrics_key = "accuracy_criterion.metrics";

AccuracyCriterion::Part part_of(const Json& name, const Json& weight, const std::vector<eval::OwnMetric>& own) {
  const std::string metric = metric_named(name, metrics_key, own, Listed::metrics);
  if (is_cost(metric)) throw Error(std::string(metrics_key) + ": " + metric + " is no metric; bound it in 'constraints'");
  if (!weight.is_number() || !(weight.get<double>() > 0))
    throw Error(std::string(metrics_key) + ": the weight of " + metric + " is " + as_written(weight) +
                ", but must be a number above 0");
  return {metric, direction_of(metric, own), weight.get<double>()};
}

std::vector<AccuracyCriterion::Part> parts_of(const Json& words, const std::vector<eval::OwnMetric>& own) {
  std::vector<AccuracyCriterion::Part> parts;
  if (words.is_null()) return parts;
  if (words.is_object()) {
    for (const auto& [name, weight] : words.items()) parts.push_back(part_of(name, weight, own));
  } else if (words.is_array()) {
    for (const auto& name : words) parts.push_back(part_of(name, 1, own));
  }
  if (parts.empty())
    throw Error(std::string(metrics_key) + " is " + words.dump() + ", but must be a list of metrics, or {metric: weight}");
  for (auto part = parts.begin(); part != parts.end(); ++part) {
    if (std::ranges::find(parts.begin(), part, part->metric, &AccuracyCriterion::Part::metric) != part)
      throw Error(std::string(metrics_key) + " names " + part->metric + " twice");
  }
  return parts;
}

Options keys_in(const Json& words) {
  if (!words.is_object()) throw Error("accuracy_criterion must be a mapping, not " + words.dump());
  return {keys_of_criterion(), words, "accuracy_criterion"};
}

// By its own name: "accuracy", an alias of top1, is a user's metric where it stands in a criterion.
bool is_quasars(const std::string& metric) {
  return eval::is_metric_in_results(metric) && eval::metric_text(metric) == metric;
}

bool is_a_share(const std::string& metric) {
  if (!is_quasars(metric)) return false;
  const auto made = eval::make_metric(metric);
  return dynamic_cast<const eval::Share*>(made.get()) != nullptr;
}

// From the float model's answers, so that its own is 0 whatever the samples are.
bool is_a_distance(const std::string& metric) {
  if (!is_quasars(metric)) return false;
  const auto made = eval::make_metric(metric);
  return made->direction() == Direction::minimize && made->needs() == eval::Truth::none && made->best_possible() == 0.0;
}

std::string no_share_of_zero(const std::string& metric) {
  return "accuracy_criterion: the float model's " + metric +
         " is 0, and no share of 0 can be lost; use {criterion: absolute, tolerable_loss: …} in the metric's unit";
}

// One part's loss, and what rounding may have added to it.
struct Loss {
  double value, slack;
};

Loss loss_of(const AccuracyCriterion& criterion, double value, double baseline, Direction direction) {
  const double drop = direction == Direction::maximize ? baseline - value : value - baseline;
  const double slack = rounding_slack(value, baseline);
  if (!criterion.relative) return {drop, slack};
  if (baseline == 0) return {drop > 0 ? HUGE_VAL : 0, 0};
  return {drop / std::abs(baseline), slack / std::abs(baseline)};
}

Loss loss_of(const AccuracyCriterion& criterion, const Measures& values, const Measures& baseline, double tolerable) {
  Loss sum{0, 0};
  double weights = 0;
  for (const auto& [metric, direction, weight] : criterion.parts) {
    const auto known = values.find(metric);
    if (known == values.end()) return {HUGE_VAL, 0};
    const auto [value, slack] = loss_of(criterion, known->second, baseline.at(metric), direction);
    sum.value += weight * value;
    sum.slack += weight * slack;
    weights += weight;
  }
  return {sum.value / weights, sum.slack / weights + 8 * std::numeric_limits<double>::epsilon() * tolerable};
}

}  // namespace

std::vector<std::string> metrics_of_criterion(const Json& words, const std::vector<eval::OwnMetric>& own) {
  std::vector<std::string> names;
  for (const auto& part : parts_of(keys_in(words).json("metrics"), own)) names.push_back(part.metric);
  return names;
}

AccuracyCriterion parse_criterion(const Json& words, const std::string& metric, const std::vector<eval::OwnMetric>& own) {
  const Options keys = keys_in(words);
  AccuracyCriterion criterion{.parts = parts_of(keys.json("metrics"), own)};
  if (criterion.parts.empty()) criterion.parts = {{metric, direction_of(metric, own)}};
  criterion.relative = normalized(keys.text("criterion")) == "relative";
  criterion.tolerable_loss = keys.real("tolerable_loss");
  for (const auto& part : criterion.parts) {
    if (criterion.relative && is_a_distance(part.metric)) throw Error(no_share_of_zero(part.metric));
  }
  if (!keys.has("higher_is_better")) return criterion;
  const Json& higher = keys.json("higher_is_better");
  if (!higher.is_boolean())
    throw Error("accuracy_criterion.higher_is_better is " + higher.dump() + ", but must be true or false");
  for (const auto& part : criterion.parts) {
    if (higher.get<bool>() == (part.direction == Direction::maximize)) continue;
    throw Error("accuracy_criterion.higher_is_better is " + higher.dump() + ", but metric " + part.metric + " is better when " +
                (higher.get<bool>() ? "lower" : "higher") +
                (is_quasars(part.metric) ? "; leave the key out"
                                         : "; where it is not, say so in search_evaluator: {metrics: {" + part.metric + ": " +
                                               (higher.get<bool>() ? "maximize" : "minimize") + "}}"));
  }
  return criterion;
}

double loss_of(const AccuracyCriterion& criterion, const Measures& values, const Measures& baseline) {
  return loss_of(criterion, values, baseline, 0).value;
}

double excess_of(const AccuracyCriterion& criterion, const Measures& values, const Measures& baseline) {
  const auto [value, slack] = loss_of(criterion, values, baseline, criterion.tolerable_loss);
  return value - criterion.tolerable_loss - slack;
}

void check_reachable(const AccuracyCriterion& criterion, const Measures& baseline) {
  for (const auto& [metric, direction, weight] : criterion.parts) {
    const double value = baseline.at(metric);
    if (!std::isfinite(value)) {
      throw Error("accuracy_criterion: the float model's " + metric +
                  " is not finite, so no loss can be measured against it; choose "
                  "another search_metric");
    }
    if (criterion.relative && value == 0 && direction == Direction::minimize) {
      throw Error(no_share_of_zero(metric));
    }
  }
}

namespace {

// Whether even nothing right at all would meet the goal. Only shares (of 1) are known to end at 0.
bool allows_everything(const AccuracyCriterion& criterion, const Measures& baseline) {
  double most = 0, weights = 0;
  for (const auto& part : criterion.parts) {
    const double value = baseline.at(part.metric);
    if (!is_a_share(part.metric) || value <= 0) return false;
    most += part.weight * (criterion.relative ? 1 : value);
    weights += part.weight;
  }
  return most / weights <= criterion.tolerable_loss;
}

}  // namespace

std::string goal_in_words(const AccuracyCriterion& criterion, const Measures& baseline) {
  if (criterion.parts.size() == 1) {
    const auto& [metric, direction, weight] = criterion.parts.front();
    const double value = baseline.at(metric), loss = criterion.tolerable_in_units(value);
    return direction == Direction::maximize ? metric + " at least " + in_digits(value - loss, 4)
                                            : metric + " at most " + in_digits(value + loss, 4);
  }
  std::vector<std::string> names;
  for (const auto& part : criterion.parts) names.push_back(part.metric);
  return "a loss of at most " + as_written(criterion.tolerable_loss) + " of " + joined(names, " and ");
}

std::string empty_goal(const AccuracyCriterion& criterion, const Measures& baseline) {
  for (const auto& part : criterion.parts) {
    if (baseline.at(part.metric) != 0 || !is_a_share(part.metric)) continue;
    return "accuracy_criterion: the float model's " + part.metric +
           " is 0, so that nothing of it can be lost and the goal bounds nothing. Are the labels those of the model's outputs "
           "(labels, label_offset), and does the metric read the right output (output_weights: {label: 0})?";
  }
  for (const auto& part : criterion.parts) {
    if (baseline.at(part.metric) != 0 || !criterion.relative || criterion.tolerable_loss == 0) continue;
    return "accuracy_criterion: the float model's " + part.metric +
           " is 0, and a share of 0 is 0: only models that lose nothing at all meet the goal; {criterion: absolute} bounds the "
           "loss in the metric's unit";
  }
  if (allows_everything(criterion, baseline))
    return "accuracy_criterion.tolerable_loss is " + as_written(criterion.tolerable_loss) +
           ": all of the float model's accuracy may be lost, so that every model meets the goal (1 % is 0.01)";
  return "";
}

Json to_json(const AccuracyCriterion& criterion) {
  Json metrics = Json::object();
  for (const auto& part : criterion.parts) metrics[part.metric] = part.weight;
  return {{"metrics", metrics},
          {"criterion", criterion.relative ? "relative" : "absolute"},
          {"tolerable_loss", criterion.tolerable_loss}};
}

}  // namespace quasar::tune
