// Files that a shared study keeps for processes on machines without them, by their content: what several studies have stands in
// the database once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace quasar::search {

// A file of a study. `hash`: hash_of_file() (base/hash.hpp), by which damage is found; whoever can write to the database can
// write another.
struct StoredFile {
  std::string name;  // as its study calls it, "model/net.onnx"
  std::string hash;
  uint64_t bytes = 0;
  bool operator==(const StoredFile&) const = default;
};

// A file on this machine that is to be one.
struct FileToStore {
  StoredFile as;
  std::filesystem::path place;
};

class FileStore {
 public:
  virtual ~FileStore() = default;

  // Those of a study, by name; empty: it has none.
  virtual std::vector<StoredFile> stored_files(int64_t study) = 0;

  // From here on these are the study's files, and no others. What the database holds already is not sent again; contents that no
  // study has any more go. Throws Error for a file that is not as it says, and as Storage does; and Cancelled.
  virtual void store_files(int64_t study, const std::vector<FileToStore>& files) = 0;

  // Writes its content there, piece by piece. Throws Error for one that is not whole or has another hash, for a place that cannot
  // be written, and as Storage does; and Cancelled.
  virtual void fetch_file(const StoredFile& file, const std::filesystem::path& place) = 0;
};

}  // namespace quasar::search
