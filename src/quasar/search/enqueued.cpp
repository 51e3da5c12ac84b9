#include "quasar/search/enqueued.hpp"

#include <map>

#include "quasar/base/hash.hpp"

namespace quasar::search {

bool is_enqueued(const Trial& trial) {
  return trial.state == State::waiting && trial.distributions.empty() &&
         trial.system_attributes.value(enqueued_attribute, Json()).is_object();
}

std::optional<Point> enqueued_point(const Trial& trial, const Space& space) {
  std::map<std::string, Json> values;
  for (const auto& [name, value] : trial.system_attributes.at(enqueued_attribute).items()) {
    const Parameter* parameter = space.find(name);
    if (parameter == nullptr || !contains(*parameter->distribution, value)) return std::nullopt;
    values[name] = value;
  }
  constexpr uint64_t most_attempts = 100;  // what is drawn may be refused
  for (uint64_t attempt = 0; attempt < most_attempts; ++attempt) {
    Rng rng(seed_of(static_cast<uint64_t>(trial.number), attempt));
    const auto point = space.with(values, rng);
    if (!point) return std::nullopt;
    if (space.has(*point)) return point;
  }
  return std::nullopt;
}

}  // namespace quasar::search
