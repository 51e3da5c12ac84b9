// One configuration, no search.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "quasar/base/json.hpp"
#include "quasar/base/log.hpp"
#include "quasar/graph/model.hpp"
#include "quasar/quant/plan.hpp"
#include "quasar/rounding/rounding_report.hpp"
#include "quasar/studies/past_study.hpp"
#include "quasar/tune/pieces.hpp"

namespace quasar::tune {

struct QuantizeOptions {
  std::filesystem::path model;
  Json calibration;         // as data::open takes it; null: none, where the configuration needs no samples
  Json words;               // the configuration, in the hierarchical form or in v1's
  std::string target = {};  // "": the configuration's (key `target`, as in best_config.yaml), else ort_cpu
  Json ranges = {};         // of activations, as quant::parse_ranges takes them, or quant::read_foreign
  // Whose model is made again: the search's samples where none are given and some are needed; a note on others, and an error for
  // another model.
  std::optional<PastTrial> trial = {};
  Progress progress = {};
};

struct Quantized {
  graph::Model model;
  quant::Plan plan;
  quant::Config config;
  RoundingReport rounding = {};  // of optimized rounding; else without layers
  graph::Model graph = {};       // the float graph of which the plan is
};

Quantized quantize(const QuantizeOptions& options);

// As the user named the file: a device or a pipe is written into, unless the configuration has external data
// (use_external_data_format) or the model is too large to do without. A file is opened by ONNX Runtime then, unless the float
// model is large (graph::is_large). Of a pipeline the models are written too, into a folder beside it (pieces.hpp), and told.
// Throws Error, also where ONNX Runtime does not open the file.
std::vector<PieceFacts> write_model(const Quantized& result, const std::filesystem::path& file);

}  // namespace quasar::tune
