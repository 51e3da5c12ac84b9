// A quantized model run piece by piece over all samples: every node once, between two stops its weights may change.
//
// At a stop only the values that later nodes read are kept (the frontier), as codes where a DequantizeLinear follows: that node
// runs again in every piece that needs it, which costs little and keeps memory small.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "quasar/graph/model.hpp"
#include "quasar/quant/plan.hpp"
#include "quasar/rounding/linear_layer.hpp"
#include "quasar/rounding/memory/held_samples.hpp"

namespace quasar::tune {

struct FrontierOptions {
  size_t samples = 0;                     // the first ones
  size_t memory_limit = size_t{2} << 30;  // bytes; beyond it the last samples are given up
  size_t threads = 0;                     // 0: all cores; results do not depend on it
};

class Frontier {
 public:
  // `stops`: names of nodes, in topological order.
  Frontier(graph::Model model, const std::vector<std::string>& stops, std::shared_ptr<const HeldSamples> samples,
           const FrontierOptions& options);

  // Runs every node before the stop that a stop depends on. Stops must be visited in order.
  void advance(const std::string& stop);

  // The stop's first input, of one sample: codes with their meaning, or floats.
  const Tensor& input(size_t sample) const { return values_[sample].at(input_); }
  const Decoding& decoding() const { return decoding_; }

  size_t samples() const { return values_.size(); }
  size_t most_bytes() const { return most_bytes_; }  // of values held at a time

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
  std::set<std::string> live(size_t to) const;
  graph::Model piece(size_t from, size_t to, const std::set<std::string>& after) const;
  std::optional<Shape> common_shape(size_t input) const;
  graph::Value given_value(const std::string& value) const;
  void step(size_t to);  // one piece
  void run(const graph::Model& piece, const std::set<std::string>& after);
  std::map<std::string, Tensor> values_before(size_t sample);
  void count_readers(const graph::Node& node, ptrdiff_t change);

  graph::Model model_;
  std::shared_ptr<const HeldSamples> data_;
  FrontierOptions options_;
  std::map<std::string, size_t> lazy_;                 // output of a lazy node -> its index
  std::map<std::string, size_t> position_;             // node name -> index
  std::set<size_t> stops_;                             // indices
  std::vector<bool> needed_;                           // some stop depends on the node, or is it
  std::map<std::string, size_t> last_read_;            // value -> the last needed node that reads it
  std::map<std::string, ptrdiff_t> readers_;           // value -> how often nodes read it
  std::vector<std::map<std::string, Tensor>> values_;  // per sample
  std::set<std::string> live_;                         // what values_ hold
  bool begun_ = false;                                 // otherwise values_ are to be read
  size_t done_ = 0;                                    // nodes before this index have run
  size_t most_bytes_ = 0;
  std::string input_;
  Decoding decoding_;
};

}  // namespace quasar::tune
