// Outputs that are one vector for each sample: classes, embeddings.
#pragma once

#include <optional>

#include "quasar/eval/head_facts.hpp"

namespace quasar::eval {

// The one axis of an output [1,C], [1,C,1,1] … that is longer than 1; nullopt: it is no vector, or its size is not known.
std::optional<size_t> vector_axis(const HeadOutput& output);

// How much of the values' variance the samples' mean vector explains: near 1 for what is nearly the same for every sample.
// nullopt: there are fewer than 8 samples.
std::optional<double> constant_share(const HeadFacts& facts, const HeadOutput& output);

// Whether the values of all samples, of which there are 8 at least, are above 0, or all below: scores that no softmax follows
// seldom are, measurements often.
bool have_one_sign(const HeadFacts& facts, const HeadOutput& output);

// Whether the values of every sample, of which there are some, have a Euclidean norm of 1.
bool have_unit_norm(const HeadFacts& facts, const HeadOutput& output);

}  // namespace quasar::eval
