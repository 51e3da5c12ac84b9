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
#include "quasar/base/parallel.hpp"
#include "quasar/data/dataset.hpp"
#include "quasar/quant/codes/rounding.hpp"
#include "quasar/quant/plan.hpp"
#include "quasar/rounding/float_targets.hpp"
#include "quasar/rounding/layer_rounding.hpp"
#include "quasar/rounding/refinement_check.hpp"
#include "quasar/rounding/rounding_report.hpp"

namespace quasar::tune {

class BranchRounders;
class Frontier;
struct FrontierOptions;
struct RoundingMemory;
class WindowMemo;

struct RounderOptions {
  size_t memory_limit = size_t{4} << 30;        // bytes, for samples and activations held
  std::shared_ptr<RoundingMemory> memory = {};  // shared with others that work on the same samples; null: its own
  bool once = false;                            // one model is made: its own memory keeps nothing for later ones
  size_t threads = 0;                           // 0: all cores; results do not depend on it
  size_t most_inputs = 4608;                    // of one output; layers with more are rounded in blocks of block_inputs
  size_t block_inputs = 2048;
  Log log = {};
  Progress progress = {};
  std::shared_ptr<const Sharer> sharer = {};  // with whom samples are shared, which may change; null: with nobody
};

// Works for all trials on one float model; the float model's outputs are computed once. Layers that no output of the model needs
// are left as they are. improve() may be called from several threads.
class Rounder {
 public:
  Rounder(const graph::Model& model, data::DatasetPtr samples, RounderOptions options = {});
  ~Rounder();

  // Fills in what the plan's rounding leaves open, so that equal work has equal hashes: data_size becomes the number of samples
  // used, at most `calibration` (nullopt: all); options that cannot act under this plan take their defaults, and a plan without
  // layers to round has no rounding. Notes say so.
  void settle(quant::Plan& plan, std::optional<size_t> calibration) const;

  // Puts codes for weights and biases into the plan, as plan.rounding says. `check` is called between layers; what it throws
  // ends the work.
  RoundingReport improve(quant::Plan& plan, const std::function<void()>& check = {});

  // Puts into the plan what the layers were rounded to in another plan of this model, where both ask the same of a layer, and the
  // activation scales that were refined there. Other layers have the nearest codes. Nothing runs.
  void take_over(quant::Plan& plan, const quant::Plan& rounded) const;

  // What nearest rounding of each layer's weights does to its output by itself, from float inputs: mean squared difference over
  // the output's variance, by node. From Gram matrices of one float run; layers with more than most_inputs are left out.
  std::map<std::string, double> sensitivities(const quant::Plan& plan);

 private:
  struct Material;
  struct Effort;
  bool rounding_acts(quant::Plan& plan) const;
  Sharer sharer() const;
  std::shared_ptr<Material> material(size_t samples, double end_loss);
  FrontierOptions frontier_options(size_t samples) const;
  RefinementCheck& refinement_check();
  Refined refine(quant::Plan& plan, const quant::LayerSettings& settings, const std::function<void()>& check);
  RoundingReport round(quant::Plan& plan, const Effort& effort);
  RoundingReport round_refined(quant::Plan& plan, const Effort& effort);
  LayerError round_one(const LinearLayer& layer, size_t index, const LayerContext& context, Material& material,
                       Frontier& frontier, const std::string& prefix, const quant::Rounding& rounding,
                       quant::NodePlan& plan) const;
  LayerError round_in_blocks(const LinearLayer& layer, size_t index, const LayerContext& context, Material& material,
                             Frontier& frontier, quant::NodePlan& plan) const;
  std::shared_ptr<const Moments> moments_at(const LinearLayer& layer, size_t index, Material& material, Frontier& frontier,
                                            const std::string& key) const;
  std::shared_ptr<const Moments> observe(const LinearLayer& layer, const std::vector<Target>& targets, Frontier& frontier) const;

  const graph::Model model_;  // without what no output needs
  const RounderOptions options_;
  const std::shared_ptr<RoundingMemory> memory_;
  const std::string name_;  // in what is kept for several
  const std::shared_ptr<WindowMemo> windows_;
  const std::unique_ptr<BranchRounders> branches_;
  std::mutex guard_;
  std::map<std::pair<size_t, double>, std::shared_ptr<Material>> materials_;  // by number of samples, and weight of the end loss
  std::map<std::string, Refined> refined_;                                    // by hash of the plan without its rounding
  std::unique_ptr<RefinementCheck> check_;                                    // null: nothing was refined yet
};

}  // namespace quasar::tune
