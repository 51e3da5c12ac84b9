// What whoever writes a quantized model works with.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "quasar/graph/model.hpp"

namespace quasar::quant {

// What a rewriting takes from its model: constants by name, names that are free.
struct Workshop {
  const graph::Model& model;                                          // the float model
  std::function<std::string(const std::string&)> fresh;               // a free name like this one
  std::function<std::string(const std::string&, const Tensor&)> add;  // adds an initializer, -> its name
  // Value -> its codes, scale and zero point, where a node before has quantized it dynamically.
  std::unordered_map<std::string, std::vector<std::string>>& quantized;
};

}  // namespace quasar::quant
