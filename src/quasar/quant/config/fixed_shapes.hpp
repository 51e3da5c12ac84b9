// Shapes that the inputs of a written model have from then on (FixShapes), for compilers that take no others.
#pragma once

#include <map>
#include <string>

#include "quasar/base/json.hpp"
#include "quasar/graph/model.hpp"

namespace quasar::quant {

using FixedShapes = std::map<std::string, Shape>;  // by input

// {image: [1, 3, 224, 224]}, or AMD Quark's text "image:[1,3,224,224];mask:[1,77]". Throws Error for anything else, and for sizes
// below 1.
FixedShapes parse_fixed_shapes(const Json& words);
Json to_json(const FixedShapes& shapes);

// Writes them into the model's inputs, and the sizes that their names had into its outputs. Throws Error for an input that the
// model does not have, and for a shape that contradicts the one which it has.
void fix_shapes(graph::Model& model, const FixedShapes& shapes);

}  // namespace quasar::quant
