// The precision of single operators as parameters of a search: "node conv1" is "quantized" or "float32".
#pragma once

#include <span>
#include <string>

#include "quasar/graph/model.hpp"
#include "quasar/quant/target.hpp"
#include "quasar/search/space.hpp"

namespace quasar::tune {

inline constexpr const char* quantized = "quantized";
inline constexpr const char* in_float = "float32";

std::string precision_of(const std::string& node);  // the parameter's name

// The weighted sums and elementwise operators that the target may run quantized, in topological order; what merely passes values
// on goes with its producer.
std::vector<std::string> tunable_nodes(const graph::Model& model, const quant::Target& target);

// The space with one such parameter for each node.
Json with_precisions(Json search_space, std::span<const std::string> nodes);

// A point in the words of quant::parse_config: precisions become elements of `exclude`.
Json config_words(const search::Space& space, const search::Point& point);

// The point with these parameters changed; what depends on them takes its first choice.
search::Point changed(const search::Space& space, const search::Point& point,
                      std::span<const std::pair<std::string, Json>> changes);

// The nodes that the point leaves in float.
std::vector<std::string> float_nodes(const search::Point& point);

}  // namespace quasar::tune
