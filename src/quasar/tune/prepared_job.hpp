// What a job needs before its first trial: everything that can be wrong is found here, and nothing is written.
#pragma once

#include <memory>
#include <vector>

#include "quasar/base/log.hpp"
#include "quasar/data/checked_ids.hpp"
#include "quasar/data/overlap.hpp"
#include "quasar/job/spaces.hpp"
#include "quasar/ops/chosen_outputs.hpp"
#include "quasar/quant/target.hpp"
#include "quasar/strategy/strategy.hpp"

namespace quasar::tune {

struct PreparedJob {
  Spaces spaces;
  std::unique_ptr<Strategy> strategy;
  std::unique_ptr<quant::Target> target;
  graph::Model original, model;                                                        // as it came, and after clean-up
  std::shared_ptr<data::OverlapGuard> guard = std::make_shared<data::OverlapGuard>();  // of the samples
  std::shared_ptr<data::NegativeIds> negative_ids = std::make_shared<data::NegativeIds>();
  data::Splits samples;
  std::vector<search::Trial> earlier;  // of the study that warm_start names
  ops::ChosenOutputs chosen;           // of the model; none where a user's decoder or weights speak of the outputs as they are
};

// Loads and checks whatever can be wrong, without writing anything.
PreparedJob prepare(const Job& job);

// How candidates of this model are scored. On hold-out samples the user's own evaluator is heard only when it looks at samples at
// all. `judged`: PreparedJob::chosen.judged.
eval::EvaluatorOptions evaluator_options(const Job& job, const std::vector<std::string>& judged, bool holdout);

// What the log should hold of the spaces: their sizes, what was taken out and why, a translation.
void tell_spaces(const Job& job, const PreparedJob& prepared, const Log& log);

// {trials, inside, outside}: of the study that warm_start names, how many lie in some space.
Json warm_start_facts(const PreparedJob& prepared);

}  // namespace quasar::tune
