// Models whose batch is fixed at more than one sample: every sample is fed in a batch of copies of itself, so that ranges and
// scores are those of single samples, whatever stands beside them.
#pragma once

#include "quasar/data/dataset.hpp"

namespace quasar::data {

// The batch that the inputs fix: the first axis of the first one that has two axes or more and one above 1 there; 1: none does.
int64_t fixed_batch(const std::vector<graph::Value>& inputs);

// The inputs with 1 in place of this batch.
std::vector<graph::Value> one_at_a_time(std::vector<graph::Value> inputs, int64_t batch);

// Samples that were opened for one_at_a_time(inputs, batch), as the model takes them.
DatasetPtr repeated(DatasetPtr singles, const std::vector<graph::Value>& inputs, int64_t batch);

}  // namespace quasar::data
