// What every rule of NPUs must keep.
#include <gtest/gtest.h>

#include "quasar/base/rng.hpp"
#include "quasar/quant/codes/switches.hpp"
#include "quasar/quant/npu/positions.hpp"

namespace quasar::quant {
namespace {

Network random_network(const std::string& type, uint64_t seed) {
  Rng rng(seed);
  Network network;
  const auto tensor = [&](const std::string& name) {
    const int position = static_cast<int>(rng.uniform() * 60) - 30;
    network.tensors.push_back({.name = name,
                               .params = {.type = DataType::int8, .scales = {scale_at(position)}, .zero_points = {0}},
                               .position = position,
                               .shifted = true});
    return network.tensors.size() - 1;
  };
  Layer layer{.node = "node", .type = type, .inputs = {}, .weight = {}, .bias = {}, .output = {}};
  layer.inputs = {tensor("x"), tensor("y")};
  if (type == "Conv") layer.inputs.pop_back(), layer.weight = tensor("w"), layer.bias = tensor("b");
  layer.output = tensor("z");
  layer.alpha = 1.0F / 6;
  layer.swish = type == "Mul";
  network.layers = {layer};
  return network;
}

// Mended once, a rule holds, and mending again changes nothing.
TEST(QuantRulesContract, MendingHolds) {
  for (const auto& [name, entry] : rules::table().items()) {
    const auto rule = entry.make({});
    EXPECT_FALSE(entry.help.empty()) << name;
    const std::string key = rule->switched_by();
    EXPECT_TRUE(key.empty() || find_switch(key) != nullptr) << name;
    if (!key.starts_with("Adjust")) continue;
    size_t broken = 0;
    for (const char* type : {"Conv", "Add", "Sub", "Mul", "HardSigmoid"}) {
      for (uint64_t seed = 1; seed <= 200; seed++) {
        Network network = random_network(type, seed);
        broken += rule->check(network.layers[0], network).empty() ? 0 : 1;
        rule->mend(network.layers[0], network);
        rule->mend(network.layers[0], network);
        EXPECT_TRUE(rule->check(network.layers[0], network).empty()) << name << " " << type << " " << seed;
        Network again = network;
        rule->mend(again.layers[0], again);
        for (size_t i = 0; i < network.tensors.size(); i++)
          EXPECT_EQ(again.tensors[i].position, network.tensors[i].position) << name;
      }
    }
    EXPECT_GT(broken, 0U) << name;
  }
}

}  // namespace
}  // namespace quasar::quant
