// Whether labels can be the classes that a model answers with: a wrong numbering makes every score by them worthless.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "quasar/data/annotations.hpp"
#include "quasar/eval/decoder.hpp"

namespace quasar::eval {

// `answers`: the class that the float model gives each sample; −1: it gives none. `labels`: what is true of them, of as many
// samples. `classes`: how many the model knows. -> what speaks against the labels, in words; "": nothing does. That is
// - labels that are greater or smaller by one fit far better,
// - the model is right no more often than guessing among its classes.
// Fewer than 20 samples speak against nothing. The first is beyond four standard errors of guessing, the second within two.
std::string label_doubt(std::span<const int32_t> answers, std::span<const int64_t> labels, size_t classes);

// The same of labelled boxes: `found` is what the float model finds in each sample, the best first, `boxes` what is there. What
// speaks against them is
// - that hardly any overlaps by half or more with what the model finds,
// - classes that are greater or smaller by one than the model's names for what it finds there.
// Fewer than 20 boxes speak against nothing.
std::string box_doubt(std::span<const std::vector<Detection>> found, std::span<const data::Boxes> boxes);

// Whether the labels are the model's classes beyond doubt: it is right more often than guessing, by four standard errors.
bool are_classes(std::span<const int32_t> answers, std::span<const int64_t> labels, size_t classes);

}  // namespace quasar::eval
