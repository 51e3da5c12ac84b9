// Class labels beside samples.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "quasar/base/plugin.hpp"
#include "quasar/data/class_names.hpp"
#include "quasar/data/dataset.hpp"
#include "quasar/data/npy.hpp"

namespace quasar::data {

// What is known of a data set's classes.
struct Labels {
  std::vector<int64_t> of = {};  // of each sample; empty: none
  ClassNames names = {};         // both by the model's class (label_offset added)
};

// A data set with one label per sample, or with none.
class Labelled : public Dataset, public Named {
 public:
  explicit Labelled(Labels labels) : labels_(std::move(labels)) {}
  std::optional<int64_t> label(size_t index) const override {
    return labels_.of.empty() ? std::nullopt : std::optional(labels_.of.at(index));
  }
  std::string class_name(int64_t model_class) const override {
    const auto found = labels_.names.find(model_class);
    return found == labels_.names.end() ? "" : found->second;
  }

 private:
  Labels labels_;
};

// Whether an array of this name holds labels where it is no input of the model.
bool names_labels(const std::string& name);

// Whether the array holds numbers that are not whole: what a regression is to answer, and no classes.
bool has_fractions(const Tensor& array);
// The same of an array in a file, of which only floating ones are read.
bool has_fractions(const NpyArray& array);

// One label per sample from an array [n] or [n,1] of whole numbers. Throws Error that begins with `where`.
std::vector<int64_t> labels_of(const Tensor& array, const std::string& where);

// A CSV file with columns `file` and `label` (others are passed over): the label of each of `files`, in their order. Rows for
// other files are allowed. Throws Error that names the CSV file and the line, or a file without a label.
std::vector<int64_t> read_labels(const std::filesystem::path& csv, const std::vector<std::string>& files);

}  // namespace quasar::data
