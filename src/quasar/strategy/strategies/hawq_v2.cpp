// Fallback in the order of HAWQ-V2's score: average Hessian trace of a loss in a layer's weights times the squared size of their
// quantization error. Layers without weights come last.
#include "quasar/quant/dynamic_nodes.hpp"
#include "quasar/sensitivity/hessian_trace.hpp"
#include "quasar/sensitivity/loss.hpp"
#include "quasar/strategy/fallback.hpp"

namespace quasar::tune::strategies {
namespace {

constexpr size_t trace_samples = 8;

class HawqV2 final : public TuningStrategy {
 public:
  std::vector<std::string> kwargs() const override { return {"hawq_v2_loss"}; }
  void check(const Job& job, const Spaces& spaces) const override {
    TuningStrategy::check(job, spaces);
    if (job.tuning.kwargs.value("hawq_v2_loss", Json()).is_null()) {
      throw Error("strategy hawq_v2 needs tuning_criterion.strategy_kwargs.hawq_v2_loss: " + joined(losses::table().names()));
    }
  }

  void traverse(Tuner& tuner) const override {
    const Attempt first = first_attempt(tuner);
    tuner.tell("dynamic for what can");
    const TuneConfig start = best_of(tuner, first, with_dynamic(first.config, tuner.space())).config;
    const auto costs = scores(tuner, first.config);
    fall_back_in_order(tuner, start, ranked(costs), "fallback by Hessian trace");
  }

 protected:
  std::string name() const override { return "hawq_v2"; }

 private:
  static std::string loss_named_in(const Job& job) { return job.tuning.kwargs.at("hawq_v2_loss").get<std::string>(); }

  // A loss that never changes, or has its greatest value where the weights are, ranks nothing; "": it is neither.
  static std::string without_curvature(const std::string& loss, const std::map<std::string, double>& traces) {
    const auto some = [&](auto&& holds) {
      return std::ranges::any_of(traces, [&](const auto& trace) { return holds(trace.second); });
    };
    if (traces.empty() || some([](double trace) { return trace > 0; })) return "";
    const bool negative = some([](double trace) { return trace < 0; });
    return "hawq_v2_loss " + loss +
           (negative ? " is greatest, not least, at the float model" : " does not change with any layer's weights") +
           ": no average trace is above 0, so operators fall back in the order of the model" +
           (negative ? "; has the loss the wrong sign?" : "");
  }

  // Of each operator in this configuration; −1 for one without weights.
  static std::vector<std::pair<std::string, double>> scores(Tuner& tuner, const TuneConfig& config) {
    const graph::Model& model = tuner.graph_for(config);
    const quant::Plan plan = tuner.plan_for(config);
    const graph::Index index(model);
    std::map<std::string, std::string> weights;  // node -> initializer
    std::vector<std::string> names;
    for (const auto& [name, node] : plan.nodes) {
      if (!node.weight) continue;
      weights[name] = index.node(name)->inputs[node.weight->input];
      if (std::find(names.begin(), names.end(), weights[name]) == names.end()) names.push_back(weights[name]);
    }
    const auto traces = average_traces(model, names, *tuner.samples(trace_samples),
                                       {.loss = loss_named_in(tuner.context().job),
                                        .output_weights = tuner.context().job.aim.output_weights,
                                        .seed = tuner.context().job.seed});
    tuner.warn(without_curvature(loss_named_in(tuner.context().job), traces));
    std::vector<std::pair<std::string, double>> costs;
    std::map<std::string, Story::Sensitivity> facts;
    for (const auto& node : all_quantized(tuner.space())) {
      const auto found = weights.find(node);
      costs.emplace_back(node, -1);
      if (found == weights.end()) continue;
      const double trace = traces.at(found->second);
      const double moved =
          perturbation(quant::as_planned(*index.node(node), *model.initializer(found->second)), *plan.nodes.at(node).weight);
      costs.back().second = std::max(trace, 0.0) * moved;
      facts[node] = {node, index.node(node)->op_type, {{"average_trace", trace}, {"perturbation", moved}}};
    }
    std::vector<Story::Sensitivity> list;
    for (const auto& node : ranked(costs)) {
      if (facts.contains(node)) list.push_back(facts[node]);
    }
    tuner.tell_sensitivity(std::move(list));
    return costs;
  }

  static std::vector<std::string> all_quantized(const TuningSpace& space) {
    std::vector<std::string> names;
    for (const auto& node : space.nodes) {
      if (!node.all_options().empty()) names.push_back(node.name);
    }
    return names;
  }
};

}  // namespace

Entry<Strategy> hawq_v2() {
  return {.help = "Fallback by the curvature of a loss (Hessian trace) times the quantization error of the weights.",
          .make = make_as<HawqV2, Strategy>};
}

}  // namespace quasar::tune::strategies
