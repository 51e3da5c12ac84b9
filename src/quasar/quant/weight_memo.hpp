// What plans of one float model say of its weights and shapes, which many of them have in common.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>

#include "quasar/graph/model.hpp"
#include "quasar/quant/plan.hpp"

namespace quasar::quant {

// Remembers what was computed for the same question. Thread-safe.
class WeightMemo {
 public:
  // weight_params(). `name`: of the weights in the model.
  QuantParams params(const std::string& name, const Tensor& weights, std::optional<int> axis, const Scheme& scheme);

  // limit_sums() of weights, as `limit` does it; `how`: all that it asks besides the weights and the plan's parameters. The plan
  // has no limits yet.
  ConstantPlan limited(const std::string& name, const std::string& how, const ConstantPlan& plan,
                       const std::function<ConstantPlan(const ConstantPlan&)>& limit);

  // stats::known_shapes() of the model.
  std::map<std::string, Shape> shapes(const graph::Model& model);

 private:
  std::mutex guard_;
  std::map<std::tuple<std::string, std::optional<int>, std::string>, QuantParams> params_;
  std::map<std::tuple<std::string, std::string, std::string>, ConstantPlan> limited_;
  std::map<std::tuple<>, std::map<std::string, Shape>> shapes_;  // none or one
};

}  // namespace quasar::quant
