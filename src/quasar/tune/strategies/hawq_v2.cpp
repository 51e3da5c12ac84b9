// Fallback in the order of HAWQ-V2's score: average Hessian trace of a loss in a layer's weights times the squared size of their
// quantization error. Layers without weights come last.
#include "quasar/tune/fallback.hpp"
#include "quasar/tune/hessian_trace.hpp"
#include "quasar/tune/loss.hpp"

namespace quasar::tune::strategies {
namespace {

constexpr size_t trace_samples = 8;

class HawqV2 final : public TuningStrategy {
 public:
  void check(const Job& job, const Spaces& spaces) const override {
    TuningStrategy::check(job, spaces);
    if (job.tuning.kwargs.value("hawq_v2_loss", Json()).is_null()) {
      throw Error("strategy hawq_v2 needs tuning_criterion.strategy_kwargs.hawq_v2_loss: " + joined(losses::table().names()));
    }
  }

  void traverse(Tuner& tuner) const override {
    tuner.tell("default configuration");
    tuner.evaluate(TuneConfig{});
    const graph::Model& model = tuner.graph_for({});
    const quant::Plan plan = tuner.plan_for({});
    const graph::Index index(model);
    std::map<std::string, std::string> weights;  // node -> initializer
    std::vector<std::string> names;
    for (const auto& [name, node] : plan.nodes) {
      if (!node.weight) continue;
      weights[name] = index.node(name)->inputs[node.weight->input];
      if (std::find(names.begin(), names.end(), weights[name]) == names.end()) names.push_back(weights[name]);
    }
    const auto traces = average_traces(
        model, names, *tuner.samples(trace_samples),
        {.loss = tuner.bench().job.tuning.kwargs.at("hawq_v2_loss").get<std::string>(), .seed = tuner.bench().job.seed});
    std::vector<std::pair<std::string, double>> costs;
    for (const auto& node : all_quantized(tuner.space())) {
      const auto found = weights.find(node);
      const double cost = found == weights.end()
                              ? -1
                              : std::max(traces.at(found->second), 0.0) *
                                    perturbation(*model.initializer(found->second), *plan.nodes.at(node).weight);
      costs.emplace_back(node, cost);
    }
    std::vector<std::vector<std::string>> groups;
    for (const auto& node : ranked(costs)) groups.push_back({node});
    for (const auto& type : tuner.space().floats()) {
      tuner.tell("fallback by Hessian trace" + (type == in_float ? std::string() : " to " + type));
      accumulate(tuner, {}, groups, type);
    }
  }

 protected:
  std::string name() const override { return "hawq_v2"; }

 private:
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
