// A table of codes whose rows are gathered: ONNX Runtime (1.30) dequantizes the whole table in every run. Gathered first, only
// the rows that are read are dequantized, to the same values.
//   codes ─DQ─▶ Gather   becomes   codes ─▶ Gather ─DQ─▶
#pragma once

#include "quasar/graph/model.hpp"

namespace quasar::quant {

// Of constant codes of 8 or 16 bits with one scale, or one per entry of an axis that nothing is gathered along. The table's
// DequantizeLinear stays for others that read it.
void gather_codes_first(graph::Model& quantized);

}  // namespace quasar::quant
