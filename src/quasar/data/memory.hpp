// Samples that a program holds in memory: a reader that it brings as a guest of the readers' table.
//
//   const Guest<Reader> guest(readers::table(), "mine", memory(samples));       calib_data_reader: {reader: mine, limit: 100}
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "quasar/data/reader.hpp"

namespace quasar::data {

// Arrays by the name of the model's input that they feed; "" feeds the only input. Where a model takes one sample (or any number)
// at a time, an array with the input's rank holds a batch: its first axis counts samples. Labels stand under labels, label or y,
// one per sample, as whole numbers.
using Item = std::map<std::string, Tensor>;

// `source`: for messages. Items of a reader are never copied.
Entry<Reader> memory(std::shared_ptr<const std::vector<Item>> items, const std::string& source);

}  // namespace quasar::data
