// Models that ONNX Runtime's optimizer has saved: the operators that it made of several ones, apart again.
#pragma once

#include "quasar/graph/model.hpp"
#include "quasar/runtime/rewrites/idle_moves.hpp"

namespace quasar::runtime {

// Writes fused operators of com.microsoft that hold weights as ONNX's operators, which quantization knows:
// - FusedConv is Conv, Add where it is given a sum, and its activation;
// - FusedGemm is Gemm and its activation;
// - FusedMatMul is Transpose of the last two axes where it asks for them, MatMul, and Mul where alpha is not 1;
// - Attention is MatMul and Add of its projections, Split, and MultiHeadAttention of com.microsoft, which holds no weights;
// - EmbedLayerNormalization is Gather of its tables, Add, and LayerNormalization.
// ONNX Runtime fuses them anew where they stay in float. A node stays as it is where its activation is unknown, batches are
// transposed, the rank of what is transposed is unknown, or attention has a past. Constants have other names where theirs are
// those that ONNX Runtime's MatMulAddFusion writes: it (1.30) fails on models that hold them. `types_of`: as of
// drop_idle_moves(). Throws what it throws. Source: ContribOperators.md of ONNX Runtime; the attributes of FusedGemm's
// activations are those of its GemmActivationFusion.
void write_fused_apart(graph::Model& model, const TypesOf& types_of);

}  // namespace quasar::runtime
