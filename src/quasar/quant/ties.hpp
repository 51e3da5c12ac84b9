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
  Ties(const graph::Index& index, const Placement& placement, const Target& target, const Switches& switches, bool npu);

  // The values that share the value's parameters because of an alignment, in order; empty when there is none.
  const std::vector<std::string>& aligned(const std::string& value) const;
  // Any two values with the same root share their parameters.
  std::string root(const std::string& value) const;
  void bind(const std::string& a, const std::string& b);
  // Whether this Concat reads the value in the parameters of its output while the value keeps its own: a HardSigmoid's, which
  // must be finer than what it is joined with.
  bool apart(const std::string& value, const std::string& concat) const { return apart_.contains({value, concat}); }
  // Whether the value holds outputs of HardSigmoids and nothing else.
  bool bounded(const std::string& value) const;

 private:
  void bind_all(const graph::Node& node, const Placement& placement, const std::vector<size_t>& inputs);
  void bind_inputs(const graph::Node& node, const ops::Roles& roles, const Placement& placement, std::set<std::string>& aligned);
  void bind_concats(std::vector<const graph::Node*> concats, const Placement& placement, std::set<std::string>& aligned);

  std::set<std::string> bounded_;                        // where HardSigmoid's limits hold
  std::set<std::pair<std::string, std::string>> apart_;  // value, Concat
  std::map<std::string, std::string> parent_;
  std::map<std::string, std::vector<std::string>> groups_;  // by root, where an alignment bound them
};

}  // namespace quasar::quant
