// The precision of single operators as parameters of a search: "node conv1" is "quantized", an option of its own (a rule of
// specific_layer_config), "float16", "bfloat16" or "float32". "region conv1" is a list of operators that stay in float together.
#pragma once

#include <span>
#include <string>

#include "quasar/graph/model.hpp"
#include "quasar/quant/target.hpp"
#include "quasar/search/space.hpp"

namespace quasar::tune {

inline constexpr const char* quantized = "quantized";
inline constexpr const char* in_float = "float32";
inline constexpr const char* float16 = "float16";
inline constexpr const char* bfloat16 = "bfloat16";

// Whether operators are given up, as those parameters say, before or after the weights of all are rounded: after it the others
// keep their codes, and nothing is rounded again.
inline constexpr const char* fallback_parameter = "fallback";
inline constexpr const char* fallback_after_rounding = "after rounding";
inline constexpr const char* fallback_before_rounding = "before rounding";

std::string precision_of(const std::string& node);  // the parameter's name
std::string region_of(const std::string& node);     // that of the region whose first operator it is

// The weighted sums and elementwise operators that the target may run quantized, in topological order; what merely passes values
// on goes with its producer. Where activations have 8 bits, without those that stay in float whatever the others do: a Softmax
// over an axis of one element, a sum that only nodes in float read (where the target gains nothing from it).
enum class Activations { eight_bits, of_any_width };
std::vector<std::string> tunable_nodes(const graph::Model& model, const quant::Target& target,
                                       Activations activations = Activations::eight_bits);

// A point in the words of quant::parse_config: precisions become elements of `exclude` and rules of specific_layer_config.
Json config_words(const search::Space& space, const search::Point& point);

// The point with these parameters changed; what depends on them takes its first choice.
search::Point changed(const search::Space& space, const search::Point& point,
                      std::span<const std::pair<std::string, Json>> changes);

// The nodes that the point leaves in a float type.
std::vector<std::string> float_nodes(const search::Point& point);

// Whether the point leaves some node in a 16-bit float.
bool falls_back_to_half(const search::Point& point);

// In which type or with which option the point has a node; null where it says nothing of it.
Json precision_at(const search::Point& point, const std::string& node);

// What the point gives up, in operators: 1 for float32, 1/2 for 16-bit floats, 1/4 for 16-bit integers. 0: everything is in 8
// bits or fewer.
double given_up(const search::Point& point);

}  // namespace quasar::tune
