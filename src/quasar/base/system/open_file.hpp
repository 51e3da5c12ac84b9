// Files by the numbers that the C library gives them, where streams do not do: read from any place by several threads, mapped,
// locked, flushed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>

namespace quasar {

// Closed at the end of its life; programs that are started do not get it. What fails leaves its reason in errno.
class OpenFile {
 public:
  enum class For {
    reading,  // a file that there is; a pipe is not waited for
    writing,  // made, or emptied
    both,     // made where there is none; not through a symbolic link
    outlet,   // a device or a pipe, to be written
    scratch,  // made below the folder that the path names, without a name that would stay
  };
  OpenFile() = default;
  OpenFile(const std::filesystem::path& path, For what);
  explicit OpenFile(int number) : number_(number) {}  // one that is open
  static OpenFile same_as(int number);                // what is open there, under a number of its own
  ~OpenFile();
  OpenFile(OpenFile&& other) noexcept;
  OpenFile& operator=(OpenFile&& other) noexcept;

  bool is_open() const { return number_ >= 0; }
  int number() const { return number_; }
  int release();  // the number, which the caller closes
  bool close();   // false: what was written did not all arrive

  // Bytes; nullopt: it is no regular file, or cannot be asked.
  std::optional<uint64_t> size() const;

  // From any thread. -> the bytes read, fewer than asked for at the file's end only; -1: it failed.
  int64_t read_at(uint64_t offset, std::span<std::byte> out) const;
  // false: it failed.
  bool write_at(uint64_t offset, std::span<const std::byte> bytes) const;
  bool write(std::string_view bytes) const;  // where it stands
  bool flush() const;                        // to the disk

  // Bytes of it for this value alone, until it is closed, however its process ends. false: another value has some of them, here
  // or in another process; nullopt: it failed.
  std::optional<bool> lock(uint64_t offset, uint64_t size) const;
  // Whether another value has some of them by lock(); nothing is taken. nullopt: it cannot be asked.
  std::optional<bool> is_locked(uint64_t offset, uint64_t size) const;

 private:
  int number_ = -1;
};

}  // namespace quasar
