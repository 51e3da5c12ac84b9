// The whole program: model and samples in, the best quantized model and the reasons out.
#pragma once

#include "quasar/base/log.hpp"
#include "quasar/job/job.hpp"
#include "quasar/tune/summary.hpp"

namespace quasar::tune {

// Runs the search that the job describes and writes best.onnx, best_params.json, best_config.yaml and the study to its
// output_dir. Throws Error for what the user can mend; a failing trial is recorded, not thrown.
Summary search(const Job& job, const Monitor& monitor);

// What `--dry-run` tells: {space: {points}, trials, samples: {…}, expected_s}, from loading, calibration and a few seconds of
// what trials do.
Json dry_run(const Job& job, const Progress& progress = {});

}  // namespace quasar::tune
