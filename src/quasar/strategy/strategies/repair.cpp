// Reaches an accuracy goal with the least given up. First what costs nothing at run time is tried, one choice of the space after
// another (channels, ranges, equalization, rounding …), and kept where it brings the outputs nearer to the float model's. If that
// is not enough, operators climb: to ranges at run time, 16 bits where the target computes in them, float at last. One
// instrumented model ranks them by the error that each causes alone, weighted by the work that it does; the shortest sufficient
// piece of the ranking is found by doubling and bisection, O(log n) trials; at the end every operator that may come down again
// does.
#include <algorithm>
#include <map>

#include "quasar/base/cancellation.hpp"
#include "quasar/job/precision.hpp"
#include "quasar/job/spaces.hpp"
#include "quasar/strategy/come_down.hpp"
#include "quasar/strategy/exit_policy.hpp"
#include "quasar/strategy/repair_notes.hpp"
#include "quasar/strategy/trials_ahead.hpp"
#include "quasar/strategy/tuner.hpp"
#include "quasar/trial/foresight.hpp"
#include "quasar/trial/quality.hpp"
#include "quasar/trial/ranking.hpp"
#include "quasar/trial/recall.hpp"

namespace quasar::tune::strategies {
namespace {

using search::Point;
using search::Trial;

constexpr double usual_speed_gate = 1.02;  // what is no faster in integers is not looked for there
constexpr size_t ranking_samples = 8, first_samples = 4;
// What may be given up before anything else is tried: so many operators, with so much of the work.
constexpr double operators_first = 0.25, work_first = 0.1;
constexpr double much_room = 1.0 / 16;                // of what may be lost
constexpr size_t nearly = 4;                          // part of a piece by which it may be too long, as operators come down again
constexpr size_t most_left = 3, most_looked_at = 32;  // operators that are left quantized in the last one's stead

using Nodes = std::vector<std::string>;

class Repairing {
 public:
  explicit Repairing(const StrategyContext& context)
      : context_(context),
        sharer_(sharer_with(companions_in(context.study))),
        rounding_(context.trial_context->variants, sharer_),
        foresight_(*context.trial_context, Foresight::quick_layers, sharer_),
        notes_(context, rungs_of(context.job.tuning.approach, context.job.spaces.front(), context.trial_context->model,
                                 context.trial_context->target)),
        sequence_({.seed = context.job.seed,
                   .n_jobs = static_cast<size_t>(context.job.n_jobs),
                   .stage = "repair",
                   .listener = context.listener,
                   .stop = context.stop,
                   .begin = context.begin},
                  context.study, context.space, exit_policy(context.job.limits), context.objective),
        trials_(sequence_, context.study, foresight_) {}

  Finding run() {
    Finding finding;
    finding.result = run_to_its_end(context_, sequence_, finding.warnings, [this] { return traverse(); });
    notes_.conclude(finding);
    return finding;
  }

 private:
  std::string traverse() {
    for (const Point& point : first_points(context_.job.enqueue, context_.space))
      notes_.note(trials_.evaluate(point, "default configuration"), "default configuration", {});
    if (!notes_.met() && is_far()) give_up_few();
    if (!notes_.met()) repair();
    if (!notes_.met()) {
      rank(ranking_samples);
      foreseeing_ = foresight_.begin(notes_.current());
    }
    const Watching watching(context_.trial_context->rejection, values_of(notes_.current()));
    for (const Rung& rung : notes_.rungs()) {
      if (notes_.met()) break;
      if (notes_.accurate() && notes_.price(*notes_.accurate()) == 0) break;  // giving up more only costs more
      climb(rung);
    }
    if (notes_.accurate()) {
      if (context_.trial_context->rejection != nullptr) context_.trial_context->rejection->pause(false);
      // Single operators are asked when the layers that stay are rounded for good, and before that where nothing is foreseen.
      const bool foreseen = come_down_as_foreseen(context_.space, trials_, notes_, foresight_);
      if (!foreseen) come_down(context_.space, trials_, notes_, foresight_);
      if (round_again() || foreseen) come_down(context_.space, trials_, notes_, foresight_);
    }
    return notes_.met() ? "the accuracy criterion is met" : notes_.shortfall();
  }

  // Points that differ in one parameter, with what that becomes.
  struct Choices {
    std::vector<Point> points;
    std::vector<Changes> changes;
  };

  // What may be tried of the place-th parameter of the space; nothing where it is no repair, or has no effect there.
  Choices choices_from(const Point& from, size_t place) const {
    Choices out;
    const search::Parameter& parameter = context_.space.parameters()[place];
    if (parameter.name.starts_with(precision_of("")) || parameter.name == fallback_parameter) return out;
    if (!context_.space.is_active(parameter, from)) return out;
    for (const Json& choice : choices_of(parameter)) {
      if (choice == *from.find(parameter.name)) continue;
      const Changes change{{parameter.name, choice}};
      Point point = changed(context_.space, from, change);
      if (!why_impossible(*context_.trial_context, point).empty()) continue;
      out.changes.push_back(change);
      out.points.push_back(std::move(point));
    }
    return out;
  }

  // Coordinate by coordinate, in the order of the space.
  void repair() {
    for (size_t place = 0; place < context_.space.parameters().size() && !notes_.met(); place++) {
      const Choices choices = choices_from(notes_.current().point, place);
      const std::vector<Point>& points = choices.points;
      // As many at a time as run at a time: none beyond what meets the goal.
      const auto at_once = static_cast<size_t>(context_.job.n_jobs);
      for (size_t i = 0; i < points.size() && !notes_.met(); i += at_once) {
        const size_t end = std::min(points.size(), i + at_once);
        const auto some = std::span(points).subspan(i, end - i);
        const bool is_nearer = points.size() == 1;
        const Guess guess{[&, ahead = Repairs{{points.begin() + static_cast<ptrdiff_t>(end), points.end()},
                                              is_nearer ? points.front() : notes_.current().point,
                                              place}]() mutable { return next_repair(ahead); },
                          [&](const Trial& trial) { return is_as_guessed(trial, end < points.size(), is_nearer); }};
        const std::vector<Trial> trials = trials_.evaluate(some, "repair", guess);
        for (size_t k = 0; k < trials.size(); k++) notes_.note(trials[k], "repair", choices.changes[i + k]);
      }
    }
  }

  // What repair() comes to if the only other choice of a parameter helps, and none of several does.
  struct Repairs {
    std::vector<Point> points;  // of this parameter
    Point from;
    size_t place = 0;
  };

  std::optional<Point> next_repair(Repairs& ahead) const {
    while (ahead.points.empty()) {
      if (++ahead.place >= context_.space.parameters().size()) return std::nullopt;
      ahead.points = choices_from(ahead.from, ahead.place).points;
      if (ahead.points.size() == 1) ahead.from = ahead.points.front();
    }
    Point point = std::move(ahead.points.front());
    ahead.points.erase(ahead.points.begin());
    return point;
  }

  // What comes next of the same parameter depends on the goal alone.
  bool is_as_guessed(const Trial& trial, bool more_of_it, bool is_nearer) const {
    RepairNotes then = notes_;
    then.note(trial, "repair", {});
    return !then.met() && (more_of_it || (then.current().number == trial.number) == is_nearer);
  }

  // So far from the float model that it is rather a few operators that cannot be quantized than all that lose a little.
  bool is_far() const {
    const Measures values = measures_of(context_.job.aim.goals, notes_.current());
    const auto parts = values.find(Guide::metric);
    return parts != values.end() && plain_word(Guide::metric, parts->second) == "broken";
  }

  // Whether a few of the operators that do most harm alone are all that must be in float: known after a trial without any
  // rounding, where repairs take minutes.
  void give_up_few() {
    try {
      rank(first_samples);
    } catch (const ToggledModelFailed&) {  // repairs come first then, and it is told where it matters
      return;
    }
    const Rung& rung = notes_.rungs().back();
    const Nodes nodes = ranked_on(rung);
    const size_t most = most_of_little_work(nodes);
    if (!can_be_tried(rung, nodes, most)) return;
    const Trial all = notes_.current();
    if (try_on(rung, nodes, most) != Verdict::enough) return notes_.go_on_from(all);
    find_shortest({.all = most, .all_are_enough = true, .part = nearly},
                  [&](size_t count) { return try_on(rung, nodes, count); });
  }

  // How many of the first of these do hardly any of the work; one at least.
  size_t most_of_little_work(const Nodes& nodes) const {
    std::map<std::string, double> work;
    double all = 0;
    for (const auto& unit : notes_.units()) all += work[unit.unit.node] = unit.work;
    size_t count = 0;
    for (double given = 0; count < nodes.size(); count++) {
      given += work[nodes[count]];
      if (given > work_first * all || static_cast<double>(count) > operators_first * static_cast<double>(nodes.size())) break;
    }
    return std::min(nodes.size(), std::max<size_t>(1, count));
  }

  void rank(size_t most_samples) {
    repaired_ = notes_.current().point;
    const data::DatasetPtr samples = data::first(context_.samples, std::min(most_samples, context_.samples->size()));
    auto units = by_gain(*context_.trial_context, repaired_, notes_.rungs().back().nodes, *samples, sharer_);
    ranked_locally_if_need_be(units);
    notes_.note_ranking(std::move(units));
  }

  bool is_last(const Rung& rung) const { return &rung == &notes_.rungs().back(); }

  // The first k of these operators on this rung, on top of the best repairs.
  Point point_on(const Rung& rung, const Nodes& nodes, size_t k) const {
    Changes changes;
    for (size_t i = 0; i < k; i++) changes.emplace_back(precision_of(nodes[i]), rung.choice);
    return changed(context_.space, repaired_, changes);
  }

  bool can_be_tried(const Rung& rung, const Nodes& nodes, size_t k) const {
    return why_impossible(*context_.trial_context, point_on(rung, nodes, k)).empty();
  }

  Verdict try_on(const Rung& rung, const Nodes& nodes, size_t k) {
    const bool most = is_last(rung) && k == nodes.size();
    // What comes out in the end is scored in full, met or not.
    if (context_.trial_context->rejection != nullptr) context_.trial_context->rejection->pause(most);
    const Trial trial = trials_.evaluate(point_on(rung, nodes, k), "fall back to " + rung.name);
    notes_.note(trial, "fall back", {{"operators", k}, {"to", rung.name}});
    if (most) notes_.note_most(trial, k);
    return notes_.verdict_on(trial);
  }

  // The ranking of the operators that can be on this rung.
  Nodes ranked_on(const Rung& rung) const {
    Nodes nodes;
    for (const auto& unit : notes_.units()) {
      if (rung.nodes.contains(unit.unit.node)) nodes.push_back(unit.unit.node);
    }
    return nodes;
  }

  // The fewest operators of the ranking that are accurate enough on this rung, if any number is. Costs do not count here: they
  // grow with every operator, and the fewest have the best chance to keep them.
  void climb(const Rung& rung) {
    const bool last = is_last(rung);
    Nodes nodes = ranked_on(rung);
    // A model in which nothing is quantized any more is no trial. A sum that only nodes in float read stays in float, too.
    nodes.resize(greatest(nodes.size(), [&](size_t k) { return k == 0 || can_be_tried(rung, nodes, k); }));
    if (nodes.empty()) return;
    size_t low = 0;
    const size_t foreseen = this->foreseen(nodes);
    if (last && nodes.size() > 1 && foreseen <= 2 && !foreseeing_) {
      if (try_on(rung, nodes, 1) == Verdict::enough) return;
      low = 1;
    }
    // Where the whole ranking is not enough, no piece of it is; and its trial is the quickest, with next to nothing to round.
    Verdict whole = try_on(rung, nodes, nodes.size());
    if (last && whole == Verdict::too_little && leave_another(rung, nodes)) {
      whole = Verdict::enough;
      low = 0;
    }
    if (whole == Verdict::too_little) return;
    const size_t enough = whole == Verdict::enough ? enough_by_foresight(rung, nodes, {low, nodes.size(), true, foreseen}) : 0;
    size_t about = foreseen;
    if (enough > low && enough < nodes.size()) {
      if (try_on(rung, nodes, enough) == Verdict::enough) return;  // what is too much of it comes down again
      low = enough;
      about = enough + enough / nearly + 1;
    }
    find_shortest({low, nodes.size(), whole == Verdict::enough, about, nearly}, [&](size_t k) { return try_on(rung, nodes, k); });
  }

  // The fewest, without any trial; 0: nobody can tell.
  size_t enough_by_foresight(const Rung& rung, const Nodes& nodes, const Ranked& ranking) {
    size_t enough = 0;
    find_shortest(ranking, [&](size_t k) {
      if (!foresight_.meets(point_on(rung, nodes, k))) return Verdict::too_little;
      enough = enough == 0 ? k : std::min(k, enough);
      return Verdict::enough;
    });
    return enough;
  }

  // How many of the first of these are about enough, if the errors of single operators add up by their squares and the loss is as
  // their sum; 0: nothing is known. Says no more than where to begin.
  size_t foreseen(const Nodes& nodes) const {
    const AccuracyCriterion& criterion = *context_.job.aim.criterion;
    const Measures values = measures_of(context_.job.aim.goals, notes_.current());
    const auto known = [&](const auto& part) { return values.contains(part.metric); };
    if (!outputs_compare(notes_.units()) || !std::ranges::all_of(criterion.parts, known)) return 0;
    const Measures baseline = measures_of(context_.trial_context->evaluator.reference());
    const double loss = loss_of(criterion, values, baseline), tolerable = loss - excess_of(criterion, values, baseline);
    std::map<std::string, double> squares;
    double rest = 0;
    for (const auto& unit : notes_.units()) rest += squares[unit.unit.node] = unit.output_error * unit.output_error;
    const double may_stay = loss > 0 ? rest * tolerable / loss : rest;
    size_t count = 0;
    while (count < nodes.size() && rest > may_stay) rest -= squares.at(nodes[count++]);
    return count;
  }

  // The last of a ranking by gain per cost need not be the operator that does the least harm when it stays quantized alone: that
  // is the one with the least error alone, which is the very error of that model. -> whether the goal is met so; `nodes` are the
  // others then.
  bool leave_another(const Rung& rung, Nodes& nodes) {
    size_t tried = 0, looked_at = 0;
    for (const auto& node : by_least_harm(notes_.units())) {
      if (tried == most_left || looked_at == most_looked_at) return false;
      if (std::ranges::find(nodes, node) == nodes.end()) continue;
      looked_at++;
      Nodes others = ranked_on(rung);
      std::erase(others, node);
      if (!can_be_tried(rung, others, others.size())) continue;
      tried++;
      if (try_on(rung, others, others.size()) != Verdict::enough) continue;
      nodes = std::move(others);
      return true;
    }
    return false;
  }

  // For the layers that stay, once in the end: their codes are of a model in which more was quantized. -> whether that has made
  // room for operators to return
  bool round_again() {
    const Point& point = notes_.ground().point;
    if (point.find(fallback_parameter) == nullptr || notes_.price(notes_.ground()) == 0) return false;
    const Changes change{{fallback_parameter, fallback_before_rounding}};
    const Point again = changed(context_.space, point, change);
    if (!quant::parse_config(words_of(context_.space, again)).rounding.optimizes()) return false;
    const Trial trial = trials_.evaluate(again, "round again");
    notes_.note_other_rounding(trial);
    return notes_.ground().number == trial.number && notes_.room(trial) > much_room;
  }

  // Of every sample; empty where they are not known.
  // Of a trial that another process ran they are found again, once: every process rejects by the same order then.
  std::vector<double> values_of(const Trial& trial) const {
    const TrialContext& trials = *context_.trial_context;
    auto scores = trials.book.by_sample(trial.number);
    if (!scores && context_.study.is_shared() && trials.rejection != nullptr && trial.state == search::State::complete) {
      recall_best(trials, trial);
      scores = trials.book.by_sample(trial.number);
    }
    return scores ? scores->at(context_.job.aim.metrics.front()).per_sample : std::vector<double>();
  }

  const StrategyContext& context_;
  const Sharer sharer_;  // with the study's other processes, which go the same way
  const Variants::SharedRounding rounding_;
  Foresight foresight_;
  bool foreseeing_ = false;
  RepairNotes notes_;
  search::Sequence sequence_;
  TrialsAhead trials_;
  Point repaired_;
};

class Repair final : public Strategy {
 public:
  Json default_space(const Job& job) const override { return repairs_for(job.target, job.tuning.approach); }
  std::optional<double> speed_gate() const override { return usual_speed_gate; }
  bool has_goal() const override { return true; }
  void check(const Job& /*job*/, const Spaces& spaces) const override {
    if (spaces.each.size() > 1) throw Error("strategy repair searches one space; give search_space instead of search_spaces");
  }
  Json space_of(const Job& job, const Json& search_space, const graph::Model& model, const quant::Target& target) const override {
    return with_rungs(job.tuning.approach, search_space, model, target);
  }
  std::vector<std::string> metrics() const override { return {Guide::metric}; }
  bool learns_from_earlier() const override { return false; }
  bool repairs() const override { return true; }
  std::string operator_parameters() const override { return "rungs"; }  // besides the types of other strategies
  std::optional<int64_t> most_trials(const Limits& limits) const override { return most_trials_of(limits).count; }
  Finding run(const StrategyContext& context) const override { return Repairing(context).run(); }
};

}  // namespace

Entry<Strategy> repair() {
  return {"Reaches an accuracy goal with the least given up: repairs first, then the fewest operators in 16 bits or float.",
          make_as<Repair, Strategy>};
}

}  // namespace quasar::tune::strategies
