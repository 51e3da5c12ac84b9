#include "quasar/quant/weight_memo.hpp"

#include <span>

#include "quasar/base/hash.hpp"
#include "quasar/base/json.hpp"
#include "quasar/quant/codes/weights.hpp"
#include "quasar/stats/shapes.hpp"

namespace quasar::quant {
namespace {

// All that a scheme has.
std::string text_of(const Scheme& scheme) {
  return Json{static_cast<int>(scheme.type),
              scheme.symmetric,
              static_cast<int>(scheme.scale_type),
              static_cast<int>(scheme.granularity),
              scheme.group_size,
              scheme.range_method,
              scheme.range_options,
              scheme.dynamic}
      .dump();
}

std::string text_of(const QuantParams& params) {
  return std::to_string(static_cast<int>(params.type)) + " " + std::to_string(params.axis) + " " + std::to_string(params.block) +
         " " + quasar::hash_of(std::as_bytes(std::span(params.scales))) +
         quasar::hash_of(std::as_bytes(std::span(params.zero_points))) +
         quasar::hash_of(std::as_bytes(std::span(params.real_zero_points)));
}

// Two threads may compute the same: neither waits for the other.
template <class Known, class Compute>
typename Known::mapped_type remembered(std::mutex& guard, Known& known, const typename Known::key_type& key,
                                       const Compute& compute) {
  {
    const std::lock_guard lock(guard);
    if (const auto found = known.find(key); found != known.end()) return found->second;
  }
  auto value = compute();
  const std::lock_guard lock(guard);
  return known.try_emplace(key, std::move(value)).first->second;
}

}  // namespace

QuantParams WeightMemo::params(const std::string& name, const Tensor& weights, std::optional<int> axis, const Scheme& scheme) {
  return remembered(guard_, params_, {name, axis, text_of(scheme)}, [&] { return weight_params(weights, axis, scheme); });
}

ConstantPlan WeightMemo::limited(const std::string& name, const std::string& how, const ConstantPlan& plan,
                                 const std::function<ConstantPlan(const ConstantPlan&)>& limit) {
  return remembered(guard_, limited_, {name, how, text_of(plan.params)}, [&] { return limit(plan); });
}

std::map<std::string, Shape> WeightMemo::shapes(const graph::Model& model) {
  return remembered(guard_, shapes_, {}, [&] { return stats::known_shapes(model); });
}

}  // namespace quasar::quant
