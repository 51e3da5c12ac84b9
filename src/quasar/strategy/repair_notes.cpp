#include "quasar/strategy/repair_notes.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "quasar/base/names.hpp"
#include "quasar/job/goal_parts.hpp"
#include "quasar/job/precision.hpp"
#include "quasar/strategy/tuning_space.hpp"
#include "quasar/trial/ranking.hpp"

namespace quasar::tune {

bool Guide::nearer(const search::Trial& a, const search::Trial& b) {
  const Measures x = measures_of(aim_.goals, a), y = measures_of(aim_.goals, b);
  for (const auto* one : {&x, &y}) lost_ = lost_ || (!one->empty() && !one->contains(metric));
  if (lost_) return loss_of(*aim_.criterion, x, baseline_) < loss_of(*aim_.criterion, y, baseline_);
  const auto distance = [](const Measures& measures) { return measures.contains(metric) ? measures.at(metric) : HUGE_VAL; };
  return distance(x) < distance(y);
}

std::string Guide::told(bool locally) const {
  std::vector<std::string> means;
  if (lost_) means.push_back("repairs are judged by " + aim_.goals.objectives.front().metric + " instead of " + metric);
  if (locally) means.emplace_back("operators are ranked by the noise at their own outputs");
  return "quantized models' outputs cannot be compared with the float model's (their number depends on the data, or they are not "
         "finite): " +
         joined(means);
}

namespace {

using search::Trial;

constexpr const char* not_tried = "; other choices of operators were not tried";

std::optional<double> value_of(const Trial& trial) {
  return trial.values.empty() ? std::nullopt : std::optional(trial.values.front());
}

}  // namespace

RepairNotes::RepairNotes(const StrategyContext& context, std::vector<Rung> rungs)
    : context_(context),
      rungs_(std::move(rungs)),
      guide_(context.job.aim, context.trial_context->evaluator.reference()),
      left_(context.trial_context->model, {rungs_.back().nodes.begin(), rungs_.back().nodes.end()}) {}

void RepairNotes::note(const Trial& trial, const std::string& step, const Changes& changes) {
  const bool nearer = !current_ || guide_.nearer(trial, *current_);
  if (nearer) current_ = trial;
  bool kept = nearer && units_.empty();  // once operators are ranked, what meets the goal is gone on from
  const auto costs_less = [&](const std::optional<Trial>& best) { return !best || price(trial) < price(*best); };
  if (is_accurate(trial) && costs_less(accurate_)) {
    accurate_ = trial;
    kept = true;
    if (!met_) without_.clear();
  }
  if (trial.is_candidate() && costs_less(met_)) {
    met_ = trial;
    kept = true;
    without_.clear();
  }
  Story::Step::Change change{Json::object(), kept};
  for (const auto& [name, value] : changes) change.parameters[name] = value;
  steps_.push_back({.name = step, .trial = trial.number, .value = value_of(trial), .change = std::move(change)});
}

void RepairNotes::note_other_rounding(const Trial& trial) {
  const bool kept = holds(trial) && guide_.nearer(trial, ground());
  note(trial, "round again", {});
  if (kept) (met_ ? met_ : accurate_) = trial;
}

void RepairNotes::note_most(const Trial& trial, size_t operators) {
  if (!most_ || guide_.nearer(trial, most_->second)) most_ = {operators, trial};
}

Verdict RepairNotes::verdict_on(const Trial& trial) const {
  if (trial.state == search::State::failed) return Verdict::unknown;
  return is_accurate(trial) ? Verdict::enough : Verdict::too_little;
}

double RepairNotes::room(const Trial& trial) const {
  const AccuracyCriterion& criterion = *context_.job.aim.criterion;
  const Measures measures = measures_of(context_.job.aim.goals, trial);
  const Measures baseline = measures_of(context_.trial_context->evaluator.reference());
  const double loss = loss_of(criterion, measures, baseline), excess = excess_of(criterion, measures, baseline);
  return loss > excess ? -excess / (loss - excess) : 0;
}

bool RepairNotes::is_accurate(const Trial& trial) const {
  return trial.is_candidate() || tune::is_accurate(context_.job.aim, measures_of(context_.job.aim.goals, trial),
                                                   context_.trial_context->evaluator.reference());
}

Json RepairNotes::cheapest(const std::string& node) const {
  return choices_of(*context_.space.find(precision_of(node))).front();
}

std::string RepairNotes::shortfall() const {
  std::ostringstream out;
  const Job& job = context_.job;
  const eval::Scores& reference = context_.trial_context->evaluator.reference();
  if (accurate_) {
    out << joined(missed_costs(job.aim, measures_of(job.aim.goals, *accurate_), reference), " and ")
        << " is not kept: that is the least found with the accuracy criterion met, by " << float_nodes(accurate_->point).size()
        << " operators in float" << (units_.size() > 2 ? not_tried : "");
    return out.str();
  }
  const Measures measures = most_ ? measures_of(job.aim.goals, most_->second) : Measures();
  out << (measures.empty() ? "the accuracy criterion" : joined(missed_accuracy(job.aim, measures, reference), " and "))
      << " is not met by any repair, ";
  if (!most_) {
    out << "and no operator can be left in float";
    return out.str();
  }
  const bool failed = most_->second.state == search::State::failed;
  out << (failed ? "and the trial with " : "nor with ") << most_->first << " of " << units_.size() << " operators in "
      << rungs_.back().name << (failed ? " failed" : "");
  if (!measures.empty()) out << " (" << reached(*job.aim.criterion, measures, measures_of(reference)) << ")";
  if (units_.size() > 2) out << not_tried;  // of two, each has been left alone
  return out.str();
}

void RepairNotes::conclude(Finding& finding) const {
  const Trial* const last = result();
  if (met_ || accurate_) finding.winner = last->number;
  const bool locally = !outputs_compare(units_);
  if (guide_.lost() || locally) finding.warnings.push_back(guide_.told(locally));
  Story story{.strategy = "repair", .goal = *context_.job.aim.criterion, .steps = steps_, .in_float = given_up()};
  if (std::string why = idle_auto(context_.job.tuning, context_.trial_context->model, context_.trial_context->target);
      !why.empty()) {
    finding.warnings.push_back(why);
    story.ignored.push_back(why);
  }
  for (auto& step : story.steps) step.change->kept = step.change->kept || (last != nullptr && step.trial == last->number);
  story.sensitivity = sensitivities(units_);
  finding.story = std::move(story);
}

// What meets the goal; else what meets its accuracy at the least cost; else the best of the study.
const Trial* RepairNotes::result() const {
  if (met_) return &*met_;
  return accurate_ ? &*accurate_ : context_.study.best();
}

// Operators above 8 bits in the end, whether the goal is met or not: on which rung, what each costs in 8 bits, and the score
// without it; those that a recipe leaves in float, with the recipe.
std::vector<Story::InFloat> RepairNotes::given_up() const {
  std::vector<Story::InFloat> out;
  const Trial* const last = result();
  if (last == nullptr) return out;
  const auto by_recipes = left_.by_recipes(context_.space, last->point);
  for (const auto& [node, recipe] : by_recipes)
    out.push_back({.node = node, .type = in_float, .why = recipe + " is off", .quantized = Story::InFloat::Quantized()});
  for (const auto& rung : rungs_) {
    for (const auto& [name, value] : last->point.values()) {
      if (!name.starts_with(precision_of("")) || value != rung.choice) continue;
      const std::string node = name.substr(precision_of("").size());
      if (value == cheapest(node) || by_recipes.contains(node)) continue;
      Story::InFloat entry{.node = node, .type = rung.name, .quantized = Story::InFloat::Quantized()};
      if (const auto found = without_.find(node); found != without_.end()) tell_eight_bits(entry, found->second);
      for (const auto& error : units_) {
        if (error.unit.node == node) entry.output_error = error.output_error;
      }
      out.push_back(std::move(entry));
    }
  }
  return out;
}

// What an operator's quantization gave, or what is known of it where the trial was given up early.
void RepairNotes::tell_eight_bits(Story::InFloat& entry, const Trial& trial) const {
  entry.quantized->gives = value_of(trial);
  if (trial.state == search::State::complete &&
      !context_.job.aim.goals.constraints.empty()) {  // the value alone may meet the goal
    const Measures measures = measures_of(context_.job.aim.goals, trial);
    auto missed = missed_accuracy(context_.job.aim, measures, context_.trial_context->evaluator.reference());
    std::ranges::move(missed_costs(context_.job.aim, measures, context_.trial_context->evaluator.reference()),
                      std::back_inserter(missed));
    if (!missed.empty()) entry.why = "quantized too, it misses " + joined(missed, " and ");
  }
  if (trial.state != search::State::pruned) return;
  entry.quantized->bounds = beyond_the_goal(context_.job.aim, context_.trial_context->evaluator.reference());
  entry.quantized->given_up = trial.user_attributes.value(search::attribute::pruned, std::string());
}

std::vector<Json> choices_of(const search::Parameter& parameter) {
  const auto* categorical = std::get_if<search::Categorical>(parameter.distribution.get());
  return categorical == nullptr ? std::vector<Json>() : categorical->choices;
}

}  // namespace quasar::tune
