// Keeps ONNX Runtime from ending the program where a subgraph reads a quantized value.
//
// Its optimizer (1.30 to 1.32) moves a DequantizeLinear with a single scale along the operators that only move values (Reshape,
// Transpose, Squeeze, Slice, MaxPool …), and writes pairs behind the last of them, for each reader. Where a graph inside of If,
// Loop or Scan reads that value, an assertion fails. A pair of the same scale behind the value keeps its values exactly, and
// there is nothing to be moved any more.
#pragma once

#include "quasar/graph/model.hpp"

namespace quasar::quant {

// Only the values that subgraphs read get a pair; every value keeps its meaning. Bodies that are open have all nodes in their
// places (graph::placed()).
void pair_before_subgraphs(graph::Model& quantized);

}  // namespace quasar::quant
