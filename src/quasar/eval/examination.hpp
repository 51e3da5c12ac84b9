// What a candidate's outputs are worth, part by part, and whether its answers are the float model's: looked at once, of the best.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "quasar/eval/evaluate.hpp"

namespace quasar::eval {

// How often the candidate answers as the float model does.
struct SameAnswers {
  std::string metric;  // by which answers are compared
  size_t samples = 0;  // on which the float model is sure
  double share = 0;    // of them: the candidate answers alike
  double mean = 0;     // of the metric over them: masks and texts may be alike in part
};

struct Examination {
  std::vector<PartError> parts;  // as Evaluator::parts()
  std::optional<SameAnswers> answers;
};

struct ExaminationOptions {
  std::string answers;  // the text of a metric that compares answers with the float model's, 1 for the same; "": none does
  double noise = 0.01;  // of inputs, which a sure answer survives
  size_t threads = 0;
  runtime::Device device = {};
};

// The float model is sure of a sample where its own answer to the input with noise is the same (the metric is at least 0.9). An
// answer of the candidate's is the same from 0.5 on: half of what was found. Throws Error where the outputs cannot be compared.
Examination examine(const Evaluator& evaluator, const graph::Model& reference, const graph::Model& candidate,
                    const ExaminationOptions& options);

}  // namespace quasar::eval
