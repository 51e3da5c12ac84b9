// What earlier runs of a study have found out, so that it is not found out again.
#pragma once

#include "quasar/trial/trial.hpp"

namespace quasar::tune {

// What the trials of a resumed study have made, so that an equal model is not scored again.
void recall_models(const TrialContext& context, std::span<const search::Trial> trials);

// A finished trial's scores as the study has them, without intervals and values per sample; nullopt: one that candidates must be
// scored on is not there.
std::optional<eval::Scores> recorded_scores(const Aim& aim, const search::Trial& trial);
// What the user's evaluator gave of them; empty: it gave none, or not all. It says no more when it is asked again, and may take
// its time.
eval::Scores said_before(const Aim& aim, const search::Trial& trial);
// Whether these are all that candidates must be scored on.
bool all_there(const Aim& aim, const eval::Scores& scores);

// The best trial of a resumed study, scored again unless a user's evaluator did: what the racer compares with, and what becomes
// best.onnx if nothing better comes.
void recall_best(const TrialContext& context, const search::Trial& trial);

}  // namespace quasar::tune
