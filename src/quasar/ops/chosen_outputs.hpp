// Outputs whose number of values depends on the data: what NonMaxSuppression, NonZero and the like choose (boxes that a model
// suppresses by itself). A quantized model that chooses one box more has an output of another size, so that no distance says how
// near it is. What can be compared are the values from which these operators choose. And outputs beside whose numbers no error of
// the others is seen: those that only hand on one of the model's inputs, which no quantization changes, and labels (a class's
// number or name) that say which value of another output is the greatest.
#pragma once

#include <string>
#include <vector>

#include "quasar/graph/model.hpp"

namespace quasar::ops {

struct ChosenOutputs {
  std::vector<std::string> outputs;   // of the model, that hold what was chosen
  std::vector<std::string> choosers;  // "NonMaxSuppression 'nms'", in the model's order
  std::vector<std::string> echoes;    // outputs that are inputs as they came, where there are other outputs
  std::vector<std::string> labels;    // outputs of the greatest value's place or name, and texts, where there are others
  std::vector<std::string> crossing;  // outputs that only a later model of a pipeline reads, where there are other outputs
  std::vector<std::string> judged;    // the other outputs, then the float32 values from which is chosen; empty: none was found
};

// Nothing in `outputs`, `echoes`, `labels` and `crossing`: the model has no such output, and `judged` is empty. Values from which
// is chosen are followed backwards from the choosers, through comparisons and indices, to float32 values; of several that differ
// in shape only, one is taken. What TopK puts into an order is no such value, since a small error changes the order; what it
// orders is.
ChosenOutputs chosen_outputs(const graph::Model& model);

// The model with the outputs that answer something of their own: neither labels of others, nor inputs that are handed on, nor
// what only a later model reads.
graph::Model with_answers(graph::Model model);

// What can be compared of a candidate with the float model: ChosenOutputs::judged, or nothing where the candidate lacks such a
// value.
std::vector<std::string> judged_of(const graph::Model& reference, const graph::Model& candidate);

// What was found, in one sentence.
std::string in_words(const ChosenOutputs& chosen);

}  // namespace quasar::ops
