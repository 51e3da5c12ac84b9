#include "quasar/sensitivity/layer_errors.hpp"

#include <algorithm>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/error.hpp"
#include "quasar/base/parallel.hpp"
#include "quasar/sensitivity/noise_along.hpp"
#include "quasar/sensitivity/unit_errors.hpp"

namespace quasar::tune {
namespace {

data::DatasetPtr few(const data::Dataset& samples, size_t count) {
  const data::DatasetPtr all(data::DatasetPtr(), &samples);  // does not own
  return data::first(all, count);
}

std::map<std::string, double> errors_alone(const Finished& finished, const data::Dataset& samples) {
  constexpr size_t most = 16, share = 4;  // a switched operator costs about a run of the float model
  std::map<std::string, double> out;
  if (finished.plan.rounding.optimizes()) return out;
  const ToggledModel toggled(finished.model, finished.plan, finished.memory_limit);
  const size_t units = toggled.units().size();
  if (units == 0) return out;
  const size_t count = std::clamp<size_t>(samples.size() / (share * units), 1, most);
  if (units > most_single_units) {
    for (const auto& error : alone(toggled, *few(samples, 1))) out[error.unit.node] = error.output_error;
    return out;
  }
  const std::vector<double> errors = alone_at_outputs(toggled, *few(samples, count));
  for (size_t u = 0; u < units; u++) out[toggled.units()[u].node] = errors[u];
  return out;
}

}  // namespace

bool one_at_a_time(const graph::Model& model) {
  constexpr size_t most_nodes = 1000;
  return model.nodes.size() > most_nodes;
}

LayerErrors measure_errors(const Finished& finished, const data::Dataset& samples) try {
  constexpr size_t looked_at = 8;
  LayerErrors out;
  if (samples.size() == 0) return out;
  parallel_for(2, one_at_a_time(finished.model) ? 1 : 2, [&](size_t i) {
    try {
      if (i == 0)
        out.accumulated_noise = noise_along(finished.model, finished.quantized, finished.plan, *few(samples, looked_at)).nodes;
      if (i == 1) out.output_error = errors_alone(finished, samples);
    } catch (const Error&) {  // a type that cannot be simulated, a value that cannot be looked at
    }
  });
  return out;
} catch (const Cancelled&) {
  return {};
}

}  // namespace quasar::tune
