// The winner of a search: built, saved, and measured beside the float model.
#pragma once

#include <stop_token>

#include "quasar/data/dataset.hpp"
#include "quasar/tune/search.hpp"
#include "quasar/tune/trial.hpp"

namespace quasar::tune {

// Writes best.onnx, best_params.json and best_config.yaml. Its latency is measured within half a second when `stop` is requested.
Winner measure_winner(const Laboratory& lab, const search::Trial& trial, const data::Splits& samples,
                      const std::stop_token& stop);

// Scores best.onnx and the float model on the hold-out samples; left out when the search is stopped meanwhile.
void measure_holdout(Summary& summary, const Laboratory& lab, const data::Splits& samples, const std::stop_token& stop);

}  // namespace quasar::tune
