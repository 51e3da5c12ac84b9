// Pad and Resize may name the axes that they change (from opset 18 on). Beside integer convolutions ONNX Runtime (1.30) moves
// transposes past them and reorders pads, scales and sizes as if there were one for every axis: it reads beyond their end, or
// refuses the model. So they are written for every axis: the same results in the form that older opsets have.
#pragma once

#include "quasar/graph/model.hpp"

namespace quasar::quant {

// `original`: the float model, with nodes of the same names. Left as they are: nodes whose input's rank is not known without a
// run, axes that are not constant, Resize with tf_crop_and_resize, and sizes that keep the aspect ratio where no scales give the
// same sizes exactly.
void write_every_axis(graph::Model& quantized, const graph::Model& original);

}  // namespace quasar::quant
