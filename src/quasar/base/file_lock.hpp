// Something that one process at a time may use. Held by a record of a small file beside it, and free again when the holder ends,
// however it ends: the lock belongs to an open file (Linux's open file description locks), which dies with its process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "quasar/base/system/open_file.hpp"

namespace quasar {

class FileLock {
 public:
  // Takes a record of the lock file, which is created when it does not exist and stays there. Throws Error when another process
  // (or another object of this one) holds it: "<what> is in use by process 4711 on host since 2026-01-01 12:00:00 UTC;
  // <way_out>".
  FileLock(const std::filesystem::path& file, const std::string& what, const std::string& way_out, int64_t record = 0);
  // Waits for the record instead, however long. `busy` hears once who holds it: "process 4711 on host since …". Throws Cancelled
  // when this thread's work is cancelled (base/cancellation.hpp), and Error when the file cannot be opened or locked.
  FileLock(const std::filesystem::path& file, const std::function<void(const std::string& holder)>& busy, int64_t record = 0);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  // Whether somebody holds the record now; nothing is made or taken. nullopt: there is no such file, or it cannot be asked.
  static std::optional<bool> is_held(const std::filesystem::path& file, int64_t record = 0);

  // Whether the name that the lock file had is now that of another lock file: the folder was moved away and another made.
  bool has_another() const;

 private:
  FileLock(const std::filesystem::path& file, int64_t record);  // opened, and not held yet
  bool take();                                                  // false: another has it

  std::filesystem::path name_;
  OpenFile file_;
  int64_t record_ = 0;
  std::string words_;  // in the record
  bool held_ = false;
};

}  // namespace quasar
