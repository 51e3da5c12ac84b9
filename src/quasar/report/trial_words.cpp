#include "quasar/report/trial_words.hpp"

#include <algorithm>
#include <iomanip>
#include <sstream>

#include "quasar/base/digits.hpp"
#include "quasar/base/names.hpp"
#include "quasar/base/printable.hpp"
#include "quasar/job/precision.hpp"
#include "quasar/report/timeline.hpp"

namespace quasar::report {
namespace {

// Operators that are quantized like the others are counted: a large model has thousands.
std::string params_in_words(const search::Trial& trial) {
  std::string text;
  size_t usual = 0;
  for (const auto& [name, value] : trial.point.values()) {
    if (name.starts_with(tune::precision_of("")) && value == tune::quantized) {
      usual++;
      continue;
    }
    text += (text.empty() ? "" : " ") + name + "=" + (value.is_string() ? value.get<std::string>() : value.dump());
  }
  if (usual > 0) text += (text.empty() ? "(" : " (") + std::to_string(usual) + " nodes quantized)";
  return text;
}

// "3 operators given up; fallback by blocks": how a strategy came to try it; "": nothing is known.
std::string purpose_of(const search::Trial& trial) {
  const std::string step = trial.user_attributes.value(search::attribute::step, std::string());
  if (step.empty()) return "";
  const size_t in_float = tune::float_nodes(trial.point).size();
  const std::string operators = std::to_string(in_float) + (in_float == 1 ? " operator given up" : " operators given up");
  return (in_float == 0 ? "; " : ", " + operators + "; ") + step;
}

}  // namespace

void TrialWords::follow(const tune::Aim& aim) {
  aim_ = aim;
  objective_ = aim.goals.objectives.front().metric;
  goal_.clear();
  baseline_.reset();
}

void TrialWords::compare_with(const tune::Measured& baseline) {
  goal_.clear();
  baseline_ = baseline.metrics;
  if (!aim_.criterion || tune::criterion_is_constraint(aim_)) return;
  const std::string goal = tune::goal_in_words(*aim_.criterion, tune::measures_of(baseline.metrics));
  goal_ = " (goal:" + goal.substr(objective_.size()) + ")";
}

std::string TrialWords::value_of(const search::Trial& trial) const {
  return trial.values.empty() ? "" : objective_ + " " + plain_digits(trial.values.front(), 6);
}

// What it misses besides a bound on the objective: ", misses the constraint on bytes (max 70000, is 78119)".
std::string TrialWords::shortcomings_of(const search::Trial& trial) const {
  if (!baseline_ || trial.violation() <= 0) return "";
  const tune::Measures measures = tune::measures_of(aim_.goals, trial);
  if (!tune::can_be_judged(aim_, measures)) return "";
  std::vector<std::string> missed;
  for (const auto& list : {tune::missed_accuracy(aim_, measures, *baseline_), tune::missed_costs(aim_, measures, *baseline_)}) {
    for (const std::string& one : list) {
      if (one != tune::accuracy_criterion_in_words) {
        missed.push_back(one);
      } else if (tune::criterion_is_constraint(aim_)) {
        const tune::Measures in_float = tune::measures_of(*baseline_);
        missed.push_back(one + " (" + tune::goal_in_words(*aim_.criterion, in_float) + ", is " +
                         tune::reached(*aim_.criterion, measures, in_float) + ")");
      }
    }
  }
  return missed.empty() ? "" : ", misses " + joined(missed, " and ");
}

std::string TrialWords::outcome_of(const search::Trial& trial) const {
  switch (trial.state) {
    case search::State::complete: {
      if (trial.is_duplicate())
        return value_of(trial) + ", the same model as trial " + trial.user_attributes["duplicate_of"].dump() + purpose_of(trial);
      return value_of(trial) +
             (trial.is_candidate()   ? ", a candidate"
              : trial.values.empty() ? ""
                                     : goal_) +
             shortcomings_of(trial) + purpose_of(trial);
    }
    case search::State::failed: {
      std::string why = trial.user_attributes.value("error", std::string("no reason known"));
      std::ranges::replace(why, '\n', ' ');
      return "failed: " + why;
    }
    case search::State::pruned:
      return "pruned " + trial.user_attributes.value("pruned", std::string()) +
             (trial.values.empty() ? "" : ", " + value_of(trial)) + purpose_of(trial);
    case search::State::running:
      return "started";
    case search::State::waiting:
      return is_worker_ ? "given back: another process runs it" : "interrupted: --resume tries it again";
  }
  return "";
}

std::string TrialWords::of(const search::Trial& trial) const {
  const std::string runner = name_.empty() ? "" : worker_of(trial);
  return printable_message(outcome_of(trial) + (runner.empty() || runner == name_ ? "" : " (by " + runner + ")"));
}

std::string TrialWords::line_of(const search::Event& event) const {
  const search::Trial& trial = event.trial;
  std::ostringstream out;
  out << "trial " << trial.number << " ";
  if (event.kind == search::Event::Kind::started) {
    out << "started: ";
  } else {
    out << of(trial) << " (" << std::fixed << std::setprecision(3) << trial.seconds().value_or(0) << " s); ";
  }
  out << printable_message(params_in_words(trial));
  return out.str();
}

}  // namespace quasar::report
