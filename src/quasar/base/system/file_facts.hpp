// What the system says of files and folders: what may be done with them, and whether two names are one file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>

#include "quasar/base/system/open_file.hpp"

namespace quasar {

// Whether this process may do it; false, with the reason in errno, also where nothing is there.
bool may_read(const std::filesystem::path& path);
bool may_write(const std::filesystem::path& path);
bool may_make_files_in(const std::filesystem::path& folder);

// Device and number of the file that has this name, the same as long as it exists; {0, 0}: there is none; nullopt: who knows.
using FileIdentity = std::pair<uint64_t, uint64_t>;
std::optional<FileIdentity> file_identity(const std::filesystem::path& path);
std::optional<FileIdentity> file_identity(const OpenFile& file);

}  // namespace quasar
