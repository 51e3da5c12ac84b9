// Candidates that run on the samples of an evaluator, each sample compared with what the float model gave.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "quasar/base/parallel.hpp"
#include "quasar/eval/float_run.hpp"

namespace quasar::eval {

struct CandidateRun {
  const graph::Model& model;
  size_t threads;  // 0: all cores
  const runtime::Device& device;
};

// Evaluator::race() by Quasar's own metrics. Without a referee the whole is one block. `order`: of all samples.
std::optional<Scores> raced(const FloatRun& reference, const CandidateRun& run,
                            const std::function<bool(std::span<const double> values)>& referee, std::span<const size_t> order);

// Evaluator::each().
void each_pair(const FloatRun& reference, const CandidateRun& run, double noise,
               const std::function<void(size_t sample, const Pair& pair)>& visit);

// Evaluator::look().
void look_at(const FloatRun& reference, const CandidateRun& run, std::span<const size_t> order,
             const std::function<bool(size_t sample, double value)>& look, const std::string& name, const Sharer& sharer);

}  // namespace quasar::eval
