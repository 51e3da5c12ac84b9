// Scales of activations chosen by what they do to the outputs of the layers that follow, instead of by the values alone.
//
// For every value with a pair of its own, candidates (neighbouring powers of two; clipped ends of float ranges) run through the
// next two linear layers, weights in float, activations quantized; the least relative squared error of what comes out is taken,
// where both halves of the samples agree that it is less than with the range method's own scale, and by three standard errors
// where the range becomes narrower. Each value is judged alone, from float inputs, so that the cost is linear in depth.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "quasar/base/log.hpp"
#include "quasar/base/parallel.hpp"
#include "quasar/data/dataset.hpp"
#include "quasar/quant/plan.hpp"
#include "quasar/rounding/window_memo.hpp"

namespace quasar::tune {

// As progress calls it.
constexpr const char* work_of_refining = "scales of activations";

struct RefineOptions {
  size_t memory_limit = size_t{1} << 30;  // bytes of weights in windows held at a time
  size_t threads = 0;                     // 0: all cores; results do not depend on it
  std::set<std::string> keep = {};        // values that keep their parameters, and with them those that share them
  Progress progress = {};
  std::shared_ptr<WindowMemo> memo = {};  // shared with other plans for the same model and samples; null: its own
  Sharer sharer = {};                     // with whom samples are shared
};

// The parameters that differ from the plan's, by value. All samples judge small values; for others judges are chosen
// (judges.hpp). `check` is called between stretches; what it throws ends the work.
std::map<std::string, quant::QuantParams> refined_activations(const graph::Model& model, const quant::Plan& plan,
                                                              const data::Dataset& samples, const RefineOptions& options,
                                                              const std::function<void()>& check = {});

}  // namespace quasar::tune
