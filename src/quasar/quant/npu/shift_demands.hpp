// What users ask for by hand and a processor that shifts cannot do: each is an error with the reason, before anything is made.
#pragma once

#include "quasar/quant/config/config.hpp"
#include "quasar/stats/statistics.hpp"

namespace quasar::quant {

// Throws Error for types that have no codes with fixed scales (casts, weights only, dynamic), of the configuration or of a rule
// for layers: their nodes would run past the rules of such a processor.
void check_forms_for_shifts(const Config& config);

// Throws Error for an override of a tensor, and for a given scale, that is not 8 bits, symmetric, with a power of two.
void check_for_shifts(const std::string& name, const TensorOverride& own);
void check_for_shifts(const std::string& name, const stats::Given& given, const Scheme& activation);

}  // namespace quasar::quant
