// Which predictions a quantized model changed.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quasar/base/json.hpp"
#include "quasar/data/dataset.hpp"
#include "quasar/eval/evaluate.hpp"

namespace quasar::tune {

// From the float model's and the quantized one's score of the same metric.
struct Flips {
  // Predictions that became right and wrong are `gained` and `lost`; 0 without labels.
  struct Counts {
    size_t samples = 0, changed = 0, gained = 0, lost = 0;
  };
  struct Answers {
    int64_t by_float, best;
  };
  struct Sample {
    size_t number = 0;
    std::optional<Answers> answers = {};
    double value = 0;  // of the metric
    std::optional<int64_t> label = {};
    std::string picture = {}, file = {};  // see add_pictures()
  };
  std::string metric = {};
  Counts all;
  bool of_classes = false;  // outputs name classes, so that answers are compared; else only `samples` is counted
  bool labelled = false;
  std::vector<std::pair<int64_t, Counts>> classes = {};  // by label, or what the float model says: the 50 that change most
  std::vector<Sample> worst = {};                        // 20: changed ones whose value moved most, then others that moved most
  std::map<int64_t, std::string> names = {};             // what the data set calls those classes; without those that have no name
};

// nullopt: the metric has no values per sample.
std::optional<Flips> flips_of(const data::Dataset& samples, const eval::Score& reference, const eval::Score& best);

// {samples, changed, gained, lost, classes: [{class, samples, changed, gained, lost}], worst: [{sample, label, float, best,
// value, picture, file}], names: {class: name}, metric}
Json to_json(const Flips& flips);

// The folder of pictures below a search's output folder; whether a file there is called as those are.
inline constexpr const char* worst_samples = "worst_samples";
bool is_picture_of_sample(const std::filesystem::path& file);

// Writes the worst samples that can be seen (preview.hpp) as worst_samples/sample_N.jpg into the output folder, at most 128
// pixels wide and high, in the place of those that are there, and adds `picture` (the file's name from there) and `file` (where
// the sample was read from) to them. Throws Error when they cannot be written.
void add_pictures(Flips& flips, const data::Dataset& samples, const std::filesystem::path& output_dir);

}  // namespace quasar::tune
