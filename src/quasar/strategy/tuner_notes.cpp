#include "quasar/strategy/tuner_notes.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "quasar/base/digits.hpp"
#include "quasar/base/names.hpp"
#include "quasar/job/goal_parts.hpp"
#include "quasar/job/precision.hpp"
#include "quasar/strategy/exit_policy.hpp"
#include "quasar/trial/quantized_share.hpp"

namespace quasar::tune {
namespace {

constexpr size_t most_compared = 200;  // trials, two by two, for what operators gained

std::vector<std::string> names_of(const TuningSpace& space) {
  std::vector<std::string> names;
  for (const auto& node : space.nodes) names.push_back(node.name);
  return names;
}

}  // namespace

TunerNotes::TunerNotes(const StrategyContext& context, const TuningSpace& space, const std::string& strategy)
    : context_(context),
      space_(space),
      strategy_(strategy),
      by_objective_(is_cost(context.job.aim.goals.objectives.front().metric)),
      baseline_(measures_of(context.trial_context->evaluator.reference())),
      left_in_float_(context.trial_context->model, names_of(space)) {}

bool TunerNotes::is_nearly_float(const search::Trial& trial) const {
  if (const auto known = nearly_float_.find(trial.number); known != nearly_float_.end()) return known->second;
  const TrialContext& trial_context = *context_.trial_context;
  const quant::Config config = tune::config_of(trial_context, trial);
  const quant::Plan plan = tune::plan_of(trial_context, config);
  return nearly_float_[trial.number] = !hardly_quantized(plan, trial_context.variants.graph_of(config)->model,
                                                         trial_context.variants.seen(config), ChosenFloat::counted)
                                            .empty();
}

void TunerNotes::begin_step() {
  if (steps_to_come_.empty()) return;
  step_ = steps_to_come_.front();
  steps_to_come_.erase(steps_to_come_.begin());
}

std::string TunerNotes::step_ahead(size_t configurations) const {
  if (steps_to_come_.empty()) return step_;
  return steps_to_come_[std::min(configurations, steps_to_come_.size() - 1)];
}

void TunerNotes::note(const search::Trial& trial, const std::optional<Json>& sampling) {
  if (!best_ || better(trial, *best_)) best_ = trial;
  const double lost = loss(trial);
  part_of_.try_emplace(trial.number, part_);
  if (passed_.insert(trial.number).second) {
    search::count(used_, trial);
    if (std::isfinite(lost)) way_.push_back({trial.point, lost});
  }
  if (trial.is_candidate() && (!met_ || preferred(trial, *met_))) met_ = trial;
  if (is_accurate(context_.job.aim, measures_of(context_.job.aim.goals, trial), context_.trial_context->evaluator.reference()) &&
      (!accurate_ || trial.violation() < accurate_->violation() ||
       (trial.violation() == accurate_->violation() && preferred(trial, *accurate_))))
    accurate_ = trial;
  const std::string round = sampling ? std::string(" (") + sampling_size + " " + sampling->dump() + ")" : "";
  steps_.push_back({.name = (step_.empty() ? strategy_ : step_) + round,
                    .trial = trial.number,
                    .value = trial.values.empty() ? std::nullopt : std::optional(trial.values.front()),
                    .loss = Story::Step::Loss{lost, left_in_float_.nodes(context_.space, trial.point).size()}});
}

// Of two that meet the goal: the better one by an objective that is a cost; otherwise one that is quantized at all, the one that
// gives up less, the one that loses less.
bool TunerNotes::preferred(const search::Trial& a, const search::Trial& b) const {
  if (by_objective_ && !a.values.empty() && !b.values.empty())
    return search::better(a.values.front(), b.values.front(), context_.study.directions().front());
  if (is_nearly_float(a) != is_nearly_float(b)) return is_nearly_float(b);
  const double gives = left_in_float_.given_up(context_.space, a.point), gave = left_in_float_.given_up(context_.space, b.point);
  return gives < gave || (gives == gave && better(a, b));
}

double TunerNotes::loss(const search::Trial& trial) const {
  return loss_of(*context_.job.aim.criterion, measures_of(context_.job.aim.goals, trial), baseline_);
}

size_t TunerNotes::left() const {
  return trials_left(context_.job.limits, used_);  // not of what the study has: a resumed strategy repeats its way through it
}

void TunerNotes::tell(const std::string& step) {
  step_ = step;
  steps_to_come_.clear();
}

void TunerNotes::tell(std::vector<std::string> steps) {
  steps_to_come_ = std::move(steps);
}

void TunerNotes::warn(const std::string& warning) {
  if (!warning.empty() && std::ranges::find(warnings_, warning) == warnings_.end()) warnings_.push_back(warning);
}

std::string TunerNotes::why_missed(const search::Trial& trial) const {
  if (trial.state == search::State::failed)
    return "its trial failed: " + trial.user_attributes.value(search::attribute::error, std::string("without a word"));
  const double lost = loss(trial), tolerable = context_.job.aim.criterion->tolerable_loss;
  if (!std::isfinite(lost)) return "its loss is not known";
  if (lost > tolerable) return "loss " + in_digits(lost, 4) + " > " + in_digits(tolerable, 4);
  const Measures measures = measures_of(context_.job.aim.goals, trial);
  const eval::Scores& reference = context_.trial_context->evaluator.reference();
  std::vector<std::string> missed = missed_accuracy(context_.job.aim, measures, reference);
  std::ranges::move(missed_costs(context_.job.aim, measures, reference), std::back_inserter(missed));
  return joined(missed, " and ") + " missed";
}

void TunerNotes::tell_refused(const std::vector<std::string>& nodes, const Refused& refused) {
  for (const auto& node : nodes) refused_[part_].insert_or_assign(node, refused);
}

// What meets the goal; else what meets its accuracy and comes nearest to the constraints; else the best of the study.
const search::Trial* TunerNotes::result() const {
  if (met_) return &*met_;
  return accurate_ ? &*accurate_ : context_.study.best();
}

std::string TunerNotes::shortfall() const {
  if (!accurate_) return "nothing met the accuracy criterion";
  return "what met the accuracy criterion did not keep " +
         joined(missed_costs(context_.job.aim, measures_of(context_.job.aim.goals, *accurate_),
                             context_.trial_context->evaluator.reference()),
                " and ");
}

void TunerNotes::conclude(Finding& finding) const {
  if (met_ || accurate_) finding.winner = result()->number;
  finding.warnings.insert(finding.warnings.end(), warnings_.begin(), warnings_.end());
  std::vector<Story::InFloat> left = left_over();
  const bool came_to_its_end = finding.result.end != search::RunResult::End::interrupted && !finding.failed;
  if (const std::string advice = advice_to_repair(left.size()); came_to_its_end && !advice.empty())
    finding.warnings.push_back(advice);
  finding.story = Story{.strategy = strategy_,
                        .goal = *context_.job.aim.criterion,
                        .steps = steps_,
                        .in_float = std::move(left),
                        .ignored = space_.ignored,
                        .sensitivity = sensitivity_};
}

// Where much is given up, or the goal is missed.
std::string TunerNotes::advice_to_repair(size_t left_over) const {
  constexpr size_t much = 4;  // one in so many
  if (result() == nullptr || (met_ && left_over * much <= space_.nodes.size())) return "";
  return std::to_string(left_over) + " of " + std::to_string(space_.nodes.size()) + " operators stay in float" +
         (met_ ? "" : ", and the goal is missed") + "; strategy repair looks for the fewest, and rounds first";
}

// By the trial that the search ends with, whether it meets the goal or not: the nodes that it leaves in a float type, each with
// why.
std::vector<Story::InFloat> TunerNotes::left_over() const {
  const search::Trial* const last = result();
  if (last == nullptr) return {};
  std::string step;
  for (const auto& one : steps_) {
    if (step.empty() && one.trial == last->number) step = one.name;
  }
  const auto by_recipes = left_in_float_.by_recipes(context_.space, last->point);
  std::vector<Story::InFloat> out;
  for (const auto& node : left_in_float_.nodes(context_.space, last->point)) {
    if (const auto recipe = by_recipes.find(node); recipe != by_recipes.end()) {
      out.push_back({.node = node, .type = in_float, .why = recipe->second + " is off"});
    } else {
      out.push_back(left(node, *last, step));
    }
  }
  return out;
}

// What a step refused comes before what trials show that happen to differ in little.
Story::InFloat TunerNotes::left(const std::string& node, const search::Trial& trial, const std::string& step) const {
  const Json type = precision_at(trial.point, node);
  const auto entry = [&](const std::string& why, const std::optional<double>& gained) {
    return Story::InFloat{.node = node, .type = type.get<std::string>(), .why = why, .gained = gained};
  };
  const auto tuned = std::ranges::find(space_.nodes, node, &TunedNode::name);
  if (tuned != space_.nodes.end() && tuned->all_options().empty())
    return entry("op_type_dict and op_name_dict leave it no integer type", std::nullopt);
  const auto part = part_of_.find(trial.number);
  if (const auto refused = part == part_of_.end() ? refused_.end() : refused_.find(part->second); refused != refused_.end()) {
    if (const auto found = refused->second.find(node); found != refused->second.end())
      return entry(found->second.why, found->second.gained);
  }
  const auto gained = gained_by(node, type, std::span(way_).last(std::min<size_t>(way_.size(), most_compared)));
  return entry("in the configuration of step '" + step + "'" + in_words(gained),
               gained ? std::optional(gained->without - gained->with) : std::nullopt);
}

}  // namespace quasar::tune
