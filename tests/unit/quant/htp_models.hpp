// Models and configurations for target qnn_htp, and what its checker says of them.
#pragma once

#include <gtest/gtest.h>

#include "executed.hpp"
#include "made_up_statistics.hpp"
#include "quasar/quant/target.hpp"
#include "sample_models.hpp"

namespace quasar::quant {

inline constexpr const char* qnn_htp = "qnn_htp";

inline Config usual_of_htp(DataType type = DataType::uint16) {
  Config config = config_of(type, false, Granularity::channel);
  config.weight.type = DataType::int8;
  config.weight.symmetric = true;
  return config;
}

// {node: rule}
inline std::map<std::string, std::string> htp_faults_of(const graph::Model& model,
                                                        const std::map<std::string, graph::Value>& values = {}) {
  std::map<std::string, std::string> out;
  for (const auto& [node, fault] : targets::table().make(qnn_htp)->faults(model, values)) {
    EXPECT_FALSE(fault.what.empty());
    out[node] = fault.rule;
  }
  return out;
}

inline graph::Model with_function_for_htp(const std::string& type) {
  Builder b;
  const auto first = b.conv(b.input("x", {1, 4, 8, 8}), 4, 4, 3);
  return b.finish({b.conv(b.node(type, {first}), 4, 4, 3)});
}

inline std::string number(Builder& b, float value) {
  return b.constant(Tensor::scalar(value));
}

inline Plan plan_of_samples(const graph::Model& model, DataType type, const std::string& target = qnn_htp) {
  return resolve(model, observe(model, random_samples(model, 4)), usual_of_htp(type), *targets::table().make(target));
}

inline Plan observed_plan_of(const graph::Model& model, const std::string& target) {
  return resolve(model, observe(model, random_samples(model, 4)), usual_of_htp(), *targets::table().make(target));
}

}  // namespace quasar::quant
