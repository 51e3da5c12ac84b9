// Operators whose numbers float16 does not hold: a Cast would make them infinite.
#pragma once

#include <map>
#include <string>

#include "quasar/quant/value_params.hpp"

namespace quasar::quant {

// Of the nodes that the placement casts to float16: those with constants, or with values in the samples, beyond ±65504 (IEEE 754
// binary16). Numbers beyond 10³⁰ hide what an attention mask leaves out, and may become infinite. -> why they stay in float32.
std::map<std::string, std::string> beyond_half(const Ground& ground);

}  // namespace quasar::quant
