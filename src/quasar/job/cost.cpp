#include "quasar/job/cost.hpp"

#include <algorithm>

#include "quasar/job/spaces.hpp"
#include "quasar/quant/codes/range.hpp"

namespace quasar::tune {
namespace {

double range_cost(const quant::Scheme& scheme) {
  return quant::ranges::table().make(scheme.range_method, scheme.range_options)->cost();
}

// Solving for the codes of all layers: statistics of every layer, then passes over its weights.
double rounding_cost(const quant::Rounding& rounding) {
  if (!rounding.optimizes()) return 0;
  const double passes = rounding.options.value("num_iterations", 32.0);
  return 2 + 0.02 * passes;
}

bool is_simulated(DataType type) {
  return type == DataType::int16 || type == DataType::uint16;
}

// What outweighs everything else, from the words alone: for spaces that are too large to read every configuration.
double rough_cost(const Json& words) {
  const Json algorithms = words.value("algorithms", Json());
  if (!algorithms.is_string()) return 1;
  double passes = 32;
  for (const auto& [key, group] : words.items()) {
    if (group.is_object() && group.contains("num_iterations") && group["num_iterations"].is_number())
      passes = std::min(passes, group["num_iterations"].get<double>());
  }
  return 3 + 0.02 * passes;
}

}  // namespace

double expected_cost(const quant::Config& config) {
  const double scoring = is_simulated(config.activation.type) || is_simulated(config.weight.type) ? 1.5 : 1;
  return scoring + range_cost(config.activation) + range_cost(config.weight) + rounding_cost(config.rounding) +
         0.1 * static_cast<double>(config.transforms.size());
}

search::Cost cost_of(const search::Space& space) {
  const auto size = space.size();
  if (!size) return {};
  if (*size > search::Space::most_looked_through)
    return [&space](const search::Point& point) { return rough_cost(space.decode(point)); };
  return [&space](const search::Point& point) {
    try {
      return expected_cost(quant::parse_config(words_of(space, point)));
    } catch (const Error&) {  // no configuration: found out at once
      return 0.0;
    }
  };
}

search::Likeness likeness_of(const search::Space& space) {
  return [&space](const search::Point& point) {
    try {
      quant::Config config = quant::parse_config(words_of(space, point));
      config.rounding.inert = Json::object();
      return quant::to_json(config).dump();
    } catch (const Error&) {  // no configuration: of a space that the study had before, or impossible
      return std::string();
    }
  };
}

}  // namespace quasar::tune
