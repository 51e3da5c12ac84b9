// One configuration, no search: a float model in, a quantized one out.
#pragma once

#include <filesystem>
#include <string>

#include "quasar/base/api.hpp"
#include "quasar/base/json.hpp"
#include "quasar/graph/model.hpp"

namespace quasar::api {

struct QuantizeOptions {
  std::filesystem::path model;
  Json configuration;          // the name of a scheme (`quasar list schemes`), or a mapping as in best_config.yaml
  Json calibration = nullptr;  // samples, as data::open() takes them; null: none, where the configuration needs none
  std::string target = {};     // what the model must run on (`quasar list targets`); "": the configuration's, else ort_cpu
  Json ranges = nullptr;       // {tensors: {name: {min, max}}} in place of what calibration finds; null: none
};

struct Quantized {
  graph::Model model;
  // {nodes: [names of what is quantized], skipped: {name: why it stays in float}, notes: [texts], config: the configuration with
  // all its keys, ranges: what was used, in the form of QuantizeOptions::ranges}
  Json facts;
};

// Throws Error for a model that cannot be treated, a configuration that is wrong for it, and samples that are needed or do not
// fit.
QUASAR_API Quantized quantize(const QuantizeOptions& options);

}  // namespace quasar::api
