// Pad and Resize may name the axes that they change (from opset 18 on). Beside integer convolutions ONNX Runtime (1.30) moves
// transposes past them and reorders pads, scales and sizes as if there were one for every axis: it reads beyond their end, or
// refuses the model. So they are written for every axis: the same results in the form that older opsets have.
#pragma once

#include "quasar/graph/model.hpp"

namespace quasar::quant {

// `original`: the float model, with nodes of the same names. Nodes that have no such form (axes that are not constant,
// tf_crop_and_resize, sizes that keep the aspect ratio and that no scales give exactly) get a Reshape to the same shape behind
// them, past which no transposes go. Left as they are: those whose input's rank is not known without a run.
void write_every_axis(graph::Model& quantized, const graph::Model& original);

}  // namespace quasar::quant
