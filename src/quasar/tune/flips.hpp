// Which predictions a quantized model changed.
#pragma once

#include "quasar/base/json.hpp"
#include "quasar/data/dataset.hpp"
#include "quasar/eval/evaluate.hpp"

namespace quasar::tune {

// {samples, changed, gained, lost, classes: [{class, samples, changed, gained, lost}], worst: [{sample, label, float, best,
// value}]}, from the float model's and the quantized one's score of the same metric; null where either has no answers.
//   gained, lost   predictions that became right and wrong; left out without labels
//   class          the label; without labels what the float model says. The 50 classes that change most
//   worst          the 20 samples whose prediction changed and whose value moved most; then those whose value moved most
Json flips_of(const data::Dataset& samples, const eval::Score& reference, const eval::Score& best);

}  // namespace quasar::tune
