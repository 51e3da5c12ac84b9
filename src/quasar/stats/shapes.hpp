// Shapes of a model's values that are known without running it.
#pragma once

#include <map>
#include <string>

#include "quasar/graph/model.hpp"

namespace quasar::stats {

// By value name; sizes that are open are negative, values whose rank is unknown are not there. Throws Error with ONNX Runtime's
// message for a model that it cannot open.
std::map<std::string, Shape> known_shapes(const graph::Model& model);

}  // namespace quasar::stats
