// Refined scales are judged where they were found, two layers on; whether they serve the model is seen at its outputs.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "quasar/base/parallel.hpp"
#include "quasar/data/dataset.hpp"
#include "quasar/quant/plan.hpp"

namespace quasar::tune {

// Parameters by value, and how far they leave the outputs from the float model's, with weights in float: the sum over samples of
// the 2-norm of the difference.
struct Refined {
  std::map<std::string, quant::QuantParams> params = {};
  double error = 0;
  double gain = 0;  // share of the error with the present parameters that these take away
};

// Thread-safe.
class RefinementCheck {
 public:
  // Of at most 32 samples, spread over those given. The float model's outputs stay for the next plan where they are no more than
  // `most_bytes`. The model outlives this.
  // `sharer`: with whom samples are shared.
  RefinementCheck(const graph::Model& model, const data::DatasetPtr& samples, size_t threads, size_t most_bytes,
                  Sharer sharer = {});

  // Of the refined parameters: all, those of values that are no inputs of the model, or none, whichever has the least error.
  Refined proven(std::map<std::string, quant::QuantParams> refined, const quant::Plan& plan);

  // That of a plan's model, as it runs.
  double error_of(const quant::Plan& plan);

 private:
  class Run;
  std::vector<Tensor> exact(size_t sample, Run& run);

  const graph::Model& model_;
  const data::DatasetPtr judging_;
  const size_t threads_, most_bytes_;
  const Sharer sharer_;
  std::mutex guard_;
  std::vector<std::optional<std::vector<Tensor>>> exact_;  // by sample; nullopt: not known, or too many
  size_t bytes_ = 0;                                       // of these
};

}  // namespace quasar::tune
