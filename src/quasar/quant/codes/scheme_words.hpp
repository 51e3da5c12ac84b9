// The words for one side of a configuration: activation and activation_params, weight and weight_params.
#pragma once

#include "quasar/quant/codes/scheme.hpp"

namespace quasar::quant {

// `side`: "activation" or "weight". Options of the calibration method are not filled in. Throws Error as parse_config does.
Scheme parse_scheme(const Json& words, const std::string& side);

// Fills in the calibration method's options; Throws Error for unknown ones.
void check_method_options(Scheme& scheme, const std::string& owner);

// Whether a specification's name means a type with power-of-two scales only.
bool is_xint8(const Json& spec);
bool is_dynamic(const Json& spec);           // DynamicSpec
bool has_no_parameters(const Json& spec);    // floating point, and DynamicSpec
bool may_have_parameters(const Json& spec);  // the others, and what is no specification: it is told where it is read

// Throws Error, which names the key, for types that values (not weights) cannot have.
void check_value_type(DataType type, const std::string& key);

// Throws Error for combinations of activations and weights that no runtime executes.
void check_sides(const Scheme& values, const Scheme& weights);

// {symmetric, scale_type, calibration_method, quant_granularity}.
Json scheme_words(const Scheme& scheme);

// The specification that a scheme is of: "Int8Spec".
std::string spec_name(const Scheme& scheme);

// What all spellings of a name have in common: Int8, Int8Spec, QInt8 and QuantType.QInt8 give one word.
std::string spec_word(const std::string& name);

// Why there is no such type and none will come, by the beginning of its name (BFP16, MX6, FP8); "": it is none of these.
std::string why_no_type(const std::string& name);

// Whether values of this type are codes with scales.
bool is_integer(DataType type);

}  // namespace quasar::quant
