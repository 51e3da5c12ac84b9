// Keeps ONNX Runtime from quantizing what a plan leaves in float.
//
// From 1.21 on, its graph optimizer (WeightBiasQuantization) takes a Conv, ConvTranspose or Gemm with float weights that stands
// between DequantizeLinear and QuantizeLinear for one that somebody forgot, and quantizes its weights to int8, with one scale per
// tensor and without a word. It asks for an input that is dequantized with a single scale; so such a node gets a
// DequantizeLinear of its own, whose scale is written once per channel: the same values, another form.
//
// Operators without weights (Softmax, Add, Concat, MatMul of two activations …) run on codes wherever 8-bit pairs stand around
// them, whoever left them in float. The first input of such a node passes a Sum of one input, a copy that the optimizer (1.30)
// neither removes nor sees through; a node whose weights other nodes compute from constants gets one as well. A copy takes as
// long as DequantizeLinear.
//
// A QuantizeLinear behind a MaxPool is moved before it, also where what the pool reads was left in float. The kernel on codes
// takes 20 times as long there, as no convolution before it gives it its layout; so the pool's result passes a copy.
#pragma once

#include <set>
#include <string>

#include "quasar/graph/model.hpp"
#include "quasar/quant/target.hpp"

namespace quasar::quant {

// Changes the readers only: every value keeps its meaning. `in_codes`: the names of nodes that are meant to run on codes. Needs
// opset 13 for scales per channel; below, and where the input has one channel, the input is doubled and the weights are halved,
// which is exact. For the NPU inputs are doubled everywhere, and a copy is what a number is that changes its sign twice
// (FloatGuard::none: nothing). It has kernels for codes of 16 bits, too: an excluded Add ran on them without a copy.
void keep_in_float(graph::Model& quantized, const std::set<std::string>& in_codes, FloatGuard guard = FloatGuard::for_cpu);

}  // namespace quasar::quant
