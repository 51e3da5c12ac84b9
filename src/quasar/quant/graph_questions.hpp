// Questions about a float graph that its rewrites ask.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quasar/graph/model.hpp"
#include "quasar/quant/config/transform.hpp"
#include "quasar/quant/placement.hpp"

namespace quasar::quant {

// The axes of a Reduce operator, from its attribute or its constant input, counted from the front and sorted; nullopt: they are
// computed, or there are none.
std::optional<std::vector<int64_t>> reduced_axes(const graph::Node& node, const graph::Model& model, size_t rank);

// Whether the axes are all but the first two: height, width … of images.
bool are_spatial(const std::vector<int64_t>& axes, size_t rank);

// A constant [.., channels, 1, ..] as [channels]: one value per channel of a tensor of this rank, whose channels are axis 1;
// nullopt: it is something else.
std::optional<std::vector<float>> per_channel(const std::string& value, size_t rank, const graph::Model& model);

// Shapes of a model's values, found out when the first one is asked for.
class KnownShapes {
 public:
  explicit KnownShapes(const graph::Model& model) : model_(model) {}
  const Shape* of(const std::string& value);  // nullptr: not known

 private:
  const graph::Model& model_;
  std::optional<std::map<std::string, Shape>> shapes_;
};

// Nodes that become one: it stands where the last of them stood.
struct Fusion {
  std::vector<const graph::Node*> nodes;
  graph::Node by;
  std::map<std::string, Tensor> constants = {};
};

// Fuses what `match` finds from each node of this type on.
using Match = std::function<std::optional<Fusion>(const graph::Node& first, KnownShapes& shapes, graph::Names& names)>;
Transformed fused(const graph::Model& model, const char* type, const Match& match);

}  // namespace quasar::quant
