// Fallback in the order of HAWQ-V2's score: average Hessian trace of a loss in a layer's weights times the squared size of their
// quantization error. Layers without weights come last.
#include "quasar/tune/fallback.hpp"
#include "quasar/tune/hessian_trace.hpp"

namespace quasar::tune::strategies {
namespace {

constexpr size_t trace_samples = 8;

double perturbation(const Tensor& weights, const quant::ConstantPlan& plan) {
  const quant::QuantParams& params = plan.optimized ? plan.optimized->params : plan.params;
  const Tensor back = quant::dequantize(plan.optimized ? plan.optimized->codes : quant::quantize(weights, params), params);
  double sum = 0;
  const auto w = weights.as<float>(), q = back.as<float>();
  for (size_t i = 0; i < w.size(); i++) sum += (w[i] - q[i]) * static_cast<double>(w[i] - q[i]);
  return sum;
}

class HawqV2 final : public TuningStrategy {
 public:
  void check(const Job& job, const Spaces& spaces) const override {
    TuningStrategy::check(job, spaces);
    if (job.tuning.kwargs.value("hawq_v2_loss", Json()).is_null()) {
      throw Error("strategy hawq_v2 needs tuning_criterion.strategy_kwargs.hawq_v2_loss: cross_entropy, kl or mse");
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
    for (const auto& node : quantized_nodes({}, tuner.space())) {
      const auto found = weights.find(node);
      const double cost = found == weights.end()
                              ? -1
                              : std::max(traces.at(found->second), 0.0) *
                                    perturbation(*model.initializer(found->second), *plan.nodes.at(node).weight);
      costs.emplace_back(node, cost);
    }
    tuner.tell("fallback by Hessian trace");
    std::vector<std::vector<std::string>> groups;
    for (const auto& node : ranked(costs)) groups.push_back({node});
    accumulate(tuner, {}, groups);
  }

 protected:
  std::string name() const override { return "hawq_v2"; }
};

}  // namespace

Entry<Strategy> hawq_v2() {
  return {.help = "Fallback by the curvature of a loss (Hessian trace) times the quantization error of the weights.",
          .make = make_as<HawqV2, Strategy>};
}

}  // namespace quasar::tune::strategies
