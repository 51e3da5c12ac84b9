// Samples that a program holds in memory, or gives one by one: readers that it brings as registrations of the readers' table.
//
//   const Registration<Reader> mine(readers::table(), "mine", memory(samples));   calib_data_reader: {reader: mine, limit: 100}
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "quasar/base/api.hpp"
#include "quasar/data/reader.hpp"

namespace quasar::data {

using Files = std::vector<std::filesystem::path>;

// `source`: for messages.   `files`: that the items come from (memory that is mapped), which no output may replace. Items of a
// reader are never copied.
QUASAR_API Entry<Reader> memory(std::shared_ptr<const std::vector<Item>> items, const std::string& source, Files files = {});

// Items that are asked for when they are needed, and not kept: from several threads at once, any number of times.
struct Stream {
  size_t size = 0;
  std::function<Item(size_t)> item;
  std::vector<int64_t> labels = {};  // one per item, where they are known without reading it
};

// Items are samples; where the first one is a batch of several, all are read at once and kept.
QUASAR_API Entry<Reader> streamed(Stream stream, const std::string& source, Files files = {});

}  // namespace quasar::data
