// The best model within a budget of bytes and time. Every group of operators gets one of the precisions that target and space
// offer. What that loses is estimated by the effects of single groups and of pairs, measured at the model's outputs by one model
// with switches; what it costs, from models of single changes and from the times of single operators. An integer program finds
// the assignment of least loss within the budget, and its model is made and measured: the budget must be kept by what was
// measured. The next best assignments follow, with all that trials have shown of the estimates, until none is better any more.
// In the end what costs nothing at run time (ranges, rounding …) is tried on the best model.
//
// With an accuracy in the budget the loss is bounded, and a cost is made small: what costs nothing at run time comes first then.
#include <algorithm>
#include <cmath>
#include <set>

#include "quasar/base/digits.hpp"
#include "quasar/base/names.hpp"
#include "quasar/job/goal_parts.hpp"
#include "quasar/job/spaces.hpp"
#include "quasar/quant/computed_hash.hpp"
#include "quasar/strategy/budget/better.hpp"
#include "quasar/strategy/budget/costs.hpp"
#include "quasar/strategy/budget/front.hpp"
#include "quasar/strategy/budget/improvements.hpp"
#include "quasar/strategy/budget/more.hpp"
#include "quasar/strategy/budget/refusals.hpp"
#include "quasar/strategy/budget/space.hpp"
#include "quasar/strategy/budget/story.hpp"
#include "quasar/strategy/exit_policy.hpp"
#include "quasar/strategy/strategy.hpp"

namespace quasar::tune::strategies {
namespace {

using search::Point;
using search::Trial;

constexpr int64_t usual_trials = 40;
constexpr size_t in_vain = 10;           // assignments in a row that are no better end the way through them
constexpr double hopeless = 1.5;         // times the best loss that an assignment is estimated to have
constexpr double hopeful = 1.25;         // times the loss that is allowed, which cheaper assignments may be estimated to have
constexpr double costlier = 1.1;         // times the cost of the best one, where a cost is made small
constexpr size_t most_misses = 200;      // assignments whose models turn out to be too large, or impossible
constexpr size_t until_tightened = 4;    // of those in a row
constexpr size_t most_changes = 12;      // of single groups that are tried around the best assignment
constexpr size_t most_nearest = 4;       // assignments that are tried though they are estimated to take too long
constexpr size_t most_widened = 60;      // times that the bound is moved until there is one
constexpr double a_little_wider = 1.03;  // by this
constexpr double seconds_of_a_program = 20;
constexpr const char* no_trials_left = "the trials that are left are for ranges and rounding";

class Budgeting {
 public:
  explicit Budgeting(const StrategyContext& context)
      : context_(context),
        choices_(*context.job.budget, context.job.spaces.front(), context.space, context.trial_context->model,
                 context.trial_context->target),
        sequence_({.seed = context.job.seed,
                   .n_jobs = static_cast<size_t>(context.job.n_jobs),
                   .stage = "budget",
                   .listener = context.listener,
                   .stop = context.stop,
                   .begin = context.begin},
                  context.study, context.space, conditions_of(context.job.limits, usual_trials), context.objective) {}

  Finding run() {
    Finding finding;
    finding.result = run_to_its_end(context_, sequence_, finding.warnings, [this] { return traverse(); });
    if (improvements_left_ > 0 && best_ && finding.result.end != search::RunResult::End::interrupted)
      finding.result.reason += "; " + std::to_string(improvements_left_) + " improvements (ranges, rounding …) were not tried";
    const bool is_late = finding.result.reason.starts_with("time_limit");
    if (finding.result.end != search::RunResult::End::interrupted) tell_more(is_late);
    tell_budget_front(context_);
    if (best_) finding.winner = best_->number;
    told_.winner = best_ ? &*best_ : context_.study.best();
    told_.loss = loss_ ? &*loss_ : nullptr;
    finding.story = budget_story(context_, choices_, told_);
    return finding;
  }

 private:
  std::string traverse() {
    for (const Point& point : first_points(context_.job.enqueue, context_.space))
      note(sequence_.evaluate(point, "default configuration"), "default configuration", Json::object());
    if (makes_cost_small()) improve_first();
    loss_.emplace(context_, choices_);
    tell(context_.log, Level::info, in_words(choices_, *loss_));
    improvements_left_ = makes_cost_small() ? 0 : improvements_of(context_, choices_.base());
    kept_.emplace(context_.job.limits, trials_wanted(context_.job.limits, usual_trials), improvements_left_);
    for (const auto& step : told_.steps) kept_->count(context_.study.at(step.trial));
    learn_default();
    const Budget& budget = *context_.job.budget;
    if (budget.weighs_bytes()) {
      problem_.costs.push_back(bytes_of_assignments(models_of(*context_.trial_context), choices_));
      problem_.costs.front().most = budget.bytes.value_or(HUGE_VAL);
    }
    if (budget.weighs_latency()) problem_.costs.push_back(latency_of_assignments(context_, choices_));
    for (size_t i = 0; i < problem_.costs.size(); i++) {
      if (problem_.costs[i].name == budget.least) problem_.least = i;
    }
    if (budget.weighs_latency())
      told_.least_ms =
          told_least_latency(problem_, {most_milliseconds(context_), context_.trial_context->float_ms}, context_.log);
    const std::string reason = try_assignments();
    if (budget.bytes && !is_any_small_enough_) try_smallest();
    while (change_one()) {
    }
    if (best_ && !makes_cost_small()) improve();
    if (best_) return "within the budget nothing better is expected: " + reason;
    return "no model within the budget was found: " + reason;
  }

  // All in 8 bits: what trials count in.
  void learn_default() {
    const Assignment all = choices_.all_in(quantized);
    const Trial* trial = sequence_.find(choices_.point_of(all));
    if (trial != nullptr && trial->state == search::State::complete) {
      loss_->learn(all, lost_by(*trial, context_));
      excluded_.push_back(all);
      is_new(all);
      take_learnt(*trial, all);
    }
    is_any_small_enough_ = bytes_above(all) <= 0;
    take_estimates();
  }

  void take_estimates() {
    problem_.loss = loss_->parts();
    if (makes_cost_small())
      problem_.most_loss = loss_->as_estimate((is_hopeful_ ? hopeful : 1) * context_.job.aim.criterion->tolerable_loss);
  }

  // The best ones, as many at a time as run at a time. -> why no more
  std::string try_assignments() {
    for (size_t worse = 0; worse < in_vain;) {
      std::vector<BestAssignment> next;
      std::vector<Point> points;
      const size_t most = std::min(static_cast<size_t>(context_.job.n_jobs), kept_->left());
      if (most == 0) return no_trials_left;
      while (points.size() < most) {
        const auto one = propose();
        if (!one) break;
        next.push_back(*one);
        points.push_back(choices_.point_of(one->assignment));
      }
      if (next.empty()) return why_none_;
      if (is_hopeless(next.front()))
        return makes_cost_small() ? "what is left is estimated to cost more"
                                  : "what is left is estimated to lose " + in_digits(hopeless) + " times as much and more";
      const auto trials = sequence_.evaluate(points, std::vector<std::string>(points.size(), "best assignment"));
      for (size_t i = 0; i < trials.size(); i++) {
        const bool better = learn(trials[i], next[i], "best assignment");
        worse = better ? 0 : worse + (best_ ? 1 : 0);
      }
    }
    return std::to_string(in_vain) + " assignments in a row were no better";
  }

  // Those that are impossible or too large, as the model that is made of them shows, are passed over.
  std::optional<BestAssignment> propose() {
    for (size_t misses = 0, in_a_row = 0; misses < most_misses; misses++) {
      auto found = solved(problem_);
      if (!found && !best_) found = nearest();
      if (!found && best_ && makes_cost_small() && !is_hopeful_) {  // estimates err to both sides
        is_hopeful_ = true;
        take_estimates();
        found = solved(problem_);
      }
      if (!found) {
        why_none_ = "no other assignment is estimated to keep it";
        return std::nullopt;
      }
      tell(context_.log, Level::debug,
           "assignment: " + choices_.in_words(found->assignment) + "; loss estimated at " +
               in_digits(loss_->as_loss(found->loss)) +
               (found->is_proven ? ", proved to be the least" : ", not proved to be the least: the solver's time was up") +
               " (gap " + in_digits(100 * found->gap) + " %)");
      gaps_.add(*found);
      excluded_.push_back(found->assignment);
      const double excess = bytes_above(found->assignment);
      is_any_small_enough_ = is_any_small_enough_ || excess <= 0;
      if (excess <= 0 && is_new(found->assignment)) return found;
      if (excess <= 0) continue;
      if (++in_a_row < until_tightened || !std::isfinite(excess)) continue;
      problem_.costs.front().most -= excess;  // of bytes: what three and more groups have in common
      in_a_row = 0;
    }
    why_none_ = "the models of " + std::to_string(most_misses) + " assignments are larger than estimated, or cannot be made";
    return std::nullopt;
  }

  // No longer than there is time. Throws search::SequenceOver where there is none.
  std::optional<BestAssignment> solved(const AssignmentProblem& problem) const {
    sequence_.check_time();
    return best_assignment(problem, excluded_, std::min(seconds_of_a_program, std::max(0.1, sequence_.seconds_left())));
  }

  // Where no loss is estimated to be small enough: what loses least. Where no time is short enough: what is shortest, about.
  std::optional<BestAssignment> nearest() {
    AssignmentProblem wider = problem_;
    wider.least.reset();
    if (makes_cost_small() && nearest_tried_ < most_nearest) {
      nearest_tried_++;
      if (auto found = solved(wider)) return found;
    }
    if (!latency() || !std::isfinite(wider.costs.back().most)) return std::nullopt;
    for (size_t i = 0; i < most_widened && nearest_tried_ < most_nearest; i++) {
      wider.costs.back().most *= a_little_wider;
      const auto found = solved(wider);
      if (!found) continue;
      nearest_tried_++;
      return found;
    }
    return std::nullopt;
  }

  // Where no model of an assignment was: the smallest one that is known, which is small enough or the nearest.
  void try_smallest() {
    const SmallestModel smallest = smallest_model(models_of(*context_.trial_context), choices_, problem_.costs.front());
    const double budget = *context_.job.budget->bytes;
    if (smallest.bytes > budget)
      tell(context_.log, Level::warning,
           "budget.bytes is " + in_digits(budget, 10) + " bytes, but the smallest model that was found has " +
               in_digits(smallest.bytes, 10));
    excluded_.push_back(smallest.assignment);
    if (!std::isfinite(bytes_above(smallest.assignment)) || !is_new(smallest.assignment)) return;
    learn(sequence_.evaluate(choices_.point_of(smallest.assignment), "smallest model"),
          {smallest.assignment, problem_.loss.of(smallest.assignment)}, "smallest model");
  }

  // Whether its model has values that no model before had. Where time counts, kernels do too.
  bool is_new(const Assignment& assignment) {
    const TrialContext& trials = *context_.trial_context;
    const quant::Config config = quant::parse_config(words_of(context_.space, choices_.point_of(assignment)));
    const quant::Plan plan = plan_of(trials, config);
    const bool kernels_count = latency() || plan.rounding.optimizes();
    return values_
        .insert(kernels_count ? quant::hash_of(plan) : quant::hash_of_values(trials.variants.graph_of(config)->model, plan))
        .second;
  }

  bool latency() const { return context_.job.budget->weighs_latency(); }
  bool makes_cost_small() const { return !context_.job.budget->least.empty(); }

  // Infinite: no model can be made of it.
  double bytes_above(const Assignment& assignment) {
    const TrialContext& trials = *context_.trial_context;
    const Point point = choices_.point_of(assignment);
    if (!why_impossible(trials, point).empty()) return HUGE_VAL;
    if (!context_.job.budget->bytes) return 0;
    return bytes_at(point, context_.space, trials.variants, trials.target) - *context_.job.budget->bytes;
  }

  bool is_hopeless(const BestAssignment& next) const {
    if (makes_cost_small()) {
      const auto cost = [&](const Assignment& assignment) { return problem_.costs[*problem_.least].of(assignment); };
      return next.loss > hopeless * loss_->as_estimate(context_.job.aim.criterion->tolerable_loss)
                 ? best_.has_value()
                 : best_assignment_ && cost(next.assignment) > costlier * cost(*best_assignment_);
    }
    return best_assignment_ && loss_->as_loss(next.loss) > hopeless * loss_->as_loss(problem_.loss.of(*best_assignment_));
  }

  // -> whether it is the best so far
  bool learn(const Trial& trial, const BestAssignment& found, const std::string& step) {
    Json facts{
        {"precisions", choices_.in_words(found.assignment)}, {"estimated", loss_->as_loss(found.loss)}, {"gap", found.gap}};
    for (const BoundedCost& cost : problem_.costs) facts["estimated_" + cost.name] = cost.of(found.assignment);
    const Measures measures = measures_of(context_.job.aim.goals, trial);
    for (const auto& constraint : context_.job.aim.goals.constraints) {
      if (measures.contains(constraint.metric)) facts[constraint.metric] = measures.at(constraint.metric);
    }
    note(trial, step, facts);
    const bool better = take_learnt(trial, found.assignment);
    if (trial.state != search::State::complete) return better;
    loss_->learn(found.assignment, lost_by(trial, context_));
    take_estimates();
    correct_latency(found.assignment, measures);
    return better;
  }

  // Whether no assignment was better yet; an enqueued trial that is has none.
  bool take_learnt(const Trial& trial, const Assignment& assignment) {
    const bool keeps = trial.state == search::State::complete && trial.violation() <= 0;
    if (!keeps || (best_learnt_ && !better_.is_better(trial, *best_learnt_))) return false;
    best_learnt_ = trial;
    best_assignment_ = assignment;
    return true;
  }

  // Estimates of time are of operators by themselves: the bound follows what whole models take.
  void correct_latency(const Assignment& assignment, const Measures& measures) {
    for (BoundedCost& cost : problem_.costs) {
      const double estimate = cost.name == "latency" ? cost.of(assignment) : 0;
      const double is = milliseconds_of(measures, context_);
      if (estimate > 0 && is > 0) cost.most = most_milliseconds(context_) * estimate / is;
    }
  }

  bool note(const Trial& trial, const std::string& step, const Json& parameters) {
    const bool keeps = trial.state == search::State::complete && trial.violation() <= 0;
    if (keeps) better_.see(trial);
    if (kept_) kept_->count(trial);
    const bool better = keeps && (!best_ || better_.is_better(trial, *best_));
    if (better) best_ = trial;
    told_.steps.push_back({.name = step,
                           .trial = trial.number,
                           .value = trial.values.empty() ? std::nullopt : std::optional(trial.values.front()),
                           .change = Story::Step::Change{parameters, better}});
    return better;
  }

  // One group of the best assignment in another precision, the most promising first: what effects of three and more groups are is
  // not estimated. -> whether one is better, from which it goes on
  bool change_one() {
    if (!best_assignment_) return false;
    std::vector<BestAssignment> others;
    for (size_t g = 0; g < best_assignment_->size(); g++) {
      for (size_t p = 0; p < choices_.own(g).size(); p++) {
        Assignment other = *best_assignment_;
        other[g] = p;
        if (std::ranges::find(excluded_, other) == excluded_.end() && may_be_better(other))
          others.push_back({other, problem_.loss.of(other)});
      }
    }
    std::ranges::stable_sort(others, {}, &BestAssignment::loss);
    size_t tried = 0;
    for (const BestAssignment& other : others) {
      if (tried == most_changes || kept_->left() == 0 || is_hopeless(other)) return false;
      const auto exceeds = [&](const BoundedCost& cost) { return cost.name != "bytes" && cost.of(other.assignment) > cost.most; };
      if (std::ranges::any_of(problem_.costs, exceeds)) continue;
      excluded_.push_back(other.assignment);
      if (bytes_above(other.assignment) > 0 || !is_new(other.assignment)) continue;
      tried++;
      if (learn(sequence_.evaluate(choices_.point_of(other.assignment), "change one group"), other, "change one group"))
        return true;
    }
    return false;
  }

  // Where a cost is made small it must be smaller.
  bool may_be_better(const Assignment& other) const {
    if (!makes_cost_small()) return true;
    const BoundedCost& cost = problem_.costs[*problem_.least];
    return cost.of(other) < cost.of(*best_assignment_);
  }

  // What loses least where all is quantized, of what costs nothing at run time: cheaper assignments then lose no more than
  // allowed.
  void improve_first() {
    const Trial* first = sequence_.find(choices_.base());
    if (first == nullptr || first->state != search::State::complete) return;
    Trial best = *first;
    try_improvements(
        context_, sequence_, best,
        [&](const Trial& trial, const Json& change) {
          note(trial, "improve", change);
          if (trial.state == search::State::complete && lost_by(trial, context_) < lost_by(best, context_)) best = trial;
        },
        improvements_left_);
    choices_.choose_base(best.point);
  }

  // What costs nothing at run time, one parameter after another in the order of the space.
  void improve() {
    try_improvements(
        context_, sequence_, *best_, [&](const Trial& trial, const Json& change) { note(trial, "improve", change); },
        improvements_left_);
  }

  // How sure the choices were, and what a little more would bring, by the estimates of what trials have taught.
  // `is_late`: no time is left for questions.
  void tell_more(bool is_late) {
    if (gaps_.assignments > 0) tell(context_.log, Level::info, in_words(gaps_));
    if (is_late || !best_assignment_ || problem_.costs.empty()) return;
    told_.more = more_within(context_, problem_, *best_assignment_, *loss_);
    for (const Json& one : told_.more) tell(context_.log, Level::info, in_words_of_more(one));
  }

  const StrategyContext& context_;
  BudgetChoices choices_;
  search::Sequence sequence_;
  std::optional<BudgetLoss> loss_;
  AssignmentProblem problem_;
  std::vector<Assignment> excluded_;
  std::set<std::string> values_;  // of models, by hash
  std::string why_none_;
  size_t nearest_tried_ = 0;
  bool is_hopeful_ = false;
  bool is_any_small_enough_ = false;  // a model of those that were written
  std::optional<Trial> best_;         // within the budget
  std::optional<Trial> best_learnt_;  // of those that are assignments
  std::optional<Assignment> best_assignment_;
  Better better_{context_};
  std::optional<KeptTrials> kept_;
  size_t improvements_left_ = 0;
  BudgetFacts told_;
  Gaps gaps_;
};

class BudgetStrategy final : public Strategy {
 public:
  Json default_space(const Job& job) const override { return repairs_for(job.target, job.tuning.approach); }
  void check(const Job& job, const Spaces& spaces) const override { check_budget(job, spaces); }
  Json space_of(const Job& job, const Json& search_space, const graph::Model& model, const quant::Target& target) const override {
    return job.budget ? with_precisions(*job.budget, search_space, model, target) : search_space;
  }
  bool learns_from_earlier() const override { return false; }
  std::string operator_parameters() const override { return "precisions"; }
  std::optional<int64_t> most_trials(const Limits& limits) const override { return trials_wanted(limits, usual_trials); }

  Json outlook(const Job& job, const search::Space& space, const graph::Model& model,
               const quant::Target& target) const override {
    if (!job.budget) return nullptr;
    const BudgetChoices choices(*job.budget, job.spaces.front(), space, model, target);
    Json out{{"bounds", budget_bounds(job.aim, *job.budget)}, {"groups", choices.groups().nodes}, {"precisions", Json::array()}};
    for (const Rung& precision : choices.precisions()) out["precisions"].push_back(precision.name);
    return {{"budget", out}};
  }

  void expect_possible(const Beginning& begin) const override { expect_budget_possible(begin); }

  Finding run(const StrategyContext& context) const override { return Budgeting(context).run(); }
};

}  // namespace

Entry<Strategy> budget() {
  return {"The best model within a budget of bytes and time: a precision for each group of operators, by an integer program.",
          make_as<BudgetStrategy, Strategy>};
}

}  // namespace quasar::tune::strategies
