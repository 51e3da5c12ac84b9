// Times with as many threads as there are cores. Float often gains more of a second thread than codes do.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "quasar/runtime/latency.hpp"
#include "quasar/sensitivity/operator_costs.hpp"

namespace quasar::tune {

// How models and their operators are timed; tests have times of their own.
struct Timers {
  std::function<std::vector<std::vector<double>>(std::span<const graph::Model* const>, const data::Dataset&,
                                                 const runtime::Effort&, const runtime::Device&)>
      models = runtime::times_in_turn;
  std::function<OperatorCosts(const graph::Model&, const graph::Model&, const data::Dataset&, double seconds, int threads)>
      operators = operator_costs;
};

// Eight turns with as many threads as there are cores.
runtime::Effort on_all_cores(double seconds);

// Whether a model takes more than `factor` times float's time, beyond noise.
bool is_slower(const runtime::Ratio& of_float, double factor);

// A model that is slow neither on one thread nor on all cores: the one whose greater time of both is least, if that is not above
// `factor`, and it loses no more on one thread than it gains on all beside the model `now`; nullopt: there is none. Times in
// those of float, as many of both.
std::optional<size_t> fast_on_both(const std::vector<double>& on_one, const std::vector<double>& on_all, size_t now,
                                   double factor);

// How many times as long as the first model, which is float, each of the others takes: on one thread, but of those that are
// slower than float on all cores (is_slower()) the greater of both. Throws as runtime::times_in_turn().
std::vector<runtime::Ratio> beside_float(const std::vector<const graph::Model*>& models, const data::Dataset& samples,
                                         const runtime::Effort& on_one, double factor, const runtime::Device& device,
                                         const Timers& timers = {});

}  // namespace quasar::tune
