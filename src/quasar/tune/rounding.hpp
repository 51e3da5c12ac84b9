// Rounding of a whole model's weights, layer by layer: inputs as the already quantized prefix gives them, targets from the float
// model. Every part of either model runs once per sample, so that the cost is linear in depth.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "quasar/base/json.hpp"
#include "quasar/base/log.hpp"
#include "quasar/data/dataset.hpp"
#include "quasar/quant/plan.hpp"
#include "quasar/quant/rounding.hpp"
#include "quasar/tune/float_targets.hpp"

namespace quasar::tune {

// One layer's relative output error: mean squared difference from the float output, over the float output's variance.
struct LayerError {
  std::string node;
  double before = 0, after = 0;  // nearest rounding; the codes chosen (both with the bias as the layer will have it)
};

struct RoundingReport {
  std::vector<LayerError> layers;
  std::vector<std::string> kept;  // quantized layers that keep nearest rounding, with the reason
  size_t samples = 0;
  double seconds = 0;
};

// {samples, seconds, layers: [[node, before, after]], kept}: what a trial records.
Json to_json(const RoundingReport& report);

struct RounderOptions {
  size_t memory_limit = size_t{4} << 30;  // bytes, for activations held
  size_t threads = 0;                     // 0: all cores; results do not depend on it
  Log log = {};
};

// Works for all trials on one float model; the float model's outputs are computed once. improve() may be called from several
// threads.
class Rounder {
 public:
  Rounder(const graph::Model& model, data::DatasetPtr samples, RounderOptions options = {});
  ~Rounder();

  // Fills in what the plan's rounding leaves open: data_size becomes the number of samples used, at most `calibration` (nullopt:
  // all), so that equal work has equal hashes.
  void settle(quant::Plan& plan, std::optional<size_t> calibration) const;

  // Puts codes for weights and biases into the plan, as plan.rounding says. `check` is called between layers; what it throws
  // ends the work.
  RoundingReport improve(quant::Plan& plan, const std::function<void()>& check = {});

 private:
  struct Material;
  std::shared_ptr<Material> material(size_t samples);

  const graph::Model& model_;
  data::DatasetPtr samples_;
  RounderOptions options_;
  std::mutex guard_;
  std::map<size_t, std::shared_ptr<Material>> materials_;  // by number of samples
};

}  // namespace quasar::tune
