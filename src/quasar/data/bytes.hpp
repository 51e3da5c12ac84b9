// Bytes that are read where they are needed: of a file, of a member of an archive, or in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace quasar::data {

// read() may be called from several threads at once.
class Bytes {
 public:
  virtual ~Bytes() = default;
  virtual uint64_t size() const = 0;
  // Fills `out` from `offset` on; the range must lie within size(). Throws Error when the file cannot be read.
  virtual void read(uint64_t offset, std::span<std::byte> out) const = 0;
};

using BytesPtr = std::shared_ptr<const Bytes>;

// A file that stays open as long as the value lives. Throws Error that names the path.
BytesPtr file_bytes(const std::filesystem::path& path);

BytesPtr memory_bytes(std::string bytes);

}  // namespace quasar::data
