// What readers have in common: options, and how a data set is limited.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "quasar/base/plugin.hpp"
#include "quasar/data/dataset.hpp"

namespace quasar::data {

// A reader's own options followed by those of every reader that reads files: constants, limit, seed, batch_size, layout, mean,
// scale, dtype, label_offset, class_names.
std::vector<OptionSpec> with_common(std::vector<OptionSpec> own);
OptionSpec constants_option();  // which open() itself heeds
OptionSpec limit_option();
OptionSpec batch_size_option();

// The option's value, or the fallback when it was given as null.
int64_t integer_option(const Options& options, const std::string& name, int64_t fallback);

// The label's sum with the offset. Throws Error where there is no such number.
int64_t with_offset(int64_t label, int64_t offset);

// The option label_offset added to each.
std::vector<int64_t> with_offset(std::vector<int64_t> labels, const Options& options);

// The option's text. Throws Error when it is none.
std::string text_option(const Options& options, const std::string& name, const std::string& owner);

// Throws Error unless batch_size is 1: open() heeds the batch of a model that fixes one.
void reject_batches(const Options& options, const std::string& owner);

// The option's value for one input: given for all, or by a mapping {input: value}; nullptr when there is none.
const Json* option_for(const Options& options, const std::string& name, const graph::Value& input);

// Throws Error when a mapping of one of these options names no input of the model.
void check_input_names(const Options& options, const std::vector<std::string>& names, const std::vector<graph::Value>& inputs,
                       const std::string& owner);

// Throws Error when a tensor of this shape for the input takes more memory than the machine has.
void check_room(const graph::Value& input, DataType type, const Shape& shape);

// Throws Error when an input is not a tensor of numbers.
void check_inputs(const std::vector<graph::Value>& inputs);

// `seed` given: all samples in a seeded random order; then the first `limit` of them (0, or more than there are: all).
DatasetPtr limited(DatasetPtr all, const Options& options, const std::string& owner);

// The option as a path; relative ones start from base.
std::filesystem::path path_of(const Options& options, const std::string& name, const std::filesystem::path& base,
                              const std::string& owner);

// `name` from base if there is such a file, else from the samples' folder.
std::filesystem::path find_labels(const std::string& name, const std::filesystem::path& base,
                                  const std::filesystem::path& folder);

// float16, bfloat16, float32 or float64.
bool is_floating(DataType type);

std::vector<std::string> names_of(const std::vector<graph::Value>& inputs);

// "[?,3,128,128]"
std::string text_of(const graph::Value& input);

}  // namespace quasar::data
