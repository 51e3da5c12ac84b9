// What layers should give: their outputs in the float model, at chosen positions of every sample.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "quasar/data/dataset.hpp"
#include "quasar/graph/model.hpp"
#include "quasar/tune/linear_layer.hpp"

namespace quasar::tune {

// One layer's outputs for one sample.
struct Target {
  Shape shape;                      // of the whole output
  std::vector<uint32_t> positions;  // chosen of it
  std::vector<float> values;        // [outputs, positions]
  std::vector<float> weights = {};  // how much each position counts; empty: all the same

  double weight(size_t position) const { return weights.empty() ? 1 : static_cast<double>(weights[position]); }
};

struct TargetOptions {
  size_t columns = 16384;                 // positions per layer, over all samples
  size_t memory_limit = size_t{1} << 30;  // bytes of targets held at a time
  size_t threads = 0;
};

// Where a normalization follows, positions count by it (normalization.hpp). The float model runs once over all samples where the
// targets of all layers fit the memory, once per stretch of layers otherwise. at() may be called from several threads.
class FloatTargets {
 public:
  FloatTargets(const graph::Model& model, std::vector<LinearLayer> layers, std::vector<data::Sample> samples,
               const TargetOptions& options);
  // The targets of all samples for a layer (an index into `layers`).
  std::shared_ptr<const std::vector<Target>> at(size_t layer);
  const std::vector<LinearLayer>& layers() const { return layers_; }

 private:
  void compute(size_t layer);
  std::vector<std::string> values_of(const std::vector<size_t>& layers) const;
  Target target_of(size_t layer, size_t sample, const std::map<std::string, Tensor>& values) const;

  const graph::Model& model_;
  std::vector<LinearLayer> layers_;
  std::vector<std::string> normalized_;  // layer -> the value that is normalized behind it, "": none
  std::vector<data::Sample> samples_;
  TargetOptions options_;
  std::vector<size_t> stretch_;  // layer -> its stretch
  std::mutex guard_;
  std::vector<std::shared_ptr<const std::vector<Target>>> targets_;  // by layer; null where not held
};

}  // namespace quasar::tune
