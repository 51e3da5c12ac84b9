// Ranges and types in the files of others: Qualcomm's encodings (AIMET, QNN) and TensorRT's calibration cache.
//
//   encodings   {"version": "1.0.0", "activation_encodings": [{"name": "x", "dtype": "INT", "bw": 8, "is_sym": false,
//               "enc_type": "PER_TENSOR", "scale": [0.01], "offset": [-12]}, …], "param_encodings": […]}; x = s · (code +
//               offset), codes counted from 0 whatever the type. AIMET's aimet_onnx/_encoding.py (2.42) writes versions
//               0.6.1, 1.0.0 and 2.0.0
//   cache       "TRT-8601-EntropyCalibration2", then "name: 3c008912" a line: the bits of float32 scale = largest magnitude / 127
//               (TensorRT's sampleINT8, "Calibration file")
#pragma once

#include <string>
#include <vector>

#include "quasar/quant/plan.hpp"

namespace quasar::quant {

// Version 1.0.0, of all values and constants between pairs. `graph`: the float graph of which the plan is. Signed codes with zero
// points are told as unsigned ones of the same grid. Throws Error for weights with scales per group.
Json encodings_json(const Plan& plan, const graph::Model& graph);

// Values only: TensorRT finds scales of weights by itself. Where codes are not int8 without zero point, the scale is that of such
// codes for the same range.
std::string calibration_cache(const Plan& plan);

// A file of ranges in Quasar's form (given_ranges.hpp).
struct ForeignRanges {
  Json file;                            // as it was, where it is no foreign one
  bool foreign = false;                 // names that are not known here are no mistake
  std::vector<std::string> notes = {};  // on what is not read
};

// Encodings of any version by their keys; a JSON text by TensorRT's first line is a cache. Throws Error that names the entry and
// what it must be.
ForeignRanges read_foreign(const Json& file);

// Takes out what is not among the known values, and says so in a note. Throws Error where nothing is left.
void keep_known(ForeignRanges& ranges, const std::vector<std::string>& known);

// Whether the text is a calibration cache, by its first line.
bool is_calibration_cache(std::string_view text);

}  // namespace quasar::quant
