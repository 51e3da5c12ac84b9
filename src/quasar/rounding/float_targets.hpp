// What layers should give: their outputs in the float model, at chosen positions of every sample.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "quasar/graph/model.hpp"
#include "quasar/rounding/linear_layer.hpp"
#include "quasar/rounding/memory/held_samples.hpp"
#include "quasar/rounding/memory/shared_limit.hpp"

namespace quasar::tune {

// One layer's outputs for one sample. Where a fixed batch is filled with copies of it, positions are those of the first.
struct Target {
  Shape shape;                      // of the whole output
  std::vector<uint32_t> positions;  // chosen of it
  std::vector<float> values;        // [outputs, positions]
  std::vector<float> weights = {};  // how much each position counts; empty: all the same

  double weight(size_t position) const { return weights.empty() ? 1 : static_cast<double>(weights[position]); }
};

struct TargetOptions {
  size_t samples = 0;      // the first ones
  size_t columns = 16384;  // positions per layer, over all samples
  size_t threads = 0;
  double end_loss = 0;  // how much the end loss weighs positions (end_loss.hpp); 0: not at all
};

// Where a normalization follows, positions count by it (normalization.hpp), and by what they do to the model's outputs. The float
// model runs once over all samples where the targets of all layers fit the limit, once per stretch of layers otherwise. at() may
// be called from several threads.
class FloatTargets final : public SharedLimit::Holder {
 public:
  FloatTargets(const graph::Model& model, std::vector<LinearLayer> layers, std::shared_ptr<const HeldSamples> samples,
               const TargetOptions& options, SharedLimit& limit);
  ~FloatTargets() override;
  // The targets of all samples for a layer (an index into `layers`).
  std::shared_ptr<const std::vector<Target>> at(size_t layer);
  const std::vector<LinearLayer>& layers() const { return layers_; }
  size_t samples() const { return options_.samples; }
  size_t largest_output() const { return largest_; }  // bytes, of one sample
  // Why the end loss weighs not all layers that at() was called for; "": it does, or need not.
  std::string note() const;
  bool give_up() override;

 private:
  void compute(size_t layer, size_t limit);
  std::vector<std::string> values_of_all() const;
  void weigh(std::vector<std::vector<Target>>& found, const std::vector<size_t>& members);
  Target target_of(size_t layer, size_t sample, const std::map<std::string, Tensor>& values) const;

  const graph::Model& model_;
  std::vector<LinearLayer> layers_;
  std::vector<std::string> normalized_;  // layer -> the value that is normalized behind it, "": none
  std::shared_ptr<const HeldSamples> samples_;
  TargetOptions options_;
  SharedLimit& limit_;
  std::vector<int64_t> copies_;      // layer -> so many equal parts of its output stand one behind the other
  std::vector<std::string> values_;  // the layers' outputs and what is normalized behind them
  std::vector<size_t> needs_;        // bytes of a layer's targets
  size_t largest_ = 0;
  mutable std::mutex guard_;
  std::string note_;
  size_t held_ = 0;                                                  // bytes
  std::vector<std::shared_ptr<const std::vector<Target>>> targets_;  // by layer; null where not held
};

}  // namespace quasar::tune
