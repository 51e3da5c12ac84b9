// Statistics of values that nobody has observed, for tests of what is made of them.
#pragma once

#include "quasar/quant/plan.hpp"

namespace quasar::quant {

// Every observed value gets a range of its own; what is clipped stays within 0…6.
inline stats::Statistics made_up_statistics(const graph::Model& model) {
  const graph::Index index(model);
  stats::Statistics out;
  float width = 1;
  for (const auto& value : observed_values(model)) {
    const auto* producer = index.producer(value);
    const bool clipped = producer != nullptr && (producer->is("Relu") || producer->is("Clip"));
    width += 0.37F;
    const std::vector<float> values = {clipped ? 0 : -width, 0.5F, clipped ? std::min(width, 6.0F) : 1.5F * width};
    out[value] = stats::of_values(values, {.histogram = true});
  }
  return out;
}

inline Config config_of(DataType activation, bool symmetric, Granularity weights = Granularity::tensor,
                        DataType weight = DataType::int8) {
  Config config;
  config.activation = {.type = activation, .symmetric = symmetric};
  config.weight = {.type = weight, .symmetric = true, .granularity = weights};
  return config;
}

inline Config power_of_two(Config config) {
  config.activation.scale_type = config.weight.scale_type = ScaleType::power_of_two;
  config.activation.range_method = config.weight.range_method = "min_mse";
  return config;
}

inline Plan plan_of(const graph::Model& model, const Config& config, const std::string& target = "ort_cpu") {
  return resolve(model, made_up_statistics(model), config, *targets::table().make(target));
}

}  // namespace quasar::quant
