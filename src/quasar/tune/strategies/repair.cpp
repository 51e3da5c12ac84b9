// Reaches an accuracy goal with the least given up. First what costs nothing at run time is tried, one choice of the space after
// another (channels, ranges, equalization, rounding …), and kept where it brings the outputs nearer to the float model's. If that
// is not enough, operators climb: to ranges at run time, 16 bits where the target computes in them, float at last. One
// instrumented model ranks them by the error that each causes alone, weighted by the work that it does; the shortest sufficient
// piece of the ranking is found by doubling and bisection, O(log n) trials; at the end every operator that may come down again
// does.
#include <algorithm>
#include <sstream>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/names.hpp"
#include "quasar/tune/exit_policy.hpp"
#include "quasar/tune/goal_parts.hpp"
#include "quasar/tune/guide.hpp"
#include "quasar/tune/local_order.hpp"
#include "quasar/tune/precision.hpp"
#include "quasar/tune/ranking.hpp"
#include "quasar/tune/repair_space.hpp"
#include "quasar/tune/tuner.hpp"
#include "quasar/tune/tuning_space.hpp"

namespace quasar::tune::strategies {
namespace {

using search::Point;
using search::Trial;

constexpr size_t ranking_samples = 16;

using Changes = std::vector<std::pair<std::string, Json>>;

class Repairing {
 public:
  explicit Repairing(const Workbench& bench)
      : bench_(bench),
        rungs_(rungs_of(bench.job, bench.job.spaces.front(), bench.lab->model, bench.lab->target)),
        guide_(bench.job, bench.lab->evaluator.reference()),
        left_(bench.lab->model, {rungs_.back().nodes.begin(), rungs_.back().nodes.end()}),
        sequence_({.seed = bench.job.seed,
                   .n_jobs = static_cast<size_t>(bench.job.n_jobs),
                   .stage = "repair",
                   .listener = bench.listener,
                   .stop = bench.stop,
                   .begin = bench.begin},
                  bench.study, bench.space, exit_policy(bench.job), bench.objective) {}

  Finding run() {
    Finding finding;
    try {
      static_cast<search::RunResult&>(finding) = sequence_.finished(traverse());
    } catch (const search::SequenceOver& over) {
      static_cast<search::RunResult&>(finding) = over.result;
    } catch (const Cancelled&) {
      static_cast<search::RunResult&>(finding) = cut_short(bench_, sequence_, exit_policy(bench_.job));
    } catch (const ToggledModelFailed& failed) {
      static_cast<search::RunResult&>(finding) = sequence_.finished(told_failure(finding.warnings, failed));
    }
    if (met_) finding.winner = met_->number;
    const bool locally = !outputs_compare(units_);
    if (guide_.lost() || locally) finding.warnings.push_back(guide_.told(locally));
    Json ignored = Json::array();
    if (std::string why = idle_auto(bench_.job.tuning, bench_.lab->model, bench_.lab->target); !why.empty()) {
      finding.warnings.push_back(why);
      ignored.push_back(why);
    }
    finding.story = {{"strategy", "repair"}, {"goal", to_json(*bench_.job.criterion)}, {"steps", steps_}, {"float", given_up()},
                     {"ignored", ignored},   {"sensitivity", to_json(units_)}};
    return finding;
  }

 private:
  std::string traverse() {
    for (const Point& point : first_points(bench_.job, bench_.space))
      note(sequence_.evaluate(point), "default configuration", {});
    if (!met_) repair();
    if (!met_) rank();
    const Watching watching(bench_.lab->rejection, values_of(*current_));
    for (size_t r = 0; r < rungs_.size() && !met_; r++) {
      if (accurate_ && price(*accurate_) == 0) break;  // giving up more only costs more
      climb(rungs_[r], r + 1 == rungs_.size());
    }
    if (accurate_) come_down();
    return met_ ? "the accuracy criterion is met" : shortfall();
  }

  // What was done in vain: subsets of the operators that were not tried may do better, though it is not likely.
  std::string shortfall() const {
    std::ostringstream out;
    const eval::Scores& reference = bench_.lab->evaluator.reference();
    if (accurate_) {
      out << joined(missed_costs(bench_.job, measures_of(bench_.job.goals, *accurate_), reference), " and ")
          << " is not kept: that is the least found with the accuracy criterion met, by " << float_nodes(accurate_->point).size()
          << " operators in float; other choices of operators were not tried";
      return out.str();
    }
    const Measures most = most_tried_ ? measures_of(bench_.job.goals, *most_tried_) : Measures();
    out << (most.empty() ? "the accuracy criterion" : joined(missed_accuracy(bench_.job, most, reference), " and "))
        << " is not met by any repair, ";
    if (most_ == 0) {
      out << "and no operator can be left in float";
      return out.str();
    }
    out << "nor with " << most_ << " of " << units_.size() << " operators in " << rungs_.back().name;
    const Json value = most_tried_ ? value_of(*most_tried_) : Json();
    if (value.is_number()) out << " (" << bench_.job.goals.objectives.front().metric << " " << value.get<double>() << ")";
    out << "; other choices of operators were not tried";
    return out.str();
  }

  // Keeps the trial where it is nearer to the float model, and of those that are accurate enough the one that gives up least.
  void note(const Trial& trial, const std::string& step, const Changes& changes) {
    const bool better = !current_ || guide_.nearer(trial, *current_);
    if (better) current_ = trial;
    if (trial.is_candidate() && (!met_ || price(trial) < price(*met_))) met_ = trial;
    if (is_accurate(trial) && (!accurate_ || price(trial) < price(*accurate_))) accurate_ = trial;
    Json words = Json::object();
    for (const auto& [name, value] : changes) words[name] = value;
    steps_.push_back({{"step", step}, {"change", words}, {"trial", trial.number}, {"kept", better}, {"value", value_of(trial)}});
  }

  // Coordinate by coordinate, in the order of the space.
  void repair() {
    for (const auto& parameter : bench_.space.parameters()) {
      if (met_ || parameter.name.starts_with(precision_of(""))) continue;
      if (!bench_.space.is_active(parameter, current_->point)) continue;
      const Point from = current_->point;
      std::vector<Point> points;
      std::vector<Changes> changes;
      for (const Json& choice : choices_of(parameter)) {
        if (choice == *from.find(parameter.name)) continue;
        changes.push_back({{parameter.name, choice}});
        points.push_back(changed(bench_.space, from, changes.back()));
      }
      const std::vector<Trial> trials = sequence_.evaluate(points);
      for (size_t i = 0; i < trials.size(); i++) note(trials[i], "repair", changes[i]);
    }
  }

  static std::vector<Json> choices_of(const search::Parameter& parameter) {
    const auto* categorical = std::get_if<search::Categorical>(parameter.distribution.get());
    return categorical == nullptr ? std::vector<Json>() : categorical->choices;
  }

  // What the node is when nothing of it is given up.
  Json cheapest(const std::string& node) const { return choices_of(*bench_.space.find(precision_of(node))).front(); }

  void rank() {
    const Laboratory& lab = *bench_.lab;
    repaired_ = current_->point;
    const quant::Config config = quant::parse_config(words_of(bench_.space, repaired_));
    quant::Plan plan = plan_of(lab, config);
    lab.variants.improve(config, plan);
    const data::DatasetPtr samples = data::first(bench_.samples, std::min(ranking_samples, bench_.samples->size()));
    units_ = by_gain(lab.variants.graph_of(config)->model, plan, rungs_.back().nodes, *samples);
    ranked_locally_if_need_be(units_);
  }

  // The first k of these operators on this rung, on top of the best repairs.
  bool try_on(const Rung& rung, const std::vector<std::string>& nodes, size_t k) {
    Changes changes;
    for (size_t i = 0; i < k; i++) changes.emplace_back(precision_of(nodes[i]), rung.choice);
    // What comes out in the end is scored in full, met or not.
    if (bench_.lab->rejection != nullptr) bench_.lab->rejection->pause(k == most_);
    const Trial trial = sequence_.evaluate(changed(bench_.space, repaired_, changes));
    note(trial, "fall back", {{"operators", k}, {"to", rung.name}});
    if (k == most_) most_tried_ = trial;
    return is_accurate(trial);
  }

  // The fewest operators of the ranking that are accurate enough on this rung, if any number is. Costs do not count here: they
  // grow with every operator, and the fewest have the best chance to keep them.
  void climb(const Rung& rung, bool last) {
    std::vector<std::string> nodes;
    for (const auto& unit : units_) {
      if (rung.nodes.contains(unit.unit.node)) nodes.push_back(unit.unit.node);
    }
    if (last && nodes.size() == units_.size() && !nodes.empty()) nodes.pop_back();  // with all of them nothing would be quantized
    if (nodes.empty()) return;
    if (!last && !try_on(rung, nodes, nodes.size())) return;
    most_ = last ? nodes.size() : 0;
    size_t low = 0, high = 1;  // low fails
    while (!try_on(rung, nodes, high)) {
      if (high == nodes.size()) return;
      // Where the whole ranking is not enough, no piece of it is; and its trial is the quickest, with next to nothing to round.
      if (last && low == 0 && !try_on(rung, nodes, nodes.size())) return;
      low = high;
      high = 2 * high;
      if (high < nodes.size()) continue;
      high = nodes.size();  // which is known to suffice
      break;
    }
    while (high - low > 1) {
      const size_t middle = (low + high) / 2;
      (try_on(rung, nodes, middle) ? high : low) = middle;
    }
  }

  // Where operators come down from, and what must hold below: the whole goal once something meets it, accuracy until then.
  const Trial& ground() const { return met_ ? *met_ : *accurate_; }
  bool holds(const Trial& trial) const { return met_ ? trial.is_candidate() : is_accurate(trial); }

  // From the rung on which they are to 8 bits, and those that cannot, to the cheapest rung that they can be on.
  void come_down() {
    if (bench_.lab->rejection != nullptr) bench_.lab->rejection->pause(false);
    come_down_to([this](const std::string& node) { return cheapest(node); }, 0);
    for (size_t r = 0; r + 1 < rungs_.size(); r++) {
      const auto choice = [&](const std::string& node) { return rungs_[r].nodes.contains(node) ? rungs_[r].choice : Json(); };
      come_down_to(choice, r + 1);
    }
  }

  // Operators on rung `from` or above, in halves, quarters … and one by one, the least sensitive first. `to` gives null for one
  // that cannot be there.
  void come_down_to(const std::function<Json(const std::string&)>& to, size_t from) {
    std::vector<std::string> left;
    for (const auto& [name, value] : ground().point.values()) {
      const auto rung = std::ranges::find(rungs_, value, &Rung::choice) - rungs_.begin();
      if (!name.starts_with(precision_of("")) || rung < static_cast<ptrdiff_t>(from) || rung == std::ssize(rungs_)) continue;
      const std::string node = name.substr(precision_of("").size());
      if (!to(node).is_null() && to(node) != value) left.push_back(node);
    }
    left = in_order_of_harm(std::move(left));
    for (size_t size = std::max<size_t>(left.size() / 2, left.empty() ? 0 : 1); size > 0; size = size == 1 ? 0 : (size + 1) / 2) {
      for (size_t end = left.size(); end > 0;) {
        const size_t begin = end > size ? end - size : 0;
        Changes changes;
        for (size_t i = begin; i < end; i++) changes.emplace_back(precision_of(left[i]), to(left[i]));
        const Trial trial = sequence_.evaluate(changed(bench_.space, ground().point, changes));
        note(trial, "take back", changes);
        if (holds(trial)) {
          left.erase(left.begin() + static_cast<ptrdiff_t>(begin), left.begin() + static_cast<ptrdiff_t>(end));
        } else if (end - begin == 1 && from == 0) {
          without_.insert_or_assign(left[begin], trial);
        }
        end = begin;
      }
    }
  }

  std::vector<std::string> in_order_of_harm(std::vector<std::string> nodes) const {
    const auto place = [&](const std::string& node) {
      return std::find_if(units_.begin(), units_.end(), [&](const UnitError& error) { return error.unit.node == node; }) -
             units_.begin();
    };
    std::stable_sort(nodes.begin(), nodes.end(), [&](const auto& a, const auto& b) { return place(a) < place(b); });
    return nodes;
  }

  // Operators above 8 bits in the end, whether the goal is met or not: on which rung, what each costs in 8 bits, and the score
  // without it; those that a recipe leaves in float, with the recipe.
  Json given_up() const {
    Json out = Json::array();
    const Trial* const last = met_ ? &*met_ : bench_.study.best();
    if (last == nullptr) return out;
    const auto by_recipes = left_.by_recipes(bench_.space, last->point);
    for (const auto& [node, recipe] : by_recipes)
      out.push_back({{"node", node}, {"type", in_float}, {"quantized_gives", nullptr}, {"why", recipe + " is off"}});
    for (const auto& rung : rungs_) {
      for (const auto& [name, value] : last->point.values()) {
        if (!name.starts_with(precision_of("")) || value != rung.choice) continue;
        const std::string node = name.substr(precision_of("").size());
        if (value == cheapest(node) || by_recipes.contains(node)) continue;
        Json entry{{"node", node}, {"type", rung.name}, {"quantized_gives", nullptr}};
        if (const auto found = without_.find(node); found != without_.end()) entry.update(in_eight_bits(found->second));
        for (const auto& error : units_) {
          if (error.unit.node == node) entry["output_error"] = error.output_error;
        }
        out.push_back(entry);
      }
    }
    return out;
  }

  // What an operator's quantization gave, or what is known of it where the trial was given up early.
  Json in_eight_bits(const Trial& trial) const {
    Json out{{"quantized_gives", value_of(trial)}};
    if (trial.state != search::State::pruned) return out;
    const Json bound = beyond_the_goal(bench_.job, bench_.lab->evaluator.reference());
    for (const auto& [side, value] : bound.items()) out["quantized_gives_" + side] = value;
    out["given_up"] = trial.user_attributes.value(search::attribute::pruned, std::string());
    return out;
  }

  bool is_accurate(const Trial& trial) const {
    return trial.is_candidate() ||
           tune::is_accurate(bench_.job, measures_of(bench_.job.goals, trial), bench_.lab->evaluator.reference());
  }

  // Of every sample; empty where they are not known.
  std::vector<double> values_of(const Trial& trial) const {
    const auto scores = bench_.lab->book.by_sample(trial.number);
    return scores ? scores->at(bench_.job.metrics.front()).per_sample : std::vector<double>();
  }

  // In operators above 8 bits.
  double price(const Trial& trial) const { return left_.given_up(bench_.space, trial.point); }

  static Json value_of(const Trial& trial) { return trial.values.empty() ? Json() : Json(trial.values.front()); }

  const Workbench& bench_;
  const std::vector<Rung> rungs_;
  Guide guide_;
  const LeftInFloat left_;
  search::Sequence sequence_;
  std::optional<Trial> current_, met_;  // nearest to the float model; the goal met with the least given up
  std::optional<Trial> accurate_;       // whatever it costs, with the least given up
  std::optional<Trial> most_tried_;     // with as many operators on the last rung as may be
  Point repaired_;
  size_t most_ = 0;                       // operators on the last rung, beyond which there is nothing to try
  std::vector<UnitError> units_;          // the most harmful first
  std::map<std::string, Trial> without_;  // by operator: what became of it in 8 bits
  Json steps_ = Json::array();
};

class Repair final : public Strategy {
 public:
  Json default_space(const Job& job) const override { return repairs_for(job); }
  void check(const Job& job, const Spaces& spaces) const override {
    if (!job.criterion) throw Error("strategy repair needs accuracy_criterion: the goal to reach");
    if (spaces.each.size() > 1) throw Error("strategy repair searches one space; give search_space instead of search_spaces");
    exit_policy(job);
  }
  Json space_of(const Job& job, const Json& search_space, const graph::Model& model, const quant::Target& target) const override {
    return with_rungs(job, search_space, model, target);
  }
  std::vector<std::string> metrics() const override { return {Guide::metric}; }
  std::optional<int64_t> most_trials(const Job& job) const override { return most_trials_of(job).count; }
  Finding run(const Workbench& bench) const override { return Repairing(bench).run(); }
};

}  // namespace

Entry<Strategy> repair() {
  return {"Reaches an accuracy goal with the least given up: repairs first, then the fewest operators in 16 bits or float.",
          make_as<Repair, Strategy>};
}

}  // namespace quasar::tune::strategies
