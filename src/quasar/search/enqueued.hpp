// Trials that another program has enqueued, as Optuna and its dashboard do (study.enqueue_trial): they wait without a point, and
// name values that are to be tried.
#pragma once

#include <optional>

#include "quasar/search/space.hpp"
#include "quasar/search/trial.hpp"

namespace quasar::search {

// A system attribute: {name of a parameter: value}.
inline constexpr const char* enqueued_attribute = "fixed_params";

// The trial waits, and whoever runs it gives it its point.
bool is_enqueued(const Trial& trial);

// Its point: these values, and what they leave open drawn by the trial's number alone. nullopt: no point of the space has these
// values.
std::optional<Point> enqueued_point(const Trial& trial, const Space& space);

}  // namespace quasar::search
