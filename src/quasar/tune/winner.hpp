// The winner of a search: built, saved, and measured beside the float model.
#pragma once

#include <filesystem>
#include <functional>
#include <stop_token>

#include "quasar/data/dataset.hpp"
#include "quasar/trial/trial.hpp"
#include "quasar/tune/summary.hpp"

namespace quasar::tune {

// What the end of a search works with. `warn`: is told what could not be had for the report, which is written without it.
struct Closing {
  const data::Splits& samples;
  const std::filesystem::path& folder;  // where the winner's files are written until all results are there
  const std::stop_token& limit;         // the search is stopped, or its time is up
  const std::stop_token& stop;          // it is stopped
  std::function<void(const std::string&)> warn;
};

// Writes best.onnx (and best.onnx.data), of a pipeline its models in the folder best, best_params.json and best_config.yaml. Once
// `limit` is requested its latency is measured within half a second, on all cores within two, and what only the report shows
// is left out. Once `stop` is requested all cores are left out too. Its quality is
// judged unless `stop` is requested.
Winner measure_winner(const TrialContext& context, const search::Trial& trial, const Closing& closing);

// Scores best.onnx and the float model on the hold-out samples; left out when the search is stopped meanwhile.
void measure_holdout(Summary& summary, const TrialContext& context, const Closing& closing);

}  // namespace quasar::tune
