// Reaches an accuracy goal with the least given up. First what costs nothing at run time is tried, one choice of the space after
// another (channels, ranges, equalization, rounding …), and kept where it brings the outputs nearer to the float model's. If that
// is not enough, operators go back to float: one instrumented model ranks them by the error that each causes alone, weighted by
// the work that it does; the shortest sufficient piece of the ranking is found by doubling and bisection, O(log n) trials; at the
// end every operator that may return to integers does.
#include <algorithm>
#include <cmath>

#include "quasar/search/sequence.hpp"
#include "quasar/tune/precision.hpp"
#include "quasar/tune/strategy.hpp"
#include "quasar/tune/trial.hpp"
#include "quasar/tune/unit_errors.hpp"

namespace quasar::tune::strategies {
namespace {

using search::Point;
using search::Trial;

constexpr size_t ranking_samples = 16;
constexpr int64_t default_trials = 100;     // as Intel Neural Compressor's max_trials
constexpr const char* guide_metric = "L2";  // smooth, where accuracy moves in steps of one sample

using Changes = std::vector<std::pair<std::string, Json>>;

class Repairing {
 public:
  explicit Repairing(const Workbench& bench)
      : bench_(bench),
        sequence_({.seed = bench.job.seed,
                   .n_jobs = static_cast<size_t>(bench.job.n_jobs),
                   .stage = "repair",
                   .listener = bench.listener,
                   .stop = bench.stop},
                  bench.study, bench.space, conditions_of(bench.job, default_trials), bench.objective) {}

  Finding run() {
    Finding finding;
    try {
      static_cast<search::RunResult&>(finding) = sequence_.finished(traverse());
    } catch (const search::SequenceOver& over) {
      static_cast<search::RunResult&>(finding) = over.result;
    }
    if (met_) finding.winner = met_->number;
    finding.story = {{"strategy", "repair"}, {"steps", steps_}, {"float", given_up()}, {"sensitivity", sensitivity()}};
    return finding;
  }

 private:
  std::string traverse() {
    for (const Point& point : first_points(bench_.job, bench_.space))
      note(sequence_.evaluate(point), "default configuration", {});
    if (!met_) repair();
    if (!met_) fall_back();
    if (met_) take_back();
    return met_ ? "the accuracy criterion is met" : "nothing in the space meets the accuracy criterion";
  }

  // Keeps the trial where it is nearer to the float model, or the first that meets the goal.
  void note(const Trial& trial, const std::string& step, const Changes& changes) {
    const bool better = !current_ || guide(trial) < guide(*current_);
    if (better) current_ = trial;
    if (trial.is_candidate() && (!met_ || float_nodes(trial.point).size() < float_nodes(met_->point).size())) met_ = trial;
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

  // By the squared error that each operator causes alone at the model's outputs, which add up where errors are independent, per
  // share of the work.
  void rank() {
    const Laboratory& lab = *bench_.lab;
    const quant::Config config = quant::parse_config(words_of(bench_.space, current_->point));
    quant::Plan plan = plan_of(lab, config);
    lab.variants.improve(config, plan);
    const auto graph = lab.variants.graph_of(config);
    units_ =
        alone(ToggledModel(graph->model, plan), *data::first(bench_.samples, std::min(ranking_samples, bench_.samples->size())));
    double work = 0;
    for (const auto& unit : units_) work += unit.work;
    const double share = static_cast<double>(units_.size()) / std::max(work, 1.0);
    const auto gain = [&](const UnitError& unit) { return unit.output_error * unit.output_error / (1 + share * unit.work); };
    std::stable_sort(units_.begin(), units_.end(), [&](const auto& a, const auto& b) { return gain(a) > gain(b); });
  }

  // The first k of the ranking in float, on top of the best repairs.
  Point with_float(size_t k) const {
    Changes changes;
    for (size_t i = 0; i < units_.size(); i++)
      changes.emplace_back(precision_of(units_[i].unit.node), i < k ? in_float : quantized);
    return changed(bench_.space, repaired_, changes);
  }

  bool try_float(size_t k) {
    const Trial trial = sequence_.evaluate(with_float(k));
    note(trial, "fall back", {{"operators", k}});
    return trial.is_candidate();
  }

  void fall_back() {
    rank();
    repaired_ = current_->point;
    if (units_.size() < 2) return;
    const size_t most = units_.size() - 1;  // with all of them nothing would be quantized
    size_t low = 0, high = 1;               // low fails
    while (!try_float(high)) {
      if (high == most) return;
      low = high;
      high = std::min(most, 2 * high);
    }
    while (high - low > 1) {
      const size_t middle = (low + high) / 2;
      (try_float(middle) ? high : low) = middle;
    }
  }

  // Returns operators to integers in halves, quarters … and one by one, the least sensitive first.
  void take_back() {
    std::vector<std::string> left = in_order_of_harm(float_nodes(met_->point));
    for (size_t size = left.size() / 2; size > 0; size = size == 1 ? 0 : (size + 1) / 2) {
      for (size_t end = left.size(); end > 0;) {
        const size_t begin = end > size ? end - size : 0;
        Changes changes;
        for (size_t i = begin; i < end; i++) changes.emplace_back(precision_of(left[i]), quantized);
        const Trial trial = sequence_.evaluate(changed(bench_.space, met_->point, changes));
        note(trial, "take back", changes);
        if (trial.is_candidate()) {
          left.erase(left.begin() + static_cast<ptrdiff_t>(begin), left.begin() + static_cast<ptrdiff_t>(end));
        } else if (end - begin == 1) {
          without_[left[begin]] = value_of(trial);
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

  // Operators in float in the end: what each costs in integers, and the score without it.
  Json given_up() const {
    Json out = Json::array();
    if (!met_) return out;
    for (const auto& node : float_nodes(met_->point)) {
      Json entry{{"node", node}, {"quantized_gives", nullptr}};
      if (const auto found = without_.find(node); found != without_.end()) entry["quantized_gives"] = found->second;
      for (const auto& error : units_) {
        if (error.unit.node == node) entry["output_error"] = error.output_error;
      }
      out.push_back(entry);
    }
    return out;
  }

  Json sensitivity() const {
    Json out = Json::array();
    for (const auto& error : units_) {
      out.push_back({{"node", error.unit.node},
                     {"op_type", error.unit.op_type},
                     {"output_error", error.output_error},
                     {"noise_to_signal", error.noise_to_signal},
                     {"work", error.work}});
    }
    return out;
  }

  static double guide(const Trial& trial) {
    if (trial.state != search::State::complete || !trial.user_attributes.contains("metrics")) return HUGE_VAL;
    return trial.user_attributes["metrics"].value(guide_metric, HUGE_VAL);
  }

  static Json value_of(const Trial& trial) { return trial.values.empty() ? Json() : Json(trial.values.front()); }

  const Workbench& bench_;
  search::Sequence sequence_;
  std::optional<Trial> current_, met_;  // nearest to the float model; the goal met with the fewest operators in float
  Point repaired_;
  std::vector<UnitError> units_;  // the most harmful first
  std::map<std::string, Json> without_;
  Json steps_ = Json::array();
};

// What may be mended without giving anything up, in the order in which it is tried: what helps most first.
Json repairs_for(const std::string& target) {
  const bool powers_of_two = target == "xint8";
  const Json ranges = {"MinMax", "MinMSE", "Percentile", "Entropy"};
  Json weight{{"only_if", "weight"}}, activation{{"only_if", "activation"}, {"calibration_method", ranges}};
  if (powers_of_two) {
    weight["calibration_method"] = {"MinMSE", "MinMax"};
    return {{"weight", {"XInt8Spec"}},        {"activation", {"XInt8Spec"}},  {"algorithms", {nullptr, "adaquant"}},
            {"FitPowerOfTwo", {false, true}}, {"include_cle", {false, true}}, {"weight_params", weight},
            {"activation_params", activation}};
  }
  weight.update({{"symmetric", {true}}, {"quant_granularity", {"Channel"}}, {"calibration_method", {"MinMax", "MinMSE"}}});
  activation["symmetric"] = {false};
  return {{"weight", {"Int8Spec"}},
          {"activation", {"UInt8Spec"}},
          {"algorithms", {nullptr, "adaquant"}},
          {"weight_params", weight},
          {"activation_params", activation}};
}

class Repair final : public Strategy {
 public:
  Json default_space(const std::string& target) const override { return repairs_for(target); }
  void check(const Job& job, const Spaces& spaces) const override {
    if (!job.criterion) throw Error("strategy repair needs accuracy_criterion: the goal to reach");
    if (spaces.each.size() > 1) throw Error("strategy repair searches one space; give search_space instead of search_spaces");
    conditions_of(job);
  }
  Json space_of(const Job&, const Json& search_space, const graph::Model& model, const quant::Target& target) const override {
    return with_precisions(search_space, tunable_nodes(model, target));
  }
  std::vector<std::string> metrics() const override { return {guide_metric}; }
  Finding run(const Workbench& bench) const override { return Repairing(bench).run(); }
};

}  // namespace

Entry<Strategy> repair() {
  return {"Reaches an accuracy goal with the least given up: repairs first, then the fewest operators in float.",
          make_as<Repair, Strategy>};
}

}  // namespace quasar::tune::strategies
