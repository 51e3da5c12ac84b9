// A zip archive (npz files are such) through libzip.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "quasar/data/bytes.hpp"

namespace quasar::data {

struct ArchiveHandle;

class Archive {
 public:
  // Throws Error that names the file: not there, not a zip archive, cut short.
  explicit Archive(const std::filesystem::path& path);

  const std::vector<std::string>& names() const { return names_; }

  // One member. A stored one stays on disk and is read when asked for; a compressed one is inflated into memory now. Throws
  // Error that names file and member when it is damaged: its check sum is compared, of stored ones up to 1 GiB. The bytes keep
  // the archive open.
  BytesPtr open(const std::string& name) const;

 private:
  std::shared_ptr<ArchiveHandle> handle_;
  std::vector<std::string> names_;
};

}  // namespace quasar::data
