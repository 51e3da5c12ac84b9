// Which predictions a quantized model changed.
#pragma once

#include <filesystem>

#include "quasar/base/json.hpp"
#include "quasar/data/dataset.hpp"
#include "quasar/eval/evaluate.hpp"

namespace quasar::tune {

// {samples, changed, gained, lost, classes: [{class, samples, changed, gained, lost}], worst: [{sample, label, float, best,
// value}], names: {class: name}}, from the float model's and the quantized one's score of the same metric; null where the metric
// has no values per sample. {samples, worst: [{sample, label, value}]} where the models' outputs are no classes.
//   gained, lost   predictions that became right and wrong; left out without labels
//   class          the label; without labels what the float model says. The 50 classes that change most
//   names          what the data set calls those classes (class_names.hpp); left out where it knows no name
//   worst          the 20 samples whose prediction changed and whose value moved most; then those whose value moved most
Json flips_of(const data::Dataset& samples, const eval::Score& reference, const eval::Score& best);

// The folder of pictures below a search's output folder; whether a file there is called as those are.
inline constexpr const char* worst_samples = "worst_samples";
bool is_picture_of_sample(const std::filesystem::path& file);

// Writes the worst samples that can be seen (preview.hpp) as worst_samples/sample_N.jpg into the output folder, at most 128
// pixels wide and high, in the place of those that are there, and adds `picture` (the file's name from there) and `file` (where
// the sample was read from) to them. Throws Error when they cannot be written.
void add_pictures(Json& flips, const data::Dataset& samples, const std::filesystem::path& output_dir);

}  // namespace quasar::tune
