// A quantized model run piece by piece over all samples: every node once, between two stops its weights may change.
//
// At a stop only the values that later nodes read are kept (the frontier), as codes where a DequantizeLinear follows: that node
// runs again in every piece that needs it, which costs little and keeps memory small.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "quasar/data/dataset.hpp"
#include "quasar/graph/model.hpp"
#include "quasar/quant/plan.hpp"
#include "quasar/tune/linear_layer.hpp"

namespace quasar::tune {

struct FrontierOptions {
  size_t memory_limit = size_t{2} << 30;  // bytes; beyond it the last samples are given up
  size_t threads = 0;                     // 0: all cores; results do not depend on it
};

class Frontier {
 public:
  // `stops`: names of nodes, in topological order. `samples`: one tensor per model input each.
  Frontier(graph::Model model, const std::vector<std::string>& stops, std::vector<data::Sample> samples,
           const FrontierOptions& options);

  // Runs every node before the stop that a stop depends on. Stops must be visited in order.
  void advance(const std::string& stop);

  // The stop's first input, of one sample: codes with their meaning, or floats.
  const Tensor& input(size_t sample) const { return values_[sample].at(input_); }
  const Decoding& decoding() const { return decoding_; }

  size_t samples() const { return values_.size(); }

  // Gives a constant input of a node other codes and scales (its own copy, should others read the same constant). Only for nodes
  // that have not run yet.
  void replace(const std::string& node, size_t input, const quant::Optimized& constant);

  // The same for a constant in float.
  void replace(const std::string& node, size_t input, const Tensor& values);

  // Gives a node that stands for one of the float model's without pairs around it (MatMulNBits) the weights of its plan.
  void rewrite(const graph::Model& float_model, const std::string& node, const quant::NodePlan& plan);

 private:
  bool is_lazy(const graph::Node& node) const;
  std::vector<std::string> reads(const graph::Node& node) const;
  std::set<std::string> live(size_t from) const;
  graph::Model piece(size_t from, size_t to, const std::set<std::string>& after) const;
  void step(size_t to);  // one piece
  void run(const graph::Model& piece, const std::set<std::string>& after);

  graph::Model model_;
  FrontierOptions options_;
  std::map<std::string, size_t> lazy_;                 // output of a lazy node -> its index
  std::map<std::string, size_t> position_;             // node name -> index
  std::set<size_t> stops_;                             // indices
  std::vector<bool> needed_;                           // some stop depends on the node, or is it
  std::vector<std::map<std::string, Tensor>> values_;  // per sample
  size_t done_ = 0;                                    // nodes before this index have run
  std::string input_;
  Decoding decoding_;
};

}  // namespace quasar::tune
