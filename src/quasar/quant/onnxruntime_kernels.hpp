// What ONNX Runtime's CPU provider (1.30) has for operators whose inputs are codes of 8 bits, as found by experiment.
#pragma once

#include <string>

#include "quasar/graph/model.hpp"

namespace quasar::quant {

// Whether an average skips values within its window: ONNX Runtime's QLinearAveragePool does not.
bool is_dilated(const graph::Node& node);

// What becomes of a float operator between pairs of 8 bits.
enum class InCodes {
  no,           // it runs in float
  computed,     // an operator on codes takes its place
  moved,        // the operator itself moves codes
  moved_alone,  // it could, but pairs around it are left as they are
  absorbed      // the pair behind it does what it does
};
InCodes in_codes(const std::string& op_type);
bool moves_codes(const std::string& op_type);

}  // namespace quasar::quant
