// Files that appear whole or not at all.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "quasar/base/system/open_file.hpp"

namespace quasar {

// A named pipe or a socket, whose reader would wait for ever for somebody to write. Not so what a shell hands over as
// /dev/fd/N (`<(command)`), where somebody does.
bool is_pipe(const std::filesystem::path& path);

// The whole file; an error names the path and the system's reason.
std::string read_file(const std::filesystem::path& path);

// Writes beside the target, flushes to disk, then renames: a reader sees the old file or the whole new one. Throws Error that
// names the path; devices and pipes are never replaced (see special_files.hpp for outputs that the user names).
void write_file(const std::filesystem::path& path, std::string_view bytes);

// The same for a writer that fills the temporary path itself; a std::system_error that it throws becomes an Error about `path`.
void write_file(const std::filesystem::path& path, const std::function<void(const std::filesystem::path& temporary)>& fill);

// A folder of its own under `parent`, removed with everything in it at the end of its life. The first one that a process makes
// under a parent removes what processes of the same user left there that were killed; not on Windows, where a folder cannot be
// locked.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::filesystem::path& parent = std::filesystem::temp_directory_path());
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  OpenFile lock_;  // held as long as the folder is somebody's
};

}  // namespace quasar
