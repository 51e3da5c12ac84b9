// Values that share one pair's parameters: what operators that move values write and read, and what alignment binds together.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "quasar/quant/placement.hpp"

namespace quasar::quant {

class Ties {
 public:
  // `npu`: what switches that are not given mean.
  Ties(const graph::Index& index, const Placement& placement, const Switches& switches, bool npu);

  // The values that share the value's parameters because of an alignment, in order; empty when there is none.
  const std::vector<std::string>& aligned(const std::string& value) const;
  // Any two values with the same root share their parameters.
  std::string root(const std::string& value) const;
  void bind(const std::string& a, const std::string& b);

 private:
  std::map<std::string, std::string> parent_;
  std::map<std::string, std::vector<std::string>> groups_;  // by root, where an alignment bound them
};

}  // namespace quasar::quant
