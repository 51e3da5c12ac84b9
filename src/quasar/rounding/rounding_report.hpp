// How optimized rounding went, layer by layer.
#pragma once

#include <string>
#include <vector>

#include "quasar/base/json.hpp"
#include "quasar/base/log.hpp"
#include "quasar/rounding/layer_rounding.hpp"

namespace quasar::tune {

struct RoundingReport {
  std::vector<LayerError> layers;
  std::vector<std::string> kept;   // quantized layers that could not be optimized, with the reason
  size_t samples = 0, wanted = 0;  // those left to the end, and those to begin with
  size_t refined = 0;              // activations whose scales were chosen again
  double refine_s = 0, seconds = 0;
};

// {samples, seconds, refined, refine_s, layers: [[node, before, after, alone]], kept}: what a trial records.
Json to_json(const RoundingReport& report);

// {"before": …, "after": …, "alone": …} by layer: the same for a file.
Json errors_by_layer(const RoundingReport& report);

// "conv1: relative output error 3.1 % -> 0.42 %"
std::string in_words(const LayerError& error);

// "adaquant: 28 layers on 100 samples, output error of nearest rounding × 0.21 (geometric mean), …"
std::string summary_of(const std::string& method, const RoundingReport& report);

// Before the work begins: warnings for so few samples that the model would fit these alone, and for a memory_limit (bytes) that
// leaves only `fit` of them to the largest layer.
void warn_of_samples(const Log& log, size_t wanted, size_t fit, size_t memory_limit);

// The warning for a memory_limit (bytes) that let go of samples on the way.
std::string samples_given_up(size_t left, size_t wanted, size_t memory_limit);

}  // namespace quasar::tune
