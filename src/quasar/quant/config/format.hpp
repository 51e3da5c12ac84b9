// How a quantized model is written: operators between QuantizeLinear and DequantizeLinear, or operators on codes.
#pragma once

#include <string>

#include "quasar/base/json.hpp"
#include "quasar/quant/codes/scheme.hpp"
#include "quasar/quant/codes/switches.hpp"

namespace quasar::quant {

enum class Format { qdq, qoperator };

// "QDQ", "QOperator"; what stands before a dot does not count (QuantFormat.QDQ). Throws Error for other names.
Format parse_format(const Json& value);
std::string name_of(Format format);

// Throws Error when a configuration asks for QOperator with what no such operator computes, with the reason.
void check_format(Format format, const Scheme& activation, const Scheme& weight, const Switches& switches);

}  // namespace quasar::quant
