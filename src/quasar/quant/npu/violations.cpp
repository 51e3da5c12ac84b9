#include "quasar/quant/npu/npu.hpp"

namespace quasar::quant {

std::vector<Violation> violations(const graph::Model& model) {
  const Network network = network_of(model);
  std::vector<std::pair<std::string, std::unique_ptr<Rule>>> rules;
  for (const auto& [name, entry] : rules::table().items()) rules.emplace_back(name, entry.make({}));
  std::vector<Violation> out;
  std::set<std::string> seen;  // a tensor's fault is its own, however many layers read it
  for (const auto& layer : network.layers) {
    for (const auto& [name, rule] : rules) {
      for (auto& fault : rule->check(layer, network)) {
        const std::string owner = fault.figures.value("tensor", layer.node);
        if (seen.insert(name + "\n" + owner + "\n" + fault.what).second)
          out.push_back({layer.node, name, std::move(fault.what), std::move(fault.figures)});
      }
    }
  }
  return out;
}

}  // namespace quasar::quant
