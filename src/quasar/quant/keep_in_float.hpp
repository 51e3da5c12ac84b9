// Keeps ONNX Runtime from quantizing what a plan leaves in float.
//
// From 1.21 on, its graph optimizer (WeightBiasQuantization) takes a Conv, ConvTranspose or Gemm with float weights that stands
// between DequantizeLinear and QuantizeLinear for one that somebody forgot, and quantizes its weights to int8, with one scale per
// tensor and without a word. It asks for an input that is dequantized with a single scale; so such a node gets a
// DequantizeLinear of its own, whose scale is written once per channel: the same values, another form.
#pragma once

#include "quasar/graph/model.hpp"

namespace quasar::quant {

// Changes the readers only: every value keeps its meaning. Needs opset 13 for scales per channel; below, and where the input
// has one channel, the input is doubled and the weights are halved, which is exact.
void keep_in_float(graph::Model& quantized);

}  // namespace quasar::quant
