// What a tuner tells at the end of its way: what is left in float, and why.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "quasar/base/digits.hpp"
#include "quasar/base/names.hpp"
#include "quasar/job/goal_parts.hpp"
#include "quasar/job/precision.hpp"
#include "quasar/strategy/tuner.hpp"

namespace quasar::tune {
namespace {

constexpr size_t most_compared = 200;  // trials, two by two, for what operators gained

}  // namespace

std::string Tuner::why_missed(const search::Trial& trial) const {
  if (trial.state == search::State::failed)
    return "its trial failed: " + trial.user_attributes.value(search::attribute::error, std::string("without a word"));
  const double lost = loss(trial), tolerable = context_.job.criterion->tolerable_loss;
  if (!std::isfinite(lost)) return "its loss is not known";
  if (lost > tolerable) return "loss " + in_digits(lost, 4) + " > " + in_digits(tolerable, 4);
  const Measures measures = measures_of(context_.job.goals, trial);
  const eval::Scores& reference = context_.trial_context->evaluator.reference();
  std::vector<std::string> missed = missed_accuracy(context_.job, measures, reference);
  std::ranges::move(missed_costs(context_.job, measures, reference), std::back_inserter(missed));
  return joined(missed, " and ") + " missed";
}

void Tuner::tell_refused(const std::vector<std::string>& nodes, const Refused& refused) {
  for (const auto& node : nodes) refused_[part_].insert_or_assign(node, refused);
}

// What meets the goal; else what meets its accuracy and comes nearest to the constraints; else the best of the study.
const search::Trial* Tuner::result() const {
  if (met_) return &*met_;
  return accurate_ ? &*accurate_ : context_.study.best();
}

std::string Tuner::shortfall() const {
  if (!accurate_) return "nothing met the accuracy criterion";
  return "what met the accuracy criterion did not keep " +
         joined(missed_costs(context_.job, measures_of(context_.job.goals, *accurate_),
                             context_.trial_context->evaluator.reference()),
                " and ");
}

void Tuner::conclude(Finding& finding) const {
  if (met_ || accurate_) finding.winner = result()->number;
  finding.warnings.insert(finding.warnings.end(), space_.ignored.begin(), space_.ignored.end());
  finding.warnings.insert(finding.warnings.end(), warnings_.begin(), warnings_.end());
  finding.story = {{"strategy", stage_},
                   {"goal", to_json(*context_.job.criterion)},
                   {"steps", steps_},
                   {"float", left_over()},
                   {"ignored", space_.ignored}};
  if (!sensitivity_.is_null()) finding.story["sensitivity"] = sensitivity_;
}

// By the trial that the search ends with, whether it meets the goal or not: the nodes that it leaves in a float type, each with
// why: [{node, type, why, gained}].
Json Tuner::left_over() const {
  const search::Trial* const last = result();
  if (last == nullptr) return Json::array();
  std::string step;
  for (const auto& one : steps_) {
    if (step.empty() && one["trial"] == last->number) step = one["step"];
  }
  const auto by_recipes = left_in_float_.by_recipes(context_.space, last->point);
  Json out = Json::array();
  for (const auto& node : left_in_float_.nodes(context_.space, last->point)) {
    if (const auto recipe = by_recipes.find(node); recipe != by_recipes.end()) {
      out.push_back({{"node", node}, {"type", in_float}, {"why", recipe->second + " is off"}});
    } else {
      out.push_back(left(node, *last, step));
    }
  }
  return out;
}

// What a step refused comes before what trials show that happen to differ in little.
Json Tuner::left(const std::string& node, const search::Trial& trial, const std::string& step) const {
  const Json type = precision_at(trial.point, node);
  const auto entry = [&](const std::string& why, const std::optional<double>& gained) {
    Json out{{"node", node}, {"type", type}, {"why", why}};
    if (gained) out["gained"] = *gained;
    return out;
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
