#include "quasar/tune/all_cores.hpp"

#include <algorithm>

#include "quasar/base/machine.hpp"

namespace quasar::tune {

runtime::Effort on_all_cores(double seconds) {
  return {.turns = 8, .seconds = seconds, .threads = static_cast<int>(cores())};
}

bool is_slower(const runtime::Ratio& of_float, double factor) {
  return of_float.low > 1 && of_float.median > factor;
}

std::optional<size_t> fast_on_both(const std::vector<double>& on_one, const std::vector<double>& on_all, size_t now,
                                   double factor) {
  const auto greater = [&](size_t i) { return std::max(on_one[i], on_all[i]); };
  const auto pays = [&](size_t i) { return on_one[i] * on_all[i] <= factor * factor * on_one[now] * on_all[now]; };
  std::optional<size_t> best;
  for (size_t i = 0; i < on_one.size(); i++) {
    if (greater(i) <= factor && pays(i) && (!best || greater(i) < greater(*best))) best = i;
  }
  return best;
}

std::vector<runtime::Ratio> beside_float(const std::vector<const graph::Model*>& models, const data::Dataset& samples,
                                         const runtime::Effort& on_one, double factor, const runtime::Device& device,
                                         const Timers& timers) {
  const auto one = timers.models(models, samples, on_one, device);
  const auto all = cores() > 1 ? timers.models(models, samples, on_all_cores(on_one.seconds), device) : one;
  std::vector<runtime::Ratio> out;
  for (size_t i = 1; i < models.size(); i++) {
    const runtime::Ratio here = runtime::ratio_of(one[i], one[0]), there = runtime::ratio_of(all[i], all[0]);
    out.push_back(is_slower(there, factor) && there.median > here.median ? there : here);
  }
  return out;
}

}  // namespace quasar::tune
