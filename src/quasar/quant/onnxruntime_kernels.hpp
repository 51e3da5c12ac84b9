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

// Whether the operator takes longer on codes than in float with the conversions before and behind it, at most sizes, on
// x86-64 with VNNI. What follows are times of it and both of its neighbours (bench/slow_kernels.py):
// - Softmax, twice as long,
// - AveragePool whose windows are small, 2 to 4 times: larger ones are whole planes, which have a loop of their own,
// - depthwise convolutions of channels that are no multiple of 16, up to 3 times,
// - convolutions in groups of fewer than 16 channels, up to 8 times; only on very small planes it is no longer.
bool is_slower_in_codes(const graph::Node& node, const graph::Model& model);

}  // namespace quasar::quant
