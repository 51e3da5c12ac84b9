// One float graph that clean-up and transforms made of a model.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "quasar/base/log.hpp"
#include "quasar/data/dataset.hpp"
#include "quasar/job/calibration.hpp"
#include "quasar/quant/config/config.hpp"
#include "quasar/quant/weight_memo.hpp"
#include "quasar/rounding/rounding.hpp"

namespace quasar::tune {

// A float graph with what is known of it.
struct Variant {
  graph::Model model;
  std::string digest;                                   // "" for the prepared graph: transforms that change nothing make no other
  std::set<std::string> in_float;                       // nodes that transforms added, which are not quantized
  std::map<std::string, std::set<std::string>> became;  // nodes that transforms replaced -> those that stand for them
  std::vector<std::string> notes;
  std::vector<quant::TransformUse> corrections;  // of plans
  stats::ChannelStatistics channels;             // what the corrections need
  std::shared_ptr<Calibration> calibration;
  std::shared_ptr<Rounder> rounder;
  std::shared_ptr<quant::WeightMemo> weights = std::make_shared<quant::WeightMemo>();
};

// A hash of all that differs between two graphs: nodes and constants. Attributes change only with the operator's type.
std::string digest_of(const graph::Model& model, const graph::Model& prepared);

// What transforms work with; all of it outlives the call.
struct TransformMeans {
  const graph::Model& prepared;  // after clean-up
  const data::Dataset& samples;
  size_t threads = 0;
  const Log& log;
};

// What the configuration's transforms make of a graph, without calibration and rounder; and the values of it whose statistics are
// not those of that graph.
std::pair<std::shared_ptr<Variant>, std::set<std::string>> transformed(const Variant& from, const quant::Config& config,
                                                                       const TransformMeans& means);

}  // namespace quasar::tune
