// The folder that a search writes its results into.
#pragma once

#include <filesystem>
#include <string>

#include "quasar/base/file_lock.hpp"

namespace quasar::tune {

// For one search alone: two that write to one folder would take each other's files.
class OutputFolder {
 public:
  // Makes the folder, and removes what a search that was killed had begun to write there. Throws Error, naming the holder, when
  // another search has it.
  explicit OutputFolder(const std::filesystem::path& path);

  // Why nothing may be written there any more: it is gone, or its name is now that of another search's folder. "": it is there.
  std::string lost() const;

 private:
  std::filesystem::path path_;
  FileLock lock_;
};

}  // namespace quasar::tune
