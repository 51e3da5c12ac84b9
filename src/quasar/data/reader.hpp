// How samples are read: one reader per file format.
#pragma once

#include <filesystem>
#include <vector>

#include "quasar/base/plugin.hpp"
#include "quasar/data/dataset.hpp"

namespace quasar::data {

// Made from its options (path, inputs, labels, limit, seed, batch_size, layout, mean, scale, dtype, label_offset …).
class Reader {
 public:
  virtual ~Reader() = default;
  virtual DatasetPtr open(const std::vector<graph::Value>& inputs, const std::filesystem::path& base) const = 0;
};

}  // namespace quasar::data

namespace quasar::data::readers {
const Table<Reader>& table();
}
