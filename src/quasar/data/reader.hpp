// How samples are read: one reader per file format.
#pragma once

#include <filesystem>
#include <vector>

#include "quasar/base/api.hpp"
#include "quasar/base/plugin.hpp"
#include "quasar/data/dataset.hpp"

namespace quasar::data {

// Made from its options (path, inputs, labels, limit, seed, batch_size, layout, mean, scale, dtype, label_offset …).
class QUASAR_API Reader {
 public:
  virtual ~Reader() = default;
  virtual DatasetPtr open(const std::vector<graph::Value>& inputs, const std::filesystem::path& base) const = 0;
  // Of samples that a program brings: whether each says its class (Dataset::label()).
  virtual bool brings_classes() const { return false; }
  // Of samples that a program brings: the arrays that may be labels, as their numbers are whole.
  virtual std::vector<std::string> whole_arrays() const { return {}; }
  // Of the same: arrays that feed none of these inputs and are no labels.
  virtual std::vector<std::string> passed_over(const std::vector<graph::Value>&) const { return {}; }
  // That a program's samples come from, of a reader that it brings: the description does not tell them.
  virtual std::vector<std::filesystem::path> files() const { return {}; }
};

}  // namespace quasar::data

namespace quasar::data::readers {
QUASAR_API const Table<Reader>& table();
}
