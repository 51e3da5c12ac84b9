// What the user should know of a search besides its result.
#pragma once

#include "quasar/tune/summary.hpp"

namespace quasar::tune {

// Told now, and shown in the report.
void warn(Summary& summary, const Log& log, const std::string& warning);

void warn_of_noise(Summary& summary, const Aim& aim, const Log& log);

// How far the best trial is from being a candidate, where none is.
void warn_of_tolerance(Summary& summary, const Aim& aim, const Log& log);

// Who quantizes wants a smaller and faster model. Of processors that are only simulated here nothing is known.
void warn_of_costs(Summary& summary, const runtime::Device& device, const Log& log);

// One that quantizes less does not win while the other is of use; but who wants the answers should know of it.
void warn_of_nearer_model(Summary& summary, const Job& job, const search::Trial& nearer, const Log& log);

// A metric that compares something else than what the model's head answers.
void warn_of_options(Summary& summary, const Aim& aim, const eval::Head& head, const Log& log);

// The goal is judged by the evaluation samples, which the model was chosen by.
void warn_of_holdout(Summary& summary, const Aim& aim, const Log& log);

// With the wrong direction of a user's own evaluator, the worst model wins.
void warn_of_direction(Summary& summary, const Aim& aim, const Log& log);

// Models that keep_models asks for, of trials that an earlier run scored.
void warn_of_missing_models(Summary& summary, const Job& job, const search::Study& study, const Log& log);

}  // namespace quasar::tune
