// Functions that exporters write as several operators, and that runtimes compute as one where all of them are in float.
#pragma once

#include <set>
#include <string>

#include "quasar/graph/model.hpp"

namespace quasar::ops {

// The names of the Muls and Adds of Gelu, 0.5 · x · (1 + erf(x / √2)), and of LayerNormalization,
// (x − mean) / √(variance + ε) · γ + β.
std::set<std::string> parts_of_functions(const graph::Index& index);

// Whether the model has a LayerNormalization or RMSNormalization, as one operator or, the first, as several.
bool normalizes_layers(const graph::Index& index);

}  // namespace quasar::ops
