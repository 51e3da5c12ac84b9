#include "quasar/search/prior_trials.hpp"

#include <algorithm>

#include "quasar/search/pareto.hpp"

namespace quasar::search {
namespace {

constexpr size_t tried_again = 3;

// Whether a parameter says nothing of which trial is better: it has one choice.
bool is_fixed(const Distribution& distribution) {
  return cardinality(distribution) == 1U;
}

// What a parameter means to a trial that does not have it: its only choice, or null where that is one (no algorithm, nothing
// excluded); nullopt: nobody knows.
std::optional<Json> unsaid(const Distribution& distribution) {
  if (is_fixed(distribution)) return value_at(distribution, 0);
  return contains(distribution, nullptr) ? std::optional<Json>(nullptr) : std::nullopt;
}

// The trial's point in the order and with the values of the space; nullopt: it is not one of its points.
std::optional<Point> inside(const Trial& trial, const Space& space) {
  Point point;
  size_t known = 0;
  for (const auto& parameter : space.parameters()) {
    if (!space.is_active(parameter, point)) continue;
    const Json* value = trial.point.find(parameter.name);
    const std::optional<Json> meant = value == nullptr ? unsaid(*parameter.distribution) : *value;
    if (!meant) return std::nullopt;
    point.set(parameter.name, *meant);
    if (value != nullptr) ++known;
  }
  for (size_t i = 0; i < trial.point.values().size(); ++i) {
    const auto& name = trial.point.values()[i].first;
    if (point.find(name) == nullptr && i < trial.distributions.size() && is_fixed(*trial.distributions[i])) ++known;
  }
  if (known != trial.point.values().size()) return std::nullopt;
  return space.has(point) ? std::optional(point) : std::nullopt;
}

}  // namespace

std::vector<Trial> fitting(std::span<const Trial> trials, const Space& space) {
  std::vector<Trial> out;
  for (const auto& trial : trials) {
    auto point = inside(trial, space);
    if (!point) continue;
    Trial& prior = out.emplace_back(trial);
    prior.id = -1;
    prior.number = -1;
    prior.point = std::move(*point);
    prior.distributions.clear();
    for (const auto& [name, value] : prior.point.values()) prior.distributions.push_back(space.find(name)->distribution);
  }
  return out;
}

std::vector<Point> best_points(std::span<const Trial> trials, Direction direction) {
  std::vector<const Trial*> order;
  for (const auto& trial : trials) {
    if (trial.state == State::complete) order.push_back(&trial);
  }
  std::ranges::stable_sort(order, [&](const auto* a, const auto* b) {
    const double excess = a->violation(), other = b->violation();
    return excess != other ? excess < other : better(a->values.front(), b->values.front(), direction);
  });
  std::vector<Point> out;
  for (size_t i = 0; i < std::min(tried_again, order.size()); ++i) out.push_back(order[i]->point);
  return out;
}

}  // namespace quasar::search
