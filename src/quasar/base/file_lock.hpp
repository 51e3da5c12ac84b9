// Something that one process at a time may use. Held by a record of a small file beside it, and free again when the holder ends,
// however it ends: the lock belongs to an open file (Linux's open file description locks), which dies with its process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace quasar {

class FileLock {
 public:
  // Takes a record of the lock file, which is created when it does not exist and stays there. Throws Error when another process
  // (or another object of this one) holds it: "<what> is in use by process 4711 on host since 2026-01-01 12:00:00 UTC;
  // <way_out>".
  FileLock(const std::filesystem::path& file, const std::string& what, const std::string& way_out, int64_t record = 0);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int file_ = -1;
  int64_t record_ = 0;
};

}  // namespace quasar
