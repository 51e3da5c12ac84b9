// What a node's quantized form is written from, and where its new names and initializers go.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "quasar/graph/model.hpp"

namespace quasar::quant {

struct RewriteContext {
  const graph::Model& model;                                          // the float model
  std::function<std::string(const std::string&)> fresh;               // a free name like this one
  std::function<std::string(const std::string&, const Tensor&)> add;  // adds an initializer, -> its name
  // Value -> its codes, scale and zero point, where a node before has quantized it dynamically.
  std::unordered_map<std::string, std::vector<std::string>>& quantized;
};

}  // namespace quasar::quant
