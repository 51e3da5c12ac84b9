// The files beside a model in which its external data lies, each mapped into memory once. For the sources of graph/ only.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "quasar/graph/tensor.hpp"

namespace quasar::graph {

// Where a tensor's bytes lie: ONNX's external_data entries.
struct ExternalPlace {
  std::string location;
  size_t offset = 0;
  std::optional<size_t> length = {};
};

class ExternalFiles {
 public:
  // `folder`: the model's; every location must stay below it. Empty: there is none, and every read is an error.
  explicit ExternalFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Where the file is. Throws Error for a location that is absolute or leaves the folder, symbolic links resolved.
  std::filesystem::path path_of(const std::string& location) const;

  // A tensor on the mapped file (copied only where its offset is not aligned for its type). Throws Error as path_of(), and
  // for no such file, a length that is not the tensor's or not in the file.
  Tensor read(DataType type, const Shape& shape, const ExternalPlace& place);

 private:
  struct File;
  std::shared_ptr<const File> open(const std::string& location);
  std::filesystem::path folder_;
  std::map<std::string, std::shared_ptr<const File>> files_;
};

}  // namespace quasar::graph
