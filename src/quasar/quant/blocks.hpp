// Weights with scales per group of inputs (quant_granularity: Group) in quantize/dequantize pairs, which ONNX has from opset 21
// on.
#pragma once

#include <string>

#include "quasar/graph/model.hpp"
#include "quasar/quant/config/config.hpp"
#include "quasar/quant/target.hpp"

namespace quasar::quant {

bool has_blocks(const graph::Model& model);

// Whether the configuration speaks of them, for all layers or for some.
bool asks_for_blocks(const Config& config);

// Why a model of an older opset cannot have them.
std::string why_no_blocks(const graph::Model& model);

// The same for a configuration under which some layer that the target quantizes would need them; "" where none does. Names in
// the configuration are those of this graph.
std::string why_no_blocks(const Config& config, const graph::Index& index, const Target& target);

}  // namespace quasar::quant
