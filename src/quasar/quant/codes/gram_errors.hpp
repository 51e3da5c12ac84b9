// What codes make of a GramProblem: its nearest ones, and the error of any.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "quasar/quant/codes/rounding.hpp"

namespace quasar::quant {

// saturate(round_half_even(w / scale) + zero point) for all weights.
std::vector<int32_t> nearest_codes(const GramProblem& problem);

// E of each output, without damping.
std::vector<double> errors(const GramProblem& problem, std::span<const int32_t> codes);

// The same with damping: the given errors and λ|q − w|².
std::vector<double> damped_errors(const GramProblem& problem, std::span<const int32_t> codes, std::vector<double> errors);

}  // namespace quasar::quant
