// Fallback of the operator without which the outputs are nearest to the float model's, scored again after every step on some
// batches; once the goal is met, operators whose return costs least are quantized again as long as it holds.
#include <algorithm>

#include "quasar/tune/fallback.hpp"
#include "quasar/tune/unit_errors.hpp"

namespace quasar::tune::strategies {
namespace {

constexpr size_t batch = 8;
constexpr size_t combinations = 2;

class MseV2 final : public TuningStrategy {
 public:
  void traverse(Tuner& tuner) const override {
    auto [config, trial] = best_options(tuner, combinations);
    const auto batches = tuner.bench().job.tuning.kwargs.value("confidence_batches", int64_t{2});
    // One float type: the first that operators may be left in is what the others would be tried after.
    const auto types = tuner.space().floats();
    const std::string type = types.empty() ? in_float : types.back();
    const data::DatasetPtr samples = tuner.samples(batch * static_cast<size_t>(batches));
    const ToggledModel model = tuner.toggled(config);
    std::vector<bool> on(model.units().size(), true), free(on.size());
    for (size_t u = 0; u < on.size(); u++) {
      const auto nodes = quantized_nodes(config, tuner.space(), type);
      free[u] = std::find(nodes.begin(), nodes.end(), model.units()[u].node) != nodes.end();
    }
    const TuneConfig start = config;
    const auto current = [&] {
      TuneConfig now = start;
      for (size_t u = 0; u < on.size(); u++) {
        if (!on[u]) now.nodes[model.units()[u].node] = type;
      }
      return now;
    };

    tuner.tell("fallback");
    for (bool first = true; !trial.is_candidate(); first = false) {
      const auto errors = without_each(model, *samples, on);
      if (first) tuner.tell_sensitivity(listed(model, errors));
      const auto chosen = least(errors, on, free);
      if (!chosen || std::count(on.begin(), on.end(), true) <= 1) return;
      on[*chosen] = false;
      trial = tuner.explore(current());
    }
    tuner.tell("revert fallback");
    while (std::count(on.begin(), on.end(), false) > 1) {
      std::vector<bool> off = on;
      off.flip();
      const auto chosen = least(with_each(model, *samples, on), off, free);
      if (!chosen) return;
      on[*chosen] = true;
      if (!tuner.explore(current()).is_candidate()) return;
    }
  }

 protected:
  std::string name() const override { return "mse_v2"; }

 private:
  // What helps most first: `error_without` is the distance of the outputs with this operator alone in float.
  static Json listed(const ToggledModel& model, const std::vector<double>& errors) {
    std::vector<std::pair<double, size_t>> order;
    for (size_t u = 0; u < errors.size(); u++) order.emplace_back(errors[u], u);
    std::ranges::sort(order);
    Json out = Json::array();
    for (const auto& [error, u] : order)
      out.push_back({{"node", model.units()[u].node}, {"op_type", model.units()[u].op_type}, {"error_without", error}});
    return out;
  }

  static std::optional<size_t> least(const std::vector<double>& errors, const std::vector<bool>& among,
                                     const std::vector<bool>& free) {
    std::optional<size_t> best;
    for (size_t u = 0; u < errors.size(); u++) {
      if (among[u] && free[u] && (!best || errors[u] < errors[*best])) best = u;
    }
    return best;
  }
};

}  // namespace

Entry<Strategy> mse_v2() {
  return {.help = "Fallback of what helps the outputs most, scored again after each step; then what can return does.",
          .make = make_as<MseV2, Strategy>};
}

}  // namespace quasar::tune::strategies
