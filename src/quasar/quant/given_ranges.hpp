// Ranges in a file: what a calibration found, to be looked at, edited and used again.
//   {"tensors": {"x": {"min": -1, "max": 2, "scale": 0.0118, "zero_point": -43, "type": "int8", "symmetric": false,
//                      "scale_type": "Float32"}, …
//               "mask": {"float": true}}}
// "adjusted": true stands where min and max alone would give another scale: an alignment or the target's limits moved it.
#pragma once

#include <map>
#include <string>

#include "quasar/quant/plan.hpp"

namespace quasar::quant {

// The values of the plan that have a range of their own, and those that no grid can hold (masks), which stay in float. Others
// follow: what a movement gives, what an activation clips. Scale, zero point and type are those of the model.
Json ranges_json(const Plan& plan, const Config& config);

// An entry with min and max: the range, from which the configuration's scheme makes scale and zero point. An entry with a scale
// alone (and a zero point, 0 unless given) is taken as it is. {"float": true} leaves the value and its nodes in float. Values
// that are not in the file are calibrated. Throws Error for names that the model does not have (with the nearest), for numbers
// that are none, and where min and max contradict the scale in the scheme that the entry names.
std::map<std::string, stats::Given> parse_ranges(const Json& file, const graph::Model& model, const Scheme& activation);
// `known`: the values that may be named, where transforms add some to those of the model.
std::map<std::string, stats::Given> parse_ranges(const Json& file, const std::vector<std::string>& known,
                                                 const Scheme& activation);
// Whether the file names values that are not among the known ones.
bool names_others(const Json& file, const std::vector<std::string>& known);

// Whether the user leaves the value, and the nodes that read or write it, in float.
bool stays_in_float(const stats::Given& given);

// What is worth a note: entries without effect, scales that the plan had to change, entries that say that they were made for
// another scheme than the value has.
std::vector<std::string> notes_on_ranges(const Json& file, const std::map<std::string, stats::Given>& given, const Plan& plan,
                                         const Config& config);

}  // namespace quasar::quant
