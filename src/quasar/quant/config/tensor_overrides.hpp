// Overrides for single tensors, in the words of ONNX Runtime and Quark:
//   TensorQuantOverrides: {value: [{quant_type: QUInt8, symmetric: false, rmin: 0, rmax: 6}], weights: [{scale: 0.01, zero_point:
//   0}]}
#pragma once

#include <map>
#include <optional>
#include <string>

#include "quasar/quant/codes/scheme.hpp"

namespace quasar::quant {

struct TensorOverride {
  Json words;  // as written
  std::optional<DataType> type = {};
  std::optional<bool> symmetric = {};
  std::optional<stats::Range> range = {};
  std::optional<float> scale = {};
  std::optional<int32_t> zero_point = {};
  bool operator==(const TensorOverride&) const = default;
};
using TensorOverrides = std::map<std::string, TensorOverride>;  // by name of a value or constant

// Throws Error for unknown keys and values that make no sense together.
TensorOverrides parse_tensor_overrides(const Json& value);

// The scheme with the override's type and symmetry.
Scheme overridden(Scheme scheme, const TensorOverride& own);

// Whether scale and zero point follow without any statistics; then params_of gives them, for the overridden scheme.
bool is_complete(const TensorOverride& own);
QuantParams params_of(const TensorOverride& own, const Scheme& scheme);

}  // namespace quasar::quant
