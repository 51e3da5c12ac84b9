// What a processor that shifts computes instead of the float operator, put into the quantized model so that its accuracy is what
// the processor will have.
#pragma once

#include <optional>
#include <utility>

#include "quasar/graph/model.hpp"
#include "quasar/quant/codes/switches.hpp"

namespace quasar::quant {

struct Simulation {
  float factor = 1;                                    // the output is multiplied by it
  std::optional<float> slope = {};                     // of LeakyRelu
  std::optional<std::pair<float, float>> bounds = {};  // of Clip
  bool hard_sigmoid = false;                           // Sigmoid becomes HardSigmoid with alpha 1/6
  bool operator==(const Simulation&) const = default;
};

// A node and where it stands. `input`: the shape of its first input, nullptr when it is not known; negative where samples differ.
struct NodeInPlace {
  const graph::Node& node;
  const graph::Model& model;
  const Shape* input = nullptr;
};

// What the switches change of this node; nullopt: nothing.
std::optional<Simulation> simulation_of(const NodeInPlace& place, const Switches& switches, bool npu);

// The ratio of a processor's average over `count` values to the exact one: it multiplies the sum by k/2^n. Square windows of 3,
// 5, 6, 7 and 14 have their own k and n, other counts the nearest k/2^n with n < 7 + ceil(log2(count)). Windows above 255 are
// exact.
double average_factor(int64_t height, int64_t width);
double average_factor(int64_t count);

Json to_json(const Simulation& simulation);

struct SimulationContext {
  graph::Model& model;
  graph::Names& names;
};

// Appends the node as simulated: its own operator changed, and a product behind it when the output is scaled.
void simulate(graph::Node node, const Simulation& simulation, const SimulationContext& context);

}  // namespace quasar::quant
