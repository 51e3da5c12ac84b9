// What a point of a tuning space leaves above 8 bits, whoever leaves it there: a parameter of the node, or a recipe that is off.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "quasar/graph/model.hpp"
#include "quasar/ops/op.hpp"
#include "quasar/search/space.hpp"

namespace quasar::tune {

class LeftInFloat {
 public:
  // `nodes`: the operators that are tuned. The model must outlive this.
  LeftInFloat(const graph::Model& model, const std::vector<std::string>& nodes);

  // The nodes that would be quantized, but stay in float32 by a recipe that the point switches off -> the recipe.
  std::map<std::string, std::string> by_recipes(const search::Space& space, const search::Point& point) const;

  // All nodes that the point leaves in a float type.
  std::vector<std::string> nodes(const search::Space& space, const search::Point& point) const;

  // given_up() with those that recipes leave.
  double given_up(const search::Space& space, const search::Point& point) const;

 private:
  graph::Index index_;
  std::map<std::string, ops::Roles> roles_;
};

}  // namespace quasar::tune
